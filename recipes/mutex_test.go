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

func TestFlights(t *testing.T) { // docs/locks.md A8
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := dial(t, srv), dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		defer c.Close()
		m := NewMutex(a, "/deep/er/lock")
		var l *Lease
		count := func(what string, want int, f func()) {
			t.Helper()
			if n := srv.Flights(synctest.Wait, f); n != want {
				t.Errorf("%s: %d flights, want %d", what, n, want)
			}
		}
		count("acquire, parents missing", 2, func() { l = lock(t, m) })
		count("release", 1, func() { release(t, l) })
		before := srv.Snapshot()
		count("acquire, free", 1, func() { l = lock(t, m) })
		count("release", 1, func() { release(t, l) })
		if n := srv.Snapshot().Requests - before.Requests; n != 3 {
			t.Errorf("acquire and release of a free lock: %d requests, want 3", n)
		}

		l = lock(t, m)
		sole := goLock(t.Context(), NewMutex(b, "/deep/er/lock"))
		synctest.Wait()
		count("from the release to the sole waiter", 1, func() { // the release itself
			release(t, l)
			<-sole.done
		})
		third := goLock(t.Context(), NewMutex(c, "/deep/er/lock"))
		synctest.Wait()
		fourth := goLock(t.Context(), NewMutex(a, "/deep/er/lock"))
		synctest.Wait()
		release(t, sole.lease)
		synctest.Wait()
		fifth := goLock(t.Context(), NewMutex(b, "/deep/er/lock", NoLookAhead()))
		synctest.Wait()
		// Of the two that were ahead of the fourth, it was told of the first one's end, so the second was the last: event + 0.
		count("from the release to the next of several", 1, func() {
			release(t, third.lease)
			<-fourth.done
		})
		// The fifth watches only the nearest, so it has to look who else is left: event + 1.
		count("from the release to the next of several, without look-ahead", 2, func() {
			release(t, fourth.lease)
			<-fifth.done
		})
		release(t, fifth.lease)
	})
}

// TestSeveralWaiters (C148, F88; docs/locks.md A8): fifty contenders on five clients. What each waiter watches, whom a release
// wakes, and what the hand-over costs, does not depend on how many wait.
func TestSeveralWaiters(t *testing.T) {
	for _, tc := range []struct {
		name           string
		opts           []Option
		watches        int // per waiter that has as many ahead
		flights        int // from a release to the next holder, the release's own among them
		told, requests int // per release: sessions that a deletion is told, and requests that follow
	}{
		// The deletion is told to the session of the znode as well, whose own watch on it nobody has taken back.
		{"look-ahead", nil, 3, 1, 3, 1 + 1 + 1}, // the delete; the second in line lists, and watches one more
		{"without", []Option{NoLookAhead()}, 2, 2, 2, 1 + 1},
		{"always list", []Option{AlwaysList()}, 3, 2, 3, 1 + 1 + 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				const clients, contenders = 5, 50
				var mutexes [clients]*Mutex
				for i := range mutexes {
					c := dial(t, srv)
					defer c.Close()
					mutexes[i] = NewMutex(c, "/lock", tc.opts...)
				}
				l := lock(t, mutexes[0])
				waiters := make([]*waiter, contenders-1)
				for i := range waiters {
					waiters[i] = goLock(t.Context(), mutexes[(i+1)%clients])
					synctest.Wait()
				}
				want := tc.watches * len(waiters)
				if tc.watches == 3 {
					want-- // the first waiter has one ahead
				}
				if w := srv.Snapshot().Watches.Data; w != want {
					t.Errorf("%d watches, want %d", w, want)
				}
				for i, w := range waiters {
					flights := tc.flights
					if i == 0 && tc.name == "without" {
						flights = 1 // of one that has one ahead, nothing is left to be known
					}
					l = handOver(t, srv, l, w, flights, tc.told, tc.requests, len(waiters)-i)
				}
				release(t, l)
				if kids := srv.Children("/lock"); len(kids) != 0 {
					t.Errorf("left behind: %v", kids)
				}
			})
		})
	}
}

// handOver releases l and waits until w has the lock, counting; waiting is how many waited before.
func handOver(t *testing.T, srv *zktest.Server, l *Lease, w *waiter, flights, told, requests, waiting int) *Lease {
	t.Helper()
	before := srv.Snapshot()
	var end int64 // others may be looking at the queue at their leisure while w has the lock already
	srv.Flights(synctest.Wait, func() { release(t, l); <-w.done; end = srv.Snapshot().Flights })
	if n := int(end - before.Flights); n != flights {
		t.Errorf("%d waiting: %d flights, want %d", waiting, n, flights)
	}
	if w.err != nil {
		t.Fatal(w.err)
	}
	synctest.Wait()
	after := srv.Snapshot()
	if got := int(after.Notifications - before.Notifications); got > told {
		t.Errorf("%d waiting: %d notifications, want at most %d", waiting, got, told)
	}
	if got := int(after.Requests - before.Requests); got > requests {
		t.Errorf("%d waiting: %d requests, want at most %d", waiting, got, requests)
	}
	return w.lease
}

func TestTokensRise(t *testing.T) { // C154
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock")
		var last Token
		for range 20 {
			l := lock(t, m)
			if l.Token().Compare(last) <= 0 || l.Token().IsZero() {
				t.Fatalf("token %v after %v", l.Token(), last)
			}
			last = l.Token()
			release(t, l)
		}
	})
}

func TestGuard(t *testing.T) { // A9
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dialTo(t, srv, "one:2181/app")
		defer c.Close()
		other := dial(t, srv)
		defer other.Close()
		must(srv.Create("/app", nil, proto.ModePersistent))
		must(srv.Create("/app/n", nil, proto.ModePersistent))
		l := lock(t, NewMutex(c, "/lock"))
		if _, err := c.Multi(t.Context(), l.Guard(), client.SetOp("/n", []byte("1"), -1)); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Multi(t.Context(), l.Guard(), client.SetOp("/app/n", []byte("2"), -1)); !errors.Is(err, client.ErrForeignGuard) {
			t.Errorf("through another chroot: %v", err)
		}
		if err := srv.Delete("/app" + l.Node()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Multi(t.Context(), l.Guard(), client.SetOp("/n", []byte("3"), -1)); !errors.Is(err, client.ErrNoNode) {
			t.Errorf("after the znode is gone: %v", err)
		}
		if err := l.Release(t.Context()); !errors.Is(err, ErrLost) || !errors.Is(err, ErrNodeGone) {
			t.Errorf("release: %v", err)
		}
	})
}

func TestTryLock(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		l := must(NewMutex(a, "/lock").TryLock(t.Context()))
		if _, err := NewMutex(b, "/lock").TryLock(t.Context()); !errors.Is(err, ErrNotAcquired) {
			t.Fatalf("%v", err)
		}
		if kids := srv.Children("/lock"); len(kids) != 1 {
			t.Errorf("left behind: %v", kids)
		}
		release(t, l)
		release(t, must(NewMutex(b, "/lock").TryLock(t.Context())))
	})
}

func TestCancelledLockLeavesNothing(t *testing.T) { // C147, F78: while waiting, and at every moment before
	for _, op := range []proto.Op{0, proto.OpCreate2, proto.OpGetChildren2, proto.OpGetData} {
		t.Run(op.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := dial(t, srv), dial(t, srv)
				defer a.Close()
				defer b.Close()
				l := lock(t, NewMutex(a, "/lock"))
				if op != 0 {
					held := srv.Hold(zktest.Match{Op: op})
					time.AfterFunc(1500*time.Millisecond, held.Release)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				_, err := NewMutex(b, "/lock").Lock(ctx)
				if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrCleanupPending) {
					t.Errorf("%v", err)
				}
				if d := time.Since(began); d > time.Second+CleanupGrace {
					t.Errorf("returned after %v", d)
				}
				if kids := srv.Children("/lock"); len(kids) != 1 {
					t.Errorf("left behind: %v", kids)
				}
				release(t, l)
				if n := b.CleanupsPending(); n != 0 {
					t.Errorf("%d clean-ups pending", n)
				}
			})
		})
	}
}

func TestCleanupPending(t *testing.T) { // the grace ends first: the cleaner goes on
	for _, op := range []proto.Op{proto.OpCreate2, proto.OpDelete} {
		t.Run(op.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := dial(t, srv), dial(t, srv)
				defer a.Close()
				defer b.Close()
				l := lock(t, NewMutex(a, "/lock"))
				held := srv.Hold(zktest.Match{Op: op})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				_, err := NewMutex(b, "/lock").Lock(ctx)
				if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrCleanupPending) {
					t.Errorf("%v", err)
				}
				if d := time.Since(began); d != time.Second+CleanupGrace {
					t.Errorf("returned after %v", d)
				}
				held.Release()
				synctest.Wait()
				if kids := srv.Children("/lock"); len(kids) != 1 {
					t.Errorf("left behind: %v", kids)
				}
				release(t, l)
			})
		})
	}
}

func TestReleaseOutcomes(t *testing.T) { // design: Release; F80, K49
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock")
		var none *Lease
		if err := none.Release(t.Context()); !errors.Is(err, ErrNotHeld) {
			t.Errorf("nil lease: %v", err)
		}
		l := lock(t, m)
		release(t, l)
		if err := l.Release(t.Context()); !errors.Is(err, ErrNotHeld) {
			t.Errorf("twice: %v", err)
		}
		l = lock(t, m)
		dead, cancel := context.WithCancel(t.Context())
		cancel()
		held := srv.Hold(zktest.Match{Op: proto.OpDelete})
		if err := l.Release(dead); !errors.Is(err, ErrReleasePending) || !errors.Is(err, context.Canceled) {
			t.Errorf("dead context: %v", err)
		}
		if !errors.Is(context.Cause(l.Context()), ErrReleased) {
			t.Errorf("the lease goes on while its release is pending")
		}
		held.Release()
		if err := l.Release(t.Context()); err != nil {
			t.Errorf("waiting on: %v", err)
		}
		l = lock(t, m)
		srv.CloseAfter(zktest.Match{Op: proto.OpDelete}) // executed, the reply lost
		if err := l.Release(t.Context()); err != nil {
			t.Errorf("reply lost: %v", err)
		}
		if kids := srv.Children("/lock"); len(kids) != 0 {
			t.Errorf("left behind: %v", kids)
		}
	})
}

func TestBadArguments(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		var none *Mutex
		for name, m := range map[string]*Mutex{
			"path": NewMutex(c, "no/slash"), "acl": NewMutex(c, "/a", ACL(nil)), "client": NewMutex(nil, "/a"), "nil": none, "zero": {},
		} {
			for _, f := range []func(context.Context) (*Lease, error){m.Lock, m.TryLock} {
				l, err := f(t.Context())
				var e *Error
				if l != nil || !errors.As(err, &e) {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		for _, l := range []*Lease{nil, {}} {
			for _, err := range []error{l.Release(t.Context()), l.ReleasePipelined()} {
				if !errors.Is(err, ErrNotHeld) {
					t.Errorf("release of what is not held: %v", err)
				}
			}
			_, err := c.Multi(t.Context(), l.Guard())
			if err == nil || l.Context().Err() == nil || l.State() != Lost || !l.Token().IsZero() || l.Node() != "" {
				t.Errorf("a lease that is not held: %v", err)
			}
			<-l.Done()
			for s := range l.States(t.Context()) {
				if s != Lost {
					t.Error(s)
				}
			}
		}
		if _, err := NewMutex(c, "/a", nil).Lock(t.Context()); err == nil {
			t.Error("nil option accepted")
		}
		var ctx context.Context
		if _, err := NewMutex(c, "/a").Lock(ctx); !errors.Is(err, client.ErrNilContext) {
			t.Error("nil context accepted")
		}
	})
}
