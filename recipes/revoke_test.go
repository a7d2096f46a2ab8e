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

func revoke(t *testing.T, c *client.Client, node string) {
	t.Helper()
	if err := Revoke(t.Context(), c, node); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// asked counts how often a holder is told, and by which lease.
type asked chan *Lease

func newAsked() asked { return make(asked, 10) }

func (a asked) told(l *Lease) { a <- l }

// want checks who has been told since the last time.
func (a asked) want(t *testing.T, leases ...*Lease) {
	t.Helper()
	synctest.Wait()
	for _, l := range leases {
		select {
		case got := <-a:
			if got != l {
				t.Errorf("another lease was told: %s", got.Node())
			}
		default:
			t.Error("nobody was told")
		}
	}
	if n := len(a); n != 0 {
		t.Errorf("told %d times too often", n)
	}
}

// Without a function the hold of whoever is asked ends; the lock is free when its holder has noticed, and not before.
func TestRevoke(t *testing.T) { // Curator's makeRevocable and Revoker, docs/locks.md 2.1
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		m := NewMutex(a, "/lock", Revocable(nil))
		l := lock(t, m)
		if data, _, err := srv.Get(l.Node()); err != nil || len(data) != 0 {
			t.Errorf("data %q, want none: %v", data, err)
		}
		w := goLock(t.Context(), NewMutex(b, "/lock"))
		synctest.Wait()
		wantFlights(t, srv, 2, func() { // that of the request, and the holder looks what has become of its data
			if err := Revoke(t.Context(), b, l.Node()); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if l.State() != Lost {
			t.Errorf("%v", l.State())
		}
		wantErr(t, context.Cause(l.Context()), ErrRevoked)
		<-time.After(time.Hour)
		if kids(srv) != 2 || w.over() {
			t.Fatalf("%d znodes: the lock is free before its holder has noticed", kids(srv))
		}
		wantErr(t, l.Release(t.Context()), ErrLost, ErrRevoked)
		wantErr(t, l.Release(t.Context()), ErrNotHeld)
		release(t, w.waitFor(t))
		l = lock(t, m) // the next hold is a new one
		synctest.Wait()
		if l.State() != Held {
			t.Errorf("%v", context.Cause(l.Context()))
		}
		release(t, l)
		synctest.Wait()
		if n := srv.Snapshot().Watches.Data; n != 0 {
			t.Errorf("%d watches left", n)
		}
		wantErr(t, Revoke(t.Context(), b, l.Node()), client.ErrNoNode)
	})
}

// A function is told instead, once per hold, in a goroutine of its own, and the lease goes on.
func TestRevokeWithFunction(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		told, gate := newAsked(), make(chan struct{})
		m := NewMutex(a, "/lock", Revocable(func(l *Lease) {
			told <- l
			<-gate // it may take its time
		}))
		l := lock(t, m)
		told.want(t)
		revoke(t, b, l.Node())
		told.want(t, l)
		if l.State() != Held || l.Context().Err() != nil {
			t.Errorf("%v", l.State())
		}
		if _, _, err := a.Get(t.Context(), l.Node()); err != nil { // nobody waits for the function
			t.Error(err)
		}
		revoke(t, b, l.Node())
		told.want(t)
		close(gate)
		release(t, l)
		l = lock(t, m)
		told.want(t)
		revoke(t, b, l.Node())
		told.want(t, l)
		release(t, l)

		// The function may be the one that releases.
		released := make(chan error, 1)
		l = lock(t, NewMutex(a, "/lock", Revocable(func(l *Lease) { released <- l.Release(context.Background()) })))
		w := goLock(t.Context(), NewMutex(b, "/lock"))
		synctest.Wait()
		revoke(t, b, l.Node())
		release(t, w.waitFor(t))
		if err := <-released; err != nil {
			t.Error(err)
		}
		wantErr(t, l.Release(t.Context()), ErrNotHeld)
	})
}

// One that waits can be asked as well. It is told when it has the lock.
func TestRevokeAWaiter(t *testing.T) {
	for name, withFunction := range map[string]bool{"ends": false, "is told": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := dial(t, srv), dial(t, srv)
				defer a.Close()
				defer b.Close()
				told := newAsked()
				opt := Revocable(nil)
				if withFunction {
					opt = Revocable(told.told)
				}
				l := lock(t, NewMutex(b, "/lock"))
				w := goLock(t.Context(), NewMutex(a, "/lock", opt))
				synctest.Wait()
				revoke(t, b, ownNode(t, srv, a))
				if w.over() {
					t.Fatal("granted while held")
				}
				told.want(t)
				release(t, l)
				got := w.waitFor(t)
				synctest.Wait()
				if withFunction {
					told.want(t, got)
					release(t, got)
					return
				}
				wantErr(t, context.Cause(got.Context()), ErrRevoked)
				wantErr(t, got.Release(t.Context()), ErrLost, ErrRevoked)
				if n := kids(srv); n != 0 {
					t.Errorf("%d znodes left behind", n)
				}
			})
		})
	}
}

// Only the one text asks, whenever it comes: after other data, while the holder is away, through another chroot.
func TestRevokeData(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		must(srv.Create("/app", nil, proto.ModePersistent))
		c, other := dialTo(t, srv, "one:2181/app"), dialTo(t, srv, "two:2181")
		defer c.Close()
		defer other.Close()
		told := newAsked()
		m := NewMutex(c, "/lock", Revocable(told.told))
		l := lock(t, m)
		node := "/app" + l.Node()
		for _, data := range []string{"x", "", "__REVOKE", "__REVOKE__ ", "__revoke__"} {
			if err := srv.Set(node, []byte(data)); err != nil {
				t.Fatal(err)
			}
			told.want(t)
		}
		one := srv.Member("one:2181")
		one.Refuse(zktest.RefuseDial)
		one.DropConnections()
		synctest.Wait()
		revoke(t, other, node)
		told.want(t)
		one.Refuse(zktest.Accept)
		<-time.After(timeout / 4)
		told.want(t, l)
		release(t, l)

		// Who is not revocable does not notice.
		plain := lock(t, NewMutex(c, "/lock", WatchOwnNode()))
		if data, _, _ := srv.Get("/app" + plain.Node()); len(data) == 0 {
			t.Error("the owner's data is missing")
		}
		revoke(t, must(other.View("/app")), plain.Node())
		if plain.State() != Held {
			t.Errorf("%v", context.Cause(plain.Context()))
		}
		release(t, plain)
	})
}

// What a revocable hold costs is one request, which nobody waits for; it also says when the znode is gone.
func TestRevocableWatchesTheZnode(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		told := newAsked()
		m := NewMutex(c, "/lock", Revocable(told.told))
		release(t, lock(t, m)) // the path exists
		before := srv.Snapshot()
		wantFlights(t, srv, 2, func() { release(t, lock(t, m)) })
		if n := srv.Snapshot().Requests - before.Requests; n != 4 {
			t.Errorf("%d requests, want 4", n)
		}
		l := lock(t, m)
		synctest.Wait()
		if err := srv.Delete(l.Node()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		wantErr(t, context.Cause(l.Context()), ErrNodeGone)
		wantErr(t, l.Release(t.Context()), ErrLost, ErrNodeGone)
		told.want(t)
		l = lock(t, m)
		srv.ExpireSession(c.SessionID())
		<-l.Done()
		told.want(t)
		// The event of the znode may be told before the connection of the session ends.
		err := l.Release(t.Context())
		if wantErr(t, err, ErrLost); !errors.Is(err, ErrSessionExpired) && !errors.Is(err, ErrNodeGone) {
			t.Error(err)
		}
	})
}

func TestRevokeBadArguments(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		var ctx context.Context
		for name, err := range map[string]error{
			"nil client": Revoke(t.Context(), nil, "/lock"), "zero client": Revoke(t.Context(), &client.Client{}, "/lock"),
			"nil context": Revoke(ctx, c, "/lock"), "path": Revoke(t.Context(), c, "lock"), "no node": Revoke(t.Context(), c, "/lock"),
		} {
			var typed *Error
			if !errors.As(err, &typed) || typed.Op != "revoke" {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, opts := range [][]Option{{Revocable(nil), Data(nil)}, {Data([]byte("me")), Revocable(func(*Lease) {})}} {
			quiet(t, srv, func() {
				if _, err := NewMutex(c, "/lock", opts...).Lock(t.Context()); err == nil {
					t.Error("Revocable with Data accepted")
				}
			})
		}
	})
}
