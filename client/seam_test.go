package client_test

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

// A flight to a queue and the events that belong to it come in the order of the wire.
func TestSubmitAndArmedGet(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		gn, q := c.Generation(), client.NewQueue()
		g := gn.Group()
		first := g.Create("/l-", []byte("a"), client.ModeEphemeralSequential, nil)
		must(t, g.Submit(ctx, q, 1))
		it, err := q.Next(ctx)
		must(t, err)
		equal(t, "item", it, client.Item{Kind: client.ItemReply, Tag: 1, Conn: 1})
		path, _, err := first.Path()
		must(t, err)

		w := &client.OneShot{Sink: q, Tag: 9}
		armed, list := g.GetArmed(path, w), g.Children("/")
		del := g.Delete(path, client.AnyVersion)
		must(t, g.Submit(ctx, q, 2))
		synctest.Wait()
		event, ok := q.TryNext()
		equal(t, "an item", ok, true)
		equal(t, "kind", event.Kind, client.ItemEvent)
		equal(t, "tag", event.Tag, 9)
		equal(t, "path", event.Event.Path, "/app"+path)
		equal(t, "type", event.Event.Type, client.EventNodeDeleted)
		reply, ok := q.TryNext()
		equal(t, "an item", ok, true)
		equal(t, "tag", reply.Tag, 2)
		data, _, err := armed.Data()
		must(t, err)
		equal(t, "data", string(data), "a")
		equal(t, "owner", armed.Owner(), gn.SessionID())
		equal(t, "connection", armed.Conn(), reply.Conn)
		names, _, err := list.Names()
		must(t, err)
		equal(t, "names", names, []string{path[1:]})
		must(t, list.Err())
		must(t, del.Err())
		gn.Unwatch(w)
	})
}

func TestSubmitThatCannotBeSent(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		q, g := client.NewQueue(), c.Group()
		wantErr(t, g.Submit(ctx, q, 0), client.ErrEmptyGroup)
		g.Multi()
		wantErr(t, g.Submit(ctx, q, 0), client.ErrEmptyGroup)
		g.Exists("/a")
		wantErr(t, g.Submit(ctx, nil, 0), client.ErrZeroValue)
		wantErr(t, g.Submit(cancelled(), q, 0), context.Canceled)
		good := g.Exists("/a")
		g.Exists("a")
		wantErr(t, g.Submit(ctx, q, 0), client.ErrGroupRefused)
		_, _, err := good.Stat()
		wantErr(t, err, client.ErrGroupRefused)
		wantErr(t, g.Submit(ctx, q, 0), client.ErrEmptyGroup) // that round is over
		must(t, c.Sync(ctx, "/"))
		_, ok := q.TryNext()
		equal(t, "an item", ok, false)
	})
}

func TestGenerationsAreRefusedInOthers(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		old := c.Generation()
		equal(t, "number", old.Number(), 1)
		equal(t, "session", old.SessionID(), c.SessionID())
		equal(t, "timeout", old.Timeout(), timeout)
		must(t, old.Err())
		equal(t, "is the current one", old == c.Generation(), true)
		srv.ExpireSession(old.SessionID())
		<-old.Ended()
		wantErr(t, old.Err(), client.ErrSessionExpired)
		next := c.Generation()
		equal(t, "is the current one", old == next, false)
		equal(t, "number", next.Number(), 2)

		q, g := client.NewQueue(), old.Group()
		set := g.Set("/zookeeper", nil, -1)
		err := g.Do(ctx)
		wantErr(t, err, client.ErrSessionExpired)
		outcome(t, err, client.OutcomeNotSent, false)
		_, err = set.Stat()
		wantErr(t, err, client.ErrSessionExpired)
		g.Exists("/")
		wantErr(t, g.Submit(ctx, q, 0), client.ErrSessionExpired)
		wantErr(t, old.Hold(&client.Hold{Holder: holder{}}, 1), client.ErrSessionExpired)
		g = next.Group()
		g.Exists("/")
		must(t, g.Do(ctx))
	})
}

type holder struct{ changes chan client.HoldState }

func (h holder) HoldChanged(state client.HoldState, _ error) { h.changes <- state }

func TestHolds(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		gn, q := c.Generation(), client.NewQueue()
		g := gn.Group()
		g.Exists("/")
		must(t, g.Submit(ctx, q, 0))
		it, err := q.Next(ctx)
		must(t, err)
		h := &client.Hold{Holder: holder{make(chan client.HoldState, 9)}}
		must(t, gn.Hold(h, it.Conn))
		if left := gn.LeaseLeft(); left <= 0 || left > timeout {
			t.Errorf("the lease lasts for %v", left)
		}
		equal(t, "deadline", time.Until(gn.LeaseDeadline()), gn.LeaseLeft())
		equal(t, "was held", gn.Unhold(h), true)
		equal(t, "was held", gn.Unhold(h), false)
		must(t, gn.Hold(h, it.Conn))
		gn.Contend(1)
		gn.Contend(-1)
		must(t, c.Close())
		equal(t, "state", <-h.Holder.(holder).changes, client.Lost)
	})
}

func TestCleanups(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		for _, p := range []string{"/app", "/app/a", "/app/b", "/app/dir", "/app/dir/x-1", "/app/dir/x-2", "/app/dir/y-1"} {
			create(t, srv, p, "")
		}
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		gn := c.Generation()
		spare := gn.Group()
		spare.Exists("/")
		must(t, spare.Do(ctx))
		var a, b, dir client.Cleanup
		equal(t, "deletes", gn.Delete(&a, "/a", spare), true)
		equal(t, "deletes", gn.Delete(&b, "/b", nil), true)
		equal(t, "deletes", gn.DeleteMatching(&dir, "/dir", "x-"), true)
		for _, cl := range []*client.Cleanup{&a, &b, &dir} {
			must(t, cl.Wait(ctx))
		}
		equal(t, "cleanups", c.CleanupsPending(), 0)
		equal(t, "left", srv.Children("/app"), []string{"dir"})
		equal(t, "left", srv.Children("/app/dir"), []string{"y-1"})
		spare.Reclaim(&a)
		spare.Reclaim(&a) // there is nothing more to take back
		spare.Exists("/")
		must(t, spare.Do(ctx))
		equal(t, "deletes", gn.Delete(new(client.Cleanup), "a", nil), false)
		equal(t, "deletes", gn.DeleteMatching(new(client.Cleanup), "/dir/", "x-"), false)
		equal(t, "deletes", gn.DeleteMatching(new(client.Cleanup), "/dir", ""), false)
	})
}

func TestDeleteFixed(t *testing.T) { // docs/locks.md A9
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		create(t, srv, "/app/l-counter", "")
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		gn := c.Generation()
		n := client.FixedNode{Path: "/l", Counter: "/l-counter", Mark: "mine"}
		take := func() client.FixedNode {
			results, err := c.Multi(ctx, client.CreateOp(n.Path, nil, client.ModeEphemeral, nil), client.SetOp(n.Path, nil, 0),
				client.SetOp(n.Counter, []byte(n.Mark), client.AnyVersion))
			must(t, err)
			n := n
			n.Zxid, n.Version = results[2].Stat.Mzxid, results[2].Stat.Version
			return n
		}
		spare := gn.Group()
		spare.Exists("/")
		must(t, spare.Do(ctx))
		var a, b, gone client.Cleanup
		known := take()
		equal(t, "deletes", gn.DeleteFixed(&a, known, spare), true)
		must(t, a.Wait(ctx))
		equal(t, "there", srv.Exists("/app/l"), false)
		spare.Reclaim(&a)
		spare.Exists("/")
		must(t, spare.Do(ctx))
		take()
		equal(t, "deletes", gn.DeleteFixed(&gone, known, nil), true) // that one is gone
		wantErr(t, gone.Wait(ctx), client.ErrNoNode)
		equal(t, "there", srv.Exists("/app/l"), true)
		equal(t, "deletes", gn.DeleteFixed(&b, n, nil), true) // what is there, by the mark
		must(t, b.Wait(ctx))
		equal(t, "there", srv.Exists("/app/l"), false)
		equal(t, "cleanups", c.CleanupsPending(), 0)
		equal(t, "deletes", gn.DeleteFixed(new(client.Cleanup), client.FixedNode{Path: "l", Counter: "/c"}, nil), false)
		equal(t, "deletes", gn.DeleteFixed(new(client.Cleanup), client.FixedNode{Path: "/l"}, nil), false)
		equal(t, "deletes", client.Generation{}.DeleteFixed(new(client.Cleanup), n, nil), false)
	})
}

func TestGuards(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		create(t, srv, "/app/a", "")
		create(t, srv, "/a", "")
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		guard := c.GuardOp("/a", client.AnyVersion)
		_, err := c.Multi(ctx, guard, client.SetOp("/a", []byte("x"), client.AnyVersion))
		must(t, err)
		for _, other := range []*client.Client{connectTo(t, srv, "zk/app"), connectTo(t, srv, "zk")} {
			_, err = other.Multi(ctx, guard, client.SetOp("/a", nil, client.AnyVersion))
			wantErr(t, err, client.ErrForeignGuard)
			outcome(t, err, client.OutcomeNotSent, false)
		}
	})
}

// Views share the client's identity and session; another client, and another session, are something else.
func TestIdentityAndSame(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		c, twin := connect(t, srv), connect(t, srv)
		view, err := c.View("/app")
		must(t, err)
		deep, err := view.View("/deeper")
		must(t, err)
		for _, v := range []*client.Client{c, view, deep} {
			equal(t, "the client's identity", v.Identity() == c.Identity(), true)
			equal(t, "the other's identity", v.Identity() == twin.Identity(), false)
			equal(t, "the same session", c.Generation().Same(v.Generation()) && v.Generation().Same(c.Generation()), true)
			equal(t, "the other's session", v.Generation().Same(twin.Generation()), false)
			equal(t, "no session", v.Generation().Same(client.Generation{}), false)
		}
		equal(t, "is the same value", c.Generation() == view.Generation(), false) // the paths mean something else
		old, id := view.Generation(), c.Identity()
		srv.ExpireSession(old.SessionID())
		<-old.Ended()
		equal(t, "the next session", old.Same(c.Generation()), false)
		equal(t, "the next session, through a view", c.Generation().Same(view.Generation()), true)
		equal(t, "the identity in the next session", c.Identity() == id, true)
		must(t, c.Close())
		equal(t, "the identity of a closed client", view.Identity() == id, true)

		var none *client.Client
		for _, c := range []*client.Client{none, {}} {
			equal(t, "identity", c.Identity(), nil)
			equal(t, "same", c.Generation().Same(client.Generation{}), true)
		}
	})
}

// An operation that is refused makes the whole transaction fail with its reason, through every client, and nothing is sent.
func TestRefusedOp(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a", "")
		c, ctx := connect(t, srv), t.Context()
		reason := errors.New("why not")
		before := srv.Snapshot().Requests
		_, err := c.Multi(ctx, client.SetOp("/a", []byte("x"), client.AnyVersion), client.RefusedOp(reason), client.CheckOp("/a", 7))
		wantErr(t, err, reason)
		outcome(t, err, client.OutcomeNotSent, false)
		var multi *client.MultiError
		equal(t, "is a MultiError", errors.As(err, &multi), true)
		equal(t, "index", multi.Index, 1)
		g := c.Group()
		set, refused := g.Exists("/a"), g.Multi(client.RefusedOp(reason))
		wantErr(t, g.Do(ctx), client.ErrGroupRefused)
		_, err = refused.Results()
		wantErr(t, err, reason)
		_, _, err = set.Stat()
		wantErr(t, err, client.ErrGroupRefused)
		_, err = c.Multi(ctx, client.RefusedOp(nil)) // it names no znode either
		var path *client.PathError
		equal(t, "is a PathError", errors.As(err, &path), true)
		equal(t, "requests", srv.Snapshot().Requests, before)
	})
}

// A NodeWatch tells the data at its beginning and what becomes of it, and in the end that the znode is gone.
func TestWatchNode(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		create(t, srv, "/app/a", "one")
		create(t, srv, "/a", "elsewhere")
		c := connectTo(t, srv, "zk/app")
		told := make(chan string, 9)
		n := &client.NodeWatch{Gone: func() { told <- "gone" }, Changed: func(data []byte) { told <- "data " + string(data) }}
		equal(t, "watches", c.Generation().WatchNode(n, "/a"), true)
		next := func(want string) {
			t.Helper()
			synctest.Wait()
			select {
			case got := <-told:
				equal(t, "told", got, want)
			default:
				t.Errorf("nothing is told, want %q", want)
			}
		}
		next("data one")
		must(t, srv.Set("/a", []byte("elsewhere too")))
		must(t, srv.Set("/app/a", []byte("two")))
		next("data two")
		must(t, srv.Set("/app/a", nil))
		next("data ")
		must(t, srv.Delete("/app/a"))
		next("gone")
		create(t, srv, "/app/a", "again")
		synctest.Wait()
		equal(t, "told after the end", len(told), 0)
		equal(t, "watches", c.Generation().WatchNode(new(client.NodeWatch), "a"), false)
		equal(t, "watches", client.Generation{}.WatchNode(new(client.NodeWatch), "/a"), false)
	})
}

// A watch on children comes with the list, and tells their next change; Unwatch takes it back.
func TestArmedChildren(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		create(t, srv, "/app/a", "")
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		q := client.NewQueue()
		arm := func(tag uint32) *client.OneShot {
			t.Helper()
			g, w := c.Generation().Group(), &client.OneShot{Sink: q, Tag: tag}
			list := g.ChildrenArmed("/", w)
			must(t, g.Submit(ctx, q, 1))
			it, err := q.Next(ctx)
			must(t, err)
			equal(t, "kind", it.Kind, client.ItemReply)
			must(t, list.Err())
			return w
		}
		arm(7)
		must(t, srv.Set("/app/a", []byte("no child has come or gone")))
		synctest.Wait()
		_, ok := q.TryNext()
		equal(t, "an item", ok, false)
		must(t, srv.Delete("/app/a"))
		synctest.Wait()
		event, ok := q.TryNext()
		equal(t, "an item", ok, true)
		equal(t, "tag", event.Tag, 7)
		equal(t, "type", event.Event.Type, client.EventNodeChildrenChanged)
		equal(t, "path", event.Event.Path, "/app")
		c.Generation().Unwatch(arm(8))
		create(t, srv, "/app/b", "")
		synctest.Wait()
		_, ok = q.TryNext()
		equal(t, "an item", ok, false)
	})
}

// A Touch writes a znode that nobody has written, and no other, whatever becomes of its requests.
func TestTouch(t *testing.T) {
	for name, fault := range map[string]func(*zktest.Server, zktest.Match){
		"no fault":         func(*zktest.Server, zktest.Match) {},
		"reply lost":       func(srv *zktest.Server, m zktest.Match) { srv.CloseAfter(m) },
		"request lost":     func(srv *zktest.Server, m zktest.Match) { srv.CloseBefore(m) },
		"lost three times": func(srv *zktest.Server, m zktest.Match) { m.Times = 3; srv.CloseBefore(m) },
		"throttled":        func(srv *zktest.Server, m zktest.Match) { srv.Fail(m, proto.ErrThrottled) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				create(t, srv, "/app", "")
				create(t, srv, "/app/a", "new")
				create(t, srv, "/app/b", "new")
				must(t, srv.Set("/app/b", []byte("written")))
				c := connectTo(t, srv, "zk/app")
				fault(srv, zktest.Match{Op: proto.OpSetData})
				for _, path := range []string{"/a", "/b", "/gone"} {
					equal(t, "touches", c.Generation().Touch(new(client.Touch), path, []byte("touched")), true)
				}
				<-time.After(10 * time.Second)
				for path, want := range map[string]string{"/app/a": "touched", "/app/b": "written"} {
					data, st, err := srv.Get(path)
					must(t, err)
					equal(t, path, string(data), want)
					equal(t, "version", st.Version, 1)
				}
				before := srv.Snapshot().ByOp[proto.OpSetData]
				srv.DropConnections()
				<-time.After(time.Minute)
				equal(t, "requests after that", srv.Snapshot().ByOp[proto.OpSetData]-before, 0)
				equal(t, "touches", c.Generation().Touch(new(client.Touch), "a", nil), false)
				equal(t, "touches", client.Generation{}.Touch(new(client.Touch), "/a", nil), false)
			})
		})
	}
}
