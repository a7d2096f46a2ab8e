package recipes

import (
	"errors"

	"github.com/lockkeeper/lockkeeper/client"
)

// leaseHold is the lease as the holder on the lease clock, which is nobody else's business.
type leaseHold Lease

// HoldChanged is called by the session when the lease clock moves the hold to another state.
func (h *leaseHold) HoldChanged(s State, cause error) {
	l := (*Lease)(h)
	switch {
	case s == Lost:
		l.finish(leaseCause(cause))
	case s == Unsure && l.b.strict:
		l.finish(ErrDisconnected)
	default:
		l.mu.Lock()
		if l.end.cause == nil {
			l.turnTo(s)
		}
		l.mu.Unlock()
	}
}

// leaseCause translates the session's reasons.
func leaseCause(cause error) error {
	switch {
	case errors.Is(cause, client.ErrLeaseDeadline):
		return ErrDeadline
	case errors.Is(cause, client.ErrNotReadOnly):
		return ErrReadOnly
	}
	return cause
}

// turnTo changes the state. The caller holds mu.
func (l *Lease) turnTo(s State) {
	l.state = s
	if r := l.rare; r != nil && r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// finish is the end of the lease: only the first cause counts.
func (l *Lease) finish(cause error) {
	l.mu.Lock()
	if l.end.cause != nil {
		l.mu.Unlock()
		return
	}
	l.end.cause = cause
	l.turnTo(Lost)
	pass := l.turn && cause != ErrReleased // whose turn it is after a release, the release decides
	l.turn = l.turn && !pass
	if l.done != nil {
		close(l.done)
	}
	var after map[int]func()
	var first *Lease
	if l.rare != nil {
		after, l.rare.after = l.rare.after, nil
		first = l.rare.first
	}
	l.mu.Unlock()
	if first != nil {
		first.finish(cause)
	}
	if pass {
		l.b.line.pass(nil)
	}
	for _, f := range after {
		// A function given to AfterFunc, owned by whoever registered it; ends when it returns.
		go f()
	}
}

// checkClock ends the lease if its deadline has passed and nobody could say so yet.
func (l *Lease) checkClock() {
	l.mu.Lock()
	over := l.end.cause != nil
	l.mu.Unlock()
	if !over && l.gen.LeaseLeft() <= 0 {
		l.finish(ErrDeadline)
	}
}

func (l *Lease) endErr() error {
	l.checkClock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end.cause == nil {
		return nil
	}
	return &l.end // not written any more
}

func (l *Lease) afterFunc(f func()) (stop func() bool) {
	l.mu.Lock()
	if l.end.cause != nil {
		l.mu.Unlock()
		// f, owned by whoever registered it; ends when it returns.
		go f()
		return func() bool { return false }
	}
	r := l.more()
	i := r.hooks
	r.hooks++
	if r.after == nil {
		r.after = make(map[int]func())
	}
	r.after[i] = f
	l.mu.Unlock()
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		_, ok := r.after[i]
		delete(r.after, i)
		return ok
	}
}
