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

// ownNode returns the path of the newest lock znode of a client's session.
func ownNode(t *testing.T, srv *zktest.Server, c *client.Client) string {
	t.Helper()
	for _, ss := range srv.Sessions() {
		if ss.ID == c.SessionID() && len(ss.Ephemerals) > 0 {
			return ss.Ephemerals[len(ss.Ephemerals)-1]
		}
	}
	t.Fatal("no znode")
	return ""
}

// The event of the one ahead, and then the loss of the connection while the own watch is being set: the event must not
// count against the one that is ahead after the reconnect.
func TestEventBeforeALostWatchIsForgotten(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := dial(t, srv), dialTo(t, srv, "two:2181"), dialTo(t, srv, "three:2181")
		defer a.Close()
		defer b.Close()
		defer c.Close()
		l := lock(t, NewMutex(a, "/lock"))
		ctx, cancel := context.WithCancel(t.Context())
		second := goLock(ctx, NewMutex(b, "/lock"))
		synctest.Wait()
		third := goLock(t.Context(), NewMutex(c, "/lock"))
		synctest.Wait()
		own := ownNode(t, srv, c)
		srv.Hold(zktest.Match{Op: proto.OpGetData, Path: own})
		if err := srv.Set(own, []byte("touched")); err != nil { // uses its watch up: it is set again, and that is held
			t.Fatal(err)
		}
		synctest.Wait()
		cancel()
		<-second.done
		synctest.Wait()
		srv.Member("three:2181").DropConnections()
		<-time.After(time.Second)
		if third.over() {
			t.Fatal("granted while held by another")
		}
		release(t, l)
		<-third.done
		release(t, third.lease)
	})
}

func TestCancelWhileWatchesAreSet(t *testing.T) { // no registration is left behind, on a path that lives on
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		l := lock(t, NewMutex(a, "/lock"))
		held := srv.HoldReply(zktest.Match{Op: proto.OpGetData, Session: b.SessionID()})
		ctx, cancel := context.WithCancel(t.Context())
		w := goLock(ctx, NewMutex(b, "/lock"))
		<-held.Hit()
		synctest.Wait()
		cancel()
		synctest.Wait()
		held.Release()
		<-w.done
		if !errors.Is(w.err, context.Canceled) || errors.Is(w.err, ErrCleanupPending) {
			t.Errorf("%v", w.err)
		}
		seen := b.Counters().Events
		release(t, l)
		synctest.Wait()
		if n := watchesOf(srv, b); n != 0 || b.Counters().Events == seen {
			t.Errorf("%d watches on the server, %d events", n, b.Counters().Events-seen)
		}
	})
}

// watchesOf counts a client's watches on the server.
func watchesOf(srv *zktest.Server, c *client.Client) (n int) {
	for _, w := range srv.Watches() {
		if w.SessionID == c.SessionID() {
			n++
		}
	}
	return n
}

func TestCloseWhileWaiting(t *testing.T) { // the error says why
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		l := lock(t, NewMutex(a, "/lock"))
		w := goLock(t.Context(), NewMutex(b, "/lock"))
		synctest.Wait()
		_ = b.Close()
		<-w.done
		if !errors.Is(w.err, ErrClosed) {
			t.Errorf("%v", w.err)
		}
		release(t, l)
	})
}

func TestFinalExpiryWhileWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv, client.FinalExpiry())
		defer a.Close()
		defer b.Close()
		l := lock(t, NewMutex(a, "/lock"))
		w := goLock(t.Context(), NewMutex(b, "/lock"))
		synctest.Wait()
		srv.ExpireSession(b.SessionID())
		<-w.done
		if !errors.Is(w.err, ErrSessionExpired) {
			t.Errorf("%v", w.err)
		}
		release(t, l)
	})
}

func TestConnectionLostDuringRecovery(t *testing.T) { // at every request of it
	for _, op := range []proto.Op{proto.OpCreate2, proto.OpGetChildren2, proto.OpExists} {
		t.Run(op.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := dial(t, srv)
				defer c.Close()
				m := NewMutex(c, "/lock")
				release(t, lock(t, m))
				srv.CloseAfter(zktest.Match{Op: proto.OpCreate2})
				skip := 1
				if op == proto.OpExists {
					skip = 0
				}
				srv.CloseAfter(zktest.Match{Op: op, Skip: skip})
				l := lock(t, m)
				synctest.Wait()
				if kids(srv) != 1 {
					t.Errorf("own znodes: %v", srv.Children("/lock"))
				}
				release(t, l)
				if kids(srv) != 0 {
					t.Errorf("left behind: %v", srv.Children("/lock"))
				}
			})
		})
	}
}

// A Lock that ends while it is queued, with no connection, takes its requests back: nothing is created later.
func TestCancelWhileDisconnected(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock")
		release(t, lock(t, m))
		srv.Refuse(zktest.RefuseClose)
		srv.DropConnections()
		synctest.Wait()
		creates := srv.Snapshot().ByOp[proto.OpCreate2]
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := m.Lock(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrCleanupPending) || client.MaybeApplied(err) {
			t.Errorf("%v", err)
		}
		if d := time.Since(began); d != 100*time.Millisecond {
			t.Errorf("returned after %v", d)
		}
		srv.Refuse(zktest.Accept)
		release(t, lock(t, m))
		if n := srv.Snapshot().ByOp[proto.OpCreate2]; n != creates+1 {
			t.Errorf("%d creates", n-creates)
		}
	})
}

// An own znode that is gone is made again, whatever became of the clean-up of the first attempt.
func TestAgainThoughCleanupIsPending(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		release(t, lock(t, NewMutex(a, "/lock")))
		l := lock(t, NewMutex(a, "/lock"))
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2, Session: b.SessionID()})
		w := goLock(t.Context(), NewMutex(b, "/lock")) // with an unknown create
		<-time.After(time.Second)
		synctest.Wait()
		held := srv.Hold(zktest.Match{Op: proto.OpSync, Session: b.SessionID(), Times: -1}) // of the clean-up
		if err := srv.Delete(ownNode(t, srv, b)); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * CleanupGrace)
		held.Release()
		release(t, l)
		<-w.done
		if w.err != nil {
			t.Fatal(w.err)
		}
		release(t, w.lease)
		if kids(srv) != 0 {
			t.Errorf("left behind: %v", srv.Children("/lock"))
		}
	})
}

// A session whose handshake took long has no proof of life that reaches far enough back for a grant, for some seconds; the
// lock waits for one instead of asking all the time.
func TestLeaseClockThatHasRunOut(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock")
		release(t, lock(t, m))
		srv.Refuse(zktest.RefuseStall)
		srv.DropConnections() // the handshake is sent now
		<-time.After(timeout/2 - 500*time.Millisecond)
		srv.DropRequest(zktest.Match{Op: proto.OpPing}) // the one that follows a slow handshake at once
		srv.Refuse(zktest.Accept)
		<-time.After(timeout / 3)
		if _, _, err := c.Exists(t.Context(), "/"); err != nil { // the only sign of life, less than T/4 ago when it matters
			t.Fatal(err)
		}
		<-time.After(timeout/6 + 600*time.Millisecond)
		before := srv.Snapshot().ByOp[proto.OpGetChildren2]
		began := time.Now()
		l := lock(t, m)
		if n := srv.Snapshot().ByOp[proto.OpGetChildren2] - before; n < 2 || n > 3 {
			t.Errorf("%d lists", n)
		}
		if d := time.Since(began); d > timeout/4 {
			t.Errorf("granted after %v", d)
		}
		release(t, l)
	})
}
