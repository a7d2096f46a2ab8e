package delay

import (
	"net"
	"sync"
)

// intakeSize is how much is taken in at once.
const intakeSize = 64 << 10

// line is one direction of a connection.
type line struct {
	mu    sync.Mutex // guards what follows; taken after that of the clock
	wake  *sync.Cond // due or ended grew
	held  []byte     // in order: what is due, then what is not
	due   int        // bytes of held that may be handed on
	ended bool       // the source has ended, and that too is due
}

func newLine() *line {
	l := &line{}
	l.wake = sync.NewCond(&l.mu)
	return l
}

// intake takes in what src sends until it ends.
func (l *line) intake(src net.Conn, c *clock) {
	buf := make([]byte, intakeSize)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			l.mu.Lock()
			l.held = append(l.held, buf[:n]...)
			l.mu.Unlock()
			c.add(l, n)
		}
		if err != nil {
			c.add(l, 0)
			return
		}
	}
}

// release makes n more bytes due; 0 stands for the end.
func (l *line) release(n int) {
	l.mu.Lock()
	l.due += n
	l.ended = l.ended || n == 0
	l.wake.Signal()
	l.mu.Unlock()
}

// handOn writes to dst what is due. It returns true when the end is due and all has been written, false when dst does not
// take it.
func (l *line) handOn(dst net.Conn) bool {
	var out []byte
	for {
		l.mu.Lock()
		for l.due == 0 && !l.ended {
			l.wake.Wait()
		}
		out = append(out[:0], l.held[:l.due]...)
		l.held = l.held[:copy(l.held, l.held[l.due:])]
		l.due = 0
		l.mu.Unlock()
		if len(out) == 0 {
			return true
		}
		if _, err := dst.Write(out); err != nil {
			return false
		}
	}
}
