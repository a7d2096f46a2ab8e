package delay

import (
	"sync"
	"time"
)

// clock releases what lines have taken in, each piece when the delay has passed since then.
type clock struct {
	delay time.Duration

	mu      sync.Mutex // guards what follows; taken before that of a line
	wake    *sync.Cond // something was added, or stopped
	waiting []piece    // in the order of arrival, which is that of release
	stopped bool
}

// piece is a number of bytes on a line; 0 stands for the line's end.
type piece struct {
	due time.Time
	l   *line
	n   int
}

func newClock(d time.Duration) *clock {
	c := &clock{delay: d}
	c.wake = sync.NewCond(&c.mu)
	return c
}

// add enters a piece that has just arrived.
func (c *clock) add(l *line, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		l.release(0)
		return
	}
	c.waiting = append(c.waiting, piece{time.Now().Add(c.delay), l, n})
	c.wake.Signal()
}

// stop ends run, and all lines.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.wake.Signal()
}

// run releases pieces until stop.
func (c *clock) run() {
	for {
		due, ok := c.next()
		if !ok {
			return
		}
		if left := time.Until(due); left > 0 {
			wait(left)
		}
	}
}

// next releases what is due and returns when the next piece is; false after stop, when it has ended all lines that wait.
func (c *clock) next() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for len(c.waiting) == 0 && !c.stopped {
			c.wake.Wait()
		}
		if c.stopped {
			for _, p := range c.waiting {
				p.l.release(0)
			}
			c.waiting = nil
			return time.Time{}, false
		}
		now, done := time.Now(), 0
		for done < len(c.waiting) && !c.waiting[done].due.After(now) {
			c.waiting[done].l.release(c.waiting[done].n)
			done++
		}
		if done == 0 {
			return c.waiting[0].due, true
		}
		left := copy(c.waiting, c.waiting[done:])
		clear(c.waiting[left:])
		c.waiting = c.waiting[:left]
	}
}
