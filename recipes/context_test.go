package recipes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// A Lock with a context that carries a hold of the same lock would wait for itself: it fails, before anything is sent.
func TestNestedLock(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, other := dial(t, srv), dial(t, srv)
		defer c.Close()
		defer other.Close()
		m, r := NewMutex(c, "/lock"), NewReentrant(c, "/lock")
		l := lock(t, m)
		ctx := l.Context()
		longer, cancel := context.WithTimeout(context.WithValue(ctx, key{}, "v"), time.Hour)
		defer cancel()
		queue := NewMutex(c, "/lock", LocalQueue())
		quiet(t, srv, func() {
			for name, ctx := range map[string]context.Context{"plain": ctx, "derived": longer, "cut off": context.WithoutCancel(ctx)} {
				for _, f := range []func(context.Context) (*Lease, error){
					m.Lock, m.TryLock, NewMutex(c, "/lock", HandOver(2, time.Second)).Lock, queue.Lock, queue.TryLock,
				} {
					l, err := f(ctx)
					if l != nil || !errors.Is(err, ErrNested) {
						t.Errorf("%s: %v", name, err)
					}
				}
				got, e, err := r.Lock(ctx)
				if got != ctx || e != nil || !errors.Is(err, ErrNested) {
					t.Errorf("%s: a re-entrant lock entered a mutex: %v", name, err)
				}
				_, _, err = r.TryLock(ctx)
				wantErr(t, err, ErrNested)
				_, err = r.LockAs(ctx, new(Owner))
				wantErr(t, err, ErrNested)
			}
		})
		if n := kids(srv); n != 1 || l.State() != Held {
			t.Fatalf("%d znodes, %v", n, l.State())
		}
		// To other locks, and other clients, the hold means nothing.
		release(t, must(NewMutex(c, "/other").Lock(ctx)))
		if _, err := NewMutex(other, "/lock").TryLock(ctx); !errors.Is(err, ErrNotAcquired) {
			t.Errorf("another client: %v", err)
		}
		if _, err := NewMutex(c, "/lock").TryLock(t.Context()); !errors.Is(err, ErrNotAcquired) {
			t.Errorf("a context without the hold: %v", err)
		}
		release(t, l)
		_, err := m.Lock(ctx) // it has ended with the hold
		if !errors.Is(err, ErrReleased) || errors.Is(err, ErrNested) {
			t.Errorf("%v", err)
		}
		release(t, must(m.Lock(context.WithoutCancel(ctx))))
		release(t, must(queue.Lock(t.Context()))) // the refused ones have left its line free

		// A mutex does not enter a re-entrant hold either.
		rctx, e := enter(t.Context(), t, r)
		_, err = m.Lock(rctx)
		wantErr(t, err, ErrNested)
		leave(t, e)
	})
}

// Each of two locks finds its own hold in a context that has come through both, and further.
func TestNestedLocks(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		a, b, m := NewReentrant(c, "/lock"), NewReentrant(c, "/lock/b"), NewMutex(c, "/m")
		actx, inA := enter(t.Context(), t, a)
		l := must(m.Lock(actx))
		bctx, inB := enter(l.Context(), t, b)
		deep, cancel := context.WithTimeout(context.WithValue(context.WithoutCancel(bctx), key{}, "v"), time.Minute)
		defer cancel()
		quiet(t, srv, func() {
			got, againA, err := a.Lock(deep)
			if err != nil || got != deep || againA.l != inA.l {
				t.Errorf("the outer hold is not found: %v", err)
			}
			got, againB, err := b.Lock(deep)
			if err != nil || got != deep || againB.l != inB.l {
				t.Errorf("the inner hold is not found: %v", err)
			}
			if _, err := m.Lock(deep); !errors.Is(err, ErrNested) {
				t.Errorf("the mutex's hold is not found: %v", err)
			}
			leave(t, againA)
			leave(t, againB)
		})
		leave(t, inB)
		if bctx.Err() == nil || actx.Err() != nil {
			t.Errorf("the inner context: %v, the outer: %v", bctx.Err(), actx.Err())
		}
		_, again := enter(deep, t, a) // the release of one does not hide the other
		if again.l != inA.l {
			t.Error("the outer hold is not found")
		}
		_, fresh := enter(deep, t, b)
		if fresh.l == inB.l {
			t.Error("a released hold was entered")
		}
		leave(t, again)
		leave(t, fresh)
		release(t, l)
		leave(t, inA)
	})
}

// The context of a hold has Lock's values and not its end, that of an inner level is the caller's own.
func TestReentryContexts(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		r := NewReentrant(c, "/lock")
		given, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "outer"), time.Minute)
		ctx, outer, err := r.Lock(given)
		if err != nil {
			t.Fatal(err)
		}
		if _, bounded := ctx.Deadline(); bounded || ctx.Value(key{}) != "outer" || ctx != outer.Context() {
			t.Errorf("outer level: %v", ctx)
		}
		cancel()
		if ctx.Err() != nil {
			t.Errorf("ended with Lock's context: %v", ctx.Err())
		}
		short, stop := context.WithTimeout(context.WithValue(ctx, key{}, "inner"), time.Minute)
		defer stop()
		for name, derived := range map[string]context.Context{
			"timeout and value": short, "no cancellation": context.WithoutCancel(short), "value": context.WithValue(ctx, key{}, "inner"),
		} {
			got, e, err := r.Lock(derived)
			if err != nil || got != derived || e.l != outer.l {
				t.Errorf("%s: %v", name, err)
			}
			leave(t, e)
		}
		<-short.Done()
		if _, _, err := r.Lock(short); !errors.Is(err, context.DeadlineExceeded) { // an inner level is no way round the caller's end
			t.Errorf("%v", err)
		}
		if outer.Depth() != 1 {
			t.Errorf("depth %d", outer.Depth())
		}
		leave(t, outer)
	})
}

// What a context carries counts only while the hold is one, of the session that the client has now.
func TestReentryOfAnOldHold(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		r := NewReentrant(c, "/lock")
		ctx, released := enter(t.Context(), t, r)
		leave(t, released)
		kept := context.WithoutCancel(ctx)
		next, e := enter(kept, t, r)
		if e.l == released.l || e.Depth() != 1 || next == kept {
			t.Fatal("a released hold was entered")
		}
		_, inner := enter(next, t, r) // the newer hold hides the older one
		if inner.l != e.l {
			t.Error("the new hold was not entered")
		}
		leave(t, inner)
		leave(t, e)

		// The release of the last level has begun, and its deletion has not: the hold is over for whoever comes now.
		ctx, e = enter(t.Context(), t, r)
		e.leave()
		w := goEnter(context.WithoutCancel(ctx), r)
		synctest.Wait()
		if w.over() {
			t.Fatalf("with a hold that is being released: %v", w.err)
		}
		release(t, e.l)
		<-w.done
		if w.err != nil {
			t.Fatal(w.err)
		}

		// A lease that has not been told yet that its session is over is one of another session all the same.
		old := w.entry.l
		old.gen.Unhold(&old.hold)
		srv.ExpireSession(c.SessionID())
		<-old.gen.Ended()
		if old.State() == Lost {
			t.Fatal("the lease was told")
		}
		_, e = enter(context.WithoutCancel(w.ctx), t, r)
		if e.l == old {
			t.Error("a hold of another session was entered")
		}
		leave(t, e)
		_ = old.Release(t.Context())
	})
}

// Views of one client know each other's holds, by the path that the server sees.
func TestReentryThroughViews(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		for _, path := range []string{"/app", "/app/locks"} {
			must(srv.Create(path, nil, proto.ModePersistent))
		}
		c, twin := dial(t, srv), dial(t, srv)
		defer c.Close()
		defer twin.Close()
		app := must(c.View("/app"))
		locks := must(app.View("/locks"))
		ctx, outer := enter(t.Context(), t, NewReentrant(c, "/app/locks/lock"))
		quiet(t, srv, func() {
			for name, r := range map[string]*Reentrant{"a view": NewReentrant(app, "/locks/lock"), "a view of it": NewReentrant(locks, "/lock")} {
				got, e, err := r.Lock(ctx)
				if err != nil || got != ctx || e.l != outer.l {
					t.Errorf("%s: %v", name, err)
				}
				leave(t, e)
			}
			if _, err := NewMutex(locks, "/lock").Lock(ctx); !errors.Is(err, ErrNested) {
				t.Errorf("a mutex of a view: %v", err)
			}
		})
		// The same words mean another lock there, and the same lock belongs to somebody else here.
		elsewhere, e := enter(ctx, t, NewReentrant(locks, "/app/locks/lock"))
		if e.l == outer.l || elsewhere == ctx {
			t.Error("a lock of another path was entered")
		}
		leave(t, e)
		if _, _, err := NewReentrant(must(twin.View("/app")), "/locks/lock").TryLock(ctx); !errors.Is(err, ErrNotAcquired) {
			t.Errorf("another client: %v", err)
		}
		leave(t, outer)
		leave(t, func() *Reentry { // and the other way round
			ctx, outer := enter(t.Context(), t, NewReentrant(locks, "/lock"))
			_, e := enter(ctx, t, NewReentrant(c, "/app/locks/lock"))
			if e.l != outer.l {
				t.Error("a hold of a view is not known to its client")
			}
			leave(t, outer)
			return e
		}())
		root := must(c.View("/"))
		ctx, outer = enter(t.Context(), t, NewReentrant(root, "/lock"))
		_, e = enter(ctx, t, NewReentrant(c, "/lock"))
		if e.l != outer.l {
			t.Error("a view of the same root is not the same")
		}
		leave(t, e)
		leave(t, outer)
	})
}

// A hold of a read-write lock is none of a mutex of the same path, which do not exclude each other.
func TestNestedKinds(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		rw := NewRWMutex(c, "/lock")
		read := must(rw.RLock(t.Context()))
		quiet(t, srv, func() {
			_, err := rw.Lock(read.Context())
			wantErr(t, err, ErrUpgrade)
			_, err = rw.TryLock(read.Context())
			wantErr(t, err, ErrUpgrade)
			_, err = rw.RLock(read.Context())
			wantErr(t, err, ErrNested)
		})
		release(t, read)
		write := must(rw.Lock(t.Context()))
		quiet(t, srv, func() {
			_, err := rw.Lock(write.Context())
			wantErr(t, err, ErrNested)
			_, err = rw.TryRLock(write.Context())
			wantErr(t, err, ErrNested)
		})
		l := must(NewMutex(c, "/lock").TryLock(write.Context()))
		release(t, l)
		release(t, write)
	})
}
