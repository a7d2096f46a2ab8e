package interop

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
)

// What contenders do in their rounds.
const (
	modeMutex      = "mutex"      // each round is a write
	modeReadWrite  = "readwrite"  // a read, a write and a read in turn
	modeDowngrades = "downgrades" // a read, a write, and a write that goes on as a read, in turn
	modePermits    = "permits"    // each round is inside with one permit
)

// site is where a lock has the znodes of those who come.
type site struct {
	queue   string // of those who wait, below the lock
	ahead   int    // how many more there are while the gate is closed
	rest    []string
	permits int // 1 of any lock that is not a semaphore
}

// queueSite is that of locks with one queue.
var queueSite = site{"", 1, []string{"/lock"}, 1}

// curatorSemaphore is that of Curator's semaphores: who waits has a place in locks, who holds a znode in leases.
func curatorSemaphore(permits int) site {
	return site{"/locks", 0, []string{"/lock/locks", "/lock/leases"}, permits}
}

// entrant is several contenders of a kind in one contention.
type entrant struct {
	kind   kind
	count  int
	rounds int // of each
	mode   string
	shared bool // they have one znode at a time among them
}

// contend lets contenders take one lock, and checks what has come of it. gate takes the lock first, so that nobody begins
// before all wait: the fast would end before the slow have begun.
func contend(t *testing.T, servers string, gate kind, entrants []entrant) {
	contendAt(t, servers, queueSite, gate, entrants)
}

// contendAt does that with a lock whose znodes are elsewhere.
func contendAt(t *testing.T, servers string, at site, gate kind, entrants []entrant) {
	patient, done := context.WithTimeout(t.Context(), patience)
	defer done()
	ctx, cancel := context.WithCancelCause(patient)
	defer cancel(nil)
	c, root := plant(t, ctx, servers)
	lock := root + "/lock"
	all, znodes := enter(t, ctx, c, servers, root, at.permits, entrants)
	first := open(t, ctx, gate, servers, lock)
	if err := first.lock(ctx, false); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for _, r := range all {
		// Runner; owned by contend; ends after its rounds or with ctx, which the first failure ends: nobody waits for who has failed.
		running.Go(func() {
			if err := r.run(ctx); err != nil {
				cancel(err)
			}
		})
	}
	waitFor(t, ctx, c, lock+at.queue, znodes+at.ahead)
	if err := first.release(ctx); err != nil {
		t.Error(err)
	}
	running.Wait()
	if ctx.Err() != nil {
		t.Fatal(context.Cause(ctx))
	}
	check(t, ctx, c, root, at, all)
}

// enter opens the contenders, and says how many znodes they have when all of them wait.
func enter(t *testing.T, ctx context.Context, c *client.Client, servers, root string, permits int, entrants []entrant) (all []runner, znodes int) {
	t.Helper()
	for _, e := range entrants {
		for range e.count {
			name := fmt.Sprintf("%s-%d", e.kind.name, len(all))
			s := &section{c: c, root: root, kind: e.kind.name, name: name, permits: permits}
			all = append(all, runner{e, open(t, ctx, e.kind, servers, root+"/lock"), s})
		}
		if e.shared {
			znodes++
		} else {
			znodes += e.count
		}
	}
	return all, znodes
}

// open opens a contender for the time of the test.
func open(t *testing.T, ctx context.Context, k kind, servers, path string) contender {
	t.Helper()
	ct, err := k.open(ctx, servers, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// After a failure others wait for a lock in vain, and cannot close.
		if err := ct.close(context.WithoutCancel(ctx)); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
	return ct
}

// plant makes the znodes of a contention below a root of its own, which is removed after the test.
func plant(t *testing.T, ctx context.Context, servers string) (*client.Client, string) {
	t.Helper()
	c, err := client.Connect(ctx, servers)
	if err != nil {
		t.Fatal(err)
	}
	root := "/lockkeeper-interop-" + rand.Text()
	t.Cleanup(func() {
		if err := c.DeleteAll(context.WithoutCancel(ctx), root); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, path := range []string{root, root + "/counter", root + "/readers"} {
		if _, _, err := c.Create(ctx, path, []byte("0 nobody"), client.ModePersistent, nil); err != nil {
			t.Fatal(err)
		}
	}
	return c, root
}

// runner is one contender with its share of a contention.
type runner struct {
	e entrant
	contender
	s *section
}

// run does all rounds.
func (r runner) run(ctx context.Context) (err error) {
	if f, ok := r.contender.(*foreign); ok {
		r.s.result, err = f.rounds(ctx, r.e.rounds, r.s.root, r.e.mode)
		return err
	}
	for i := range r.e.rounds {
		if err := r.round(ctx, i%3); err != nil {
			return fmt.Errorf("%s, round %d: %w", r.s.name, i, err)
		}
	}
	return nil
}

// round acquires the lock, does what its turn is, and releases the lock.
func (r runner) round(ctx context.Context, turn int) error {
	var steps []func(context.Context) error
	shared := func(ctx context.Context) error { return r.lock(ctx, true) }
	exclusive := func(ctx context.Context) error { return r.lock(ctx, false) }
	switch {
	case r.e.mode == modePermits:
		steps = append(steps, exclusive, r.s.share)
	case turn == 1 || r.e.mode == modeMutex:
		steps = append(steps, exclusive, r.s.write)
	case turn == 2 && r.e.mode == modeDowngrades:
		steps = append(steps, exclusive, r.s.write, r.s.enterShared, r.downgrade, r.s.readOwn)
	default:
		steps = append(steps, shared, r.s.enterShared, r.s.read)
	}
	for _, step := range append(steps, r.release) {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// writes returns how many rounds of an entrant's contender count.
func (e entrant) writes() (n int) {
	for i := range e.rounds {
		if e.mode == modeMutex || e.mode == modePermits || i%3 == 1 || i%3 == 2 && e.mode == modeDowngrades {
			n++
		}
	}
	return n
}

// check looks at what has come of a contention.
func check(t *testing.T, ctx context.Context, c *client.Client, root string, at site, all []runner) {
	t.Helper()
	want, holds, changes, most := 0, 0, 0, 0
	var shares []string
	for _, r := range all {
		want, holds, changes = want+r.e.writes(), holds+r.e.rounds, changes+r.s.result.changes
		most = max(most, r.s.result.most)
		if r.s.result.increments != r.e.writes() {
			t.Errorf("%s counted %d times, want %d", r.s.name, r.s.result.increments, r.e.writes())
		}
		shares = append(shares, fmt.Sprintf("%s %d", r.s.name, r.e.rounds))
	}
	if at.permits == 1 {
		checkCounter(t, ctx, c, root, want)
	} else if most != at.permits {
		t.Errorf("%d were inside at most, of %d that may be", most, at.permits)
	}
	if changes < want/8 {
		t.Errorf("the lock changed between kinds %d times in %d increments: they did not contend", changes, want)
	}
	for _, path := range append([]string{"/readers"}, at.rest...) {
		// The lock's paths are containers, and may be gone already.
		if names, _, err := c.Children(ctx, root+path); err != nil && !errors.Is(err, client.ErrNoNode) || len(names) > 0 {
			t.Errorf("%s is left with %q, %v", path, names, err)
		}
	}
	if at.permits > 1 {
		t.Logf("%d holds (%s), %d of them with another kind inside, %d inside at most", holds, strings.Join(shares, ", "), changes, most)
		return
	}
	t.Logf("%d holds (%s), %d increments, %d of them after another kind's", holds, strings.Join(shares, ", "), want, changes)
}

// checkCounter fails if an increment has been lost.
func checkCounter(t *testing.T, ctx context.Context, c *client.Client, root string, want int) {
	t.Helper()
	data, _, err := c.Get(ctx, root+"/counter")
	if err != nil {
		t.Fatal(err)
	}
	if value, _, _ := strings.Cut(string(data), " "); value != strconv.Itoa(want) {
		t.Errorf("the counter is %s after %d increments", data, want)
	}
}

// waitFor waits until path has n children.
func waitFor(t *testing.T, ctx context.Context, c *client.Client, path string, n int) {
	t.Helper()
	for {
		list, w, err := c.ChildrenWatch(ctx, path)
		if err != nil {
			t.Fatal(errors.Join(err, context.Cause(ctx)))
		}
		if len(list.Names) == n {
			w.Close()
			return
		}
		if _, err := w.Wait(ctx); err != nil {
			t.Fatalf("%s has the children %q, want %d: %v", path, list.Names, n, errors.Join(err, context.Cause(ctx)))
		}
	}
}
