package zktest

import (
	"sync"
	"time"
)

// Gate is something to wait for. It is closed at first, opens once, and stays open.
type Gate struct {
	mu      sync.Mutex // guards what follows; taken after Server.mu
	open    bool
	s       *Server
	waiting []*connection
}

// NewGate returns a closed gate.
func NewGate() *Gate { return new(Gate) }

// Open lets everything pass that waits and whatever comes. Opening it again does nothing.
func (g *Gate) Open() {
	g.mu.Lock()
	s, waiting := g.s, g.waiting
	g.open, g.waiting = true, nil
	g.mu.Unlock()
	if s == nil {
		return
	}
	s.mu.Lock()
	for _, c := range waiting {
		c.unparkLocked(g)
		if len(c.queue) > 0 && c.queue[0].verdict.Wait == g {
			c.blocked = false
			c.drainLocked()
		}
	}
	s.commitLocked()
	s.releaseLocked(nil)
}

// Waiting returns how many connections wait.
func (g *Gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

// passed reports whether the gate is open; if not, c is told when it opens.
func (g *Gate) passed(c *connection) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open {
		g.s = c.s
		g.waiting = append(g.waiting, c)
	}
	return g.open
}

// isOpen reports whether the gate is open.
func (g *Gate) isOpen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

// commitLocked executes the accepted requests, in their order, whose gates are open, then what had to wait for them.
func (s *Server) commitLocked() {
	for len(s.accepted) > 0 && s.accepted[0].verdict.Wait.isOpen() {
		a := s.accepted[0]
		s.accepted = s.accepted[1:]
		a.committed = true
		if a.c.gone {
			a.c.runLocked(a, time.Now())
			continue
		}
		if a.c.member.cut {
			a.c.runUnheardLocked(a)
			continue
		}
		a.c.blocked = false
		a.c.drainLocked()
	}
	if len(s.accepted) > 0 {
		return
	}
	behind := s.behind
	s.behind = nil
	for _, c := range behind {
		c.blocked = false
		c.drainLocked()
	}
}
