package checker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// newFixed makes a recipes.FixedMutex, whose znode lies below the path of the site, as those of other locks do.
func newFixed(c *client.Client, s site, opts []recipes.Option, tr traits) mutexLock {
	return mutexLock{recipes.NewFixedMutex(c, s.path+"/"+fixedName, opts...), tr}
}

// fixedSetup has nothing but these.
func fixedSetup(make maker) setup {
	return setup{make: make, kinds: []kind{fixeds}, model: LockModel(), faults: usual}
}

// fixedSeeds is how many seeds a lock without a queue goes through when it is alone.
const fixedSeeds = 500

// TestFixed has FixedMutexes go through seeded faults, more of which concern their requests than in TestRecipes.
func TestFixed(t *testing.T) { everySeed(t, fixedSetup(newRecipe), fixedSeeds) }

// TestFixedControl has a release by a plain delete found: one that is repeated when its reply was lost may delete the znode of the next
// holder, and so does one whose own znode is gone. TestFixed is the same without the mistake.
func TestFixedControl(t *testing.T) {
	s := fixedSetup(func(c *client.Client, s site, rng *rand.Rand) lock {
		return plainLock{newFixed(c, s, nil, traits{}), c}
	})
	for i := range controlSeeds {
		for _, v := range simulate(t, s, *firstSeed+uint64(i), "").bad {
			if v.Fault == Illegal || v.Fault == Overlap {
				what, _, _ := strings.Cut(v.What, "\n")
				t.Logf("found after %s: %v: %s", fmt.Sprint(i+1, " seeds"), v.Fault, what)
				return
			}
		}
	}
	t.Errorf("not found with %d seeds", controlSeeds)
}

// plainLock is a FixedMutex that is released in a wrong way.
type plainLock struct {
	mutexLock
	c *client.Client
}

func (l plainLock) acquire(ctx context.Context, h how) (hold, Result, error) {
	got, result, err := l.mutexLock.acquire(ctx, h)
	if got == nil {
		return nil, result, err
	}
	return &plainHold{leaseHold: got.(leaseHold), gen: l.c.Generation()}, result, err
}

// plainHold deletes whatever is at its path, until the server says that it is gone.
type plainHold struct {
	leaseHold
	gen     client.Generation
	once    sync.Once
	cleanup client.Cleanup
}

func (l *plainHold) release(ctx context.Context, wait bool) (Result, bool, error) {
	l.once.Do(func() {
		l.gen.Delete(&l.cleanup, l.node(), nil)
		_ = l.ReleasePipelined() // which finds nothing more to do
	})
	if !wait {
		return Unknown, false, nil
	}
	err := l.cleanup.Wait(ctx)
	switch done, _ := l.cleanup.Result(); {
	case !done:
		return Unknown, true, nil
	case err == nil:
		return OK, false, nil
	case errors.Is(err, client.ErrNoNode):
		return NotHeld, false, nil
	}
	return Unknown, false, nil
}
