package recipes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// TestMultiLockMaxHold: a part's MaxHold counts from the grant of the whole. If it counted from its own, a part that is granted at once
// would be gone when another one is, each time anew if that takes longer, and Lock would never return.
func TestMultiLockMaxHold(t *testing.T) {
	for name, ordered := range map[string]func(*MultiLock) *MultiLock{
		"":          func(m *MultiLock) *MultiLock { return m },
		", Ordered": (*MultiLock).Ordered,
	} {
		t.Run("in a crowd"+name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := dial(t, srv), dialTo(t, srv, "two:2181")
				defer a.Close()
				defer b.Close()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				for range 2 { // until ctx ends; one of them always has /b, and the other is behind it
					go func() {
						for l, err := NewMutex(a, "/b").Lock(ctx); err == nil; l, err = NewMutex(a, "/b").Lock(ctx) {
							<-time.After(2 * time.Second)
							_ = l.Release(t.Context())
						}
					}()
				}
				synctest.Wait()
				w := goMulti(t.Context(), ordered(NewMultiLock(NewMutex(b, "/a", MaxHold(time.Second)).Part(), NewMutex(b, "/b").Part())))
				select {
				case <-w.done:
				case <-time.After(time.Minute):
					t.Error("starves")
				}
				cancel()
				releaseAll(t, w.granted(t))
				<-time.After(time.Minute)
				nothingLeft(t, srv)
			})
		})
		t.Run("whole"+name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := dial(t, srv), dialTo(t, srv, "two:2181")
				defer a.Close()
				defer b.Close()
				l := lock(t, NewMutex(a, "/b"))
				w := queuedAll(t.Context(), ordered(NewMultiLock(NewMutex(b, "/a", MaxHold(time.Second)).Part(), NewMutex(b, "/b").Part())))
				<-time.After(time.Minute)
				release(t, l)
				ml := w.granted(t)
				<-time.After(time.Second - time.Millisecond)
				if ml.State() != Held {
					t.Error(ml.State(), context.Cause(ml.Context()))
				}
				<-time.After(time.Millisecond)
				synctest.Wait()
				if left := srv.Children("/a"); !errors.Is(context.Cause(ml.Context()), ErrMaxHold) || len(left) > 0 {
					t.Error(context.Cause(ml.Context()), left)
				}
				if err := ml.Release(t.Context()); !errors.Is(err, ErrLost) || !errors.Is(err, ErrMaxHold) {
					t.Error(err)
				}
				nothingLeft(t, srv)
			})
		})
	}
}

// TestMultiLockPartLost: a part that is granted and lost while another one is waited for ends the attempt at once, so that whoever asked
// for it gets it, and Lock fails without waiting for the other one if it is told to.
func TestMultiLockPartLost(t *testing.T) {
	for name, ordered := range map[string]func(*MultiLock) *MultiLock{
		"":          func(m *MultiLock) *MultiLock { return m },
		", Ordered": (*MultiLock).Ordered,
	} {
		t.Run("revoked"+name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := dial(t, srv), dialTo(t, srv, "two:2181")
				defer a.Close()
				defer b.Close()
				l := lock(t, NewMutex(a, "/b"))
				w := queuedAll(t.Context(), ordered(NewMultiLock(NewMutex(b, "/a", Revocable(nil)).Part(), NewMutex(b, "/b").Part())))
				node := ownNodeUnder(t, srv, b, "/a")
				other := goLock(t.Context(), NewMutex(a, "/a"))
				synctest.Wait()
				if err := Revoke(t.Context(), a, node); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if !other.over() {
					t.Fatal("not given back")
				}
				release(t, other.lease)
				release(t, l)
				releaseAll(t, w.granted(t))
				nothingLeft(t, srv)
			})
		})
		t.Run("in flight"+name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := dial(t, srv), dialTo(t, srv, "two:2181")
				defer a.Close()
				defer b.Close()
				l := lock(t, NewMutex(a, "/b"))
				h := srv.Hold(zktest.Match{Op: proto.OpGetData, Session: b.SessionID(), Under: "/b"})
				w := queuedAll(t.Context(), ordered(NewMultiLock(NewMutex(b, "/a").Part(), NewMutex(b, "/b").Part())))
				err := srv.Delete(ownNodeUnder(t, srv, b, "/a"))
				synctest.Wait()
				if h.Release(); err != nil {
					t.Fatal(err)
				}
				<-time.After(time.Second)
				if w.over() || len(srv.Children("/a")) != 1 || len(srv.Children("/b")) != 2 {
					t.Error(w.err, srv.Children("/a"), srv.Children("/b"))
				}
				release(t, l)
				releaseAll(t, w.granted(t))
				nothingLeft(t, srv)
			})
		})
		t.Run("deleted"+name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := dial(t, srv), dialTo(t, srv, "two:2181")
				defer a.Close()
				defer b.Close()
				l := lock(t, NewMutex(a, "/b"))
				again := queuedAll(t.Context(), ordered(NewMultiLock(NewMutex(b, "/a").Part(), NewMutex(b, "/b").Part())))
				if err := srv.Delete(ownNodeUnder(t, srv, b, "/a")); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if again.over() || len(srv.Children("/a")) != 1 {
					t.Error(again.err, srv.Children("/a"))
				}
				release(t, l)
				releaseAll(t, again.granted(t))
				l = lock(t, NewMutex(a, "/b"))
				w := queuedAll(t.Context(), ordered(NewMultiLock(NewMutex(b, "/a").Part(), NewMutex(b, "/b", FailIfNodeGone()).Part())))
				if err := srv.Delete(ownNodeUnder(t, srv, b, "/a")); err != nil {
					t.Fatal(err)
				}
				w.ended(t)
				if !errors.Is(w.err, ErrNodeGone) {
					t.Error(w.err)
				}
				release(t, l)
				nothingLeft(t, srv)
			})
		})
	}
}
