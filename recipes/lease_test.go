package recipes

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

type key struct{}

func TestLeaseContext(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock")
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "v"), time.Minute)
		l := must(m.Lock(ctx))
		lc := l.Context()
		if lc != l.Context() {
			t.Error("not the same context twice")
		}
		if lc.Value(key{}) != "v" {
			t.Error("Lock's value is missing")
		}
		if _, ok := lc.Deadline(); ok {
			t.Error("Lock's deadline is there")
		}
		cancel()
		derived, stop := context.WithCancelCause(lc)
		defer stop(nil)
		ran := make(chan struct{})
		context.AfterFunc(lc, func() { close(ran) })
		never := context.AfterFunc(lc, func() { t.Error("stopped function ran") })
		synctest.Wait()
		if lc.Err() != nil || derived.Err() != nil || context.Cause(lc) != nil {
			t.Fatalf("ended with Lock's context: %v", lc.Err())
		}
		if !never() || never() {
			t.Error("stop must report true once")
		}
		release(t, l)
		<-lc.Done()
		<-derived.Done()
		<-ran
		for _, err := range []error{lc.Err(), context.Cause(lc), context.Cause(derived)} {
			if !errors.Is(err, ErrReleased) || !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		}
		late := make(chan struct{})
		stopLate := context.AfterFunc(lc, func() { close(late) })
		<-late
		if stopLate() {
			t.Error("stop after the end reports true")
		}
		var none *Lease
		if !errors.Is(context.Cause(none.Context()), ErrNotHeld) || none.State() != Lost || !none.Token().IsZero() || none.Node() != "" {
			t.Error("nil lease")
		}
		<-none.Done()
	})
}

func TestLeaseCauses(t *testing.T) { // C152, F82, F99, K53
	for name, tc := range map[string]struct {
		opts  []Option
		end   func(*zktest.Server, *client.Client)
		want  error
		after time.Duration // at most, from the fault to the end
	}{
		"expired":      {nil, func(s *zktest.Server, c *client.Client) { s.ExpireSession(c.SessionID()) }, ErrSessionExpired, time.Second},
		"closed":       {nil, func(_ *zktest.Server, c *client.Client) { go c.Close() }, ErrClosed, 0},
		"unreachable":  {nil, func(s *zktest.Server, _ *client.Client) { s.Refuse(zktest.RefuseDial); s.DropConnections() }, ErrDeadline, timeout},
		"cut off":      {nil, func(s *zktest.Server, _ *client.Client) { s.CutFromLeader(true) }, ErrDeadline, 2 * timeout},
		"disconnected": {[]Option{Strict()}, func(s *zktest.Server, _ *client.Client) { s.DropConnections() }, ErrDisconnected, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := dial(t, srv)
				defer c.Close()
				l := lock(t, NewMutex(c, "/lock", tc.opts...))
				<-time.After(3 * timeout) // its heartbeat keeps it
				began := time.Now()
				tc.end(srv, c)
				<-l.Done()
				if cause := context.Cause(l.Context()); !errors.Is(cause, tc.want) {
					t.Errorf("ended with %v, want %v", cause, tc.want)
				}
				if d := time.Since(began); d > tc.after {
					t.Errorf("ended after %v, want at most %v", d, tc.after)
				}
				if l.State() != Lost {
					t.Errorf("state %v", l.State())
				}
				dead, cancel := context.WithCancel(t.Context())
				cancel()
				if err := l.Release(dead); !errors.Is(err, ErrLost) && !errors.Is(err, ErrReleasePending) {
					t.Errorf("release: %v", err)
				}
			})
		})
	}
}

func TestUnsureAndHeldAgain(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		l := lock(t, NewMutex(c, "/lock"))
		var states []State
		done := make(chan struct{})
		go func() {
			for s := range l.States(t.Context()) {
				states = append(states, s)
			}
			close(done)
		}()
		synctest.Wait()
		srv.Refuse(zktest.RefuseDial)
		srv.DropConnections()
		synctest.Wait()
		if l.State() != Unsure || l.Context().Err() != nil {
			t.Errorf("disconnected: %v, %v", l.State(), l.Context().Err())
		}
		srv.Refuse(zktest.Accept)
		<-time.After(timeout / 4)
		if l.State() != Held {
			t.Errorf("reconnected: %v", l.State())
		}
		release(t, l)
		<-done
		if !slices.Equal(states, []State{Held, Unsure, Held, Lost}) {
			t.Errorf("%v", states)
		}
	})
}

// A follower that is cut off from the leader goes on answering pings. The lease must end before the others see the znode
// gone, and the session survives by moving, if there is where to (C152, D16).
func TestCutOffFromTheLeader(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			servers := "one:2181"
			if elsewhere {
				servers = "one:2181,two:2181"
			}
			c := dialTo(t, srv, servers, client.Rand(func() uint64 { return 1 }))
			defer c.Close()
			other := dialTo(t, srv, "three:2181")
			defer other.Close()
			id := c.SessionID()
			l := lock(t, NewMutex(c, "/lock"))
			<-time.After(5 * timeout) // a long hold, kept alive by its heartbeat
			if l.State() != Held {
				t.Fatalf("%v", context.Cause(l.Context()))
			}
			for _, member := range []string{"one:2181", "two:2181"} {
				if m := srv.Member(member); len(m.Addr()) > 0 && serves(srv, member) {
					m.CutFromLeader(true)
				}
			}
			w := goLock(t.Context(), NewMutex(other, "/lock"))
			if elsewhere {
				<-time.After(3 * timeout)
				if l.State() != Held || c.SessionID() != id {
					t.Errorf("the session did not survive by moving: %v", context.Cause(l.Context()))
				}
				if w.over() {
					t.Error("two holders")
				}
				release(t, l)
			} else {
				<-w.done // as soon as the ensemble has expired the session
				if l.State() != Lost {
					t.Fatal("two holders: the lease goes on although the znode is gone")
				}
				if !errors.Is(context.Cause(l.Context()), ErrDeadline) {
					t.Errorf("%v", context.Cause(l.Context()))
				}
			}
			<-w.done
			if w.err != nil {
				t.Fatal(w.err)
			}
			release(t, w.lease)
		})
	}
}

// serves says whether some session is connected through a member.
func serves(srv *zktest.Server, member string) bool {
	for _, s := range srv.Sessions() {
		if s.Member == member {
			return true
		}
	}
	return false
}

// The context of a lease may be the one that its release waits with: its own end is not meant.
func TestReleaseWithTheLeasesContext(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock")
		l := lock(t, m)
		if err := l.Release(l.Context()); err != nil || kids(srv) != 0 {
			t.Errorf("%v, %d znodes", err, kids(srv))
		}
		l = lock(t, m)
		ctx, cancel := context.WithTimeout(l.Context(), time.Second)
		defer cancel()
		held := srv.Hold(zktest.Match{Op: proto.OpDelete})
		if err := l.Release(ctx); !errors.Is(err, ErrReleasePending) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("its own deadline: %v", err)
		}
		held.Release()
		release(t, l)
		l = lock(t, m)
		ended, end := context.WithCancel(l.Context())
		end()
		reply := srv.HoldReply(zktest.Match{Op: proto.OpDelete})
		defer reply.Release()
		if err := l.Release(ended); !errors.Is(err, ErrReleasePending) || !errors.Is(err, context.Canceled) {
			t.Errorf("ended before: %v", err)
		}
	})
}
