package recipes

import (
	"context"
	"iter"
	"sync"

	"github.com/lockkeeper/lockkeeper/client"
)

// Reentrant is a mutex that whoever holds it can lock again. Go has no identity for who that is, so the hold travels in
// a context, or in an Owner for code that cannot pass one:
//
//	ctx, lock, err := r.Lock(ctx)
//	if err != nil { ... }
//	defer lock.Release(ctx)
//	step(ctx) // may call r.Lock(ctx) again, which costs nothing
//
// Every Lock wants its Release, and the lock is free after the last one, in whatever order they come. Whoever gets
// the context shares the hold. That is the point within one flow of control, and the trap beyond it:
//
//	ctx, lock, err := r.Lock(ctx)
//	go func() { _, inner, _ := r.Lock(ctx); ...; inner.Release(ctx) }() // wrong: does not wait, and is inside with us
//
// Give a goroutine that must exclude this one the context from before the Lock.
//
// The context of a hold does not end with that of another lock's in which it was taken, as it has only its values.
//
// Its znodes are those of a Mutex, and of Curator's InterProcessMutex, which it excludes on the same path; the failure model
// is the same. When the hold is lost, it is lost on all levels: the context ends, and every Release says ErrLost. So it is when
// a function given to Revocable releases its lease, which is that of all levels.
type Reentrant struct{ b *base }

// NewReentrant returns the re-entrant mutex of path, as NewMutex does for a mutex. Two of them with the same path and client
// are the same lock: a hold of one is known to the other.
func NewReentrant(c *client.Client, path string, opts ...Option) *Reentrant {
	return &Reentrant{newBase(c, path, exclusive, opts)}
}

func (r *Reentrant) base() *base {
	if r == nil {
		return nil
	}
	return r.b
}

// Path returns the path of the lock, "" of a nil one.
func (r *Reentrant) Path() string { return r.base().path() }

// Lock acquires the lock as Mutex.Lock does, and returns a context that carries the hold and ends with it: the lease's, with
// the values of ctx, but neither its deadline nor its end: what is done inside and must not outlast ctx has to look at both.
// If ctx carries a hold already, that is entered once more, without a word to the server, and the context
// is ctx itself, with its deadline. After an error the context is ctx.
func (r *Reentrant) Lock(ctx context.Context) (context.Context, *Reentry, error) {
	return r.base().enter(ctx, "lock", false)
}

// TryLock is Lock without waiting for other contenders, as Mutex.TryLock.
func (r *Reentrant) TryLock(ctx context.Context) (context.Context, *Reentry, error) {
	return r.base().enter(ctx, "trylock", true)
}

// LocalWaiters returns how many goroutines wait for the lock in memory, behind the one of this object that has or wants it:
// with LocalQueue and HandOver these have no znodes, so Participants does not show them.
func (r *Reentrant) LocalWaiters() int { return r.base().localWaiters() }

// Participants returns who holds the lock and who waits for it, in the order of the queue.
func (r *Reentrant) Participants(ctx context.Context) ([]Participant, error) {
	return r.base().participants(ctx, one(exclusive))
}

// enter is Lock and TryLock.
func (b *base) enter(ctx context.Context, op string, try bool) (context.Context, *Reentry, error) {
	if err := b.usable(ctx, op); err != nil {
		return ctx, nil, err
	}
	if l := b.carried(ctx); l != nil && l.reenter() {
		return ctx, &Reentry{l: l}, nil
	}
	l, err := b.acquire(ctx, op, one(exclusive), try)
	if err != nil {
		return ctx, nil, err
	}
	l.firstLevel()
	return l.Context(), &Reentry{l: l}, nil
}

// levels counts how often a hold was entered and not left.
type levels struct {
	mu sync.Mutex
	n  int
}

// firstLevel makes a new lease one of a re-entrant lock.
func (l *Lease) firstLevel() {
	l.mu.Lock()
	l.more().levels = &levels{n: 1}
	l.mu.Unlock()
}

// reenter adds a level, if l is of a re-entrant lock and not being released.
func (l *Lease) reenter() bool {
	lv := l.reentry()
	if lv == nil {
		return false
	}
	lv.mu.Lock()
	defer lv.mu.Unlock()
	if lv.n == 0 {
		return false
	}
	lv.n++
	return true
}

// spent says whether all levels of a hold were left, so that it is being released. Holds without levels never are.
func (l *Lease) spent() bool {
	lv := l.reentry()
	if lv == nil {
		return false
	}
	lv.mu.Lock()
	defer lv.mu.Unlock()
	return lv.n == 0
}

func (l *Lease) reentry() *levels {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rare == nil {
		return nil
	}
	return l.rare.levels
}

// Reentry is one level of a hold of a re-entrant lock. What it says of the hold is the same on all levels; Release counts.
// All methods may be called from any goroutine, and on a nil or zero Reentry, which is not held.
type Reentry struct {
	l *Lease // not embedded: its Release would pass the other levels by

	mu    sync.Mutex // guards what follows
	left  bool
	last  bool // leaving it was the release of the lock
	taken bool // the lock had been released before, by a function given to Revocable
}

// lease returns the lease, nil for a Reentry that Lock has not made.
func (e *Reentry) lease() *Lease {
	if e == nil || e.l.none() || e.l.reentry() == nil {
		return nil
	}
	return e.l
}

// wasReleased says whether a release has begun that was no loss before.
func (l *Lease) wasReleased() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end.cause == ErrReleased
}

// Depth returns how many levels the hold has now, 0 when it is released.
func (e *Reentry) Depth() int {
	if e.lease() == nil {
		return 0
	}
	lv := e.l.reentry()
	lv.mu.Lock()
	defer lv.mu.Unlock()
	return lv.n
}

// leave ends the level. last says that it was the last one; first that it had not been left before.
func (e *Reentry) leave() (last, first bool) {
	if e.lease() == nil {
		return false, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.left {
		return e.last, false
	}
	lv := e.l.reentry()
	lv.mu.Lock()
	defer lv.mu.Unlock()
	e.taken = e.l.wasReleased()
	lv.n--
	e.left, e.last = true, lv.n == 0 && !e.taken
	return e.last, true
}

// Release leaves the level. On the last one that is left it is Lease.Release, with its results; on the others it returns at
// once, with nil, or ErrLost and the cause if the hold has ended. A level that was left already is ErrNotHeld, unless its
// release is pending and is waited for. If ctx is the hold's own, as what Lock returned or comes of that, its end with the
// hold does not end the wait: only its deadline does, the server's confirmation, or the end of the session.
func (e *Reentry) Release(ctx context.Context) error {
	last, first := e.leave()
	if !last {
		return e.outer(first)
	}
	return e.l.Release(ctx)
}

// ReleasePipelined leaves the level; on the last one it is Lease.ReleasePipelined.
func (e *Reentry) ReleasePipelined() error {
	last, first := e.leave()
	if last {
		return e.l.ReleasePipelined()
	}
	return e.outer(first)
}

// outer is the result of leaving a level that is not the last one.
func (e *Reentry) outer(first bool) error {
	switch {
	case e.lease() == nil:
		return &Error{"release", "", ErrNotHeld}
	case !first:
		return &Error{"release", e.l.b.path(), ErrNotHeld}
	}
	e.mu.Lock()
	taken := e.taken
	e.mu.Unlock()
	// If not taken away before, it may have been released since, by whoever left last.
	if err, ok := e.l.endErr().(*endError); ok && (taken || err.cause != ErrReleased) {
		return &Error{"release", e.l.b.path(), join(ErrLost, err.cause)}
	}
	return nil
}

// Node is Lease.Node. It and the methods below are those of the lease, but may be called on a nil Reentry.
func (e *Reentry) Node() string { return e.lease().Node() }

// Token is Lease.Token.
func (e *Reentry) Token() Token { return e.lease().Token() }

// Shared is false: nobody else has the lock.
func (e *Reentry) Shared() bool { return false }

// Guard is Lease.Guard.
func (e *Reentry) Guard() client.Op { return e.lease().Guard() }

// Guards returns the operations that together make a multi fail unless the hold stands, as Lease.Guards.
func (e *Reentry) Guards() []client.Op { return e.lease().Guards() }

// Context is Lease.Context. With it, as with what Reentrant.Lock returns, the hold can be entered again.
func (e *Reentry) Context() context.Context { return e.lease().Context() }

// State is Lease.State.
func (e *Reentry) State() State { return e.lease().State() }

// States is Lease.States.
func (e *Reentry) States(ctx context.Context) iter.Seq[State] { return e.lease().States(ctx) }

// Done is Lease.Done.
func (e *Reentry) Done() <-chan struct{} { return e.lease().Done() }

// Downgrade fails with ErrNotWriter: this is no read-write lock.
func (e *Reentry) Downgrade(ctx context.Context) error { return e.lease().Downgrade(ctx) }
