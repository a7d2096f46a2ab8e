package recipes

import (
	"context"
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
// a nil or zero Lease, which is not held.
type Lease struct {
	b    *base
	gen  client.Generation
	lock context.Context // of the call of Lock: for its values only

	stake stake // what it has on the server

	hold    client.Hold
	cleanup client.Cleanup

	mu        sync.Mutex // guards what follows; never held while calling anything but the client's clock and the line
	claim     claim      // changed by Downgrade, as are node and token
	node      string     // the lock's znode, as the client names it
	token     Token
	state     State
	releasing bool
	turn      bool          // it has the turn of its lock object's line, and passes it on at its end
	handed    bool          // released by handing the znode over: there is nothing to wait for
	reported  bool          // the confirmation of the release was returned
	lost      bool          // it had ended before its release
	end       endError      // why it ended; no cause means that it has not
	done      chan struct{} // made on demand
	by        *entrant      // nil once the next caller of Lock may have it
	rare      *rare         // made on demand
}

// rare is what many leases never need. It is apart so that a lock that is taken and released costs less memory.
type rare struct {
	changed chan struct{}   // closed at the next change of state
	after   map[int]func()  // registered with AfterFunc, by number
	hooks   int             // numbers given out
	ctx     *leaseContext   // what Context returns
	limit   *time.Timer     // with the option MaxHold
	levels  *levels         // of a Reentrant
	first   *Lease          // of a MultiLease: ends when this one does
	refused bool            // the deletion was, and Release has said so
	retry   *client.Cleanup // the newest deletion after that
	revoked bool            // the holder was told that somebody asks for the lock
	down    func()          // cancels the Downgrade that is under way
	waits   bool            // the release waits for that one to return
	both    bool            // a Downgrade's outcome was unknown: both znodes may be there
}

// more returns the rare parts. The caller holds mu.
func (l *Lease) more() *rare {
	if l.rare == nil {
		l.rare = &rare{}
	}
	return l.rare
}

// none says whether l is nil or zero.
func (l *Lease) none() bool { return l == nil || l.b == nil }

// Node returns the path of the lock's znode, "" for a nil Lease.
func (l *Lease) Node() string {
	if l.none() {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.node
}

// Token returns the fencing token of this hold; zero for a nil Lease. It stays the same after the end, and changes only with
// Downgrade. Tokens of the holders of a read lock tell them apart, but are in no order: that of a writer who became a reader
// is higher than that of a writer who waited before that and comes after it.
func (l *Lease) Token() Token {
	if l.none() {
		return Token{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.token
}

// Shared says whether others may have the lock at the same time: whether it is a read lock.
func (l *Lease) Shared() bool {
	if l.none() {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claim.shares()
}

// Guard returns the operation that makes a multi fail unless this hold still stands: with "no node" when its znode is gone,
// and with GuardedHandover with "bad version" when the znode has been handed over. It works only through a client with the
// same chroot on the same ensemble. Of a FixedMutex it checks the counter alone, and does not notice that the znode is gone: there
// Guards is what to use. With HandOver alone nothing on the server tells one holder from the next, so the
// operation makes every multi fail with ErrUnguarded, before anything is sent.
func (l *Lease) Guard() client.Op {
	if l.none() {
		return client.Op{}
	}
	if l.b.grants > 0 && !l.b.guarded {
		return client.RefusedOp(ErrUnguarded)
	}
	return l.stake.guard(l)
}

// Guards returns the operations that together make a multi fail unless this hold stands: Guard, and whatever else there is to be
// checked, which is something for a FixedMutex alone. Nil for a nil Lease.
func (l *Lease) Guards() []client.Op {
	if l.none() {
		return nil
	}
	return append([]client.Op{l.Guard()}, l.stake.beside(l)...)
}

// Context returns a context that ends when the hold is no longer safe, and in any case with Release; context.Cause and Err
// then match the reason, such as ErrReleased or ErrSessionExpired. It has the values of the context given to Lock, but
// neither its deadline nor its end. It costs no goroutine. That of a nil Lease has ended.
func (l *Lease) Context() context.Context {
	if l.none() {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(ErrNotHeld)
		return ctx
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.more()
	if r.ctx == nil {
		r.ctx = &leaseContext{l, context.WithoutCancel(l.lock)}
	}
	return r.ctx
}

// State returns where the lease stands. It looks at the clock: a process that was stopped past the deadline is told Lost
// before anything else.
func (l *Lease) State() State {
	if l.none() {
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
		for !l.none() && ctx != nil {
			l.mu.Lock()
			r := l.more()
			if r.changed == nil {
				r.changed = make(chan struct{})
			}
			state, changed := l.state, r.changed
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
	if l.none() {
		return closed()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.end.cause != nil {
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
