package recipes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// enter locks a re-entrant lock, within an hour of virtual time.
func enter(ctx context.Context, t *testing.T, r *Reentrant) (context.Context, *Reentry) {
	t.Helper()
	bound, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	inner, e, err := r.Lock(bound)
	if err != nil {
		t.Fatal(err)
	}
	if inner == bound { // an inner level has the context that was given to it
		inner = ctx
	}
	return inner, e
}

func leave(t *testing.T, e *Reentry) {
	t.Helper()
	if err := e.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// enterer is a Lock of a re-entrant lock that runs in its own goroutine.
type enterer struct {
	waiter
	ctx   context.Context
	entry *Reentry
}

func goEnter(ctx context.Context, r *Reentrant) *enterer {
	w := &enterer{waiter: waiter{done: make(chan struct{})}}
	go func() {
		w.ctx, w.entry, w.err = r.Lock(ctx)
		close(w.done)
	}()
	return w
}

// wantFlights runs f and checks how many flights it takes.
func wantFlights(t *testing.T, srv *zktest.Server, want int, f func()) {
	t.Helper()
	if n := srv.Flights(synctest.Wait, f); n != want {
		t.Errorf("%d flights, want %d", n, want)
	}
}

// quiet runs f and checks that no request comes of it.
func quiet(t *testing.T, srv *zktest.Server, f func()) {
	t.Helper()
	before := srv.Snapshot().Requests
	f()
	synctest.Wait()
	if n := srv.Snapshot().Requests - before; n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

// wantErr checks that err matches all of the targets.
func wantErr(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("error is %v, want one that matches %v", err, target)
		}
	}
}

func TestReentry(t *testing.T) { // C155, F94, K38; docs/locks.md A7, A8: locked three times, released four
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		r := NewReentrant(c, "/lock")
		var entries [3]*Reentry
		ctx, first := enter(t.Context(), t, r)
		entries[0] = first
		wantFlights(t, srv, 0, func() {
			for i := range entries[1:] {
				var inner context.Context
				if inner, entries[i+1] = enter(ctx, t, r); inner != ctx {
					t.Error("the context of an inner level is not the one that was given")
				}
			}
		})
		if n := kids(srv); n != 1 {
			t.Errorf("%d znodes, want 1", n)
		}
		for _, e := range entries {
			if e.Node() != first.Node() || e.Token() != first.Token() || e.Context() != first.Context() || e.Depth() != 3 || e.Shared() {
				t.Errorf("a level of another hold: %s, %v, depth %d", e.Node(), e.Token(), e.Depth())
			}
		}
		wantFlights(t, srv, 0, func() { leave(t, entries[2]); leave(t, entries[1]) })
		if first.Depth() != 1 || ctx.Err() != nil || kids(srv) != 1 {
			t.Fatalf("depth %d, context %v, %d znodes after two of three releases", first.Depth(), ctx.Err(), kids(srv))
		}
		wantFlights(t, srv, 1, func() { leave(t, first) })
		wantErr(t, context.Cause(ctx), ErrReleased)
		if first.Depth() != 0 || kids(srv) != 0 {
			t.Errorf("depth %d, %d znodes after the last release", first.Depth(), kids(srv))
		}
		quiet(t, srv, func() {
			for _, e := range entries {
				wantErr(t, e.Release(t.Context()), ErrNotHeld)
				wantErr(t, e.ReleasePipelined(), ErrNotHeld)
			}
		})
	})
}

// Levels may be left in any order, and only the last one frees the lock.
func TestReentryReleaseOrder(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		r, rival := NewReentrant(c, "/lock"), NewMutex(c, "/lock")
		for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			var entries [3]*Reentry
			ctx := t.Context()
			for i := range entries {
				ctx, entries[i] = enter(ctx, t, r)
			}
			w := goLock(t.Context(), rival)
			for n, i := range order {
				synctest.Wait()
				if w.over() {
					t.Fatalf("order %v: free after %d of 3 releases", order, n)
				}
				leave(t, entries[i])
				if n < 2 {
					wantErr(t, entries[i].Release(t.Context()), ErrNotHeld) // it does not count twice
				}
			}
			<-w.done
			release(t, w.lease)
			for _, e := range entries {
				wantErr(t, e.Release(t.Context()), ErrNotHeld)
			}
		}
	})
}

// Another flow of control is another owner, whatever it shares with the holder but the context.
func TestReentryExcludesOthers(t *testing.T) {
	type releaser interface{ Release(context.Context) error }
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		r := NewReentrant(a, "/lock")
		reentrant := func(r *Reentrant) func(context.Context) (releaser, error) {
			return func(ctx context.Context) (releaser, error) {
				_, e, err := r.Lock(ctx)
				return e, err
			}
		}
		mutex := func(m *Mutex) func(context.Context) (releaser, error) {
			return func(ctx context.Context) (releaser, error) { return m.Lock(ctx) }
		}
		for name, tc := range map[string]struct {
			lock    func(context.Context) (releaser, error)
			carries bool // it is given the holder's context, which is of no use to it
		}{
			"the context from before":                 {lock: reentrant(r)},
			"another object":                          {lock: reentrant(NewReentrant(a, "/lock"))},
			"another client":                          {lock: reentrant(NewReentrant(b, "/lock"))},
			"another client with the holder's":        {lock: reentrant(NewReentrant(b, "/lock")), carries: true},
			"a mutex":                                 {lock: mutex(NewMutex(a, "/lock"))},
			"another client's mutex":                  {lock: mutex(NewMutex(b, "/lock"))},
			"another client's mutex and the holder's": {lock: mutex(NewMutex(b, "/lock")), carries: true},
		} {
			ctx, outer := enter(t.Context(), t, r)
			_, inner := enter(ctx, t, r)
			given := t.Context()
			if tc.carries {
				given = context.WithoutCancel(ctx)
			}
			var got releaser
			var err error
			done := make(chan struct{})
			go func() {
				got, err = tc.lock(given)
				close(done)
			}()
			for _, e := range []*Reentry{inner, outer} {
				synctest.Wait()
				select {
				case <-done:
					t.Fatalf("%s: not excluded", name)
				default:
				}
				leave(t, e)
			}
			<-done
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := got.Release(t.Context()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		// And the other way round.
		l := lock(t, NewMutex(b, "/lock"))
		w := goEnter(t.Context(), r)
		synctest.Wait()
		if w.over() {
			t.Fatal("a mutex does not exclude a re-entrant lock")
		}
		release(t, l)
		<-w.done
		leave(t, w.entry)
	})
}

func TestReentryTryLock(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		r := NewReentrant(a, "/lock")
		ctx, first, err := r.TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wantFlights(t, srv, 0, func() {
			_, inner, err := r.TryLock(ctx)
			if err != nil || inner.Depth() != 2 {
				t.Errorf("depth %d: %v", inner.Depth(), err)
			}
			leave(t, inner)
		})
		for name, other := range map[string]*Reentrant{"another context": r, "another client": NewReentrant(b, "/lock")} {
			got, e, err := other.TryLock(t.Context())
			if got != t.Context() || e != nil || !errors.Is(err, ErrNotAcquired) {
				t.Errorf("%s: %v", name, err)
			}
		}
		leave(t, first)
		if n := kids(srv); n != 0 {
			t.Errorf("%d znodes left behind", n)
		}
	})
}

func TestReentryBadArguments(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		var none *Reentrant
		for name, r := range map[string]*Reentrant{
			"path": NewReentrant(c, "no/slash"), "acl": NewReentrant(c, "/a", ACL(nil)), "client": NewReentrant(nil, "/a"), "nil": none, "zero": {},
		} {
			for _, f := range []func(context.Context) (context.Context, *Reentry, error){r.Lock, r.TryLock} {
				ctx, e, err := f(t.Context())
				var typed *Error
				if ctx != t.Context() || e != nil || !errors.As(err, &typed) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if _, err := r.Participants(t.Context()); err == nil {
				t.Errorf("%s: has participants", name)
			}
		}
		var ctx context.Context
		if got, _, err := NewReentrant(c, "/a").Lock(ctx); got != nil || !errors.Is(err, client.ErrNilContext) {
			t.Errorf("nil context: %v", err)
		}
		if none.Path() != "" || NewReentrant(c, "/a").Path() != "/a" {
			t.Error("path")
		}
		l := lock(t, NewMutex(c, "/lock"))
		for name, e := range map[string]*Reentry{"nil": nil, "zero": {}, "of a zero lease": {l: &Lease{}}, "of a mutex": {l: l}} {
			for _, err := range []error{e.Release(t.Context()), e.ReleasePipelined(), e.Downgrade(t.Context())} {
				wantErr(t, err, ErrNotHeld)
			}
			if e.Depth() != 0 || e.Node() != "" || !e.Token().IsZero() || e.Shared() || e.State() != Lost || e.Context().Err() == nil {
				t.Errorf("%s: is held", name)
			}
			if _, err := c.Multi(t.Context(), e.Guard()); err == nil {
				t.Errorf("%s: its guard passes", name)
			}
			<-e.Done()
			for s := range e.States(t.Context()) {
				if s != Lost {
					t.Errorf("%s: %v", name, s)
				}
			}
		}
		release(t, l)
		_, e := enter(t.Context(), t, NewReentrant(c, "/lock"))
		wantErr(t, e.Downgrade(t.Context()), ErrNotWriter)
		leave(t, e)
	})
}
