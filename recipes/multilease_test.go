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

func TestMultiLeaseRelease(t *testing.T) { // A3, A10 rule 11
	for name, tc := range map[string]struct {
		do   func(t *testing.T, srv *zktest.Server, c *client.Client, ml *MultiLease) error
		want []error // none: nil
	}{
		"confirmed": {func(t *testing.T, _ *zktest.Server, _ *client.Client, ml *MultiLease) error {
			return ml.Release(t.Context())
		}, nil},
		"with its own context": {func(_ *testing.T, _ *zktest.Server, _ *client.Client, ml *MultiLease) error {
			return ml.Release(ml.Context())
		}, nil},
		"with the context of a part": {func(_ *testing.T, _ *zktest.Server, _ *client.Client, ml *MultiLease) error {
			return ml.Release(ml.Leases()[2].Context())
		}, nil},
		"with a context made from its own": {func(_ *testing.T, _ *zktest.Server, _ *client.Client, ml *MultiLease) error {
			ctx, cancel := context.WithTimeout(ml.Context(), time.Minute)
			defer cancel()
			return ml.Release(ctx)
		}, nil},
		"twice": {func(t *testing.T, _ *zktest.Server, _ *client.Client, ml *MultiLease) error {
			releaseAll(t, ml)
			return ml.Release(t.Context())
		}, []error{ErrNotHeld}},
		"pipelined": {func(_ *testing.T, _ *zktest.Server, _ *client.Client, ml *MultiLease) error {
			return ml.ReleasePipelined()
		}, nil},
		"pipelined, then waited for": {func(t *testing.T, _ *zktest.Server, _ *client.Client, ml *MultiLease) error {
			if err := ml.ReleasePipelined(); err != nil {
				t.Error(err)
			}
			return ml.Release(t.Context())
		}, nil},
		"pipelined twice": {func(t *testing.T, _ *zktest.Server, _ *client.Client, ml *MultiLease) error {
			if err := ml.ReleasePipelined(); err != nil {
				t.Error(err)
			}
			return ml.ReleasePipelined()
		}, []error{ErrNotHeld}},
		"pipelined after the loss": {func(_ *testing.T, srv *zktest.Server, c *client.Client, ml *MultiLease) error {
			srv.ExpireSession(c.SessionID())
			<-ml.Done()
			return ml.ReleasePipelined()
		}, []error{ErrLost, ErrSessionExpired}},
		"nil context": {func(_ *testing.T, _ *zktest.Server, _ *client.Client, ml *MultiLease) error {
			return ml.Release(noContext)
		}, []error{ErrReleasePending, client.ErrNilContext}},
		"a context that has ended": {func(t *testing.T, srv *zktest.Server, _ *client.Client, ml *MultiLease) error {
			srv.Member("one:2181").Stall(true)
			time.AfterFunc(time.Second, func() { srv.Member("one:2181").Stall(false) })
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ml.Release(ctx)
		}, []error{ErrReleasePending, context.Canceled}},
		"not confirmed in time, and waited for again": {func(t *testing.T, srv *zktest.Server, _ *client.Client, ml *MultiLease) error {
			held := srv.Hold(zktest.Match{Op: proto.OpDelete, Path: ml.Leases()[1].Node()})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := ml.Release(ctx); !errors.Is(err, ErrReleasePending) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
			held.Release()
			return ml.Release(t.Context()) // the first part's was confirmed by the first call
		}, nil},
		"lost deletes": {func(t *testing.T, srv *zktest.Server, _ *client.Client, ml *MultiLease) error {
			srv.CloseAfter(zktest.Match{Op: proto.OpDelete})
			srv.CloseBefore(zktest.Match{Op: proto.OpDelete, Path: ml.Leases()[2].Node()})
			return ml.Release(t.Context())
		}, nil},
		"a znode of it gone": {func(t *testing.T, srv *zktest.Server, _ *client.Client, ml *MultiLease) error {
			if err := srv.Delete(ml.Leases()[1].Node()); err != nil {
				t.Fatal(err)
			}
			return ml.Release(t.Context())
		}, []error{ErrLost, ErrNodeGone}},
		"refused": {func(t *testing.T, srv *zktest.Server, _ *client.Client, ml *MultiLease) error {
			srv.Fail(zktest.Match{Op: proto.OpDelete, Path: ml.Leases()[1].Node()}, proto.ErrNoAuth)
			defer func() { _ = srv.Delete(ml.Leases()[1].Node()) }()
			return ml.Release(t.Context())
		}, []error{ErrRefused, client.ErrNoAuth}},
		"client closed": {func(t *testing.T, _ *zktest.Server, c *client.Client, ml *MultiLease) error {
			_ = c.Close()
			return ml.Release(t.Context())
		}, []error{ErrLost, ErrClosed}},
		"a part alone": {func(t *testing.T, _ *zktest.Server, _ *client.Client, ml *MultiLease) error {
			release(t, ml.Leases()[1])
			if ml.State() != Lost || !errors.Is(context.Cause(ml.Context()), ErrReleased) {
				t.Errorf("%v, %v", ml.State(), context.Cause(ml.Context()))
			}
			return ml.Release(t.Context())
		}, []error{ErrLost, ErrReleased}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := dial(t, srv)
				defer c.Close()
				ml := lockAll(t, NewMultiLock(NewMutex(c, "/a").Part(), NewRWMutex(c, "/b").RPart(), NewSemaphore(c, "/c", 2).Part(1)))
				ctx := ml.Context()
				err := tc.do(t, srv, c, ml)
				if (err == nil) != (len(tc.want) == 0) {
					t.Errorf("%v", err)
				}
				for _, want := range tc.want {
					if !errors.Is(err, want) {
						t.Errorf("%v, want %v", err, want)
					}
				}
				for _, l := range append(ml.Leases(), ml.Lease) {
					if l.State() != Lost || l.Context().Err() == nil || ctx.Err() == nil {
						t.Errorf("%v, %v after the release", l.State(), l.Context().Err())
					}
				}
				<-time.After(2 * time.Second)
				nothingLeft(t, srv)
				if n := c.CleanupsPending(); n != 0 {
					t.Errorf("%d clean-ups", n)
				}
			})
		})
	}
}

func TestMultiLockTokenRises(t *testing.T) { // A9
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		last := lock(t, NewMutex(a, "/y"))
		token := last.Token()
		release(t, last)
		for i := range 6 {
			ml := lockAll(t, []*MultiLock{mutexes(a, "/x", "/y"), mutexes(b, "/y", "/z"), mutexes(b, "/y")}[i%3])
			if ml.Token().Compare(token) <= 0 {
				t.Errorf("%v after %v", ml.Token(), token)
			}
			oneTransaction(t, srv, ml)
			token = ml.Token()
			releaseAll(t, ml)
			for srv.Sweep() > 0 { // the paths are made anew, and their counters begin at nought
			}
		}
	})
}

// TestMultiLockPermitsFromZnode: a change of the number wakes the MultiLock, also when the request that was to watch it was lost with
// the multi, or refused because another path was missing. Where there is no number nothing is made in its place.
func TestMultiLockPermitsFromZnode(t *testing.T) {
	for name, before := range map[string]func(*zktest.Server){
		"no fault":       func(*zktest.Server) {},
		"multi lost":     func(srv *zktest.Server) { srv.CloseBefore(zktest.Match{Op: proto.OpMulti}) },
		"reply lost":     func(srv *zktest.Server) { srv.CloseAfter(zktest.Match{Op: proto.OpMulti}) },
		"number lost":    func(srv *zktest.Server) { srv.CloseBefore(zktest.Match{Op: proto.OpGetData, Path: "/sem"}) },
		"list lost":      func(srv *zktest.Server) { srv.CloseBefore(zktest.Match{Op: proto.OpGetChildren2, Path: "/sem"}) },
		"other path new": func(srv *zktest.Server) { _ = srv.Delete("/a") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := dial(t, srv), dialTo(t, srv, "two:2181")
				defer a.Close()
				defer b.Close()
				sem := NewSemaphore(b, "/sem", FromZnode)
				must(srv.Create("/a", nil, proto.ModePersistent))
				m := NewMultiLock(NewMutex(a, "/a").Part(), NewSemaphore(a, "/sem", FromZnode).Part(2))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				if _, err := m.Lock(ctx); !errors.Is(err, ErrCapacity) || srv.Exists("/sem") {
					t.Errorf("%v; path made: %v", err, srv.Exists("/sem"))
				}
				cancel()
				if err := sem.SetPermits(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				before(srv)
				w := queuedAll(t.Context(), m)
				<-time.After(time.Minute)
				if w.over() {
					t.Fatalf("over: %v", w.err)
				}
				if err := sem.SetPermits(t.Context(), 2); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if !w.over() {
					t.Fatal("not woken")
				}
				releaseAll(t, w.granted(t))
				<-time.After(time.Second)
				for _, ss := range srv.Sessions() {
					if len(ss.Ephemerals) > 0 {
						t.Errorf("left behind: %v", ss.Ephemerals)
					}
				}
			})
		})
	}
}
