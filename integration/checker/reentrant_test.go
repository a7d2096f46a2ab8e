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
}

func (l reentrantLock) acquire(ctx context.Context, h how) (hold, Result, error) {
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

// entryHold is one level of a hold of a re-entrant lock.
type entryHold struct {
	leaseHold
	r      *recipes.Reentrant
	entry  *recipes.Reentry
	inside context.Context
}

func (l entryHold) release(ctx context.Context, wait bool) (Result, bool, error) {
	if !wait {
		return released(l.entry.ReleasePipelined(), false)
	}
	return released(l.entry.Release(ctx), true)
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
