package recipes

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func enterAs(t *testing.T, r *Reentrant, o *Owner) *Reentry {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	e, err := r.LockAs(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func goEnterAs(ctx context.Context, r *Reentrant, o *Owner) *enterer {
	w := &enterer{waiter: waiter{done: make(chan struct{})}}
	go func() {
		w.entry, w.err = r.LockAs(ctx, o)
		close(w.done)
	}()
	return w
}

func TestOwner(t *testing.T) { // C155, F94 for code that cannot pass a context
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		r, twin := NewReentrant(a, "/lock"), NewReentrant(a, "/lock")
		var o, stranger Owner
		first := enterAs(t, r, &o)
		var second, third, tried *Reentry
		wantFlights(t, srv, 0, func() {
			second, third = enterAs(t, r, &o), enterAs(t, twin, &o)
			tried = must(r.TryLockAs(t.Context(), &o))
		})
		for _, e := range []*Reentry{second, third, tried} {
			if e.l != first.l || e.Depth() != 4 {
				t.Errorf("depth %d of another hold", e.Depth())
			}
		}
		if n := kids(srv); n != 1 {
			t.Errorf("%d znodes", n)
		}
		// The context of the hold, and the owner, lead to the same one.
		_, by := enter(first.Context(), t, r)
		if by.l != first.l || by.Depth() != 5 {
			t.Error("the owner's context does not carry its hold")
		}
		leave(t, by)
		for name, try := range map[string]func() error{
			"another owner":  func() error { _, err := r.TryLockAs(t.Context(), &stranger); return err },
			"without owner":  func() error { _, _, err := r.TryLock(t.Context()); return err },
			"another client": func() error { _, err := NewReentrant(b, "/lock").TryLockAs(t.Context(), &o); return err },
			"a mutex":        func() error { _, err := NewMutex(a, "/lock").TryLock(t.Context()); return err },
		} {
			if err := try(); !errors.Is(err, ErrNotAcquired) {
				t.Errorf("%s: %v", name, err)
			}
		}
		w := goEnterAs(t.Context(), r, &stranger)
		for _, e := range []*Reentry{first, third, tried, second} {
			synctest.Wait()
			if w.over() {
				t.Fatal("free before the last release")
			}
			leave(t, e)
		}
		<-w.done
		wantErr(t, second.Release(t.Context()), ErrNotHeld)
		next := goEnterAs(t.Context(), r, &o)
		synctest.Wait()
		if w.err != nil || next.over() {
			t.Fatal("an owner entered a hold that it has released")
		}
		leave(t, w.entry)
		<-next.done
		leave(t, next.entry)
	})
}

// An owner may have several locks, and the same lock of two clients; each is counted by itself.
func TestOwnerOfSeveralLocks(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		must(srv.Create("/app", nil, proto.ModePersistent))
		var o Owner
		locks := []*Reentrant{NewReentrant(a, "/lock"), NewReentrant(a, "/app/lock"), NewReentrant(b, "/other")}
		view := NewReentrant(must(a.View("/app")), "/lock") // the second
		var held []*Reentry
		for _, r := range locks {
			held = append(held, enterAs(t, r, &o))
		}
		quiet(t, srv, func() {
			for i, r := range locks {
				e := enterAs(t, r, &o)
				if e.l != held[i].l || e.Depth() != 2 {
					t.Errorf("%s: another hold", r.Path())
				}
				leave(t, e)
			}
			e := enterAs(t, view, &o)
			if e.l != held[1].l {
				t.Error("not known through a view")
			}
			leave(t, e)
		})
		leave(t, held[0])
		if held[1].State() != Held || held[2].State() != Held {
			t.Error("the release of one lock ended another")
		}
		leave(t, held[2])
		leave(t, held[1])
	})
}

// Goroutines that share an owner while it has nothing acquire once, and then all are in.
func TestOwnerSharedWhileAcquiring(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		r := NewReentrant(a, "/lock")
		var o Owner
		l := lock(t, NewMutex(b, "/lock"))
		first := goEnterAs(t.Context(), r, &o)
		synctest.Wait()
		var others []*enterer
		quiet(t, srv, func() {
			for range 5 {
				others = append(others, goEnterAs(t.Context(), r, &o))
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := r.LockAs(ctx, &o); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a wait for the owner's other goroutine: %v", err)
			}
			began := time.Now()
			if _, err := r.TryLockAs(t.Context(), &o); !errors.Is(err, ErrNotAcquired) || time.Since(began) != 0 {
				t.Errorf("a try that waited for another's wait: %v", err)
			}
		})
		if n := kids(srv); n != 2 {
			t.Errorf("%d znodes, want the holder's and the owner's", n)
		}
		release(t, l)
		<-first.done
		if first.err != nil {
			t.Fatal(first.err)
		}
		for _, w := range others {
			<-w.done
			if w.err != nil || w.entry.l != first.entry.l {
				t.Fatalf("not the owner's hold: %v", w.err)
			}
		}
		if d := first.entry.Depth(); d != 6 {
			t.Errorf("depth %d, want 6", d)
		}
		leave(t, first.entry)
		for _, w := range others {
			if w.entry.State() != Held {
				t.Error("ended before the last release")
			}
			leave(t, w.entry)
		}
		if n := kids(srv); n != 0 {
			t.Errorf("%d znodes left behind", n)
		}
	})
}

// When the goroutine that acquires gives up, the next one of the owner goes on in its place.
func TestOwnerAfterAFailedAcquire(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		r := NewReentrant(a, "/lock")
		var o Owner
		l := lock(t, NewMutex(b, "/lock"))
		ctx, cancel := context.WithCancel(t.Context())
		first := goEnterAs(ctx, r, &o)
		synctest.Wait()
		second := goEnterAs(t.Context(), r, &o)
		synctest.Wait()
		cancel()
		<-first.done
		wantErr(t, first.err, context.Canceled)
		synctest.Wait()
		if n := kids(srv); n != 2 || second.over() {
			t.Errorf("%d znodes, want the holder's and that of the next goroutine", n)
		}
		release(t, l)
		<-second.done
		if second.err != nil {
			t.Fatal(second.err)
		}
		leave(t, second.entry)
	})
}

// A hold that is lost is not the owner's any more: it acquires anew, and the levels of the old one say what became of it.
func TestOwnerLoss(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		r := NewReentrant(c, "/lock")
		var o Owner
		outer, inner := enterAs(t, r, &o), enterAs(t, r, &o)
		srv.ExpireSession(c.SessionID())
		<-outer.Done()
		next := enterAs(t, r, &o)
		if next.l == outer.l || next.Depth() != 1 {
			t.Error("a lost hold was entered")
		}
		wantErr(t, inner.Release(t.Context()), ErrLost, ErrSessionExpired)
		if next.State() != Held || outer.Depth() != 1 {
			t.Error("a level of the old hold counted for the new one")
		}
		wantErr(t, outer.Release(t.Context()), ErrLost, ErrSessionExpired)
		leave(t, next)

		// One of another session, which has not been told yet.
		old := enterAs(t, r, &o).l
		old.gen.Unhold(&old.hold)
		srv.ExpireSession(c.SessionID())
		<-old.gen.Ended()
		if old.State() == Lost {
			t.Fatal("the lease was told")
		}
		next = enterAs(t, r, &o)
		if next.l == old {
			t.Error("a hold of another session was entered")
		}
		_ = old.Release(t.Context())

		// The release of the last level has begun, and its deletion has not.
		next.leave()
		w := goEnterAs(t.Context(), r, &o)
		synctest.Wait()
		if w.over() {
			t.Fatal("a hold that is being released was entered")
		}
		release(t, next.l)
		<-w.done
		if w.err != nil {
			t.Fatal(w.err)
		}
		leave(t, w.entry)

		// And one that was lost while the session lives.
		r = NewReentrant(c, "/lock", WatchOwnNode())
		outer = enterAs(t, r, &o)
		synctest.Wait()
		if err := srv.Delete(outer.Node()); err != nil {
			t.Fatal(err)
		}
		<-outer.Done()
		next = enterAs(t, r, &o)
		if next.l == outer.l {
			t.Error("a lost hold was entered")
		}
		wantErr(t, outer.Release(t.Context()), ErrLost, ErrNodeGone)
		leave(t, next)
	})
}

// The last level that is left while another goroutine enters is either before that, which then acquires, or not the last one.
func TestOwnerConcurrently(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		r := NewReentrant(c, "/lock")
		var o [2]Owner
		var inside [2]int // levels per owner, of which only one has any at a time
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range 8 {
			me := i % 2
			wg.Go(func() {
				for range 25 {
					e, err := r.LockAs(t.Context(), &o[me])
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					inside[me]++
					if inside[1-me] > 0 {
						t.Error("two owners inside")
					}
					mu.Unlock()
					mu.Lock()
					inside[me]--
					mu.Unlock()
					if err := e.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if n := kids(srv); n != 0 {
			t.Errorf("%d znodes left behind", n)
		}
	})
}

func TestOwnerBadArguments(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		var none *Reentrant
		var ctx context.Context
		dead, cancel := context.WithCancel(t.Context())
		cancel()
		good := NewReentrant(c, "/lock")
		for name, tc := range map[string]struct {
			r    *Reentrant
			ctx  context.Context
			o    *Owner
			want error
		}{
			"nil owner":    {good, t.Context(), nil, client.ErrZeroValue},
			"nil lock":     {none, t.Context(), new(Owner), client.ErrZeroValue},
			"zero lock":    {&Reentrant{}, t.Context(), new(Owner), client.ErrZeroValue},
			"nil client":   {NewReentrant(nil, "/lock"), t.Context(), new(Owner), client.ErrZeroValue},
			"nil context":  {good, ctx, new(Owner), client.ErrNilContext},
			"dead context": {good, dead, new(Owner), context.Canceled},
		} {
			for _, f := range []func(context.Context, *Owner) (*Reentry, error){tc.r.LockAs, tc.r.TryLockAs} {
				e, err := f(tc.ctx, tc.o)
				var typed *Error
				if e != nil || !errors.As(err, &typed) || !errors.Is(err, tc.want) {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		// A dead context is one of an inner level too.
		var o Owner
		e := enterAs(t, good, &o)
		_, err := good.LockAs(dead, &o)
		wantErr(t, err, context.Canceled)
		if e.Depth() != 1 {
			t.Errorf("depth %d", e.Depth())
		}
		leave(t, e)
	})
}
