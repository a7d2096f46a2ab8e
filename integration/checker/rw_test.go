package checker

import (
	"context"
	"errors"

	"github.com/lockkeeper/lockkeeper/recipes"
)

// rwLock is a recipes.RWMutex.
type rwLock struct {
	rw *recipes.RWMutex
	traits
}

func (l rwLock) acquire(ctx context.Context, h how) (hold, Result, error) {
	f := map[how]func(context.Context) (*recipes.Lease, error){
		{}: l.rw.Lock, {try: true}: l.rw.TryLock, {shared: true}: l.rw.RLock, {try: true, shared: true}: l.rw.TryRLock,
	}[h]
	lease, err := f(ctx)
	if err != nil {
		result, err := refusal(ctx, h, err)
		return nil, result, err
	}
	return rwHold{leaseHold{lease, l.traits}}, OK, nil
}

// rwHold is a lease of a read-write lock.
type rwHold struct{ leaseHold }

// downgrade turns a write hold into a read hold. When it does not know its outcome, or finds that the hold has ended, nobody can say
// which of the two there was at the end.
func (l rwHold) downgrade(ctx context.Context) (Result, error) {
	err := l.Downgrade(ctx)
	switch {
	case err == nil:
		return OK, nil
	case errors.Is(err, recipes.ErrNotHeld) && l.givenBack(), errors.Is(err, recipes.ErrLost), ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return Unknown, nil
	}
	return Unknown, err
}
