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

// The downgrade deletes the znode that is watched, which must not end the lease, and from then on the new one is watched.
func TestDowngradeWithWatchOwnNode(t *testing.T) { // I13
	for name, disturb := range map[string]func(t *testing.T, srv *zktest.Server, l *Lease) (more func()){
		"settled": func(*testing.T, *zktest.Server, *Lease) func() { synctest.Wait(); return nil },
		"at once": func(*testing.T, *zktest.Server, *Lease) func() { return nil },
		"after a change": func(_ *testing.T, srv *zktest.Server, l *Lease) func() {
			synctest.Wait()
			must(0, srv.Set(l.Node(), []byte("x")))
			return nil
		},
		"while it is being watched again": func(_ *testing.T, srv *zktest.Server, l *Lease) func() {
			synctest.Wait()
			held := srv.HoldReply(zktest.Match{Op: proto.OpGetData})
			must(0, srv.Set(l.Node(), []byte("x")))
			<-held.Hit()
			return held.Release
		},
		"after a reconnect": func(_ *testing.T, srv *zktest.Server, _ *Lease) func() {
			srv.DropConnections()
			<-time.After(time.Second)
			return nil
		},
		"with a lost reply": func(_ *testing.T, srv *zktest.Server, _ *Lease) func() {
			srv.CloseAfter(zktest.Match{Op: proto.OpMulti})
			return nil
		},
	} {
		for with, opt := range map[string]Option{"WatchOwnNode": WatchOwnNode(), "Revocable": Revocable(nil)} {
			t.Run(with+" "+name, func(t *testing.T) {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					a, b, closeAll := rwPair(t, srv, opt)
					defer closeAll()
					l := get(t, a.Lock)
					old := l.Node()
					more := disturb(t, srv, l)
					d := goDowngrade(t.Context(), l)
					if more != nil {
						more()
					}
					await(t, "Downgrade", d)
					synctest.Wait()
					downgraded(t, srv, l, old)
					must(srv.CreateFor(l.gen.SessionID(), old, nil, proto.ModeEphemeral)) // nothing of that is of interest now
					must(0, srv.Delete(old))
					synctest.Wait()
					downgraded(t, srv, l, old)
					must(0, srv.Set(l.Node(), []byte("y")))
					synctest.Wait()
					must(0, srv.Delete(l.Node()))
					synctest.Wait()
					ended(t, l, ErrNodeGone)
					if err := l.Release(t.Context()); !errors.Is(err, ErrLost) || !errors.Is(err, ErrNodeGone) {
						t.Errorf("%v", err)
					}
					release(t, get(t, b.Lock))
					leftBehind(t, srv)
					if n := srv.Snapshot().Watches.Data; n != 0 {
						t.Errorf("%d watches left", n)
					}
				})
			})
		}
	}
}

func TestDowngradeWithWatchOwnNodeCostsNoFlight(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, _, closeAll := rwPair(t, srv, WatchOwnNode())
		defer closeAll()
		l := get(t, a.Lock)
		synctest.Wait()
		before := srv.Snapshot().Requests
		old := l.Node()
		srv.Manual(true)
		d := goDowngrade(t.Context(), l)
		if n := srv.Step(); n != 2 {
			t.Errorf("%d requests in the first flight", n)
		}
		synctest.Wait()
		if !d.over() {
			t.Error("waits for more than one flight")
		}
		srv.Manual(false)
		synctest.Wait()
		downgraded(t, srv, l, old)
		if n := srv.Snapshot().Requests - before; n != 4 { // one is downgraded's
			t.Errorf("%d requests, want 4", n)
		}
		release(t, l)
	})
}

// A znode that was deleted before the downgrade ends the lease, and there is nothing to be downgraded.
func TestDowngradeAfterTheZnodeIsKnownToBeGone(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := rwPair(t, srv, WatchOwnNode())
		defer closeAll()
		l := get(t, a.Lock)
		synctest.Wait()
		must(0, srv.Delete(l.Node()))
		synctest.Wait()
		before := srv.Snapshot().Requests
		if err := l.Downgrade(t.Context()); !errors.Is(err, ErrLost) || !errors.Is(err, ErrNodeGone) {
			t.Errorf("%v", err)
		}
		if n := srv.Snapshot().Requests - before; n != 0 {
			t.Errorf("%d requests", n)
		}
		release(t, get(t, b.TryLock))
		if err := l.Release(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("%v", err)
		}
		leftBehind(t, srv)
	})
}

// While it is not known which of the znodes is there, none is watched; the next call of Downgrade tells.
func TestDowngradeUnknownThenWatched(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, _, closeAll := rwPair(t, srv, WatchOwnNode())
		defer closeAll()
		l := get(t, a.Lock)
		old := l.Node()
		held := srv.HoldReply(zktest.Match{Op: proto.OpMulti})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Downgrade(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%v", err)
		}
		held.Release()
		synctest.Wait()
		if l.State() != Held || srv.Exists(old) {
			t.Errorf("%v", l.State())
		}
		downgrade(t, l)
		synctest.Wait()
		downgraded(t, srv, l, old)
		must(0, srv.Delete(l.Node()))
		synctest.Wait()
		ended(t, l, ErrNodeGone)
		_ = l.Release(t.Context())
		leftBehind(t, srv)
	})
}

func TestDowngradeAndRevoke(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		asker := dial(t, srv)
		defer asker.Close()
		revoke := func(node string) {
			t.Helper()
			if err := Revoke(t.Context(), asker, node); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		rw := NewRWMutex(c, "/lock", Revocable(nil))
		l := get(t, rw.Lock) // asked before
		synctest.Wait()
		revoke(l.Node())
		if err := l.Downgrade(t.Context()); !errors.Is(err, ErrLost) || !errors.Is(err, ErrRevoked) {
			t.Errorf("%v", err)
		}
		if !srv.Exists(l.Node()) {
			t.Error("the znode stays until the release")
		}
		_ = l.Release(t.Context())

		l = get(t, rw.Lock) // asked afterwards
		old := l.Node()
		downgrade(t, l)
		synctest.Wait()
		if data, _, _ := srv.Get(l.Node()); len(data) != 0 {
			t.Errorf("data %q", data)
		}
		if err := Revoke(t.Context(), asker, old); !errors.Is(err, client.ErrNoNode) {
			t.Errorf("%v", err)
		}
		revoke(l.Node())
		ended(t, l, ErrRevoked)
		_ = l.Release(t.Context())

		// A holder that is asked becomes a reader.
		turned := make(chan error, 1)
		rw = NewRWMutex(c, "/lock", Revocable(func(l *Lease) { turned <- l.Downgrade(context.Background()) }))
		l = get(t, rw.Lock)
		old = l.Node()
		synctest.Wait()
		revoke(old)
		if err := <-turned; err != nil {
			t.Error(err)
		}
		downgraded(t, srv, l, old)
		synctest.Wait()
		release(t, get(t, NewRWMutex(asker, "/lock").RLock))
		release(t, l)
		leftBehind(t, srv)
	})
}
