package recipes

import (
	"context"
	"sync"
)

// line is the goroutines that want one lock object, in the order in which they came. One of them has the turn: it contends
// with other processes, holds the lock, and passes the turn on when it releases, loses or does not get it. It wakes one
// goroutine at a time.
type line struct {
	mu          sync.Mutex // guards what follows; nothing is called under it
	busy        bool       // somebody has the turn
	first, last *place
	free        *place // places for reuse, by next; as many as ever waited at once
	n           int    // how many wait
}

// place is where one goroutine stands.
type place struct {
	next, prev *place
	waiting    bool            // it is in the line
	turn       chan *contender // takes one value: the turn, with the znode that is handed over or nil
}

// enter waits for the turn, or with try fails if there is a line. The contender is that whose znode is handed over, if any.
func (ln *line) enter(ctx context.Context, try bool) (*contender, error) {
	ln.mu.Lock()
	if !ln.busy {
		ln.busy = true
		ln.mu.Unlock()
		return nil, nil
	}
	if try {
		ln.mu.Unlock()
		return nil, ErrNotAcquired
	}
	p := ln.push()
	ln.mu.Unlock()
	select {
	case ct := <-p.turn:
		ln.recycle(p)
		return ct, nil
	case <-ctx.Done():
	}
	ln.mu.Lock()
	given := !p.waiting
	if !given {
		ln.remove(p)
	}
	ln.mu.Unlock()
	var ct *contender
	if given { // at the same moment
		ct = ln.decline(<-p.turn)
	}
	ln.recycle(p)
	return nil, ct.discarded(ctx, ctx.Err())
}

// decline passes on a turn that came too late, and returns the contender if its znode is not wanted any more.
func (ln *line) decline(ct *contender) (discarded *contender) {
	if ct != nil && ln.pass(ct) {
		return nil
	}
	if ct != nil {
		ct.discard()
	}
	ln.pass(nil)
	return ct
}

// pass gives the turn to the first in line. With a contender, whose znode goes along, it does so only if there is one;
// without, the turn ends. It says whether somebody has got it.
func (ln *line) pass(ct *contender) bool {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	p := ln.first
	if p == nil {
		ln.busy = ct != nil
		return false
	}
	ln.remove(p)
	p.turn <- ct // has room: a place is given one turn
	return true
}

// waiting returns how many goroutines stand in the line.
func (ln *line) waiting() int {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	return ln.n
}

// take takes the first place out of the line, nil if there is none, for whoever has the turn and is about to give it there.
func (ln *line) take() *place {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	p := ln.first
	if p != nil {
		ln.remove(p)
	}
	return p
}

// push puts a place at the end of the line. The caller holds mu.
func (ln *line) push() *place {
	p := ln.free
	if p == nil {
		p = &place{turn: make(chan *contender, 1)}
	} else {
		ln.free = p.next
	}
	p.next, p.prev, p.waiting = nil, ln.last, true
	if ln.last == nil {
		ln.first = p
	} else {
		ln.last.next = p
	}
	ln.last = p
	ln.n++
	return p
}

// remove takes a place out of the line. The caller holds mu.
func (ln *line) remove(p *place) {
	if p.prev == nil {
		ln.first = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		ln.last = p.prev
	} else {
		p.next.prev = p.prev
	}
	p.waiting = false
	ln.n--
}

func (ln *line) recycle(p *place) {
	ln.mu.Lock()
	p.prev, p.next = nil, ln.free
	ln.free = p
	ln.mu.Unlock()
}
