package recipes

import (
	"context"
	"errors"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// begin starts what the options want of a lease.
func (l *Lease) begin() {
	part := l.by.part
	if l.b.watchOwn || l.b.revocable {
		l.watchNode() // the function of Revocable may release the lease from here on, and the contender is gone then
	}
	if !part {
		l.limitHold()
	}
}

// limitHold starts the time of MaxHold. That of a part of a MultiLock starts with the hold of the whole: it would run out while
// another part is waited for, in each attempt anew, and Lock would go to the ends of the queues for ever.
func (l *Lease) limitHold() {
	d := l.b.maxHold
	if d <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.more().limit = time.AfterFunc(d, func() {
		l.finish(ErrMaxHold)
		l.beginRelease()
	})
}

// Release gives the lock back. It always starts the deletion, whatever the state of the lease and of ctx, and then waits
// for the server's confirmation as long as ctx lasts. The lease's context ends at once; where ctx is that one, or made from
// it, its end with the lease is not meant and does not count, its own deadline does.
//
// The result is nil when the server has confirmed, or the znode was handed over; an error matching ErrReleasePending, and
// the context's error, when it had not in time, in which case the deletion goes on by itself and Release may be called again
// to wait on; ErrLost, and the cause, when the lease had ended before; ErrRefused, and the server's reason, when the znode
// may not be deleted, so that the lock stays taken until the session ends or another call of Release, which tries again,
// comes through; ErrNotHeld after a confirmed release, and for a nil Lease.
func (l *Lease) Release(ctx context.Context) error {
	if l.none() {
		return &Error{"release", "", ErrNotHeld}
	}
	if ctx == nil {
		l.beginRelease()
		return &Error{"release", l.b.path(), join(ErrReleasePending, client.ErrNilContext)}
	}
	ctx, cancel := l.outlive(ctx)
	defer cancel()
	l.beginRelease()
	var result error
	if !l.wasHanded() {
		c := l.deletion()
		err := c.Wait(ctx)
		done := false
		if done, result = c.Result(); !done {
			return &Error{"release", l.b.path(), join(ErrReleasePending, err)}
		}
	}
	refused := refusal(result)
	l.mu.Lock()
	lost, again := l.lostTo(), l.reported
	l.reported = !refused
	if refused {
		l.more().refused = true
	}
	l.mu.Unlock()
	switch {
	case again:
		return &Error{"release", l.b.path(), ErrNotHeld}
	case refused:
		return &Error{"release", l.b.path(), join(ErrRefused, result)}
	}
	return l.released(lost, result)
}

// deletion returns what Release waits for: the deletion that the first call has started, or another one if that was refused.
func (l *Lease) deletion() *client.Cleanup {
	l.mu.Lock()
	c, again := &l.cleanup, false
	if r := l.rare; r != nil {
		if again = r.refused; again {
			r.refused, r.retry = false, new(client.Cleanup)
		}
		if r.retry != nil {
			c = r.retry
		}
	}
	l.mu.Unlock()
	if again {
		l.stake.remove(l, c, nil)
	}
	return c
}

// refusal says whether the result of a deletion is that the server does not do it. The end of the client or its session is not,
// nor is that the znode is gone.
func refusal(result error) bool {
	if result == nil {
		return false // without the memory that the question below takes
	}
	var code client.Code
	return errors.As(result, &code) && code != client.ErrNoNode && code != client.ErrSessionExpired
}

// outlive returns ctx, or if it is the lease's, which ends here, one that does not end with it.
func (l *Lease) outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	none := func() {}
	if ctx.Value(l.b.key) != l || ctx.Err() != nil && context.Cause(ctx) != l.endErr() { // or has ended for another reason
		return ctx, none
	}
	longer := context.WithoutCancel(ctx)
	if d, ok := ctx.Deadline(); ok {
		return context.WithDeadline(longer, d)
	}
	return longer, none
}

// ReleasePipelined is Release without the wait: it returns when the deletion has been handed to the session (or to a Downgrade
// that is under way, which does so when it returns), which repeats
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
		return &Error{"release", l.b.path(), join(ErrLost, lost)}
	case !first:
		return &Error{"release", l.b.path(), ErrNotHeld}
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
	by := l.by
	l.by = nil
	l.mu.Unlock()
	if _, err := l.cleanup.Result(); refusal(err) {
		l.stake.refused(l, by)
	}
	by.g.Reclaim(&l.cleanup)
	l.b.put(by)
}

// lostTo returns why the lease had ended before its release, nil if it had not. The caller holds mu.
func (l *Lease) lostTo() error {
	if !l.lost {
		return nil
	}
	return l.end.cause
}

// beginRelease starts the deletion, once, or hands the znode over. lost is why the lease had ended before that.
func (l *Lease) beginRelease() (lost error, first bool) {
	l.checkClock()
	l.mu.Lock()
	first = !l.releasing
	l.releasing = true
	if first {
		l.lost = l.end.cause != nil
	}
	lost = l.lostTo()
	var heir *place
	if first && lost == nil {
		heir = l.heir() // here, so that another Release never sees a release that may be the one or the other
	}
	var limit *time.Timer
	var down func()
	if l.rare != nil {
		limit, down = l.rare.limit, l.rare.down
		l.rare.waits = down != nil
	}
	l.mu.Unlock()
	if !first {
		return lost, false
	}
	l.finish(ErrReleased)
	l.gen.Unhold(&l.hold)
	if limit != nil {
		limit.Stop()
	}
	switch {
	case down != nil:
		down() // and when it has returned it starts the deletion
	case heir != nil:
		l.handOver(heir)
	default:
		l.startDelete()
	}
	return lost, true
}

// startDelete gives the deletion to the session, and the turn to the next in line.
func (l *Lease) startDelete() {
	l.mu.Lock()
	by, pass := l.by, l.turn
	l.turn = false
	l.mu.Unlock()
	if g := by.guard; g != nil {
		g.watch.Stop()
	}
	l.cleanup.Owner = (*leaseCleanup)(l)
	l.stake.remove(l, &l.cleanup, by)
	if pass {
		l.b.line.pass(nil)
	}
}

// released turns the result of the deletion into that of Release.
func (l *Lease) released(lost, result error) error {
	switch {
	case lost != nil:
		return &Error{"release", l.b.path(), join(ErrLost, lost)}
	case errors.Is(result, client.ErrNoNode):
		return &Error{"release", l.b.path(), join(ErrLost, ErrNodeGone)}
	case result != nil:
		return &Error{"release", l.b.path(), join(ErrLost, result)}
	}
	return nil
}
