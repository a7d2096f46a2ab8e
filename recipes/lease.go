package recipes

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// State is where a lease stands.
type State = client.HoldState

// The states of a lease.
const (
	Held   = client.Held   // certain
	Unsure = client.Unsure // the connection is gone; the deadline has not passed
	Lost   = client.Lost   // over: lost, or released
)

// Lease is one hold of a lock, from its grant to its release or loss. All methods may be called from any goroutine, and on
// a nil Lease, which is not held.
type Lease struct {
	m     *Mutex
	gen   client.Generation
	node  string // the lock's znode, as the client names it
	token Token
	lock  context.Context // of the call of Lock: for its values only
	lost  bool            // a create with unknown outcome preceded: more than one znode may be ours
	guid  string          // the name's beginning, when lost

	hold    client.Hold
	cleanup client.Cleanup
	own     *client.NodeWatch // with the option WatchOwnNode

	mu        sync.Mutex // guards what follows; never held while calling anything but the client's clock
	state     State
	err       *endError // why it ended: &why, or nil
	why       endError
	done      chan struct{}  // made on demand
	changed   chan struct{}  // made on demand, closed at the next change of state
	after     map[int]func() // registered with AfterFunc, by number
	hooks     int            // numbers given out
	ctx       *leaseContext
	limit     *time.Timer // with the option MaxHold
	releasing bool
	lostTo    error      // why the lease had ended before its release
	reported  bool       // the confirmation of the release was returned
	ct        *contender // nil once the next caller of Lock may have it
}

// Node returns the path of the lock's znode, "" for a nil Lease.
func (l *Lease) Node() string {
	if l == nil {
		return ""
	}
	return l.node
}

// Token returns the fencing token of this hold; zero for a nil Lease. It stays the same after the end.
func (l *Lease) Token() Token {
	if l == nil {
		return Token{}
	}
	return l.token
}

// Guard returns the operation that makes a multi fail with "no node" unless this hold's znode still exists. It works only
// through a client with the same chroot on the same ensemble.
func (l *Lease) Guard() client.Op {
	if l == nil {
		return client.Op{}
	}
	return l.m.c.GuardOp(l.node, -1)
}

// Context returns a context that ends when the hold is no longer safe, and in any case with Release; context.Cause and Err
// then match the reason, such as ErrReleased or ErrSessionExpired. It has the values of the context given to Lock, but
// neither its deadline nor its end. It costs no goroutine. That of a nil Lease has ended.
func (l *Lease) Context() context.Context {
	if l == nil {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(ErrNotHeld)
		return ctx
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil {
		l.ctx = &leaseContext{l, context.WithoutCancel(l.lock)}
	}
	return l.ctx
}

// State returns where the lease stands. It looks at the clock: a process that was stopped past the deadline is told Lost
// before anything else.
func (l *Lease) State() State {
	if l == nil {
		return Lost
	}
	l.checkClock()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// States yields the current state and then every later one, until Lost or the end of the context. A state that is left
// again before the loop comes back to it may be passed over; Lost never is.
func (l *Lease) States(ctx context.Context) iter.Seq[State] {
	return func(yield func(State) bool) {
		for l != nil {
			l.mu.Lock()
			if l.changed == nil {
				l.changed = make(chan struct{})
			}
			state, changed := l.state, l.changed
			l.mu.Unlock()
			if !yield(state) || state == Lost {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
		yield(Lost)
	}
}

// Done returns a channel that is closed when the lease has ended.
func (l *Lease) Done() <-chan struct{} {
	if l == nil {
		return closed()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.err != nil {
			close(l.done)
		}
	}
	return l.done
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// begin starts what the options want of a lease.
func (l *Lease) begin() {
	if l.m.watchOwn {
		l.own = &client.NodeWatch{Gone: func() { l.end(ErrNodeGone) }}
		l.gen.WatchNode(l.own, l.node)
	}
	if d := l.m.maxHold; d > 0 {
		l.mu.Lock()
		l.limit = time.AfterFunc(d, func() {
			l.end(ErrMaxHold)
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
	if l == nil {
		return &Error{"release", "", ErrNotHeld}
	}
	l.beginRelease()
	if ctx == nil {
		return &Error{"release", l.m.dir, errors.Join(ErrReleasePending, errors.New("nil context"))}
	}
	err := l.cleanup.Wait(ctx)
	done, result := l.cleanup.Result()
	if !done {
		return &Error{"release", l.m.dir, errors.Join(ErrReleasePending, err)}
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
	if l == nil {
		return &Error{"release", "", ErrNotHeld}
	}
	switch lost, first := l.beginRelease(); {
	case lost != nil:
		return &Error{"release", l.m.dir, errors.Join(ErrLost, lost)}
	case !first:
		return &Error{"release", l.m.dir, ErrNotHeld}
	}
	return nil
}

// CleanupDone is called by the session when the deletion is confirmed: nothing is under way to the contender's queue any
// more, so the next caller of Lock may have it. It is not for users.
func (l *Lease) CleanupDone() {
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
	if first && l.err != nil {
		l.lostTo = l.err.cause
	}
	lost, ct, limit := l.lostTo, l.ct, l.limit
	l.mu.Unlock()
	if !first {
		return lost, false
	}
	l.end(ErrReleased)
	l.gen.Unhold(&l.hold)
	if l.own != nil {
		l.own.Stop()
	}
	if limit != nil {
		limit.Stop()
	}
	l.cleanup.Owner = l
	if l.lost {
		l.gen.DeleteMatching(&l.cleanup, l.m.dir, l.guid)
	} else {
		l.gen.Delete(&l.cleanup, l.node, ct.g)
	}
	return lost, true
}

// released turns the result of the deletion into that of Release.
func (l *Lease) released(lost, result error) error {
	switch {
	case lost != nil:
		return &Error{"release", l.m.dir, errors.Join(ErrLost, lost)}
	case errors.Is(result, client.ErrNoNode):
		return &Error{"release", l.m.dir, errors.Join(ErrLost, ErrNodeGone)}
	case result != nil:
		return &Error{"release", l.m.dir, errors.Join(ErrLost, result)}
	}
	return nil
}

// HoldChanged is called by the session when the lease clock moves the hold to another state. It is not for users.
func (l *Lease) HoldChanged(s State, cause error) {
	switch {
	case s == Lost:
		l.end(leaseCause(cause))
	case s == Unsure && l.m.strict:
		l.end(ErrDisconnected)
	default:
		l.mu.Lock()
		if l.err == nil {
			l.turn(s)
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

// turn changes the state. The caller holds mu.
func (l *Lease) turn(s State) {
	l.state = s
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// end is the end of the lease: only the first cause counts.
func (l *Lease) end(cause error) {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return
	}
	l.why.cause = cause
	l.err = &l.why
	l.turn(Lost)
	if l.done != nil {
		close(l.done)
	}
	after := l.after
	l.after = nil
	l.mu.Unlock()
	for _, f := range after {
		// A function given to AfterFunc, owned by whoever registered it; ends when it returns.
		go f()
	}
}

// checkClock ends the lease if its deadline has passed and nobody could say so yet.
func (l *Lease) checkClock() {
	l.mu.Lock()
	over := l.err != nil
	l.mu.Unlock()
	if !over && l.gen.LeaseLeft() <= 0 {
		l.end(ErrDeadline)
	}
}

func (l *Lease) endErr() error {
	l.checkClock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		return nil
	}
	return l.err
}

func (l *Lease) afterFunc(f func()) (stop func() bool) {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		// f, owned by whoever registered it; ends when it returns.
		go f()
		return func() bool { return false }
	}
	i := l.hooks
	l.hooks++
	if l.after == nil {
		l.after = make(map[int]func())
	}
	l.after[i] = f
	l.mu.Unlock()
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		_, ok := l.after[i]
		delete(l.after, i)
		return ok
	}
}
