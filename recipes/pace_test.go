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

// Whatever request breaks its connection each time, it is not repeated at full speed: the list, the watches of a waiter, the
// downgrade, and the watch of WatchOwnNode. A watch on another znode makes every connection of use.
func TestRequestsThatBreakTheirConnectionKeepAPace(t *testing.T) { // K9
	const times = 50
	for name, tc := range map[string]struct {
		op  proto.Op
		run func(t *testing.T, m *RWMutex)
	}{
		"list":      {proto.OpGetChildren2, func(t *testing.T, m *RWMutex) { release(t, must(m.Lock(t.Context()))) }},
		"downgrade": {proto.OpMulti, func(t *testing.T, m *RWMutex) { downgradeAndRelease(t, m) }},
		"own watch": {proto.OpGetData, func(t *testing.T, m *RWMutex) {
			l := must(m.Lock(t.Context()))
			<-time.After(time.Hour)
			release(t, l)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := dial(t, srv)
				defer c.Close()
				must(srv.Create("/watched", nil, proto.ModePersistent))
				must(srv.Create("/lock", nil, proto.ModePersistent))
				_, w, err := c.ExistsWatch(t.Context(), "/watched")
				must(w, err)
				rule := srv.On(zktest.Match{Op: tc.op, Times: times}, zktest.Verdict{Skip: true, Close: true})
				began := time.Now()
				var met time.Duration
				srv.OnRequest(func(r *zktest.Request) zktest.Verdict {
					if r.Op == tc.op {
						met = time.Since(began)
					}
					return zktest.Verdict{}
				})
				tc.run(t, NewRWMutex(c, "/lock", WatchOwnNode()))
				if rule.Hits() != times || met < (times-2)*50*time.Millisecond {
					t.Errorf("%d requests in %v", rule.Hits(), met)
				}
			})
		})
	}
}

func downgradeAndRelease(t *testing.T, m *RWMutex) {
	t.Helper()
	l := must(m.Lock(t.Context()))
	if err := l.Downgrade(t.Context()); err != nil {
		t.Error(err)
	}
	release(t, l)
}

// The same for the watches of a waiter.
func TestWatchesThatBreakTheirConnectionKeepAPace(t *testing.T) { // K9
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		must(srv.Create("/watched", nil, proto.ModePersistent))
		_, w, err := b.ExistsWatch(t.Context(), "/watched")
		must(w, err)
		l := lock(t, NewMutex(a, "/lock"))
		rule := srv.On(zktest.Match{Op: proto.OpGetData, Session: b.SessionID(), Times: -1}, zktest.Verdict{Skip: true, Close: true})
		waiting := goLock(t.Context(), NewMutex(b, "/lock"))
		<-time.After(10 * time.Second)
		if n := rule.Hits(); n < 20 || n > 220 {
			t.Errorf("%d requests in 10 s", n)
		}
		rule.Remove()
		release(t, l)
		<-waiting.done
		release(t, must(waiting.lease, waiting.err))
	})
}

// The path vanishes at every create, and one of them loses its connection: the attempts end all the same.
func TestVanishingPathIsGivenUp(t *testing.T) { // K10
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		srv.Fail(zktest.Match{Op: proto.OpCreate2, Times: -1}, proto.ErrNoNode)
		n := 0
		srv.OnRequest(func(r *zktest.Request) zktest.Verdict {
			if r.Op == proto.OpCreate2 {
				n++
			}
			return zktest.Verdict{Close: n == 1+2*maxParents} // the last create of the last attempt
		})
		_, err := NewMutex(c, "/lock").Lock(t.Context())
		wantErr(t, err, ErrNoParent)
		if n > 10*maxParents {
			t.Errorf("%d creates", n)
		}
	})
}

// The end of a session in which a znode was given up is not the end of the one in which Lock failed.
func TestExpiryOfADiscardedNodeIsNotLocks(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		m := NewMutex(b, "/lock", HandOver(9, time.Hour))
		l := lock(t, m)
		ctx, cancel := context.WithCancel(t.Context())
		heir := goLock(ctx, m)
		synctest.Wait()
		srv.Member("two:2181").Refuse(zktest.RefuseClose)
		srv.Member("two:2181").DropConnections()
		synctest.Wait()
		if err := l.ReleasePipelined(); err != nil {
			t.Error(err)
		}
		<-time.After(2 * timeout) // the session expires
		srv.Member("two:2181").Refuse(zktest.Accept)
		other := lock(t, NewMutex(a, "/lock"))
		<-time.After(time.Minute)
		cancel()
		<-heir.done
		if heir.lease != nil { // it had the lock before the other one
			t.Fatal("granted")
		}
		if wantErr(t, heir.err, context.Canceled); errors.Is(heir.err, ErrSessionExpired) {
			t.Errorf("error %v", heir.err)
		}
		release(t, other)
	})
}

// A znode that has served for long enough while it was being written is not handed over.
func TestGuardedHandoverKeepsTheBound(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock", HandOver(9, 100*time.Millisecond), GuardedHandover())
		l := lock(t, m)
		heir := goLock(t.Context(), m)
		synctest.Wait()
		held := srv.HoldReply(zktest.Match{Op: proto.OpSetData})
		release(t, l)
		<-time.After(time.Second)
		held.Release()
		<-heir.done
		next := must(heir.lease, heir.err)
		if next.Node() == l.Node() || next.Token().Hand != 0 {
			t.Errorf("handed over after a second: %s, %v", next.Node(), next.Token())
		}
		release(t, next)
	})
}

// A downgrade whose first reply was lost and whose outcome is known now is released by its name.
func TestReleaseAfterALostDowngrade(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		l := must(NewRWMutex(c, "/lock").Lock(t.Context()))
		srv.CloseAfter(zktest.Match{Op: proto.OpMulti})
		if err := l.Downgrade(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := srv.Snapshot()
		release(t, l)
		if n := srv.Snapshot().Requests - before.Requests; n != 1 || kids(srv) != 0 {
			t.Errorf("%d requests, %d znodes", n, kids(srv))
		}
	})
}

// A function given to Revocable has the lease of all levels; what it releases is lost to them.
func TestReentryRevokedAndReleased(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		done := make(chan error, 1)
		r := NewReentrant(c, "/lock", Revocable(func(l *Lease) { done <- l.Release(context.Background()) }))
		ctx, outer := enter(t.Context(), t, r)
		_, inner := enter(ctx, t, r)
		synctest.Wait()
		if err := Revoke(t.Context(), c, outer.Node()); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		wantErr(t, inner.Release(t.Context()), ErrLost, ErrReleased)
		wantErr(t, outer.Release(t.Context()), ErrLost, ErrReleased)
		wantErr(t, outer.Release(t.Context()), ErrNotHeld)
	})
}

// A server with local sessions refuses ephemerals; the error says what is missing.
func TestLocalSession(t *testing.T) { // D11
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		srv.Fail(zktest.Match{Op: proto.OpCreate2}, proto.ErrEphemeralOnLocalSession)
		_, err := NewMutex(c, "/lock").Lock(t.Context())
		wantErr(t, err, client.ErrEphemeralOnLocalSession)
	})
}
