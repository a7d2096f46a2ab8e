package checker

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// traits are what the driver has to know of a lock's options.
type traits struct {
	limited bool   // MaxHold, or a function of Revocable that gives the lock back
	handing bool   // HandOver
	asked   *asked // with such a function, else nil
}

// someOptions returns options of recipes, each now and then.
func someOptions(k kind, rng *rand.Rand) (opts []recipes.Option, tr traits) {
	all := []recipes.Option{recipes.MaxHold(2 * time.Second), recipes.Strict(), recipes.AlwaysList(), recipes.WatchOwnNode(), recipes.NoLookAhead(),
		recipes.PersistentParents()}
	for i, o := range all {
		if rng.IntN(6) == 0 && (k != fixeds || i != 2 && i != 4) { // there is no list and no look-ahead without a queue
			opts = append(opts, o)
			tr.limited = tr.limited || i == 0
		}
	}
	if n := rng.IntN(12); n < 2 && k != latches && k != plains { // whose data is the candidate's, or tells whose they are
		opts = append(opts, revocable(n == 0, &tr))
	}
	switch k {
	case readWrite, semaphores, lines, numbered, latches, curators: // nobody lines up in memory for these
		return opts, tr
	}
	n := rng.IntN(6)
	if k == fixeds && n > 0 {
		return opts, tr // its znode is not handed over
	}
	tr.handing = n == 1 || n == 2
	switch n {
	case 0:
		opts = append(opts, recipes.LocalQueue())
	case 1:
		opts = append(opts, recipes.HandOver(3, 5*time.Second))
	case 2:
		opts = append(opts, recipes.HandOver(3, 5*time.Second), recipes.GuardedHandover())
	}
	return opts, tr
}

// newRecipe makes the lock of package recipes that a path has.
func newRecipe(c *client.Client, s site, rng *rand.Rand) lock {
	opts, tr := someOptions(s.kind, rng)
	switch {
	case s.kind == fixeds:
		return newFixed(c, s, opts, tr)
	case s.kind == readWrite:
		return rwLock{recipes.NewRWMutex(c, s.path, opts...), tr}
	case s.kind == semaphores:
		return semaphoreLock{recipes.NewSemaphore(c, s.path, s.permits, opts...), tr, 1}
	case s.kind == lines:
		return semaphoreLock{recipes.NewSemaphore(c, s.path, s.permits*lineUnit, opts...), tr, lineUnit}
	case s.kind == numbered:
		return numberedLock{semaphoreLock{recipes.NewSemaphore(c, s.path, recipes.FromZnode, opts...), tr, 1}}
	case s.kind == curators && s.permits == 1 && rng.IntN(2) == 0:
		opts, tr = someOptions(mutexes, rng)
		return mutexLock{recipes.NewMutex(c, s.path, append(opts, recipes.CuratorSemaphore())...), tr}
	case s.kind == curators:
		return semaphoreLock{recipes.NewSemaphore(c, s.path, s.permits, append(opts, recipes.CuratorSemaphore())...), tr, 1}
	case s.kind == latches:
		return newElection(c, s.path, tr, append(opts, recipes.LatchNames()))
	case s.kind == plains:
		return newPlain(c, s.path, rng)
	case s.kind == reentrants && rng.IntN(2) == 0:
		return reentrantLock{recipes.NewReentrant(c, s.path, opts...), tr, rng.IntN(2) == 0}
	case s.kind == elections && rng.IntN(2) == 0:
		// A candidate cannot line up in memory: what makes it one is its znode.
		opts, tr = someOptions(latches, rng)
		return newElection(c, s.path, tr, opts)
	}
	return mutexLock{recipes.NewMutex(c, s.path, opts...), tr}
}

// newPlain makes one of the locks that may have plain names.
func newPlain(c *client.Client, path string, rng *rand.Rand) lock {
	names := recipes.PlainNames(plainMark)
	switch rng.IntN(4) {
	case 0:
		opts, tr := someOptions(latches, rng)
		return newElection(c, path, tr, append(opts, names))
	case 1:
		opts, tr := someOptions(plains, rng)
		return reentrantLock{recipes.NewReentrant(c, path, append(opts, names)...), tr, rng.IntN(2) == 0}
	}
	opts, tr := someOptions(plains, rng)
	return mutexLock{recipes.NewMutex(c, path, append(opts, names)...), tr}
}

// mutexLock is a recipes.Mutex, or a FixedMutex.
type mutexLock struct {
	m interface {
		Lock(context.Context) (*recipes.Lease, error)
		TryLock(context.Context) (*recipes.Lease, error)
	}
	traits
}

func (l mutexLock) acquire(ctx context.Context, h how) (hold, Result, error) {
	f := l.m.Lock
	if h.try {
		f = l.m.TryLock
	}
	lease, err := f(ctx)
	if err != nil {
		result, err := refusal(ctx, h, err)
		return nil, result, err
	}
	return leaseHold{lease, l.traits}, OK, nil
}

// refusal says what an error of Lock means; an error that there is no reason for is returned.
func refusal(ctx context.Context, h how, err error) (Result, error) {
	result := NotGranted
	if errors.Is(err, recipes.ErrCleanupPending) {
		result = Unknown
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) || h.try && errors.Is(err, recipes.ErrNotAcquired) {
		return result, nil
	}
	return result, err
}

// lease is what a Lease and a Reentry have in common.
type lease interface {
	Node() string
	Token() recipes.Token
	Guards() []client.Op
	Context() context.Context
	State() recipes.State
	States(context.Context) iter.Seq[recipes.State]
	Done() <-chan struct{}
	Downgrade(context.Context) error
	Release(context.Context) error
	ReleasePipelined() error
}

// leaseHold is a lease of package recipes.
type leaseHold struct {
	lease
	traits
}

func (l leaseHold) node() string          { return l.Node() }
func (l leaseHold) done() <-chan struct{} { return l.Done() }
func (l leaseHold) over() bool            { return l.limited }
func (l leaseHold) passes() bool          { return l.handing }
func (l leaseHold) guards() []client.Op   { return l.Guards() }

func (l leaseHold) token() Token {
	t := l.Token()
	return Token{Zxid: t.Zxid, Hand: t.Hand}
}

func (l leaseHold) release(ctx context.Context, wait bool) (Result, bool, error) {
	if !wait {
		return l.released(l.ReleasePipelined(), false)
	}
	return l.released(l.Release(ctx), true)
}

// released says what the result of a release means. Of a lease that had ended before, nobody can say whether the deletion or the end
// of the session has freed the lock; but that its znode was gone is certain.
func released(err error, waited bool) (result Result, pending bool, odd error) {
	switch {
	case err == nil && waited:
		return OK, false, nil
	case err == nil, errors.Is(err, recipes.ErrReleasePending):
		return Unknown, waited, nil
	case errors.Is(err, recipes.ErrLost) && errors.Is(err, recipes.ErrNodeGone) && waited:
		return NotHeld, false, nil
	case errors.Is(err, recipes.ErrLost):
		return Unknown, false, nil
	}
	return Unknown, false, err
}
