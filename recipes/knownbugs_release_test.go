package recipes

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// A deletion that does not come off is repeated at a measured pace, and one that is refused for good is not repeated.
func TestCleanupsKeepAPace(t *testing.T) { // K9, K10, K45
	const span = 10 * time.Second // of less than a session timeout, since the double does not count a refused request as a sign of life
	closing := func(op proto.Op) func(*zktest.Server) *zktest.Rule {
		return func(s *zktest.Server) *zktest.Rule { return s.CloseBefore(zktest.Match{Op: op, Times: -1}) }
	}
	failing := func(op proto.Op, code proto.Code) func(*zktest.Server) *zktest.Rule {
		return func(s *zktest.Server) *zktest.Rule { return s.Fail(zktest.Match{Op: op, Times: -1}, code) }
	}
	for name, tc := range map[string]struct {
		unknown bool // the outcome of the create is: the znode is searched for
		fault   func(*zktest.Server) *zktest.Rule
		most    int  // requests that meet the fault
		ends    bool // for good
	}{
		"throttled":                      {false, failing(proto.OpDelete, proto.ErrThrottled), 201, false},
		"throttled, with a search":       {true, failing(proto.OpGetChildren, proto.ErrThrottled), 201, false},
		"connection lost":                {false, closing(proto.OpDelete), 40, false},
		"connection lost, with a search": {true, closing(proto.OpSync), 40, false},
		"refused":                        {false, failing(proto.OpDelete, proto.ErrNoAuth), 1, true},
		"refused, with a search":         {true, failing(proto.OpGetChildren, proto.ErrNoAuth), 1, true},
		"refused behind it":              {true, failing(proto.OpDelete, proto.ErrNoAuth), 2, true}, // by name, and once found
		"gone":                           {false, failing(proto.OpDelete, proto.ErrNoNode), 1, true},
		"gone, with its parent":          {true, failing(proto.OpGetChildren, proto.ErrNoNode), 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := dial(t, srv)
				defer c.Close()
				m := NewMutex(c, "/lock")
				release(t, lock(t, m))
				if tc.unknown {
					srv.CloseAfter(zktest.Match{Op: proto.OpCreate2})
				}
				l := lock(t, m)
				<-time.After(2 * timeout)
				rule := tc.fault(srv)
				if err := l.ReleasePipelined(); err != nil {
					t.Error(err)
				}
				<-time.After(span)
				if n := rule.Hits(); n < 1 || n > tc.most {
					t.Errorf("%d requests in %v, want at most %d", n, span, tc.most)
				}
				if pending := c.CleanupsPending() != 0; pending == tc.ends {
					t.Errorf("pending: %v", pending)
				}
				rule.Remove()
				<-time.After(timeout)
				if n := kids(srv); n != 0 && !tc.ends || c.CleanupsPending() != 0 {
					t.Errorf("%d znodes, %d clean-ups pending", n, c.CleanupsPending())
				}
			})
		})
	}
}

// Without a connection nothing is tried, and the end of the session ends the clean-up.
func TestCleanupWithoutAConnection(t *testing.T) { // K9, K44, K45
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock")
		l := lock(t, m)
		srv.Refuse(zktest.RefuseClose)
		srv.DropConnections()
		synctest.Wait()
		dead, cancel := context.WithCancel(t.Context())
		cancel()
		wantErr(t, l.Release(dead), ErrReleasePending, context.Canceled)
		quiet(t, srv, func() { <-time.After(timeout / 2) })
		<-time.After(2 * timeout)
		wantErr(t, l.Release(t.Context()), ErrLost, ErrSessionExpired)
		srv.Refuse(zktest.Accept)
		if n := c.CleanupsPending(); n != 0 {
			t.Errorf("%d clean-ups pending", n)
		}
		deletes := srv.Snapshot().ByOp[proto.OpDelete]
		next := lock(t, m)
		if n := srv.Snapshot().ByOp[proto.OpDelete] - deletes; n != 0 {
			t.Errorf("%d deletions in the next session", n)
		}
		release(t, next)
	})
}

// Whoever has not acquired, or has released, cannot take the lock away from whoever holds it.
func TestReleaseOfWhatIsNotHeld(t *testing.T) { // K47, K54
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		m := NewMutex(b, "/lock")
		released := lock(t, m)
		release(t, released)
		lost := lock(t, m)
		srv.ExpireSession(b.SessionID())
		<-lost.Done()
		if !errors.Is(context.Cause(lost.Context()), ErrSessionExpired) {
			t.Fatal(context.Cause(lost.Context()))
		}
		l := lock(t, NewMutex(a, "/lock"))
		failed, err := m.TryLock(t.Context())
		wantErr(t, err, ErrNotAcquired)
		quiet(t, srv, func() {
			for name, tc := range map[string]struct {
				l    *Lease
				want error
			}{"released": {released, ErrNotHeld}, "expired": {lost, ErrLost}, "not acquired": {failed, ErrNotHeld}, "zero": {&Lease{}, ErrNotHeld}} {
				if err := tc.l.Release(t.Context()); !errors.Is(err, tc.want) {
					t.Errorf("%s: %v", name, err)
				}
				if err := tc.l.ReleasePipelined(); !errors.Is(err, tc.want) && !errors.Is(err, ErrNotHeld) {
					t.Errorf("%s, pipelined: %v", name, err)
				}
			}
		})
		if !srv.Exists(l.Node()) || l.State() != Held {
			t.Error("the holder's znode is gone")
		}
		release(t, l)
	})
}

// The parent is not ours alone: neither a release nor a lost lease nor a failed Lock removes it.
func TestParentIsNeverDeleted(t *testing.T) { // K54
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		must(srv.Create("/lock", []byte("shared"), proto.ModePersistent))
		reqs := see(srv, c.SessionID())
		m := NewMutex(c, "/lock")
		release(t, lock(t, m))
		l := lock(t, m)
		_, err := m.TryLock(t.Context())
		wantErr(t, err, ErrNotAcquired)
		if err := srv.Delete(l.Node()); err != nil {
			t.Fatal(err)
		}
		wantErr(t, l.Release(t.Context()), ErrLost, ErrNodeGone)
		for _, r := range reqs.take() {
			if strings.HasPrefix(r, proto.OpDelete.String()) && !strings.HasPrefix(r, proto.OpDelete.String()+" /lock/"+guidStart) {
				t.Error(r)
			}
		}
		if !srv.Exists("/lock") {
			t.Error("the parent is gone")
		}
	})
}

// A context that has ended, Lock's or Release's, neither keeps the deletion back nor spoils the result of the next call.
func TestReleaseWithEndedContexts(t *testing.T) { // K44, K48, K49
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock")
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			l := must(m.Lock(ctx))
			cancel()
			if l.State() != Held {
				t.Fatal("the end of Lock's context has ended the hold")
			}
			reply := srv.HoldReply(zktest.Match{Op: proto.OpDelete}) // or it might come before anybody has looked
			for range 2 {
				wantErr(t, l.Release(ctx), ErrReleasePending)
			}
			reply.Release()
			synctest.Wait()
			if kids(srv) != 0 {
				t.Error("the deletion has not been sent")
			}
			if err := l.Release(t.Context()); err != nil {
				t.Error(err)
			}
			wantErr(t, l.Release(t.Context()), ErrNotHeld)
		}
	})
}

// What went wrong first comes first in the error, and what the clean-up has met is in it too.
func TestErrorsAreJoined(t *testing.T) { // K50
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		l := lock(t, NewMutex(a, "/lock"))
		for name, tc := range map[string]struct {
			fault  func(zktest.Match) *zktest.Rule
			second error
		}{
			"clean-up refused":     {func(m zktest.Match) *zktest.Rule { return srv.Fail(m, proto.ErrNoAuth) }, client.ErrNoAuth},
			"clean-up not in time": {func(m zktest.Match) *zktest.Rule { return srv.Delay(m, 2*CleanupGrace) }, ErrCleanupPending},
		} {
			rule := tc.fault(zktest.Match{Op: proto.OpDelete, Session: b.SessionID()})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := NewMutex(b, "/lock").Lock(ctx)
			cancel()
			wantErr(t, err, context.DeadlineExceeded, tc.second)
			if text := err.Error(); !strings.HasPrefix(text, "zk: lock /lock: "+context.DeadlineExceeded.Error()+"; ") {
				t.Errorf("%s: %s", name, text)
			}
			rule.Remove()
			<-time.After(time.Minute)
		}
		release(t, l)
	})
}

// A lock object whose holder's session has expired works again, with the next session, released or not.
func TestLockAfterExpiry(t *testing.T) { // K51, K5
	for name, f := range map[string]func(c *client.Client) acquire{
		"Mutex":      func(c *client.Client) acquire { return NewMutex(c, "/lock").Lock },
		"LocalQueue": func(c *client.Client) acquire { return NewMutex(c, "/lock", LocalQueue()).Lock },
		"HandOver":   func(c *client.Client) acquire { return NewMutex(c, "/lock", HandOver(3, time.Minute)).Lock },
		"writer":     func(c *client.Client) acquire { return NewRWMutex(c, "/lock").Lock },
		"reader":     func(c *client.Client) acquire { return NewRWMutex(c, "/lock").RLock },
		"Reentrant": func(c *client.Client) acquire {
			r := NewReentrant(c, "/lock")
			return func(ctx context.Context) (*Lease, error) {
				_, e, err := r.Lock(ctx)
				if err != nil {
					return nil, err
				}
				return e.l, nil
			}
		},
	} {
		for _, releaseFirst := range []bool{false, true} {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := dial(t, srv)
				defer c.Close()
				lockIt := f(c)
				for range 3 {
					l := get(t, lockIt)
					srv.ExpireSession(c.SessionID())
					<-l.Done()
					if releaseFirst {
						wantErr(t, l.Release(t.Context()), ErrLost, ErrSessionExpired)
						wantErr(t, l.Release(t.Context()), ErrNotHeld)
					}
					next := get(t, lockIt)
					if next.Node() == l.Node() || next.Token().Compare(l.Token()) <= 0 || kids(srv) != 1 {
						t.Errorf("%s: %s after %s", name, next.Node(), l.Node())
					}
					if !releaseFirst {
						wantErr(t, l.Release(t.Context()), ErrLost, ErrSessionExpired)
						if next.State() != Held || kids(srv) != 1 {
							t.Errorf("%s: the release of the lost lease has ended the next one", name)
						}
					}
					release(t, next)
				}
			})
		}
	}
}

// A server that refuses the deletion has not released anything, and says so as often as it is asked; the call can be repeated.
func TestReleaseRefused(t *testing.T) { // K49
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		l := lock(t, NewMutex(c, "/lock"))
		srv.Fail(zktest.Match{Op: proto.OpDelete, Times: 2}, proto.ErrNoAuth)
		for range 2 {
			err := l.Release(t.Context())
			if !errors.Is(err, ErrRefused) || !errors.Is(err, client.ErrNoAuth) || errors.Is(err, ErrLost) {
				t.Errorf("error %v", err)
			}
		}
		if kids(srv) != 1 || l.State() != Lost {
			t.Errorf("%d znodes, %v", kids(srv), l.State())
		}
		release(t, l) // now the server does it
		if kids(srv) != 0 {
			t.Error("the znode is there")
		}
		wantErr(t, l.Release(t.Context()), ErrNotHeld)
	})
}
