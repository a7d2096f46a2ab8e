package interop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// permitRounds is how often each contender takes a permit.
const permitRounds = 20

// testSemaphore lets contenders of both sides have permits of Curator's semaphore.
func testSemaphore(t *testing.T, servers string, curator54, curator57 *program) {
	for _, permits := range []int{2, 3} {
		t.Run(fmt.Sprintf("%d_permits", permits), func(t *testing.T) {
			there := fmt.Sprintf("semaphore:%d", permits)
			contendAt(t, servers, curatorSemaphore(permits), semaphoreKind(permits, permits), []entrant{
				{semaphoreKind(permits, 1), 3, permitRounds, modePermits, false},
				{foreignKind("Curator-5.4", curator54, there), 3, permitRounds, modePermits, false},
				{foreignKind("Curator-5.7", curator57, there), 3, permitRounds, modePermits, false},
			})
		})
	}
}

// testSemaphoreMutex lets mutexes in the layout of Curator's semaphore contend with Curator's.
func testSemaphoreMutex(t *testing.T, servers string, curator54, curator57 *program) {
	contendAt(t, servers, curatorSemaphore(1), mutexKind(recipes.CuratorSemaphore()), []entrant{
		{mutexKind(recipes.CuratorSemaphore()), 2, permitRounds, modeMutex, false},
		{reentrantKind(recipes.CuratorSemaphore()), 1, permitRounds, modeMutex, false},
		{foreignKind("Curator-5.4", curator54, "semaphoremutex"), 2, permitRounds, modeMutex, false},
		{foreignKind("Curator-5.7", curator57, "semaphoremutex"), 2, permitRounds, modeMutex, false},
	})
}

// fullPermits is how many permits there are in testFull: one for each kind.
const fullPermits = 3

// testFull lets contenders of all kinds take all permits, and one more come, which waits until any of them lets go.
func testFull(t *testing.T, server *zkserver.Server, curator54, curator57 *program) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	kinds := []kind{
		semaphoreKind(fullPermits, 1),
		foreignKind("Curator-5.4", curator54, fmt.Sprintf("semaphore:%d", fullPermits)),
		foreignKind("Curator-5.7", curator57, fmt.Sprintf("semaphore:%d", fullPermits)),
	}
	next := orders(t, server)
	n := 0
	for _, comer := range kinds {
		for leaves := range kinds {
			if err := next().full(ctx, kinds, comer, leaves); err != nil {
				need(t, fmt.Errorf("%s comes, %s leaves: %w", comer.name, kinds[leaves].name, err))
			}
			n++
		}
	}
	t.Logf("%d times one more than there are permits", n)
}

// full lets one of each kind have a permit, another come, and one of those who have a permit leave.
func (o *order) full(ctx context.Context, kinds []kind, comer kind, leaves int) error {
	var all []contender
	for _, k := range append(kinds[:len(kinds):len(kinds)], comer) {
		ct, err := k.open(ctx, o.server.Addr(), o.path)
		if err != nil {
			return err
		}
		defer ct.close(ctx) // what is left of it is of no interest
		all = append(all, ct)
	}
	holders, last := all[:len(kinds)], all[len(kinds)]
	for _, ct := range holders {
		if err := ct.lock(ctx, false); err != nil {
			return err
		}
	}
	if err := o.tryFull(ctx, holders); err != nil {
		return err
	}
	done := comes(ctx, last, write)
	for there := false; !there; {
		select {
		case err := <-done:
			return fmt.Errorf("it does not wait: %v", err)
		case <-time.After(lookPause):
		}
		var err error
		if there, err = o.parked(ctx, last.session(), len(all)); err != nil {
			return err
		}
	}
	if err := firstOf(holders[leaves].release(ctx), <-done, last.release(ctx)); err != nil {
		return err
	}
	l, err := recipes.NewSemaphore(o.c, o.path, fullPermits, recipes.CuratorSemaphore()).TryAcquire(ctx, 1)
	if err = firstOf(err, l.Release(ctx)); err != nil {
		return fmt.Errorf("a try for the permit that is free: %w", err)
	}
	for i, ct := range holders {
		if i == leaves {
			continue
		}
		if err := ct.release(ctx); err != nil {
			return err
		}
	}
	return nil
}

// tryFull looks at who has the permits, and tries to get one more.
func (o *order) tryFull(ctx context.Context, holders []contender) error {
	s := recipes.NewSemaphore(o.c, o.path, fullPermits, recipes.CuratorSemaphore())
	l, err := s.TryAcquire(ctx, 1)
	if !errors.Is(err, recipes.ErrNotAcquired) {
		return fmt.Errorf("a try for one more permit: %v, released: %v", err, l.Release(ctx))
	}
	all, err := s.Participants(ctx)
	if err != nil || len(all) != len(holders) {
		return fmt.Errorf("%d have permits, want %d: %v", len(all), len(holders), err)
	}
	for i, p := range all {
		if !p.Holds || p.Permits != 1 || p.Session != holders[i].session() {
			return fmt.Errorf("holder %d is %+v, want the session 0x%x", i, p, holders[i].session())
		}
	}
	return nil
}

// parked says whether who waits for a lease has seen that there is none. We watch leases of others. Curator watches their
// folder, which the server does not tell; it reads that folder last, when its own lease is there already.
func (o *order) parked(ctx context.Context, session int64, leases int) (bool, error) {
	watches, err := o.watches(ctx, session, func(path string) bool { return strings.HasPrefix(path, o.path+"/leases/") })
	if err != nil || watches {
		return watches, err
	}
	names, _, err := o.c.Children(ctx, o.path+"/leases")
	if err != nil || len(names) < leases {
		return false, err
	}
	text, err := o.server.Ask(ctx, "cons")
	if err != nil {
		return false, err
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.Contains(line, fmt.Sprintf("sid=0x%x,", uint64(session))) {
			return strings.Contains(line, "lop=GETC,") || strings.Contains(line, "lop=PING,"), nil
		}
	}
	return false, fmt.Errorf("the session 0x%x is not among\n%s", uint64(session), text)
}

// semaphoreKind is our semaphore in Curator's layout, of which a contender takes so many permits, one after the other.
func semaphoreKind(permits, takes int) kind {
	return oursKind("ours", func(c *client.Client, path string) func(context.Context, bool) (held, error) {
		s := recipes.NewSemaphore(c, path, permits, recipes.CuratorSemaphore())
		return func(ctx context.Context, _ bool) (held, error) {
			var all several
			for range takes {
				l, err := s.Acquire(ctx, 1)
				if err != nil {
					return nil, errors.Join(err, all.Release(ctx))
				}
				all = append(all, l)
			}
			return all, nil
		}
	})
}

// several permits are held together.
type several []*recipes.Lease

func (s several) Downgrade(context.Context) error { return errNoDowngrade }

func (s several) Release(ctx context.Context) error {
	var errs []error
	for _, l := range s {
		errs = append(errs, l.Release(ctx))
	}
	return errors.Join(errs...)
}
