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

// oneTransaction fails unless the paths have one znode of ml each, all made by one transaction, whose zxid is the token.
func oneTransaction(t *testing.T, srv *zktest.Server, ml *MultiLease) {
	t.Helper()
	synctest.Wait()
	for _, l := range ml.Leases() {
		_, st, err := srv.Get(l.Node())
		if err != nil || st.Czxid != l.Token().Zxid || l.Token() != ml.Token() {
			t.Errorf("%s: token %v of the whole %v, made by %d: %v", l.Node(), l.Token(), ml.Token(), st.Czxid, err)
		}
		if kids := srv.Children(l.b.dir); len(kids) != 1 {
			t.Errorf("%s: %v", l.b.dir, kids)
		}
	}
}

func TestLostMulti(t *testing.T) { // A10 rule 16, G6, I12
	for name, fault := range map[string]func(*zktest.Server, *client.Client){
		"executed":     func(srv *zktest.Server, _ *client.Client) { srv.CloseAfter(zktest.Match{Op: proto.OpMulti}) },
		"not executed": func(srv *zktest.Server, _ *client.Client) { srv.CloseBefore(zktest.Match{Op: proto.OpMulti}) },
		"executed twice": func(srv *zktest.Server, _ *client.Client) {
			srv.CloseAfter(zktest.Match{Op: proto.OpMulti, Times: 2})
		},
		"executed three times": func(srv *zktest.Server, _ *client.Client) {
			srv.CloseAfter(zktest.Match{Op: proto.OpMulti, Times: 3})
		},
		"executed, then not": func(srv *zktest.Server, _ *client.Client) {
			srv.CloseAfter(zktest.Match{Op: proto.OpMulti})
			srv.CloseBefore(zktest.Match{Op: proto.OpMulti})
		},
		"lists lost": func(srv *zktest.Server, _ *client.Client) { srv.CloseBefore(zktest.Match{Op: proto.OpGetChildren2}) },
		"second list lost": func(srv *zktest.Server, _ *client.Client) {
			srv.CloseBefore(zktest.Match{Op: proto.OpGetChildren2, Path: "/b"})
		},
		"reply of a list lost": func(srv *zktest.Server, _ *client.Client) {
			srv.CloseAfter(zktest.Match{Op: proto.OpGetChildren2, Path: "/b"})
		},
		"multi and a list lost": func(srv *zktest.Server, _ *client.Client) {
			srv.CloseAfter(zktest.Match{Op: proto.OpMulti})
			srv.CloseBefore(zktest.Match{Op: proto.OpGetChildren2, Path: "/c"})
		},
		"a znode of it deleted": func(srv *zktest.Server, c *client.Client) { lostAndPartlyDeleted(srv, c, "/a") },
		"another of it deleted": func(srv *zktest.Server, c *client.Client) { lostAndPartlyDeleted(srv, c, "/b") },
	} {
		for names, parts := range map[string]func(c *client.Client) []Part{
			"": func(c *client.Client) []Part {
				return []Part{NewMutex(c, "/a").Part(), NewRWMutex(c, "/b").Part(), NewSemaphore(c, "/c", 3).Part(2)}
			},
			", plain names": func(c *client.Client) []Part {
				return []Part{NewMutex(c, "/a", PlainNames("lock-")).Part(), NewMutex(c, "/b", PlainNames("n_")).Part(), NewRWMutex(c, "/c").RPart()}
			},
		} {
			t.Run(name+names, func(t *testing.T) {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					c := dial(t, srv)
					defer c.Close()
					m := NewMultiLock(parts(c)...)
					releaseAll(t, lockAll(t, m)) // the paths exist
					fault(srv, c)
					ml := lockAll(t, m)
					oneTransaction(t, srv, ml)
					releaseAll(t, ml)
					nothingLeft(t, srv)
				})
			})
		}
	}
}

// lostAndPartlyDeleted lets the next multi be carried out and its reply be lost, and deletes what it made of one path: the lowest
// znodes of the paths are then of different multis.
func lostAndPartlyDeleted(srv *zktest.Server, c *client.Client, dir string) {
	srv.CloseAfter(zktest.Match{Op: proto.OpMulti, Session: c.SessionID()})
	held := srv.Hold(zktest.Match{Op: proto.OpMulti, Session: c.SessionID()})
	go func() {
		<-held.Hit()
		for _, name := range srv.Children(dir) {
			_ = srv.Delete(dir + "/" + name)
		}
		held.Release()
	}()
}

// TestLostMultiIsBehind: the znodes of the second multi are the ones that count, so who came in between is ahead, on all paths.
func TestLostMultiIsBehind(t *testing.T) { // G7, G8
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := dial(t, srv), dialTo(t, srv, "two:2181"), dialTo(t, srv, "three:2181")
		defer a.Close()
		defer b.Close()
		defer c.Close()
		first := lockAll(t, mutexes(c, "/x", "/y"))
		srv.CloseAfter(zktest.Match{Op: proto.OpMulti, Session: a.SessionID()})
		srv.Member("one:2181").Refuse(zktest.RefuseClose)
		lost := queuedAll(t.Context(), mutexes(a, "/x", "/y"))
		between := queuedAll(t.Context(), mutexes(b, "/y", "/x"))
		srv.Member("one:2181").Refuse(zktest.Accept)
		<-time.After(time.Second)
		if x, y := srv.Children("/x"), srv.Children("/y"); len(x) != 3 || len(y) != 3 {
			t.Errorf("%v, %v", x, y)
		}
		releaseAll(t, first)
		ml := between.granted(t)
		if lost.over() {
			t.Fatalf("two hold the same: %v", lost.err)
		}
		releaseAll(t, ml)
		releaseAll(t, lost.granted(t))
		nothingLeft(t, srv)
	})
}

// TestMultiLockCancelled: its context ends at one moment or another. Lock returns within the grace, and nothing is left.
func TestMultiLockCancelled(t *testing.T) {
	for name, tc := range map[string]struct {
		before  func(t *testing.T, srv *zktest.Server, other, c *client.Client) func() // makes Lock hang; returns what ends that
		pending bool                                                                   // the clean-up cannot be confirmed in time
		busy    string                                                                 // the path that another has meanwhile
	}{
		"not connected": {func(_ *testing.T, srv *zktest.Server, _, c *client.Client) func() {
			srv.Member("two:2181").Refuse(zktest.RefuseClose)
			srv.Member("two:2181").DropConnections()
			synctest.Wait()
			return func() { srv.Member("two:2181").Refuse(zktest.Accept) }
		}, false, ""},
		"multi not answered": {func(_ *testing.T, srv *zktest.Server, _, c *client.Client) func() {
			return srv.HoldReply(zktest.Match{Op: proto.OpMulti, Session: c.SessionID()}).Release
		}, true, ""},
		"multi not executed yet": {func(_ *testing.T, srv *zktest.Server, _, c *client.Client) func() {
			return srv.Hold(zktest.Match{Op: proto.OpMulti, Session: c.SessionID()}).Release
		}, true, ""},
		"commit late, connection gone": {func(_ *testing.T, srv *zktest.Server, _, c *client.Client) func() {
			held := srv.HoldCommit(zktest.Match{Op: proto.OpMulti, Session: c.SessionID()})
			srv.Member("two:2181").Refuse(zktest.RefuseClose)
			go func() {
				<-held.Hit()
				srv.Member("two:2181").DropConnections()
			}()
			return func() { held.Release(); srv.Member("two:2181").Refuse(zktest.Accept) }
		}, true, ""},
		"list not answered": {func(_ *testing.T, srv *zktest.Server, _, c *client.Client) func() {
			return srv.HoldReply(zktest.Match{Op: proto.OpGetChildren2, Session: c.SessionID(), Path: "/b"}).Release
		}, true, ""},
		"recovering": {func(_ *testing.T, srv *zktest.Server, _, c *client.Client) func() {
			srv.CloseAfter(zktest.Match{Op: proto.OpMulti, Session: c.SessionID()})
			srv.Member("two:2181").Refuse(zktest.RefuseClose)
			return func() { srv.Member("two:2181").Refuse(zktest.Accept) }
		}, true, ""},
		"waiting for the first":  {holdPath("/a"), false, "/a"},
		"waiting for the second": {holdPath("/b"), false, "/b"},
		"waiting for the third":  {holdPath("/c"), false, "/c"},
		"watches not answered": {func(t *testing.T, srv *zktest.Server, other, c *client.Client) func() {
			end := holdPath("/b")(t, srv, other, c)
			h := srv.HoldReply(zktest.Match{Op: proto.OpGetData, Session: c.SessionID(), Under: "/b"})
			return func() { h.Release(); end() }
		}, true, "/b"},
	} {
		for names, opts := range map[string][]Option{"": nil, ", plain names": {PlainNames("n_")}} {
			t.Run(name+names, func(t *testing.T) {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					other, c := dial(t, srv), dialTo(t, srv, "two:2181")
					defer other.Close()
					defer c.Close()
					m := NewMultiLock(NewMutex(c, "/a", opts...).Part(), NewMutex(c, "/b", opts...).Part(), NewMutex(c, "/c", opts...).Part())
					releaseAll(t, lockAll(t, m))
					end := tc.before(t, srv, other, c)
					ctx, cancel := context.WithCancel(t.Context())
					w := queuedAll(ctx, m)
					if w.over() {
						t.Fatalf("over: %v", w.err)
					}
					began := time.Now()
					cancel()
					w.ended(t)
					if !errors.Is(w.err, context.Canceled) || errors.Is(w.err, ErrCleanupPending) != tc.pending {
						t.Errorf("%v", w.err)
					}
					if d := time.Since(began); d > CleanupGrace || !tc.pending && d > 0 {
						t.Errorf("after %v", d)
					}
					synctest.Wait()
					for _, p := range []string{"/a", "/b", "/c"} {
						if n := len(srv.Children(p)); !tc.pending && (n > 0) != (p == tc.busy) {
							t.Errorf("%s: %v", p, srv.Children(p))
						}
					}
					end()
					<-time.After(3 * time.Second)
					nothingLeft(t, srv)
					releaseAll(t, lockAll(t, m))
					if n := c.CleanupsPending(); n != 0 {
						t.Errorf("%d clean-ups", n)
					}
				})
			})
		}
	}
}

// holdPath has another client hold one path, with the names of either kind.
func holdPath(path string) func(*testing.T, *zktest.Server, *client.Client, *client.Client) func() {
	return func(t *testing.T, _ *zktest.Server, other, _ *client.Client) func() {
		l, plain := lock(t, NewMutex(other, path)), lock(t, NewMutex(other, path, PlainNames("n_")))
		return func() { release(t, l); release(t, plain) }
	}
}

func TestMultiLockExpiryWhileWaiting(t *testing.T) { // D7, F77: again, at the tail, with new names
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := dial(t, srv), dialTo(t, srv, "two:2181"), dialTo(t, srv, "three:2181")
		defer a.Close()
		defer b.Close()
		defer c.Close()
		l := lock(t, NewMutex(a, "/y"))
		second := queuedAll(t.Context(), mutexes(b, "/x", "/y"))
		failing := queuedAll(t.Context(), NewMultiLock(NewMutex(b, "/x").Part(), NewMutex(b, "/y", FailIfNodeGone()).Part()))
		third := queuedAll(t.Context(), mutexes(c, "/y", "/x"))
		names := append(srv.Children("/x"), srv.Children("/y")...)
		if len(names) != 7 {
			t.Fatal(names)
		}
		srv.ExpireSession(b.SessionID())
		failing.ended(t)
		if !errors.Is(failing.err, ErrSessionExpired) && !errors.Is(failing.err, ErrNodeGone) {
			t.Errorf("%v", failing.err)
		}
		<-time.After(time.Second)
		release(t, l)
		ml := third.granted(t)
		if second.over() {
			t.Fatalf("overtook: %v", second.err)
		}
		releaseAll(t, ml)
		again := second.granted(t)
		for _, l := range again.Leases() {
			for _, name := range names {
				if strings.HasSuffix(l.Node(), name) {
					t.Errorf("%s was there before", name)
				}
			}
		}
		releaseAll(t, again)
		nothingLeft(t, srv)
	})
}
