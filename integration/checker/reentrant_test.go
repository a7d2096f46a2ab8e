package checker

import (
	"context"
	"errors"

	"github.com/lockkeeper/lockkeeper/recipes"
)

// reentrantLock is a recipes.Reentrant.
type reentrantLock struct {
	r *recipes.Reentrant
	traits
	owned bool // its holds are of an Owner each
}

func (l reentrantLock) acquire(ctx context.Context, h how) (hold, Result, error) {
	if l.owned {
		return l.acquireAs(ctx, h)
	}
	f := l.r.Lock
	if h.try {
		f = l.r.TryLock
	}
	inside, entry, err := f(ctx)
	if err != nil {
		result, err := refusal(ctx, h, err)
		return nil, result, err
	}
	return entryHold{leaseHold{entry, l.traits}, l.r, entry, inside}, OK, nil
}

// acquireAs acquires the lock for a new owner.
func (l reentrantLock) acquireAs(ctx context.Context, h how) (hold, Result, error) {
	f, o := l.r.LockAs, new(recipes.Owner)
	if h.try {
		f = l.r.TryLockAs
	}
	entry, err := f(ctx, o)
	if err != nil {
		result, err := refusal(ctx, h, err)
		return nil, result, err
	}
	return ownedHold{entryHold{leaseHold{entry, l.traits}, l.r, entry, entry.Context()}, o}, OK, nil
}

// entryHold is one level of a hold of a re-entrant lock.
type entryHold struct {
	leaseHold
	r      *recipes.Reentrant
	entry  *recipes.Reentry
	inside context.Context
}

func (l entryHold) release(ctx context.Context, wait bool) (Result, bool, error) {
	if !wait {
		return l.released(l.entry.ReleasePipelined(), false)
	}
	return l.released(l.entry.Release(ctx), true)
}

// again enters the hold once more, unless it has ended. One that ends at that moment may be entered all the same, which means nothing.
func (l entryHold) again(context.Context) (hold, Result, error) {
	inside, entry, err := l.r.Lock(l.inside)
	if err != nil {
		if l.inside.Err() != nil {
			err = nil
		}
		return nil, NotGranted, err
	}
	if entry.State() == recipes.Lost {
		if err := entry.Release(inside); !errors.Is(err, recipes.ErrLost) {
			return nil, NotGranted, err
		}
		return nil, NotGranted, nil
	}
	return entryHold{leaseHold{entry, l.traits}, l.r, entry, inside}, OK, nil
}

// ownedHold is one level of a hold of an Owner.
type ownedHold struct {
	entryHold
	o *recipes.Owner
}

// again enters the hold once more. When it has ended the owner may be granted another one, which it gives back without a word: to the
// others that is a call of Lock that was not granted.
func (l ownedHold) again(ctx context.Context) (hold, Result, error) {
	entry, err := l.r.TryLockAs(ctx, l.o)
	if err != nil {
		result, err := refusal(ctx, how{try: true}, err)
		return nil, result, err
	}
	if entry.Token() == l.entry.Token() && entry.State() != recipes.Lost {
		return ownedHold{entryHold{leaseHold{entry, l.traits}, l.r, entry, l.inside}, l.o}, OK, nil
	}
	result, _, err := l.released(entry.Release(ctx), true)
	if result == Unknown {
		return nil, Unknown, err
	}
	return nil, NotGranted, err
}
