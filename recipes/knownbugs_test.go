package recipes

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// The tests of the files knownbugs*_test.go script what has gone wrong in locks of other clients (docs/locks.md 4), where no other
// test does. This one is about the creation of the contender's znode.

// lostCreate makes the reply to the next create get lost with its connection; no new one is accepted. The create takes effect
// at once, or, if later is set, when the function that is returned is called: to whoever reads before that, the server is behind.
func lostCreate(srv *zktest.Server, later bool) (commit func()) {
	srv.Refuse(zktest.RefuseClose)
	if !later {
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2})
		return func() {}
	}
	held := srv.HoldCommit(zktest.Match{Op: proto.OpCreate2})
	go func() {
		<-held.Hit()
		srv.DropConnections()
	}()
	return held.Release
}

// locksIn counts the znodes of contenders below dir.
func locksIn(srv *zktest.Server, dir string) (n int) {
	for _, name := range srv.Children(dir) {
		if strings.Contains(name, lockMark) {
			n++
		}
	}
	return n
}

// A create with an unknown outcome is not forgotten when its Lock has failed: the znode goes as soon as there is a connection,
// also if it appears only then, and the next Lock does not wait for it. With a chroot it is looked for below that.
func TestUnknownCreateOfAFailedLock(t *testing.T) { // K1, K3, K8, K40, K46
	for _, later := range []bool{false, true} {
		for _, where := range [][2]string{{"", "/lock"}, {"", "/"}, {"/app", "/"}, {"/app", "/a/b"}} {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				must(srv.Create("/app", nil, proto.ModePersistent))
				c := dialTo(t, srv, "one:2181"+where[0])
				defer c.Close()
				full := proto.JoinChroot(where[0], where[1])
				m := NewMutex(c, where[1])
				release(t, lock(t, m)) // the path exists
				commit := lostCreate(srv, later)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := m.Lock(ctx)
				wantErr(t, err, context.DeadlineExceeded, ErrCleanupPending)
				srv.Refuse(zktest.Accept)
				<-time.After(timeout / 3)
				if n := locksIn(srv, full); n != 0 || (c.CleanupsPending() != 0) != later {
					t.Errorf("%s: %d znodes, %d clean-ups pending", full, n, c.CleanupsPending())
				}
				commit()
				synctest.Wait()
				if n := locksIn(srv, full); n != 0 || c.CleanupsPending() != 0 {
					t.Errorf("%s: %d znodes left, %d clean-ups pending", full, n, c.CleanupsPending())
				}
				release(t, lock(t, m))
			})
		}
	}
}

// After the reconnect the first create is not to be seen yet: the search for it must not be answered before it is. What is
// found has the same form as what a create returns.
func TestLostCreateOnALaggingServer(t *testing.T) { // K3, K7, K42
	for _, where := range [][2]string{{"", "/"}, {"/app", "/"}, {"/app", "/a/b"}} {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			must(srv.Create("/app", nil, proto.ModePersistent))
			c := dialTo(t, srv, "one:2181,two:2181"+where[0], client.Rand(func() uint64 { return 1 }))
			defer c.Close()
			full := proto.JoinChroot(where[0], where[1])
			m := NewMutex(c, where[1])
			first := lock(t, m)
			release(t, first)
			commit := lostCreate(srv, true)
			w := goLock(t.Context(), m)
			synctest.Wait()
			srv.Member("two:2181").Refuse(zktest.Accept)
			<-time.After(timeout / 4)
			if n := locksIn(srv, full); n != 0 || w.over() {
				t.Fatalf("%d znodes before the first create has taken effect: %v", n, w.err)
			}
			commit()
			<-w.done
			synctest.Wait()
			if w.err != nil || locksIn(srv, full) != 1 {
				t.Fatalf("%v, children %v", w.err, srv.Children(full))
			}
			l := w.lease
			if len(l.Node()) != len(first.Node()) || !strings.HasPrefix(l.Node(), where[1]) || !srv.Exists(proto.JoinChroot(where[0], l.Node())) {
				t.Errorf("found as %s, made as %s", l.Node(), first.Node())
			}
			if _, err := c.Multi(t.Context(), l.Guard()); err != nil {
				t.Errorf("guard: %v", err)
			}
			release(t, l)
		})
	}
}

// A session expires with an unknown create, and the znode is still to be seen afterwards. The next session has names of its
// own, so it neither adopts nor deletes what it takes for anybody else's, and waits for its end.
func TestDoomedNodeOfTheOldSession(t *testing.T) { // K4, K5
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, leader := dial(t, srv), dialTo(t, srv, "two:2181")
		defer c.Close()
		defer leader.Close()
		m := NewMutex(c, "/lock")
		release(t, lock(t, m))
		lostCreate(srv, false)
		w := goLock(t.Context(), m)
		synctest.Wait()
		name := srv.Children("/lock")[0]
		srv.ExpireSession(c.SessionID())
		must(srv.CreateFor(leader.SessionID(), "/lock/"+name, nil, proto.ModeEphemeral)) // it is deleted in a moment
		srv.Refuse(zktest.Accept)
		<-time.After(timeout)
		if w.over() || kids(srv) != 2 || !srv.Exists("/lock/"+name) {
			t.Fatalf("over %v with %v beside the old %s", w.over(), srv.Children("/lock"), name)
		}
		if _, err := m.TryLock(t.Context()); !errors.Is(err, ErrNotAcquired) {
			t.Errorf("TryLock: %v", err)
		}
		if err := srv.Delete("/lock/" + name); err != nil {
			t.Fatal(err)
		}
		<-w.done
		if w.err != nil || strings.Contains(w.lease.Node(), name[:len(guidStart)+guidLen]) {
			t.Fatalf("%v with a GUID of the session before", w.err)
		}
		release(t, w.lease)
	})
}

// A znode that is found by its name counts only if it belongs to the session.
func TestFoundNodeOfAnotherSession(t *testing.T) { // K4, K5
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, other := dial(t, srv), dialTo(t, srv, "two:2181")
		defer c.Close()
		defer other.Close()
		m := NewMutex(c, "/lock")
		release(t, lock(t, m))
		var once sync.Once
		srv.OnRequest(func(r *zktest.Request) (v zktest.Verdict) {
			if r.Op == proto.OpCreate2 {
				once.Do(func() {
					must(srv.CreateFor(other.SessionID(), r.Path, nil, proto.ModeEphemeralSequential))
					v = zktest.Verdict{Skip: true, Close: true}
				})
			}
			return v
		})
		l := lock(t, m)
		_, st, err := srv.Get(l.Node())
		if err != nil || st.EphemeralOwner != c.SessionID() || st.Czxid != l.Token().Zxid {
			t.Errorf("holds with %s of session %x, token %v: %v", l.Node(), st.EphemeralOwner, l.Token(), err)
		}
		release(t, l)
	})
}

// Every create asks for the plain name, with a GUID of the attempt, however many there were before.
func TestNamesDoNotGrow(t *testing.T) { // K6
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		var mu sync.Mutex
		asked := map[string]int{}
		srv.OnRequest(func(r *zktest.Request) zktest.Verdict {
			if r.Op == proto.OpCreate2 && r.SessionID == b.SessionID() {
				mu.Lock()
				asked[r.Path]++
				mu.Unlock()
			}
			return zktest.Verdict{}
		})
		release(t, lock(t, NewMutex(a, "/lock"))) // the path exists
		m := NewMutex(b, "/lock")
		for range 10 {
			release(t, lock(t, m)) // the contender is used again
		}
		l := lock(t, NewMutex(a, "/lock"))
		w := goLock(t.Context(), m)
		synctest.Wait()
		for range 10 { // one Lock, many attempts
			if err := srv.Delete(ownNode(t, srv, b)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		release(t, l)
		<-w.done
		release(t, w.lease)
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2, Skip: 1}) // after the hook has seen one
		for range 2 {
			release(t, lock(t, m))
		}
		form := regexp.MustCompile(`^/lock/_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-lock-$`)
		for path, n := range asked {
			if !form.MatchString(path) || n > 1 {
				t.Errorf("asked for %s %d times", path, n)
			}
		}
		if len(asked) != 23 { // 10, 11 attempts, 1, and 1 again after the lost one, which no hook has seen
			t.Errorf("%d names", len(asked))
		}
	})
}
