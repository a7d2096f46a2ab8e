package recipes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestReleasePipelined(t *testing.T) { // I9, A8, H3 to H6
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock")
		l := lock(t, m)
		if n := srv.Flights(synctest.Wait, func() {
			if err := l.ReleasePipelined(); err != nil {
				t.Error(err)
			}
			l = lock(t, m)
		}); n != 1 {
			t.Errorf("release and acquire: %d flights", n)
		}
		if err := l.ReleasePipelined(); err != nil {
			t.Error(err)
		}
		if err := l.ReleasePipelined(); !errors.Is(err, ErrNotHeld) {
			t.Errorf("twice: %v", err)
		}
		if !errors.Is(context.Cause(l.Context()), ErrReleased) {
			t.Error("the lease goes on")
		}
		if err := l.Release(t.Context()); err != nil {
			t.Errorf("waiting: %v", err)
		}
		if err := l.Release(t.Context()); !errors.Is(err, ErrNotHeld) {
			t.Errorf("after the confirmation: %v", err)
		}

		l = lock(t, m)
		srv.CloseBefore(zktest.Match{Op: proto.OpDelete})
		if err := l.ReleasePipelined(); err != nil {
			t.Error(err)
		}
		<-time.After(time.Second)
		if n := kids(srv); n != 0 || c.CleanupsPending() != 0 {
			t.Errorf("%d children, %d clean-ups pending", n, c.CleanupsPending())
		}
		l = lock(t, m)
		srv.ExpireSession(c.SessionID())
		<-l.Done()
		if err := l.ReleasePipelined(); !errors.Is(err, ErrLost) || !errors.Is(err, ErrSessionExpired) {
			t.Errorf("lost before: %v", err)
		}
	})
}

func TestWatchOwnNode(t *testing.T) { // C158, I13
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock", WatchOwnNode())
		release(t, lock(t, m)) // the path exists
		before := srv.Snapshot()
		var l *Lease
		if n := srv.Flights(synctest.Wait, func() { l = lock(t, m); release(t, l) }); n != 2 {
			t.Errorf("%d flights: the watch must cost none", n)
		}
		if n := srv.Snapshot().Requests - before.Requests; n != 4 {
			t.Errorf("%d requests, want 4", n)
		}
		for name, disturb := range map[string]func(node string){
			"at once": func(string) {},
			"after a change": func(node string) {
				_ = srv.Set(node, []byte("x"))
				synctest.Wait()
				_ = srv.Set(node, nil)
				synctest.Wait()
			},
			"after a reconnect": func(string) {
				srv.DropConnections()
				<-time.After(time.Second)
			},
		} {
			l = lock(t, m)
			synctest.Wait()
			disturb(l.Node())
			if l.State() != Held {
				t.Fatalf("%s: %v", name, l.State())
			}
			if err := srv.Delete(l.Node()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if !errors.Is(context.Cause(l.Context()), ErrNodeGone) {
				t.Errorf("%s: %v", name, context.Cause(l.Context()))
			}
			if err := l.Release(t.Context()); !errors.Is(err, ErrLost) {
				t.Errorf("%s: release: %v", name, err)
			}
		}
		l = lock(t, m)
		release(t, l)
		synctest.Wait()
		if n := srv.Snapshot().Watches.Data; n != 0 {
			t.Errorf("%d watches left", n)
		}

		// Without the option the loss goes unnoticed, and the guard refuses.
		l = lock(t, NewMutex(c, "/lock"))
		_ = srv.Delete(l.Node())
		synctest.Wait()
		if l.State() != Held {
			t.Errorf("%v", l.State())
		}
		if _, err := c.Multi(t.Context(), l.Guard()); !errors.Is(err, client.ErrNoNode) {
			t.Errorf("guard: %v", err)
		}
		_ = l.Release(t.Context())
	})
}

func TestMaxHold(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		m := NewMutex(a, "/lock", MaxHold(time.Minute))
		l := lock(t, m)
		began := time.Now()
		l2 := lock(t, NewMutex(b, "/lock"))
		if d := time.Since(began); d != time.Minute {
			t.Errorf("passed on after %v", d)
		}
		if !errors.Is(context.Cause(l.Context()), ErrMaxHold) {
			t.Errorf("%v", context.Cause(l.Context()))
		}
		if err := l.Release(t.Context()); !errors.Is(err, ErrLost) || !errors.Is(err, ErrMaxHold) {
			t.Errorf("%v", err)
		}
		release(t, l2)
		l = lock(t, m)
		release(t, l)
		<-time.After(2 * time.Minute)
		if !errors.Is(context.Cause(l.Context()), ErrReleased) {
			t.Errorf("%v", context.Cause(l.Context()))
		}
		if _, err := NewMutex(a, "/lock", MaxHold(0)).Lock(t.Context()); err == nil {
			t.Error("MaxHold(0) accepted")
		}
	})
}

func TestAlwaysListAndNoOwnWatch(t *testing.T) { // A10 rules 2 and 7: what the options change
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		for _, tc := range []struct {
			opt              Option
			flights, watches int
		}{{AlwaysList(), 2, 2}, {NoOwnWatch(), 1, 1}} {
			l := lock(t, NewMutex(a, "/lock"))
			w := goLock(t.Context(), NewMutex(b, "/lock", tc.opt))
			synctest.Wait()
			if n := srv.Snapshot().Watches.Data; n != tc.watches {
				t.Errorf("%d watches, want %d", n, tc.watches)
			}
			if n := srv.Flights(synctest.Wait, func() { release(t, l); <-w.done }); n != tc.flights {
				t.Errorf("%d flights, want %d", n, tc.flights)
			}
			release(t, w.lease)
		}
	})
}
