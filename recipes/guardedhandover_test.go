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

// With HandOver alone no operation tells one holder from the next, so the guard is refused, and nothing is sent.
func TestHandOverGuard(t *testing.T) { // A9
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		l := lock(t, NewMutex(c, "/lock", HandOver(9, time.Hour)))
		quiet(t, srv, func() {
			_, err := c.Multi(t.Context(), client.SetOp("/lock", nil, client.AnyVersion), l.Guard())
			var multi *client.MultiError
			if !errors.Is(err, ErrUnguarded) || !errors.As(err, &multi) || multi.Index != 1 || client.MaybeApplied(err) {
				t.Errorf("%v", err)
			}
		})
		release(t, l)
		l = lock(t, NewMutex(c, "/lock", LocalQueue())) // a znode for each holder is as good a guard as ever
		if _, err := c.Multi(t.Context(), l.Guard()); err != nil {
			t.Error(err)
		}
		release(t, l)
		_, err := c.Multi(t.Context(), l.Guard())
		wantErr(t, err, client.ErrNoNode)
	})
}

// guarded says what the server thinks of a lease's guard.
func guarded(t *testing.T, c *client.Client, l *Lease) error {
	t.Helper()
	_, err := c.Multi(t.Context(), l.Guard())
	return err
}

func TestGuardedHandover(t *testing.T) { // A9: each hand-over writes the znode, and only the newest holder's guard passes
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock", GuardedHandover(), HandOver(4, time.Hour))
		l := lock(t, m)
		data, _, _ := srv.Get(l.Node())
		ws := queueUp(t.Context(), m, 4)
		leases := []*Lease{l}
		for _, w := range ws[:3] {
			before := srv.Snapshot()
			wantFlights(t, srv, 1, func() { l = handed(t, l, w) })
			if n := srv.Snapshot().Requests - before.Requests; n != 1 {
				t.Errorf("%d requests for a hand-over, want 1", n)
			}
			for _, old := range leases {
				wantErr(t, guarded(t, c, old), client.ErrBadVersion)
			}
			if err := guarded(t, c, l); err != nil {
				t.Errorf("the holder's guard: %v", err)
			}
			if now, st, _ := srv.Get(l.Node()); string(now) != string(data) || st.Version != int32(l.Token().Hand) {
				t.Errorf("data %q of version %d, token %v", now, st.Version, l.Token())
			}
			leases = append(leases, l)
		}
		next := notHanded(t, l, ws[3])
		for _, old := range leases {
			wantErr(t, guarded(t, c, old), client.ErrNoNode)
		}
		if err := guarded(t, c, next); err != nil {
			t.Error(err)
		}
		release(t, next)
	})
}

// Whatever comes between a release and the write of the next holder, the znode is given up, and the next one lines up anew.
func TestGuardedHandoverFails(t *testing.T) {
	set := zktest.Match{Op: proto.OpSetData}
	for name, disturb := range map[string]func(srv *zktest.Server, node string){
		"reply lost":          func(srv *zktest.Server, _ string) { srv.CloseAfter(set) },
		"request lost":        func(srv *zktest.Server, _ string) { srv.CloseBefore(set) },
		"refused":             func(srv *zktest.Server, _ string) { srv.Fail(set, proto.ErrNoAuth) },
		"an operator's write": func(srv *zktest.Server, node string) { _ = srv.Set(node, []byte("x")) },
		"an operator's write, twice": func(srv *zktest.Server, node string) {
			_ = srv.Set(node, []byte("x"))
			_ = srv.Set(node, []byte("y"))
		},
		"written and lost while away": func(srv *zktest.Server, _ string) {
			srv.CloseAfter(set)
			srv.Member("one:2181").Refuse(zktest.RefuseDial)
			time.AfterFunc(2*time.Second, func() { srv.Member("one:2181").Refuse(zktest.Accept) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := dial(t, srv), dialTo(t, srv, "two:2181")
				defer a.Close()
				defer b.Close()
				m := NewMutex(a, "/lock", GuardedHandover(), HandOver(9, time.Hour))
				l := lock(t, m)
				ours := queueUp(t.Context(), m, 2)
				l = handed(t, l, ours[0])
				other := goLock(t.Context(), NewMutex(b, "/lock"))
				synctest.Wait()
				disturb(srv, l.Node())
				if err := l.Release(t.Context()); err != nil {
					t.Error(err)
				}
				theirs := other.waitFor(t)
				if err := guarded(t, a, l); !errors.Is(err, client.ErrNoNode) {
					t.Errorf("the guard of the znode that was given up: %v", err)
				}
				synctest.Wait()
				if ours[1].over() {
					t.Fatal("two holders")
				}
				next := notHanded(t, theirs, ours[1])
				if err := guarded(t, a, next); err != nil {
					t.Error(err)
				}
				release(t, next)
				if n := kids(srv); n != 0 || a.CleanupsPending() != 0 {
					t.Errorf("%d znodes left behind", n)
				}
			})
		})
	}
}

// The next holder gives up while its write is under way, or before: the znode is not left behind, and the line goes on.
func TestGuardedHandoverCancelled(t *testing.T) {
	for name, executed := range map[string]bool{"executed": true, "not executed": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := dial(t, srv)
				defer c.Close()
				m := NewMutex(c, "/lock", GuardedHandover(), HandOver(9, time.Hour))
				l := lock(t, m)
				ctx, cancel := context.WithCancel(t.Context())
				first := queueUp(ctx, m, 1)[0]
				second := queueUp(t.Context(), m, 1)[0]
				hold := srv.Hold
				if executed {
					hold = srv.HoldReply
				}
				held := hold(zktest.Match{Op: proto.OpSetData})
				release(t, l)
				synctest.Wait()
				cancel()
				<-first.done
				wantErr(t, first.err, context.Canceled)
				synctest.Wait()
				if second.over() {
					t.Fatal("acquired with the znode of the one that gave up in front")
				}
				held.Release()
				next := second.waitFor(t)
				if next.Token().Hand != 0 {
					t.Errorf("token %v", next.Token())
				}
				release(t, next)
				if n := kids(srv); n != 0 || c.CleanupsPending() != 0 {
					t.Errorf("%d znodes left behind", n)
				}
			})
		})
	}
}
