package interop

import (
	"context"
	"errors"
	"testing"

	"github.com/lockkeeper/lockkeeper/recipes"
)

// testRevocation asks for locks across the two clients: the holder is told, releases, and who waits gets the lock.
func testRevocation(t *testing.T, servers string, curators ...*program) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, p := range curators {
		theirs := foreignKind("Curator", p, "mutex")
		t.Run("ours_asks_"+p.Greeting[0], func(t *testing.T) { testOursAsks(t, ctx, servers, theirs) })
		t.Run("ours_is_asked_by_"+p.Greeting[0], func(t *testing.T) { testOursIsAsked(t, ctx, servers, theirs, true) })
		t.Run("ours_ends_for_"+p.Greeting[0], func(t *testing.T) { testOursIsAsked(t, ctx, servers, theirs, false) })
	}
}

func testOursAsks(t *testing.T, ctx context.Context, servers string, theirs kind) {
	c, root := plant(t, ctx, servers)
	holder := open(t, ctx, theirs, servers, root+"/lock").(*foreign)
	for _, command := range [][]string{{"revocable"}, {"lock", "false"}} {
		if err := holder.do(ctx, command...); err != nil {
			t.Fatal(err)
		}
	}
	m := recipes.NewMutex(c, root+"/lock")
	granted := make(chan error, 1)
	// Waiter; owned by the test; ends with the lock or with ctx.
	go func() {
		l, err := m.Lock(ctx)
		granted <- firstOf(err, l.Release(ctx))
	}()
	waitFor(t, ctx, c, root+"/lock", 2)
	queue, err := m.Participants(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(queue) != 2 || !queue[0].Holds || queue[0].Session != holder.session() || queue[1].Holds || queue[1].Session != c.SessionID() {
		t.Fatalf("participants %+v", queue)
	}
	if len(queue[0].Data) > 0 {
		t.Errorf("a revocable holder of Curator has the data %q", queue[0].Data)
	}
	if err := recipes.Revoke(ctx, c, queue[0].Node); err != nil {
		t.Fatal(err)
	}
	if err := holder.do(ctx, "revoked"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-granted:
		t.Errorf("granted before the holder has released: %v", err)
	default:
	}
	if err := holder.release(ctx); err != nil {
		t.Error(err)
	}
	if err := <-granted; err != nil {
		t.Error(err)
	}
}

// testOursIsAsked lets Curator ask for our lock, which says so to a function, or without one ends its lease. The znode stays
// either way.
func testOursIsAsked(t *testing.T, ctx context.Context, servers string, theirs kind, function bool) {
	c, root := plant(t, ctx, servers)
	asked := make(chan *recipes.Lease, 1)
	var tell func(*recipes.Lease)
	if function {
		tell = func(l *recipes.Lease) { asked <- l }
	}
	l, err := recipes.NewMutex(c, root+"/lock", recipes.Revocable(tell)).Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	waiter, asker := open(t, ctx, theirs, servers, root+"/lock"), open(t, ctx, theirs, servers, root+"/lock").(*foreign)
	granted := make(chan error, 1)
	// Waiter; owned by the test; ends with the lock or with ctx.
	go func() { granted <- waiter.lock(ctx, false) }()
	waitFor(t, ctx, c, root+"/lock", 2)
	if err := asker.do(ctx, "revoke", l.Node()); err != nil {
		t.Fatal(err)
	}
	select {
	case told := <-asked:
		if told != l || l.State() != recipes.Held {
			t.Errorf("told of %s, which is %v; want %s", told.Node(), told.State(), l.Node())
		}
	case <-l.Done():
		if cause := context.Cause(l.Context()); function || !errors.Is(cause, recipes.ErrRevoked) {
			t.Errorf("the lease ended: %v", cause)
		}
	case <-ctx.Done():
		t.Fatal(ctx.Err())
	}
	if _, there, err := c.Exists(ctx, l.Node()); err != nil || !there {
		t.Errorf("the znode before the release: %v, %v", there, err)
	}
	select {
	case err := <-granted:
		t.Errorf("granted before the holder has released: %v", err)
	default:
	}
	if err := l.Release(ctx); function && err != nil || !function && !(errors.Is(err, recipes.ErrLost) && errors.Is(err, recipes.ErrRevoked)) {
		t.Errorf("release: %v", err)
	}
	if err := firstOf(<-granted, waiter.release(ctx)); err != nil {
		t.Error(err)
	}
}
