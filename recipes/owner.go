package recipes

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/lockkeeper/lockkeeper/client"
)

// Owner is who holds re-entrant locks, for code that cannot pass a context: what the holding thread is elsewhere. An Owner
// that has a lock can have it again. The zero value is ready; an Owner must not be copied. Goroutines that share an Owner
// share its holds, so give each flow of control its own. It
// remembers the last lease of every lock that it had, so it should not outlive the flow that goes through many.
type Owner struct {
	mu    sync.Mutex
	holds map[any]*ownedLock // by the lock's key
}

// ownedLock is what an Owner knows of one lock.
type ownedLock struct {
	turn  chan struct{}         // holds a token while one goroutine of the owner acquires
	lease atomic.Pointer[Lease] // the newest; written by whoever has the token
}

// LockAs acquires the lock for o, or enters o's hold once more, without a word to the server. The Reentry's Context ends
// with the hold; ctx bounds the wait, in which others that use o wait as well.
func (r *Reentrant) LockAs(ctx context.Context, o *Owner) (*Reentry, error) {
	return r.base().enterAs(ctx, "lock", o, false)
}

// TryLockAs is LockAs without waiting for other contenders, as Mutex.TryLock, nor for another goroutine that acquires the
// lock for o.
func (r *Reentrant) TryLockAs(ctx context.Context, o *Owner) (*Reentry, error) {
	return r.base().enterAs(ctx, "trylock", o, true)
}

func (b *base) enterAs(ctx context.Context, op string, o *Owner, try bool) (*Reentry, error) {
	if err := b.usable(ctx, op); err != nil {
		return nil, err
	}
	if o == nil {
		return nil, &Error{op, b.path(), client.ErrZeroValue}
	}
	ol := o.lock(b.key)
	if e := ol.enter(b); e != nil {
		return e, nil
	}
	if err := ol.begin(ctx, try); err != nil {
		return nil, &Error{op, b.path(), err}
	}
	defer func() { <-ol.turn }()
	if e := ol.enter(b); e != nil { // acquired while we waited
		return e, nil
	}
	l, err := b.acquire(ctx, op, one(exclusive), try)
	if err != nil {
		return nil, err
	}
	l.firstLevel()
	ol.lease.Store(l)
	return &Reentry{l: l}, nil
}

// enter adds a level to the owner's hold; nil if there is none.
func (ol *ownedLock) enter(b *base) *Reentry {
	l := ol.lease.Load()
	if l == nil || !l.gen.Same(b.c.Generation()) || l.State() == Lost || !l.reenter() {
		return nil
	}
	return &Reentry{l: l}
}

// begin makes the caller the one goroutine of the owner that acquires, once no other does; with try it does not wait for that.
func (ol *ownedLock) begin(ctx context.Context, try bool) error {
	select {
	case ol.turn <- struct{}{}:
		return nil
	default:
	}
	if try {
		return ErrNotAcquired
	}
	select {
	case ol.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lock returns what o knows of the lock with this key.
func (o *Owner) lock(key any) *ownedLock {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.holds == nil {
		o.holds = make(map[any]*ownedLock)
	}
	ol := o.holds[key]
	if ol == nil {
		ol = &ownedLock{turn: make(chan struct{}, 1)}
		o.holds[key] = ol
	}
	return ol
}
