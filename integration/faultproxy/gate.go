package faultproxy

import (
	"sync"
	"time"
)

// gate holds the faults that act on bytes. Those who wait before it are woken by every change.
type gate struct {
	mu      sync.Mutex // guards what follows; a leaf
	stalled [2]bool    // by Direction
	delay   time.Duration
	changed chan struct{} // closed, and replaced, by every change
}

// change applies f and wakes all who wait.
func (g *gate) change(f func(*gate)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f(g)
	close(g.changed)
	g.changed = make(chan struct{})
}

// due returns when a chunk that arrives now may leave.
func (g *gate) due() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Now().Add(g.delay)
}

// pass waits until direction d is open and reports true, or false when done is closed first.
func (g *gate) pass(d Direction, done <-chan struct{}) bool {
	for {
		g.mu.Lock()
		stalled, changed := g.stalled[d], g.changed
		g.mu.Unlock()
		if !stalled {
			return true
		}
		select {
		case <-changed:
		case <-done:
			return false
		}
	}
}
