package recipes

import (
	"context"
	"errors"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// begin starts what the options want of a lease.
func (l *Lease) begin() {
	if l.m.watchOwn {
		own := &client.NodeWatch{Gone: func() { l.finish(ErrNodeGone) }}
		l.mu.Lock()
		l.more().own = own
		l.mu.Unlock()
		l.gen.WatchNode(own, l.node)
	}
	if d := l.m.maxHold; d > 0 {
		l.mu.Lock()
		l.more().limit = time.AfterFunc(d, func() {
			l.finish(ErrMaxHold)
			l.beginRelease()
		})
		l.mu.Unlock()
	}
}

// Release gives the lock back. It always starts the deletion, whatever the state of the lease and of ctx, and then waits
// for the server's confirmation as long as ctx lasts. The lease's context ends at once.
//
// The result is nil when the server has confirmed; an error matching ErrReleasePending, and the context's error, when it
// had not in time, in which case the deletion goes on by itself and Release may be called again to wait on; ErrLost, and
// the cause, when the lease had ended before; ErrNotHeld after a confirmed release, and for a nil Lease.
func (l *Lease) Release(ctx context.Context) error {
	if l.none() {
		return &Error{"release", "", ErrNotHeld}
	}
	l.beginRelease()
	if ctx == nil {
		return &Error{"release", l.m.dir, join(ErrReleasePending, client.ErrNilContext)}
	}
	err := l.cleanup.Wait(ctx)
	done, result := l.cleanup.Result()
	if !done {
		return &Error{"release", l.m.dir, join(ErrReleasePending, err)}
	}
	l.mu.Lock()
	lost, again := l.lostTo, l.reported
	l.reported = true
	l.mu.Unlock()
	if again {
		return &Error{"release", l.m.dir, ErrNotHeld}
	}
	return l.released(lost, result)
}

// ReleasePipelined is Release without the wait: it returns when the deletion has been handed to the session, which repeats
// it until it is confirmed, so nobody pays a round trip for it. A Lock that follows on the same client goes out right behind
// it, in the same flight. Others can have the lock a moment after the call has returned, or, if this process dies before the
// request is written, when the session expires. Release may be called afterwards, to wait; a second ReleasePipelined is
// answered by ErrNotHeld, and one of a lease that had ended before by ErrLost and the cause.
func (l *Lease) ReleasePipelined() error {
	if l.none() {
		return &Error{"release", "", ErrNotHeld}
	}
	switch lost, first := l.beginRelease(); {
	case lost != nil:
		return &Error{"release", l.m.dir, join(ErrLost, lost)}
	case !first:
		return &Error{"release", l.m.dir, ErrNotHeld}
	}
	return nil
}

// leaseCleanup is the lease as the owner of its clean-up, which is nobody else's business.
type leaseCleanup Lease

// CleanupDone is called by the session when the deletion is confirmed: nothing is under way to the contender's queue any
// more, so the next caller of Lock may have it.
func (c *leaseCleanup) CleanupDone() {
	l := (*Lease)(c)
	l.mu.Lock()
	ct := l.ct
	l.ct = nil
	l.mu.Unlock()
	ct.g.Reclaim(&l.cleanup)
	l.m.put(ct)
}

// beginRelease starts the deletion, once. lost is why the lease had ended before that.
func (l *Lease) beginRelease() (lost error, first bool) {
	l.checkClock()
	l.mu.Lock()
	first = !l.releasing
	l.releasing = true
	if first {
		l.lostTo = l.end.cause
	}
	lost, ct := l.lostTo, l.ct
	var extra rare
	if l.rare != nil {
		extra = *l.rare
	}
	l.mu.Unlock()
	if !first {
		return lost, false
	}
	l.finish(ErrReleased)
	l.gen.Unhold(&l.hold)
	if extra.own != nil {
		extra.own.Stop()
	}
	if extra.limit != nil {
		extra.limit.Stop()
	}
	l.cleanup.Owner = (*leaseCleanup)(l)
	if ct.unknown { // more than one znode may be ours
		l.gen.DeleteMatching(&l.cleanup, l.m.dir, string(ct.prefix))
	} else {
		l.gen.Delete(&l.cleanup, l.node, ct.g)
	}
	return lost, true
}

// released turns the result of the deletion into that of Release.
func (l *Lease) released(lost, result error) error {
	switch {
	case lost != nil:
		return &Error{"release", l.m.dir, join(ErrLost, lost)}
	case errors.Is(result, client.ErrNoNode):
		return &Error{"release", l.m.dir, join(ErrLost, ErrNodeGone)}
	case result != nil:
		return &Error{"release", l.m.dir, join(ErrLost, result)}
	}
	return nil
}
