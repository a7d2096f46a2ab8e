package recipes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// kids returns the lock's children that are contenders.
func kids(srv *zktest.Server) int { return len(srv.Children("/lock")) }

func TestLostCreate(t *testing.T) { // C146, F74, I12: create again and list, keep the lowest
	for name, fault := range map[string]func(*zktest.Server, zktest.Match) *zktest.Rule{
		"executed": (*zktest.Server).CloseAfter, "not executed": (*zktest.Server).CloseBefore,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := dial(t, srv)
				defer c.Close()
				m := NewMutex(c, "/lock")
				release(t, lock(t, m)) // the path exists
				fault(srv, zktest.Match{Op: proto.OpCreate2})
				l := lock(t, m)
				synctest.Wait()
				if kids(srv) != 1 {
					t.Fatalf("own znodes: %v", srv.Children("/lock"))
				}
				_, st, err := srv.Get(l.Node())
				if err != nil || st.Czxid != l.Token().Zxid {
					t.Errorf("token %v of a znode created at %d: %v", l.Token(), st.Czxid, err)
				}
				release(t, l)
				if kids(srv) != 0 {
					t.Errorf("left behind: %v", srv.Children("/lock"))
				}
			})
		})
	}
}

func TestLostCreateIsOvertakenByNobody(t *testing.T) { // the older znode is kept, so the place in the queue is too
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := dial(t, srv), dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		defer c.Close()
		first := lock(t, NewMutex(a, "/lock"))
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2, Session: b.SessionID()})
		srv.Member("one:2181").Refuse(zktest.RefuseClose)
		second := goLock(t.Context(), NewMutex(b, "/lock"))
		synctest.Wait()
		third := goLock(t.Context(), NewMutex(c, "/lock"))
		synctest.Wait()
		srv.Member("one:2181").Refuse(zktest.Accept)
		release(t, first)
		<-second.done
		if second.err != nil || third.over() {
			t.Fatalf("second: %v, third is done: %v", second.err, third.over())
		}
		release(t, second.lease)
		<-third.done
		release(t, third.lease)
	})
}

func TestListLost(t *testing.T) { // between the replies to create and list
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock")
		release(t, lock(t, m))
		srv.CloseBefore(zktest.Match{Op: proto.OpGetChildren2})
		l := lock(t, m)
		if kids(srv) != 1 {
			t.Errorf("own znodes: %v", srv.Children("/lock"))
		}
		release(t, l)
	})
}

func TestExpiryWhileWaiting(t *testing.T) { // again, at the tail, in the next session with a new name; D7, F77
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := dial(t, srv), dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		defer c.Close()
		l := lock(t, NewMutex(a, "/lock"))
		second := goLock(t.Context(), NewMutex(b, "/lock"))
		failing := goLock(t.Context(), NewMutex(b, "/lock", FailIfNodeGone()))
		synctest.Wait()
		third := goLock(t.Context(), NewMutex(c, "/lock"))
		synctest.Wait()
		srv.ExpireSession(b.SessionID())
		<-failing.done
		if !errors.Is(failing.err, ErrSessionExpired) && !errors.Is(failing.err, ErrNodeGone) {
			t.Errorf("%v", failing.err)
		}
		<-time.After(time.Second)
		release(t, l)
		<-third.done
		if second.over() {
			t.Error("overtook")
		}
		release(t, third.lease)
		<-second.done
		if second.err != nil {
			t.Fatal(second.err)
		}
		release(t, second.lease)
	})
}

func TestOwnNodeDeletedWhileWaiting(t *testing.T) { // A21: an operator's delete must not make a second holder
	for _, both := range []bool{false, true} {
		t.Run(fmt.Sprint("with the holder's: ", both), func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := dial(t, srv), dial(t, srv)
				defer a.Close()
				defer b.Close()
				l := lock(t, NewMutex(a, "/lock"))
				w := goLock(t.Context(), NewMutex(b, "/lock"))
				failing := goLock(t.Context(), NewMutex(b, "/lock", FailIfNodeGone()))
				synctest.Wait()
				for _, name := range srv.Children("/lock") {
					if "/lock/"+name != l.Node() {
						if err := srv.Delete("/lock/" + name); err != nil {
							t.Fatal(err)
						}
					}
				}
				synctest.Wait()
				<-failing.done
				if !errors.Is(failing.err, ErrNodeGone) {
					t.Errorf("%v", failing.err)
				}
				if w.over() {
					t.Fatal("granted while held")
				}
				if both {
					if err := srv.Delete(l.Node()); err != nil {
						t.Fatal(err)
					}
				} else {
					release(t, l)
				}
				<-w.done
				if w.err != nil || kids(srv) != 1 {
					t.Fatalf("%v, children %v", w.err, srv.Children("/lock"))
				}
				release(t, w.lease)
			})
		})
	}
}

func TestDataChangesAreLookedAt(t *testing.T) { // A23, A24, D14: a setData uses a watch up
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		l := lock(t, NewMutex(a, "/lock"))
		w := goLock(t.Context(), NewMutex(b, "/lock"))
		synctest.Wait()
		for range 3 {
			for _, name := range srv.Children("/lock") {
				if err := srv.Set("/lock/"+name, []byte("touched")); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		if w.over() {
			t.Fatal("granted while held")
		}
		release(t, l)
		<-w.done
		if w.err != nil {
			t.Fatal(w.err)
		}
		release(t, w.lease)
	})
}

func TestReconnectWhileWaiting(t *testing.T) { // rule 4, C1: the known set is forgotten
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := dial(t, srv), dialTo(t, srv, "two:2181"), dial(t, srv)
		defer a.Close()
		defer b.Close()
		defer c.Close()
		l := lock(t, NewMutex(a, "/lock"))
		w := goLock(t.Context(), NewMutex(b, "/lock"))
		synctest.Wait()
		// While b is away the holder goes, and so does b's own znode.
		srv.Member("two:2181").Refuse(zktest.RefuseClose)
		srv.Member("two:2181").DropConnections()
		synctest.Wait()
		for _, name := range srv.Children("/lock") {
			if err := srv.Delete("/lock/" + name); err != nil {
				t.Fatal(err)
			}
		}
		third := lock(t, NewMutex(c, "/lock"))
		srv.Member("two:2181").Refuse(zktest.Accept)
		<-time.After(5 * time.Second)
		if w.over() {
			t.Fatal("granted while held by another")
		}
		_ = l.Release(t.Context())
		release(t, third)
		<-w.done
		if w.err != nil {
			t.Fatal(w.err)
		}
		release(t, w.lease)
	})
}

func TestSessionOfTheOneAheadIsOurs(t *testing.T) { // rule 5, D4b: its end is a hint, and expiry of both is no grant
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		m := NewMutex(a, "/lock")
		l := lock(t, m)
		w := goLock(t.Context(), m)
		synctest.Wait()
		n := srv.Flights(synctest.Wait, func() { release(t, l); <-w.done })
		if n != 2 {
			t.Errorf("%d flights: the delete, and a list because the one ahead was of our own session", n)
		}
		w2 := goLock(t.Context(), m)
		synctest.Wait()
		other := goLock(t.Context(), NewMutex(b, "/lock"))
		synctest.Wait()
		ended := w.lease
		srv.ExpireSession(a.SessionID()) // the holder's znode and the waiter's go in one transaction
		<-ended.Done()
		<-other.done
		<-time.After(time.Second)
		if w2.over() {
			t.Fatal("granted while held by another")
		}
		release(t, other.lease)
		<-w2.done
		release(t, w2.lease)
	})
}

func TestUnreadablePredecessor(t *testing.T) { // D9
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv, client.Auth("digest", []byte("a:a"))), dial(t, srv)
		defer a.Close()
		defer b.Close()
		must(srv.Create("/lock", nil, proto.ModePersistent))
		secret := []client.ACL{{Perms: client.PermAll, ID: client.ID{Scheme: "digest", ID: proto.DigestID("a", "a")}}}
		l := lock(t, NewMutex(a, "/lock", ACL(secret)))
		if _, err := NewMutex(b, "/lock").Lock(t.Context()); !errors.Is(err, ErrUnreadable) || !errors.Is(err, client.ErrNoAuth) {
			t.Errorf("%v", err)
		}
		if kids(srv) != 1 {
			t.Errorf("left behind: %v", srv.Children("/lock"))
		}
		release(t, l)
	})
}

func TestSequenceEnd(t *testing.T) { // D1, F85
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		must(srv.Create("/lock", nil, proto.ModePersistent))
		srv.SetCounter("/lock", highWater-1)
		release(t, lock(t, NewMutex(c, "/lock")))
		if _, err := NewMutex(c, "/lock").Lock(t.Context()); !errors.Is(err, ErrSequenceEnd) {
			t.Errorf("%v", err)
		}
		if kids(srv) != 0 {
			t.Errorf("left behind: %v", srv.Children("/lock"))
		}
	})
}

func TestForeignChildren(t *testing.T) { // C150, D8, F86
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		must(srv.Create("/lock", nil, proto.ModePersistent))
		for _, name := range []string{"config", "lock-", "lock-x", "lock-12345678901", "a-lock-00000000-1", "__lock__0000000000", "!", "lock-99999999999", "x-0000000000"} {
			must(srv.Create("/lock/"+name, nil, proto.ModePersistent))
		}
		l := lock(t, NewMutex(a, "/lock"))
		release(t, l)
		// A contender of any name of the form counts, such as go-zookeeper's.
		must(srv.Create("/lock/_c_0123456789abcdef0123456789abcdef-lock-0000000000", nil, proto.ModePersistent))
		w := goLock(t.Context(), NewMutex(b, "/lock"))
		synctest.Wait()
		if w.over() {
			t.Fatal("a foreign contender was not seen")
		}
		if err := srv.Delete("/lock/_c_0123456789abcdef0123456789abcdef-lock-0000000000"); err != nil {
			t.Fatal(err)
		}
		<-w.done
		release(t, w.lease)
	})
}

func TestParentVanishes(t *testing.T) { // C159, F90, K13, K14: between attempts, and while it is being made
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock")
		release(t, lock(t, m))
		if n := srv.Sweep(); n != 1 {
			t.Fatalf("%d containers swept", n)
		}
		release(t, lock(t, m))
	})
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		srv.On(zktest.Match{Op: proto.OpCreateContainer, Times: -1}, zktest.Verdict{Err: proto.ErrNoAuth})
		_, err := NewMutex(c, "/lock/deep").Lock(t.Context())
		if !errors.Is(err, ErrNoParent) || !errors.Is(err, client.ErrNoAuth) {
			t.Errorf("%v", err)
		}
	})
}

func TestRootAndChroot(t *testing.T) { // K8, K15
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dialTo(t, srv, "one:2181/app/locks")
		defer c.Close()
		for _, path := range []string{"/", "/a/b"} {
			_, err := NewMutex(c, path).Lock(t.Context())
			if !errors.Is(err, ErrNoParent) || !strings.Contains(err.Error(), "chroot /app/locks does not exist") {
				t.Errorf("chroot missing: %v", err)
			}
		}
		if n := srv.Snapshot().Requests; n > 20 {
			t.Errorf("%d requests to find that out", n)
		}
		must(srv.Create("/app", nil, proto.ModePersistent))
		must(srv.Create("/app/locks", nil, proto.ModePersistent))
		for _, path := range []string{"/", "/a"} {
			l := lock(t, NewMutex(c, path))
			if !srv.Exists("/app/locks" + l.Node()) {
				t.Errorf("%s: no znode at %s below the chroot", path, l.Node())
			}
			release(t, l)
		}
	})
}

func TestOwnerData(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		l := lock(t, NewMutex(c, "/lock"))
		data, _, err := srv.Get(l.Node())
		if want := fmt.Sprintf("session=0x%x", uint64(c.SessionID())); err != nil || !strings.Contains(string(data), want) || !strings.Contains(string(data), "pid=") {
			t.Errorf("%q: %v", data, err)
		}
		release(t, l)
		l = lock(t, NewMutex(c, "/lock", Data([]byte("me"))))
		if data, _, _ := srv.Get(l.Node()); string(data) != "me" {
			t.Errorf("%q", data)
		}
		release(t, l)
	})
}

func TestReadOnlyServer(t *testing.T) { // D12
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock")
		l := lock(t, m)
		srv.Fail(zktest.Match{Op: proto.OpSetData}, proto.ErrNotReadOnly)
		if _, err := c.Set(t.Context(), "/lock", nil, -1); !errors.Is(err, client.ErrNotReadOnly) {
			t.Fatal(err)
		}
		<-l.Done()
		if !errors.Is(context.Cause(l.Context()), ErrReadOnly) {
			t.Errorf("%v", context.Cause(l.Context()))
		}
		srv.Fail(zktest.Match{Op: proto.OpCreate2}, proto.ErrNotReadOnly)
		if _, err := m.Lock(t.Context()); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%v", err)
		}
		_ = l.Release(t.Context())
	})
}
