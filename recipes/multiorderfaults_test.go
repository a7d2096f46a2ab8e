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

// orderedStage brings an Ordered MultiLock of /a, /b and /c to where it stays until end is called, which it is at most once.
type orderedStage func(t *testing.T, srv *zktest.Server, other, c *client.Client, start func() *multiWaiter) (w *multiWaiter, end func())

// waitsFor is the stage in which it has what comes before path and waits there, having asked for that in several flights if again.
func waitsFor(path string, again bool) orderedStage {
	return func(t *testing.T, _ *zktest.Server, other, _ *client.Client, start func() *multiWaiter) (*multiWaiter, func()) {
		l := lock(t, NewMutex(other, path))
		if !again {
			return start(), func() { release(t, l) }
		}
		first := lock(t, NewMutex(other, "/a"))
		w := start()
		release(t, first)
		synctest.Wait()
		return w, func() { release(t, l) }
	}
}

// asksForTheRest is the stage in which it has /a, and asks for /b and /c; hold keeps something of that from being answered.
func asksForTheRest(hold func(srv *zktest.Server, session int64) *zktest.Held) orderedStage {
	return func(t *testing.T, srv *zktest.Server, other, c *client.Client, start func() *multiWaiter) (*multiWaiter, func()) {
		l := lock(t, NewMutex(other, "/a"))
		w := start()
		h := hold(srv, c.SessionID())
		release(t, l)
		synctest.Wait()
		return w, h.Release
	}
}

// orderedStages are all stages at which it stops.
func orderedStages() map[string]orderedStage {
	return map[string]orderedStage{
		"waits for the first":             waitsFor("/a", false),
		"waits for the second":            waitsFor("/b", false),
		"waits for the last":              waitsFor("/c", false),
		"waits for the second, in steps":  waitsFor("/b", true),
		"waits for the last, in steps":    waitsFor("/c", true),
		"deletion of places not executed": givesUp(func(srv *zktest.Server, m zktest.Match) *zktest.Held { return srv.Hold(m) }),
		"deletion of places not answered": givesUp(func(srv *zktest.Server, m zktest.Match) *zktest.Held { return srv.HoldReply(m) }),
		"rest not executed": asksForTheRest(func(srv *zktest.Server, id int64) *zktest.Held {
			return srv.Hold(zktest.Match{Op: proto.OpMulti, Session: id})
		}),
		"rest not answered": asksForTheRest(func(srv *zktest.Server, id int64) *zktest.Held {
			return srv.HoldReply(zktest.Match{Op: proto.OpMulti, Session: id})
		}),
		"list of the rest not answered": asksForTheRest(func(srv *zktest.Server, id int64) *zktest.Held {
			return srv.HoldReply(zktest.Match{Op: proto.OpGetChildren2, Session: id, Path: "/c"})
		}),
	}
}

// givesUp is the stage in which it has given up places, and that is not confirmed when it is to ask for them again.
func givesUp(hold func(*zktest.Server, zktest.Match) *zktest.Held) orderedStage {
	return func(t *testing.T, srv *zktest.Server, other, c *client.Client, start func() *multiWaiter) (*multiWaiter, func()) {
		l := lock(t, NewMutex(other, "/a"))
		h := hold(srv, zktest.Match{Op: proto.OpDelete, Session: c.SessionID(), Under: "/c"})
		w := start()
		release(t, l)
		synctest.Wait()
		return w, h.Release
	}
}

// atEveryStage runs f with a MultiLock that stands at one of the stages.
func atEveryStage(t *testing.T, f func(t *testing.T, srv *zktest.Server, c *client.Client, w *multiWaiter, cancel func(), end func())) {
	for name, stage := range orderedStages() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				other, c := dial(t, srv), dialTo(t, srv, "two:2181")
				defer other.Close()
				defer c.Close()
				m := mutexes(c, "/c", "/a", "/b").Ordered()
				releaseAll(t, lockAll(t, m))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				w, end := stage(t, srv, other, c, func() *multiWaiter { return queuedAll(ctx, m) })
				if w.over() {
					t.Fatalf("over: %v", w.err)
				}
				f(t, srv, c, w, cancel, end)
				<-time.After(time.Minute)
				nothingLeft(t, srv)
				if n := c.CleanupsPending(); n != 0 {
					t.Errorf("%d clean-ups", n)
				}
				for _, p := range []string{"/a", "/b", "/c"} {
					release(t, lock(t, NewMutex(other, p)))
				}
			})
		})
	}
}

func TestOrderedGoesOn(t *testing.T) { // every stage comes to its end without a fault
	atEveryStage(t, func(t *testing.T, srv *zktest.Server, _ *client.Client, w *multiWaiter, _, end func()) {
		end()
		ml := w.granted(t)
		eachHasOne(t, srv, ml)
		releaseAll(t, ml)
	})
}

// eachHasOne fails unless each path has the znode of ml's lease, and no other.
func eachHasOne(t *testing.T, srv *zktest.Server, ml *MultiLease) {
	t.Helper()
	synctest.Wait()
	for _, l := range ml.Leases() {
		_, st, err := srv.Get(l.Node())
		if kids := srv.Children(l.b.dir); err != nil || st.Czxid != l.Token().Zxid || len(kids) != 1 {
			t.Errorf("%s: %v, token %v, made by %d: %v", l.Node(), kids, l.Token(), st.Czxid, err)
		}
	}
}

func TestOrderedCancelled(t *testing.T) { // A3
	atEveryStage(t, func(t *testing.T, srv *zktest.Server, _ *client.Client, w *multiWaiter, cancel, end func()) {
		began := time.Now()
		cancel()
		w.ended(t)
		if !errors.Is(w.err, context.Canceled) || time.Since(began) > CleanupGrace {
			t.Errorf("%v, after %v", w.err, time.Since(began))
		}
		end()
	})
}

func TestOrderedConnectionLost(t *testing.T) { // A3, I12
	atEveryStage(t, func(t *testing.T, srv *zktest.Server, c *client.Client, w *multiWaiter, _, end func()) {
		srv.Member("two:2181").DropConnections()
		<-time.After(time.Second)
		end()
		ml := w.granted(t)
		eachHasOne(t, srv, ml)
		releaseAll(t, ml)
	})
}

func TestOrderedCancelledWithoutConnection(t *testing.T) {
	atEveryStage(t, func(t *testing.T, srv *zktest.Server, _ *client.Client, w *multiWaiter, cancel, end func()) {
		srv.Member("two:2181").Refuse(zktest.RefuseClose)
		srv.Member("two:2181").DropConnections()
		synctest.Wait()
		cancel()
		w.ended(t)
		if !errors.Is(w.err, context.Canceled) || !errors.Is(w.err, ErrCleanupPending) {
			t.Errorf("%v", w.err)
		}
		end()
		srv.Member("two:2181").Refuse(zktest.Accept)
	})
}

func TestOrderedSessionExpired(t *testing.T) { // D7: all again, with new names
	atEveryStage(t, func(t *testing.T, srv *zktest.Server, c *client.Client, w *multiWaiter, _, end func()) {
		srv.ExpireSession(c.SessionID())
		<-time.After(time.Second)
		end()
		ml := w.granted(t)
		eachHasOne(t, srv, ml)
		releaseAll(t, ml)
	})
}

// TestOrderedNodeDeleted: an operator deletes any one of the znodes that it has at any stage, and another client takes that lock. The
// MultiLock is not granted before that one has given it back.
func TestOrderedNodeDeleted(t *testing.T) { // A10 rule 2
	for _, dir := range []string{"/a", "/b", "/c"} {
		atEveryStage(t, func(t *testing.T, srv *zktest.Server, c *client.Client, w *multiWaiter, _, end func()) {
			for _, name := range srv.Children(dir) {
				path := child(dir, []byte(name))
				if _, st, err := srv.Get(path); err == nil && st.EphemeralOwner == c.SessionID() {
					if err := srv.Delete(path); err != nil {
						t.Fatal(err)
					}
				}
			}
			thief := dialTo(t, srv, "three:2181")
			defer thief.Close()
			taken := queued(t.Context(), NewMutex(thief, dir).Lock)
			had := taken.over()
			end()
			synctest.Wait()
			// What was executed before the deletion, and is only told late, makes a hold that is over already: its guards say so.
			late := dir != "/a" && strings.Contains(t.Name(), "rest_not_answered")
			if late && w.over() {
				if _, err := c.Multi(t.Context(), w.lease.Guards()...); !errors.Is(err, client.ErrNoNode) {
					t.Errorf("a part is gone, and the guards say %v", err)
				}
			}
			if had && w.over() && !late {
				t.Fatalf("granted while another has %s: %v", dir, w.err)
			}
			if !w.over() { // else the other one is behind it
				<-taken.done
				release(t, taken.lease)
			}
			if ml := w.granted(t); late {
				_ = ml.ReleasePipelined()
			} else {
				releaseAll(t, ml)
			}
			if <-taken.done; taken.lease.State() != Lost {
				release(t, taken.lease)
			}
		})
	}
}

func TestOrderedLostReplies(t *testing.T) { // A10 rule 16, I12: of the rest, and of what is given up
	for name, fault := range map[string]func(*zktest.Server, *client.Client){
		"rest executed": func(srv *zktest.Server, c *client.Client) {
			srv.CloseAfter(zktest.Match{Op: proto.OpMulti, Session: c.SessionID()})
		},
		"rest not executed": func(srv *zktest.Server, c *client.Client) {
			srv.CloseBefore(zktest.Match{Op: proto.OpMulti, Session: c.SessionID()})
		},
		"rest executed twice": func(srv *zktest.Server, c *client.Client) {
			srv.CloseAfter(zktest.Match{Op: proto.OpMulti, Session: c.SessionID(), Times: 2})
		},
		"list lost": func(srv *zktest.Server, c *client.Client) {
			srv.CloseBefore(zktest.Match{Op: proto.OpGetChildren2, Session: c.SessionID(), Path: "/b"})
		},
		"list's reply lost": func(srv *zktest.Server, c *client.Client) {
			srv.CloseAfter(zktest.Match{Op: proto.OpGetChildren2, Session: c.SessionID(), Path: "/c"})
		},
		"multi and list lost": func(srv *zktest.Server, c *client.Client) {
			srv.CloseAfter(zktest.Match{Op: proto.OpMulti, Session: c.SessionID()})
			srv.CloseBefore(zktest.Match{Op: proto.OpGetChildren2, Session: c.SessionID(), Path: "/c"})
		},
		"paths gone": func(srv *zktest.Server, _ *client.Client) {
			for srv.Sweep() > 0 {
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				other, c := dial(t, srv), dialTo(t, srv, "two:2181")
				defer other.Close()
				defer c.Close()
				m := mutexes(c, "/a", "/b", "/c").Ordered()
				releaseAll(t, lockAll(t, m))
				l := lock(t, NewMutex(other, "/a"))
				w := queuedAll(t.Context(), m)
				fault(srv, c)
				release(t, l)
				ml := w.granted(t)
				eachHasOne(t, srv, ml)
				releaseAll(t, ml)
				nothingLeft(t, srv)
			})
		})
	}
	for name, lose := range map[string]func(*zktest.Server, zktest.Match) *zktest.Rule{
		"deletion executed":     (*zktest.Server).CloseAfter,
		"deletion not executed": (*zktest.Server).CloseBefore,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				other, c := dial(t, srv), dialTo(t, srv, "two:2181")
				defer other.Close()
				defer c.Close()
				m := mutexes(c, "/a", "/b", "/c").Ordered()
				releaseAll(t, lockAll(t, m))
				l := lock(t, NewMutex(other, "/a"))
				lose(srv, zktest.Match{Op: proto.OpDelete, Session: c.SessionID(), Under: "/b"})
				w := queuedAll(t.Context(), m)
				<-time.After(time.Second)
				release(t, lock(t, NewMutex(other, "/b"))) // nothing keeps that from being had
				release(t, l)
				ml := w.granted(t)
				eachHasOne(t, srv, ml)
				releaseAll(t, ml)
				nothingLeft(t, srv)
			})
		})
	}
}

// TestOrderedDeletionRefused: a place that it may not give up would keep it waiting for itself. It fails instead.
func TestOrderedDeletionRefused(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		other, c := dial(t, srv), dialTo(t, srv, "two:2181")
		defer other.Close()
		defer c.Close()
		m := mutexes(c, "/a", "/b").Ordered()
		releaseAll(t, lockAll(t, m))
		l := lock(t, NewMutex(other, "/a"))
		srv.Fail(zktest.Match{Op: proto.OpDelete, Session: c.SessionID(), Under: "/b"}, proto.ErrNoAuth)
		w := queuedAll(t.Context(), m)
		release(t, l)
		w.ended(t)
		if !errors.Is(w.err, ErrRefused) || !errors.Is(w.err, client.ErrNoAuth) {
			t.Errorf("%v", w.err)
		}
		if names := srv.Children("/a"); len(names) > 0 {
			t.Errorf("/a: %v", names)
		}
	})
}
