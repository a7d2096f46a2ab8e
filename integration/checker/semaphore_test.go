package checker

import (
	"context"
	"errors"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// mostPermits is the largest number of permits of a run.
const mostPermits = 4

// lineUnit is how many permits stand for one where waiters stand in a line, which they do when there are more than 32.
const lineUnit = 40

// semaphoreLock is a recipes.Semaphore.
type semaphoreLock struct {
	s *recipes.Semaphore
	traits
	unit int // so many permits stand for one
}

func (l semaphoreLock) acquire(ctx context.Context, h how) (hold, Result, error) {
	f := l.s.Acquire
	if h.try {
		f = l.s.TryAcquire
	}
	lease, err := f(ctx, max(h.weight, 1)*l.unit)
	if err != nil {
		result, err := refusal(ctx, h, err)
		return nil, result, err
	}
	return leaseHold{lease, l.traits}, OK, nil
}

// numberedLock is a recipes.Semaphore that has the number of permits from its znode.
type numberedLock struct{ semaphoreLock }

func (l numberedLock) resize(ctx context.Context, n int) (Result, error) {
	err := l.s.SetPermits(ctx, n)
	switch {
	case err == nil:
		return OK, nil
	case client.MaybeApplied(err), ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return Unknown, nil
	case errors.Is(err, client.ErrSessionExpired), errors.Is(err, client.ErrConnectionLoss):
		return NotGranted, nil
	}
	return NotGranted, err
}

// weight chooses how many permits are asked for; 0 of a lock that has none, and of the tests' own, which takes one.
func (w *worker) weight(p int) int {
	if w.permits > 0 {
		return 0
	}
	switch s := w.sites[p]; s.kind {
	case semaphores, lines:
		return 1 + w.rng.IntN(s.permits)
	case numbered:
		return 1 + w.rng.IntN(mostPermits)*w.rng.IntN(2)
	}
	return 0
}

// resize changes the number of permits.
func (w *worker) resize(p int, l resizer) {
	ctx, cancel := context.WithTimeout(w.late, 2*w.timeout)
	defer cancel()
	op := Op{Client: w.row, Path: w.paths[p], Kind: Resize, Weight: 1 + w.rng.IntN(mostPermits), Call: w.h.Now()}
	result, err := l.resize(ctx, op.Weight)
	if err != nil {
		w.violate(Strange, op.Path, err.Error())
	}
	if op.Result = result; result != NotGranted {
		w.h.Add(op)
	}
}
