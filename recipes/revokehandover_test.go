package recipes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/zktest"
)

// A znode whose holder was asked is not handed over: whoever asked is to have the lock.
func TestRevokedZnodeIsNotHandedOver(t *testing.T) {
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
				m := NewMutex(a, "/lock", opt, HandOver(9, time.Hour))
				ws := queueUp(t.Context(), m, 1)
				l := ws[0].waitFor(t)
				ours := queueUp(t.Context(), m, 2)
				l = handed(t, l, ours[0])
				other := goLock(t.Context(), NewMutex(b, "/lock"))
				synctest.Wait()
				revoke(t, b, l.Node())
				if withFunction {
					told.want(t, l)
					release(t, l)
				} else {
					wantErr(t, context.Cause(l.Context()), ErrRevoked)
					wantErr(t, l.Release(t.Context()), ErrLost, ErrRevoked)
				}
				theirs := other.waitFor(t)
				synctest.Wait()
				if ours[1].over() {
					t.Fatal("handed over")
				}
				release(t, notHanded(t, theirs, ours[1]))
				told.want(t)
				if n := kids(srv); n != 0 {
					t.Errorf("%d znodes left behind", n)
				}
			})
		})
	}
}

// What becomes of a znode at the moment of a hand-over is told the new holder.
func TestRevokeDuringHandOver(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		told := newAsked()
		m := NewMutex(a, "/lock", Revocable(told.told), HandOver(9, time.Hour))
		l := lock(t, m)
		w := queueUp(t.Context(), m, 1)[0]
		srv.Member("one:2181").Stall(true) // the event is under way when the znode changes hands
		revoke(t, b, l.Node())
		next := handed(t, l, w)
		told.want(t)
		srv.Member("one:2181").Stall(false)
		told.want(t, next)
		release(t, next)

		// The news are here when the old holder has gone and before the new one has come.
		for name, tc := range map[string]struct {
			tell func(*nodeGuard)
			want error // what ends the new lease
		}{
			"asked": {func(g *nodeGuard) { g.tellData([]byte(revokeText)) }, nil},
			"gone":  {(*nodeGuard).tellGone, ErrNodeGone},
		} {
			l = lock(t, NewMutex(a, "/lock", Revocable(told.told), HandOver(9, time.Hour)))
			synctest.Wait()
			ct := l.by.contender()
			l.finish(ErrReleased)
			l.gen.Unhold(&l.hold)
			tc.tell(ct.guard)
			told.want(t)
			next = ct.takeOver(t.Context())
			if next == nil {
				t.Fatalf("%s: not taken over", name)
			}
			if err := context.Cause(next.Context()); !errors.Is(err, tc.want) {
				t.Errorf("%s: %v", name, err)
			}
			if tc.want == nil {
				told.want(t, next)
			}
			_ = next.Release(t.Context())
			told.want(t)
		}
	})
}

// Readers and writers are revocable too, one by one, and a read lock that was a write lock goes on being so.
func TestRevokeReadersAndWriters(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		told := newAsked()
		rw := NewRWMutex(c, "/lock", Revocable(told.told))
		l := must(rw.Lock(t.Context()))
		if err := l.Downgrade(t.Context()); err != nil {
			t.Fatal(err)
		}
		one, two := must(rw.RLock(t.Context())), must(rw.RLock(t.Context()))
		told.want(t)
		revoke(t, c, one.Node())
		told.want(t, one)
		revoke(t, c, l.Node())
		told.want(t, l)
		for _, l := range []*Lease{one, two, l} {
			release(t, l)
		}
		l = must(rw.Lock(t.Context()))
		revoke(t, c, l.Node())
		told.want(t, l)
		release(t, l)
		told.want(t)
	})
}
