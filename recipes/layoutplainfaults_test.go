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

// plainFaults lose something of the next Lock, at each point that there is.
var plainFaults = map[string]func(srv *zktest.Server, id int64){
	"create executed":     func(srv *zktest.Server, id int64) { srv.CloseAfter(zktest.Match{Op: proto.OpCreate2, Session: id}) },
	"create not executed": func(srv *zktest.Server, id int64) { srv.CloseBefore(zktest.Match{Op: proto.OpCreate2, Session: id}) },
	"create executed twice": func(srv *zktest.Server, id int64) {
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2, Session: id, Times: 2})
	},
	"create executed three times": func(srv *zktest.Server, id int64) {
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2, Session: id, Times: 3})
	},
	"create executed, then not": func(srv *zktest.Server, id int64) {
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2, Session: id})
		srv.CloseBefore(zktest.Match{Op: proto.OpCreate2, Session: id})
	},
	"list": func(srv *zktest.Server, id int64) {
		srv.CloseBefore(zktest.Match{Op: proto.OpGetChildren2, Session: id})
	},
	"create, and the list of the recovery": func(srv *zktest.Server, id int64) {
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2, Session: id})
		srv.CloseBefore(zktest.Match{Op: proto.OpGetChildren2, Session: id})
	},
	"create, and the reads": func(srv *zktest.Server, id int64) {
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2, Session: id})
		srv.CloseBefore(zktest.Match{Op: proto.OpGetData, Session: id, Times: 2})
	},
	"create, and all reads but the first": func(srv *zktest.Server, id int64) {
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2, Session: id})
		srv.CloseBefore(zktest.Match{Op: proto.OpGetData, Session: id, Skip: 1})
	},
	"create, and the last list": func(srv *zktest.Server, id int64) {
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2, Session: id})
		srv.CloseBefore(zktest.Match{Op: proto.OpGetChildren2, Session: id, Skip: 1})
	},
	"create, and the deletion of the other": func(srv *zktest.Server, id int64) {
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2, Session: id})
		srv.CloseBefore(zktest.Match{Op: proto.OpDelete, Session: id})
	},
}

// plainNode fails unless l has one znode, which has its token, and n znodes are there in all.
func plainNode(t *testing.T, srv *zktest.Server, l *Lease, n int) {
	t.Helper()
	synctest.Wait()
	if _, st, err := srv.Get(l.Node()); err != nil || st.Czxid != l.Token().Zxid || st.EphemeralOwner != l.gen.SessionID() {
		t.Errorf("token %v of a znode created at %d in session %x: %v", l.Token(), st.Czxid, st.EphemeralOwner, err)
	}
	if kids := srv.Children("/lock"); len(kids) != n {
		t.Errorf("want %d znodes: %v", n, kids)
	}
}

// Whatever is lost, there is one znode in the end, and the others on the path are left alone, most of all those of the same
// session, of which nothing but the data tells ours.
func TestPlainLost(t *testing.T) { // I12, C146, D5, D7, F74, K42, A10 rule 10
	for name, fault := range plainFaults {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c, d := dial(t, srv), dialTo(t, srv, "two:2181")
				defer c.Close()
				defer d.Close()
				m, other := NewMutex(c, "/lock", PlainNames("n_")), NewMutex(d, "/lock", PlainNames("n_"))
				release(t, lock(t, m)) // the path exists
				fault(srv, c.SessionID())
				l := lock(t, m) // alone
				plainNode(t, srv, l, 1)
				w := queued(t.Context(), other.Lock) // and now behind two, of whom one is of the same session, with others behind
				fault(srv, c.SessionID())
				ours := queued(t.Context(), m.Lock)
				twin := queued(t.Context(), NewMutex(c, "/lock", PlainNames("n_")).Lock)
				<-time.After(5 * time.Second)
				last := queued(t.Context(), other.Lock)
				waits(t, "ours", ours)
				waits(t, "the twin", twin)
				plainNode(t, srv, l, 5)
				release(t, l)
				next := granted(t, "the other", w)
				plainNode(t, srv, next, 4)
				release(t, next)
				for range 2 { // either of them may be first: both were under way
					w = first(ours, twin)
					next = granted(t, "one of ours", w)
					release(t, next)
					if w == ours {
						ours = nil
					} else {
						twin = nil
					}
				}
				release(t, granted(t, "the last", last))
				leftBehind(t, srv)
				if n := c.CleanupsPending(); n != 0 {
					t.Errorf("%d clean-ups pending", n)
				}
			})
		})
	}
}

// first returns which of the two is over; both may be nil, and are passed over then.
func first(a, b *waiter) *waiter {
	synctest.Wait()
	if a != nil && a.over() || b == nil {
		return a
	}
	return b
}

// The older znode is kept, and with it the place in the queue; a lost create costs three flights more, and one read per
// candidate.
func TestPlainLostCreateKeepsItsPlace(t *testing.T) { // I12
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := dial(t, srv), dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		defer c.Close()
		l := lock(t, NewMutex(a, "/lock", PlainNames("lock-")))
		twin := queued(t.Context(), NewMutex(b, "/lock", PlainNames("lock-")).Lock) // of the session whose create is lost next
		before := srv.Snapshot()
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2, Session: b.SessionID()})
		srv.Member("one:2181").Refuse(zktest.RefuseClose)
		second := queued(t.Context(), NewMutex(b, "/lock", PlainNames("lock-")).Lock)
		third := queued(t.Context(), NewMutex(c, "/lock", PlainNames("lock-")).Lock)
		srv.Member("one:2181").Refuse(zktest.Accept)
		<-time.After(2 * time.Second)
		after := srv.Snapshot()
		// Candidates: the holder's, the twin's, ours, and the third's. Armed are: two by the third; the twin's again, after the
		// reconnect, two; ours, three.
		reads := after.ByOp[proto.OpGetData] - before.ByOp[proto.OpGetData]
		if reads != 4+3+3 && reads != 4+3+3+2 {
			t.Errorf("%d reads", reads)
		}
		release(t, l)
		release(t, granted(t, "the twin", twin))
		l = granted(t, "the second", second)
		waits(t, "the third", third)
		if number := l.Node()[len(l.Node())-10:]; number != "0000000002" {
			t.Errorf("its place is %s", number)
		}
		release(t, l)
		release(t, granted(t, "the third", third))
		leftBehind(t, srv)
	})
}

// The requests of a recovery, when nobody else is there: once more a create and a list, a read, the deletion and a list.
func TestPlainLostCreateRequests(t *testing.T) { // I12, A8
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock", PlainNames("n_"))
		release(t, lock(t, m))
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2})
		before := srv.Snapshot()
		l := lock(t, m)
		synctest.Wait()
		after := srv.Snapshot()
		for op, want := range map[proto.Op]int64{proto.OpCreate2: 2, proto.OpGetChildren2: 2, proto.OpGetData: 1, proto.OpDelete: 1, proto.OpExists: 0} {
			if n := after.ByOp[op] - before.ByOp[op]; n != want {
				t.Errorf("%d requests of %v, want %d", n, op, want)
			}
		}
		release(t, l)
		leftBehind(t, srv)
	})
}

// A Lock that has failed is looked after by the data, at once or when the create takes effect, below a chroot as well; what
// another call of the same session has, or another session with the same data, stays.
func TestPlainUnknownCreateOfAFailedLock(t *testing.T) { // K1, K3, K8, K40, K46, A10 rule 10
	for _, later := range []bool{false, true} {
		for _, where := range [][2]string{{"", "/lock"}, {"", "/"}, {"/app", "/"}, {"/app", "/a/b"}} {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				must(srv.Create("/app", nil, proto.ModePersistent))
				c, d := dialTo(t, srv, "one:2181"+where[0]), dialTo(t, srv, "two:2181"+where[0])
				defer c.Close()
				defer d.Close()
				full := proto.JoinChroot(where[0], where[1])
				m := NewMutex(c, where[1], PlainNames("n_"))
				l := lock(t, m) // of the same session
				commit := lostCreate(srv, later)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := m.Lock(ctx)
				wantErr(t, err, context.DeadlineExceeded, ErrCleanupPending)
				srv.Refuse(zktest.Accept)
				<-time.After(timeout / 3)
				if n := plainKids(srv, full); n != 1 || (c.CleanupsPending() != 0) != later {
					t.Errorf("%s: %d znodes, %d clean-ups pending", full, n, c.CleanupsPending())
				}
				commit()
				synctest.Wait()
				if n := plainKids(srv, full); n != 1 || c.CleanupsPending() != 0 {
					t.Errorf("%s: %d znodes left, %d clean-ups pending", full, n, c.CleanupsPending())
				}
				if there := srv.Exists(proto.JoinChroot(where[0], l.Node())); l.State() != Held || !there {
					t.Errorf("the hold of the same session is %v, its znode there: %v", l.State(), there)
				}
				release(t, l)
				release(t, lock(t, NewMutex(d, where[1], PlainNames("n_"))))
			})
		}
	}
}

// Two calls of one session lose their creates at once, and each finds its own when they take effect, however late.
func TestPlainTwoLostOfOneSession(t *testing.T) { // D5, K3, K7, K42
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dialTo(t, srv, "one:2181,two:2181", client.Rand(func() uint64 { return 1 }))
		defer c.Close()
		m := NewMutex(c, "/lock", PlainNames("n_"))
		release(t, lock(t, m))
		srv.Refuse(zktest.RefuseClose)
		held := srv.HoldCommit(zktest.Match{Op: proto.OpCreate2})
		a, b := queued(t.Context(), m.Lock), queued(t.Context(), NewMutex(c, "/lock", PlainNames("n_")).Lock)
		srv.DropConnections()
		synctest.Wait()
		srv.Member("two:2181").Refuse(zktest.Accept)
		<-time.After(timeout / 4)
		waits(t, "the first", a)
		waits(t, "the second", b)
		held.Release()
		<-time.After(time.Second)
		if kids := srv.Children("/lock"); len(kids) != 2 {
			t.Errorf("want two znodes: %v", kids)
		}
		w := first(a, b)
		l := granted(t, "one", w)
		plainNode(t, srv, l, 2)
		release(t, l)
		if w == a {
			a = nil
		} else {
			b = nil
		}
		release(t, granted(t, "the other", first(a, b)))
		leftBehind(t, srv)
	})
}

// marked returns the data of the znode of l.
func marked(t *testing.T, srv *zktest.Server, node string) []byte {
	t.Helper()
	data, _, err := srv.Get(node)
	if err != nil || !strings.Contains(string(data), markStart) {
		t.Fatalf("%s: %q, %v", node, data, err)
	}
	return data
}

// A server may execute the lost create after the second one. Such a stray goes with the next list, or with the release; what only
// looks like it stays: another session's, one that has the mark in the middle, one whose name is of another kind.
func TestPlainStray(t *testing.T) { // ZOOKEEPER-4907, D7, A10 rule 10
	for _, how := range []string{"list", "release", "cancel"} {
		t.Run(how, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := dial(t, srv), dialTo(t, srv, "two:2181")
				defer a.Close()
				defer b.Close()
				l := lock(t, NewMutex(b, "/lock", PlainNames("n_")))
				srv.CloseAfter(zktest.Match{Op: proto.OpCreate2, Session: a.SessionID()})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				w := queued(ctx, NewMutex(a, "/lock", PlainNames("n_")).Lock)
				<-time.After(time.Second)
				ps := must(NewMutex(b, "/lock", PlainNames("n_")).Participants(t.Context()))
				if len(ps) != 2 || ps[1].Session != a.SessionID() {
					t.Fatalf("%+v", ps)
				}
				data := marked(t, srv, ps[1].Node)
				kept := []string{
					must(srv.CreateFor(b.SessionID(), "/lock/n_", data, proto.ModeEphemeralSequential)),
					must(srv.CreateFor(a.SessionID(), "/lock/n_", append(data[:len(data):len(data)], '.'), proto.ModeEphemeralSequential)),
					must(srv.CreateFor(a.SessionID(), "/lock/m_", data, proto.ModeEphemeralSequential)),
				}
				stray := must(srv.CreateFor(a.SessionID(), "/lock/n_", data, proto.ModeEphemeralSequential))
				switch how {
				case "list":
					srv.Member("one:2181").DropConnections() // after which a waiter lists at the next event
					<-time.After(5 * time.Second)
					must(0, srv.Set(l.Node(), marked(t, srv, l.Node())))
					waits(t, "ours", w)
					if srv.Exists(stray) || !srv.Exists(ps[1].Node) {
						t.Errorf("the stray is there after a list: %v", srv.Children("/lock"))
					}
					release(t, l)
					release(t, granted(t, "ours", w))
				case "release":
					release(t, l)
					release(t, granted(t, "ours", w))
				case "cancel":
					cancel()
					<-w.done
					if !errors.Is(w.err, context.Canceled) || errors.Is(w.err, ErrCleanupPending) {
						t.Error(w.err)
					}
					release(t, l)
				}
				synctest.Wait()
				if srv.Exists(stray) || srv.Exists(ps[1].Node) {
					t.Errorf("left behind: %v", srv.Children("/lock"))
				}
				for _, node := range kept {
					if !srv.Exists(node) {
						t.Errorf("%s was not ours", node)
					}
				}
			})
		})
	}
}

// A znode that a lost create made goes with its session. The next session has a mark of its own, and waits for its end.
func TestPlainDoomedNodeOfTheOldSession(t *testing.T) { // K4, K5, D7
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock", PlainNames("n_"))
		release(t, lock(t, m))
		old := c.SessionID()
		lostCreate(srv, false)
		w := queued(t.Context(), m.Lock)
		data := marked(t, srv, "/lock/"+srv.Children("/lock")[0])
		srv.ExpireSession(old)
		// What is to be seen of the old session a while longer has its data; here it does not even end.
		doomed := must(srv.Create("/lock/n_", data, proto.ModePersistentSequential))
		srv.Refuse(zktest.Accept)
		<-time.After(5 * time.Second)
		waits(t, "ours", w)
		if !srv.Exists(doomed) || c.SessionID() == old || kids(srv) != 2 {
			t.Errorf("%v", srv.Children("/lock"))
		}
		must(0, srv.Delete(doomed))
		release(t, granted(t, "ours", w))
		leftBehind(t, srv)
	})
}

// The release after a lost create deletes the znode that is known by its name, also if somebody has overwritten the data since.
func TestPlainReleaseOfAnOverwrittenNode(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock", PlainNames("n_"))
		release(t, lock(t, m))
		for _, gone := range []bool{false, true} {
			srv.CloseAfter(zktest.Match{Op: proto.OpCreate2})
			l := lock(t, m)
			must(0, srv.Set(l.Node(), []byte("touched")))
			if gone {
				must(0, srv.Delete(l.Node()))
				if err := l.Release(t.Context()); !errors.Is(err, ErrNodeGone) {
					t.Errorf("%v", err)
				}
			} else {
				release(t, l)
			}
			leftBehind(t, srv)
		}
	})
}

// A server that is too busy to answer a read has not said whose the znode is.
func TestPlainReadRefused(t *testing.T) { // D15
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock", PlainNames("n_"))
		release(t, lock(t, m))
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2})
		srv.Fail(zktest.Match{Op: proto.OpGetData}, proto.ErrThrottled)
		if _, err := m.Lock(t.Context()); !errors.Is(err, client.Code(proto.ErrThrottled)) || errors.Is(err, ErrCleanupPending) {
			t.Errorf("%v", err)
		}
		leftBehind(t, srv)
		// And one that nobody may read is not ours.
		secret := must(srv.Create("/lock/n_", nil, proto.ModePersistentSequential))
		must(0, srv.SetACL(secret, []proto.ACL{{Perms: proto.PermAll, ID: proto.ID{Scheme: "digest", ID: proto.DigestID("a", "a")}}}))
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2})
		if _, err := m.Lock(t.Context()); !errors.Is(err, ErrUnreadable) || !errors.Is(err, client.ErrNoAuth) {
			t.Errorf("%v", err)
		}
		synctest.Wait()
		if !srv.Exists(secret) || kids(srv) != 1 {
			t.Errorf("%v", srv.Children("/lock"))
		}
	})
}

// The path is deleted while a create is lost, and made again with the numbers from the beginning: what was read before says
// nothing.
func TestPlainPathMadeAgain(t *testing.T) { // K13, K14
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock", PlainNames("n_"))
		release(t, lock(t, m))
		lostCreate(srv, false)
		w := queued(t.Context(), m.Lock)
		for _, name := range srv.Children("/lock") {
			must(0, srv.Delete("/lock/"+name))
		}
		must(0, srv.Delete("/lock"))
		srv.Refuse(zktest.Accept)
		await(t, "ours", w)
		l := granted(t, "ours", w)
		plainNode(t, srv, l, 1)
		release(t, l)
		leftBehind(t, srv)
	})
}
