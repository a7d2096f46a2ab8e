package recipes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestFixedFlights(t *testing.T) { // docs/locks.md A8, A9
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		m := NewFixedMutex(a, "/deep/er/lock")
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
		if n := srv.Snapshot().Requests - before.Requests; n != 2 {
			t.Errorf("acquire and release of a free lock: %d requests, want 2", n)
		}
		count("acquire, counter missing", 2, func() { l = lock(t, NewFixedMutex(a, "/deep/er/other")) })
		count("trylock of what is held", 1, func() {
			if _, err := NewFixedMutex(b, "/deep/er/other").TryLock(t.Context()); !errors.Is(err, ErrNotAcquired) {
				t.Error(err)
			}
		})
		release(t, l)

		l = lock(t, m)
		w := goLock(t.Context(), NewFixedMutex(b, "/deep/er/lock"))
		synctest.Wait()
		count("from the release to a waiter", 2, func() { // the release itself, and the waiter's transaction
			release(t, l)
			<-w.done
		})
		count("release and acquire again", 1, func() {
			if err := w.lease.ReleasePipelined(); err != nil {
				t.Error(err)
			}
			l = lock(t, NewFixedMutex(b, "/deep/er/lock"))
		})
		release(t, l)
		if n := srv.Snapshot().Watches.Data; n != 0 {
			t.Errorf("%d watches left", n)
		}
	})
}

// TestFixedLayout: the znode is the path itself, and the counter lies beside it; the token is the zxid that both have.
func TestFixedLayout(t *testing.T) { // A9
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewFixedMutex(c, "/locks/orders", Data([]byte("me")))
		if m.Path() != "/locks/orders" {
			t.Error(m.Path())
		}
		l := lock(t, m)
		data, st, err := srv.Get("/locks/orders")
		if err != nil || string(data) != "me" || st.EphemeralOwner != c.SessionID() || st.Version != client.FixedVersion || l.Node() != "/locks/orders" {
			t.Errorf("%q %+v %v, node %q", data, st, err, l.Node())
		}
		_, counter, err := srv.Get("/locks/orders-counter")
		if err != nil || counter.Mzxid != l.Token().Zxid || st.Czxid != l.Token().Zxid || l.Token().Hand != 0 || counter.EphemeralOwner != 0 {
			t.Errorf("token %v, counter %+v: %v", l.Token(), counter, err)
		}
		release(t, l)
		if srv.Exists("/locks/orders") || !srv.Exists("/locks/orders-counter") {
			t.Errorf("after the release: %v", srv.Children("/locks"))
		}
		if data, _, _ := srv.Get("/locks/orders-counter"); len(data) != 0 {
			t.Errorf("the counter still has %q", data)
		}
	})
}

// TestFixedManyContenders: twenty contenders of four clients, one holder at a time, with tokens that rise.
func TestFixedManyContenders(t *testing.T) { // A3, A9, C154
	for name, opts := range map[string][]Option{"own transactions": nil, "local queue": {LocalQueue()}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				const contenders, rounds = 20, 5
				var mutexes [4]*FixedMutex
				for i := range mutexes {
					c := dial(t, srv)
					defer c.Close()
					mutexes[i] = NewFixedMutex(c, "/lock", opts...)
				}
				var inside atomic.Int32
				var last Token // guarded by the lock itself
				done := make(chan error)
				for i := range contenders {
					go func() {
						for range rounds {
							l, err := mutexes[i%len(mutexes)].Lock(t.Context())
							if err != nil {
								done <- err
								return
							}
							if n := inside.Add(1); n != 1 || l.Token().Compare(last) <= 0 {
								t.Errorf("%d holders, token %v after %v", n, l.Token(), last)
							}
							last = l.Token()
							<-time.After(time.Millisecond)
							inside.Add(-1)
							if err := l.Release(t.Context()); err != nil {
								done <- err
								return
							}
						}
						done <- nil
					}()
				}
				for range contenders {
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
				synctest.Wait()
				if srv.Exists("/lock") || srv.Snapshot().Watches.Data != 0 {
					t.Errorf("left behind: %v, %d watches", srv.Children("/"), srv.Snapshot().Watches.Data)
				}
				if n := mutexes[0].LocalWaiters(); n != 0 {
					t.Errorf("%d wait", n)
				}
			})
		})
	}
}

// TestFixedExcludesHandWrittenClients: whoever creates the znode by a plain request has the lock as well.
func TestFixedExcludesHandWrittenClients(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		m := NewFixedMutex(a, "/lock")
		l := lock(t, m)
		if _, _, err := b.Create(t.Context(), "/lock", nil, client.ModeEphemeral, nil); !errors.Is(err, client.ErrNodeExists) {
			t.Fatal(err)
		}
		release(t, l)
		must2(b.Create(t.Context(), "/lock", []byte("theirs"), client.ModeEphemeral, nil))
		if _, err := m.TryLock(t.Context()); !errors.Is(err, ErrNotAcquired) {
			t.Fatal(err)
		}
		w := goLock(t.Context(), m)
		for range 3 { // whatever happens to the znode but its end
			synctest.Wait()
			must(b.Set(t.Context(), "/lock", []byte("touched"), client.AnyVersion))
		}
		synctest.Wait()
		if w.over() {
			t.Fatal("granted while held")
		}
		must(0, b.Delete(t.Context(), "/lock", client.AnyVersion))
		<-w.done
		if w.err != nil {
			t.Fatal(w.err)
		}
		release(t, w.lease)
	})
}

func must2[A, B any](a A, b B, err error) (A, B) {
	if err != nil {
		panic(err)
	}
	return a, b
}

// TestFixedGuard: refused once the hold is over, and through another chroot at any time.
func TestFixedGuard(t *testing.T) { // A9
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		must(srv.Create("/app", nil, proto.ModePersistent))
		must(srv.Create("/app/n", nil, proto.ModePersistent))
		c, next := dialTo(t, srv, "one:2181/app"), dialTo(t, srv, "one:2181/app")
		defer c.Close()
		defer next.Close()
		plain := dial(t, srv)
		defer plain.Close()
		set := func(cl *client.Client, path string, guards ...client.Op) error {
			_, err := cl.Multi(t.Context(), append(guards, client.SetOp(path, []byte("x"), -1))...)
			return err
		}
		l := lock(t, NewFixedMutex(c, "/lock"))
		if err := set(c, "/n", l.Guard()); err != nil {
			t.Error(err)
		}
		if err := set(c, "/n", l.Guards()...); err != nil || len(l.Guards()) != 2 {
			t.Error(err)
		}
		for _, g := range l.Guards() {
			if err := set(plain, "/app/n", g); !errors.Is(err, client.ErrForeignGuard) {
				t.Errorf("through another chroot: %v", err)
			}
		}
		release(t, l)
		if err := set(c, "/n", l.Guard()); !errors.Is(err, client.ErrBadVersion) {
			t.Errorf("after the release: %v", err)
		}

		l = lock(t, NewFixedMutex(c, "/lock"))
		srv.ExpireSession(c.SessionID())
		<-time.After(time.Second)
		if err := set(next, "/n", l.Guards()[1]); err == nil {
			t.Error("accepted though the znode is gone")
		}
		must2(plain.Create(t.Context(), "/app/lock", nil, client.ModeEphemeral, nil))
		if _, err := next.Multi(t.Context(), client.CheckOp("/lock", client.FixedVersion)); !errors.Is(err, client.ErrBadVersion) {
			t.Errorf("a plain create has this version: %v", err)
		}
		must(0, plain.Delete(t.Context(), "/app/lock", client.AnyVersion))
		second := lock(t, NewFixedMutex(next, "/lock"))
		if second.Token().Compare(l.Token()) <= 0 {
			t.Errorf("token %v after %v", second.Token(), l.Token())
		}
		if err := set(c, "/n", l.Guard()); !errors.Is(err, client.ErrBadVersion) {
			t.Errorf("after the loss: %v", err)
		}
		release(t, second)
	})
}

func TestFixedLeaseEnds(t *testing.T) { // A3: what ends a hold, and what Release says then
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		end := func(l *Lease, cause error) {
			t.Helper()
			<-l.Done()
			if err := context.Cause(l.Context()); !errors.Is(err, cause) {
				t.Errorf("%v, want %v", err, cause)
			}
			if err := l.Release(t.Context()); !errors.Is(err, ErrLost) || !errors.Is(err, cause) {
				t.Errorf("release: %v, want %v", err, cause)
			}
			if srv.Exists("/lock") {
				t.Errorf("left behind after %v", cause)
			}
		}
		l := lock(t, NewFixedMutex(c, "/lock", WatchOwnNode()))
		synctest.Wait()
		must(0, srv.Delete("/lock"))
		end(l, ErrNodeGone)

		l = lock(t, NewFixedMutex(c, "/lock", MaxHold(time.Second)))
		end(l, ErrMaxHold)

		l = lock(t, NewFixedMutex(c, "/lock", Revocable(nil)))
		synctest.Wait()
		must(0, Revoke(t.Context(), c, l.Node())) // which changes the version of the znode
		end(l, ErrRevoked)

		l = lock(t, NewFixedMutex(c, "/lock", Strict()))
		srv.DropConnections()
		end(l, ErrDisconnected)

		l = lock(t, NewFixedMutex(c, "/lock"))
		srv.ExpireSession(c.SessionID())
		end(l, ErrSessionExpired)

		l = lock(t, NewFixedMutex(c, "/lock")) // in the next session
		release(t, l)
		if err := l.Release(t.Context()); !errors.Is(err, ErrNotHeld) {
			t.Errorf("twice: %v", err)
		}
		l = lock(t, NewFixedMutex(c, "/lock"))
		_ = c.Close()
		end(l, ErrClosed)
	})
}

// TestFixedOwnWatchKnowsItsZnode: another one at the path is not that of the lease.
func TestFixedOwnWatchKnowsItsZnode(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, other := dial(t, srv), dialTo(t, srv, "two:2181")
		defer c.Close()
		defer other.Close()
		l := lock(t, NewFixedMutex(c, "/lock", WatchOwnNode()))
		synctest.Wait()
		m := srv.Member("one:2181")
		m.Refuse(zktest.RefuseClose)
		m.DropConnections()
		must(0, srv.Delete("/lock"))
		must2(other.Create(t.Context(), "/lock", nil, client.ModeEphemeral, nil))
		m.Refuse(zktest.Accept)
		<-l.Done()
		if err := context.Cause(l.Context()); !errors.Is(err, ErrNodeGone) {
			t.Error(err)
		}
		if err := l.Release(t.Context()); !errors.Is(err, ErrNodeGone) {
			t.Error(err)
		}
		if !srv.Exists("/lock") {
			t.Error("the other client's znode was deleted")
		}
	})
}

func TestFixedContextCarriesTheHold(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		l := lock(t, NewFixedMutex(c, "/lock"))
		for _, ctx := range []context.Context{l.Context(), context.WithoutCancel(l.Context())} {
			if _, err := NewFixedMutex(c, "/lock").Lock(ctx); !errors.Is(err, ErrNested) {
				t.Error(err)
			}
		}
		queue := must(NewMutex(c, "/lock2").Lock(l.Context())) // another lock
		release(t, queue)
		release(t, l)
		release(t, must(NewFixedMutex(c, "/lock").TryLock(context.WithoutCancel(l.Context()))))
	})
}

func TestFixedParticipants(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, other := dial(t, srv), dial(t, srv)
		defer c.Close()
		defer other.Close()
		m := NewFixedMutex(c, "/locks/a")
		if ps, err := m.Participants(t.Context()); err != nil || len(ps) != 0 {
			t.Errorf("%v %v", ps, err)
		}
		l := lock(t, m)
		w := goLock(t.Context(), NewFixedMutex(other, "/locks/a"))
		synctest.Wait()
		ps := must(m.Participants(t.Context()))
		if len(ps) != 1 || ps[0].Node != l.Node() || ps[0].Token != l.Token() || ps[0].Session != c.SessionID() || !ps[0].Holds ||
			ps[0].Shared || ps[0].Permits != 1 || !strings.Contains(string(ps[0].Data), "pid=") {
			t.Errorf("%+v", ps)
		}
		release(t, l)
		<-w.done
		release(t, w.lease)
		must2(other.Create(t.Context(), "/locks/a", []byte("theirs"), client.ModeEphemeral, nil))
		if ps = must(m.Participants(t.Context())); len(ps) != 1 || string(ps[0].Data) != "theirs" || ps[0].Session != other.SessionID() {
			t.Errorf("%+v", ps)
		}
		srv.Fail(zktest.Match{Op: proto.OpGetData}, proto.ErrNoAuth)
		if ps = must(m.Participants(t.Context())); len(ps) != 1 || !errors.Is(ps[0].Err, client.ErrNoAuth) {
			t.Errorf("%+v", ps)
		}
		srv.Fail(zktest.Match{Op: proto.OpSync}, proto.ErrThrottled)
		if _, err := m.Participants(t.Context()); !errors.Is(err, client.ErrThrottled) {
			t.Error(err)
		}
	})
}

func TestFixedBadArguments(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		var none *FixedMutex
		bad := map[string]*FixedMutex{"path": NewFixedMutex(c, "no/slash"), "empty": NewFixedMutex(c, ""), "root": NewFixedMutex(c, "/"),
			"client": NewFixedMutex(nil, "/a"), "nil option": NewFixedMutex(c, "/a", nil), "nil": none, "zero": {},
			"revocable with data": NewFixedMutex(c, "/a", Revocable(nil), Data(nil))}
		for i, o := range []Option{FailIfNodeGone(), NoOwnWatch(), AlwaysList(), NoLookAhead(), HandOver(2, time.Second), GuardedHandover(),
			CuratorSemaphore(), LatchNames(), KazooNames(), GoZookeeperNames(), CountForeign(), ACL(nil), MaxHold(0)} {
			bad[fmt.Sprint("option ", i)] = NewFixedMutex(c, "/a", o)
		}
		for name, m := range bad {
			for _, f := range []func(context.Context) (*Lease, error){m.Lock, m.TryLock} {
				l, err := f(t.Context())
				var e *Error
				if l != nil || !errors.As(err, &e) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if _, err := m.Participants(t.Context()); err == nil {
				t.Errorf("%s: participants", name)
			}
		}
		if none.Path() != "" || none.LocalWaiters() != 0 {
			t.Error("of a nil mutex")
		}
		var ctx context.Context
		if _, err := NewFixedMutex(c, "/a").Lock(ctx); !errors.Is(err, client.ErrNilContext) {
			t.Error("nil context accepted")
		}
		var l *Lease
		if l.Guards() != nil {
			t.Error("guards of a nil lease")
		}
	})
}

func TestFixedParents(t *testing.T) { // A2.5
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dialTo(t, srv, "one:2181/missing")
		defer c.Close()
		if _, err := NewFixedMutex(c, "/lock").Lock(t.Context()); !errors.Is(err, ErrNoParent) {
			t.Errorf("chroot missing: %v", err)
		}
		if _, err := NewFixedMutex(c, "/a/lock").Lock(t.Context()); !errors.Is(err, ErrNoParent) {
			t.Errorf("chroot missing: %v", err)
		}
		root := dial(t, srv)
		defer root.Close()
		l := lock(t, NewFixedMutex(root, "/a/b/lock"))
		release(t, l)
		if srv.Sweep() != 0 {
			t.Error("a container was removed though the counter is in it")
		}
		must(0, srv.Delete("/a/b/lock-counter"))
		l = lock(t, NewFixedMutex(root, "/a/b/lock", PersistentParents())) // made again
		must(0, srv.Delete("/a/b/lock-counter"))                           // while it is held
		release(t, l)
		if srv.Exists("/a/b/lock") {
			t.Error("left behind")
		}
	})
}
