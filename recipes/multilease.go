package recipes

import (
	"context"
	"errors"
	"slices"

	"github.com/lockkeeper/lockkeeper/client"
)

// MultiLease is a hold of all locks of a MultiLock. Context, State, States, Done and Token are those of the whole: all znodes
// were made by one transaction, whose zxid is the token, which rises from hold to hold on each path whose lock is exclusive.
// All methods may be called from any goroutine, and on a nil or zero MultiLease, which is not held.
//
// That of an Ordered MultiLock has znodes of several transactions if it had to wait, and no number rises on all paths at once: there
// Token is that of the first part, for the path of that part alone. What another part's lock protects goes by the Token of that
// part's lease; Guards hold as ever.
type MultiLease struct {
	*Lease // of the first part, which ends when any of them does

	leases []*Lease
}

func newMultiLease(leases []*Lease) *MultiLease {
	first := leases[0]
	for _, l := range leases {
		l.mu.Lock()
		l.lock = &partValues{l.lock, leases}
		if l.rare != nil {
			l.rare.ctx = nil // a function given to Revocable may have asked for it already
		}
		l.mu.Unlock()
	}
	for _, l := range leases[1:] {
		l.mu.Lock()
		l.more().first = first
		cause := l.end.cause
		l.mu.Unlock()
		if cause != nil { // before anybody could be told
			first.finish(cause)
		}
	}
	for _, l := range leases {
		l.limitHold()
	}
	return &MultiLease{first, leases}
}

// partValues has the values of Lock's context, and each of the holds for whoever looks for a hold of its lock.
type partValues struct {
	context.Context
	leases []*Lease
}

func (v *partValues) Value(key any) any {
	for _, l := range v.leases {
		if key == l.b.key {
			return l
		}
	}
	return v.Context.Value(key)
}

// Leases returns the holds of the parts, in the order of NewMultiLock, for their nodes. They are released together.
func (ml *MultiLease) Leases() []*Lease {
	if ml == nil {
		return nil
	}
	return slices.Clone(ml.leases)
}

// Guards returns the operations that make a multi fail unless all holds still stand, as Lease.Guard.
func (ml *MultiLease) Guards() []client.Op {
	if ml == nil {
		return nil
	}
	guards := make([]client.Op, len(ml.leases))
	for i, l := range ml.leases {
		guards[i] = l.Guard()
	}
	return guards
}

// Release gives all locks back, in one flight, and waits as Lease.Release does. The error is that of the first part that has
// one.
func (ml *MultiLease) Release(ctx context.Context) error {
	if ml == nil || len(ml.leases) == 0 {
		return &Error{"release", "", ErrNotHeld}
	}
	if ctx != nil {
		longer, cancel := ml.outlive(ctx)
		defer cancel()
		ctx = longer
	}
	for _, l := range ml.leases {
		l.beginRelease()
	}
	var first, again error
	told := 0 // parts whose release was confirmed, and that reported, by an earlier call
	for _, l := range ml.leases {
		switch err := l.Release(ctx); {
		case errors.Is(err, ErrNotHeld):
			told, again = told+1, err
		case first == nil:
			first = err
		}
	}
	if told == len(ml.leases) {
		return again
	}
	return first
}

// ReleasePipelined is Release without the wait, as Lease.ReleasePipelined.
func (ml *MultiLease) ReleasePipelined() error {
	if ml == nil || len(ml.leases) == 0 {
		return &Error{"release", "", ErrNotHeld}
	}
	var first error
	for _, l := range ml.leases {
		if err := l.ReleasePipelined(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
