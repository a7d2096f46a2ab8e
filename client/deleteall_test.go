package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// tree makes a znode with width children, each of which has width children, down to depth, and returns how many there are.
func tree(t *testing.T, srv *zktest.Server, path string, width, depth int) int {
	t.Helper()
	create(t, srv, path, "")
	n := 1
	for i := range width {
		if depth > 0 {
			n += tree(t, srv, fmt.Sprintf("%s/n%03d", path, i), width, depth-1)
		}
	}
	return n
}

func TestDeleteAll(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		before := srv.NodeCount()
		create(t, srv, "/app", "")
		create(t, srv, "/app/stays", "")
		n := tree(t, srv, "/app/a", 6, 4)
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		requests := srv.Snapshot().Requests
		var err error
		flights := srv.Flights(synctest.Wait, func() { err = c.DeleteAll(ctx, "/a") })
		must(t, err)
		equal(t, "left", srv.Children("/app"), []string{"stays"})
		equal(t, "nodes", srv.NodeCount(), before+2)
		equal(t, "requests", int(srv.Snapshot().Requests-requests), 2*n) // each is listed and deleted once
		if flights > 40 {
			t.Errorf("%d flights for %d znodes", flights, n)
		}
		wantErr(t, c.DeleteAll(ctx, "/a"), client.ErrNoNode)
		must(t, c.DeleteAll(ctx, "/stays"))
	})
}

// A wide directory does not become one huge group.
func TestDeleteAllIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		tree(t, srv, "/a", 3000, 1)
		c := connect(t, srv, client.Tracer(client.Trace{Burst: func(requests, inFlight, _ int) {
			if requests > 600 || inFlight > 600 {
				t.Errorf("%d requests at once, %d in flight", requests, inFlight)
			}
		}}))
		must(t, c.DeleteAll(t.Context(), "/a"))
		equal(t, "exists", srv.Exists("/a"), false)
	})
}

func TestDeleteAllRefuses(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		create(t, srv, "/zookeeper/quota/app", "")
		plain, below := connect(t, srv), connectTo(t, srv, "zk/app")
		inside := connectTo(t, srv, "zk/zookeeper/quota")
		var none context.Context
		before := srv.Snapshot().Requests
		for path, c := range map[string]*client.Client{"/": plain, "/zookeeper": plain, "/zookeeper/quota/app": below, "/app": inside} {
			err := c.DeleteAll(t.Context(), path)
			wantErr(t, err, client.ErrProtected)
			outcome(t, err, client.OutcomeNotSent, false)
		}
		wantErr(t, below.DeleteAll(t.Context(), "/"), client.ErrProtected)
		var bad *client.PathError
		if err := plain.DeleteAll(t.Context(), "/a/"); !errors.As(err, &bad) {
			t.Errorf("a bad path: %v", err)
		}
		wantErr(t, (*client.Client)(nil).DeleteAll(t.Context(), "/a"), client.ErrZeroValue)
		wantErr(t, plain.DeleteAll(none, "/a"), client.ErrNilContext)
		wantErr(t, plain.DeleteAll(cancelled(), "/a"), context.Canceled)
		equal(t, "requests", srv.Snapshot().Requests, before)
	})
}

// What has no name in the client is deleted with its parent all the same.
func TestDeleteAllOfAnythingBelow(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		for _, path := range []string{"/app", "/app/zookeeper", "/app/zookeeper/x", "/app/y"} {
			create(t, srv, path, "")
		}
		c := connect(t, srv)
		must(t, c.DeleteAll(t.Context(), "/app"))
		equal(t, "exists", srv.Exists("/app"), false)
		equal(t, "the server's tree exists", srv.Exists("/zookeeper/config"), true)
	})
}

// Others delete and create at the same time.
func TestDeleteAllAmongOthers(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		tree(t, srv, "/a", 4, 2)
		c, ctx := connect(t, srv), t.Context()
		created := 0
		srv.OnRequest(func(req *zktest.Request) zktest.Verdict {
			switch {
			case req.Op == proto.OpGetChildren2 && req.Path == "/a/n001":
				_ = srv.Delete("/a/n001/n000")
			case req.Op == proto.OpGetChildren2 && req.Path == "/a/n002/n001":
				_ = srv.Delete("/a/n002/n001") // before its own list
			case req.Op == proto.OpDelete && req.Path == "/a/n003/n003":
				_ = srv.Delete("/a/n003/n003")
			case req.Op == proto.OpDelete && req.Path == "/a/n000/n000" && created < 3:
				created++
				_, _ = srv.Create(fmt.Sprintf("/a/n000/n000/new%d", created), nil, client.ModePersistent)
			case req.Op == proto.OpDelete && req.Path == "/a" && created < 6:
				created++
				_, _ = srv.Create(fmt.Sprintf("/a/new%d", created), nil, client.ModePersistent)
			}
			return zktest.Verdict{}
		})
		must(t, c.DeleteAll(ctx, "/a"))
		equal(t, "creations", created, 6)
		equal(t, "exists", srv.Exists("/a"), false)
	})
}

// A child that has to be emptied again keeps its parent waiting: that is not tried before its turn.
func TestDeleteAllKeepsItsOrder(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		tree(t, srv, "/a", 600, 1)
		c := connect(t, srv)
		created, tries := "", 0
		srv.OnRequest(func(req *zktest.Request) zktest.Verdict {
			switch {
			case req.Op == proto.OpDelete && created == "":
				created = req.Path + "/new"
				_, _ = srv.Create(created, nil, client.ModePersistent)
			case req.Op == proto.OpDelete && req.Path == "/a":
				tries++
			}
			return zktest.Verdict{}
		})
		must(t, c.DeleteAll(t.Context(), "/a"))
		equal(t, "tries to delete the root", tries, 1)
		equal(t, "exists", srv.Exists("/a"), false)
	})
}

// Somebody who never stops is not chased for ever.
func TestDeleteAllGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		tree(t, srv, "/app/a", 2, 2)
		c := connectTo(t, srv, "zk/app")
		n := 0
		srv.OnRequest(func(req *zktest.Request) zktest.Verdict {
			if req.Op == proto.OpDelete && req.Path == "/app/a/n001" {
				n++
				_, _ = srv.Create(fmt.Sprintf("/app/a/n001/new%d", n), nil, client.ModePersistent)
			}
			return zktest.Verdict{}
		})
		err := c.DeleteAll(t.Context(), "/a")
		wantErr(t, err, client.ErrNotEmpty)
		outcome(t, err, client.OutcomeUnknown, true)
		var why *client.DeleteAllError
		if !errors.As(err, &why) || why.Path != "/a/n001" || why.Deleted < 6 {
			t.Errorf("%+v", why)
		}
		equal(t, "creations", n, 11)
		equal(t, "left", srv.Children("/app/a/n001"), []string{"new11"})
	})
}

func TestDeleteAllWithoutPermission(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		tree(t, srv, "/a", 2, 2)
		must(t, srv.SetACL("/a/n001", client.WorldACL(client.PermRead)))
		c := connect(t, srv)
		err := c.DeleteAll(t.Context(), "/a")
		wantErr(t, err, client.ErrNoAuth)
		equal(t, "text", err.Error(), "zk: deleteAll /a: /a/n001/n000 remains, 3 deleted before: not authorized")
		equal(t, "MaybeApplied", client.MaybeApplied(err), true)
		create(t, srv, "/b", "")
		create(t, srv, "/b/c", "")
		must(t, srv.SetACL("/b/c", client.WorldACL(client.PermWrite)))
		err = c.DeleteAll(t.Context(), "/b")
		wantErr(t, err, client.ErrNoAuth)
		outcome(t, err, client.OutcomeRejected, false) // nothing was deleted, and the refusal is final
	})
}

func TestDeleteAllLosesItsConnection(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		tree(t, srv, "/a", 3, 2)
		c := connect(t, srv)
		srv.CloseAfter(zktest.Match{Op: proto.OpDelete, Path: "/a/n001"})
		err := c.DeleteAll(t.Context(), "/a")
		wantErr(t, err, client.ErrConnectionLoss)
		outcome(t, err, client.OutcomeUnknown, true)
		must(t, c.DeleteAll(t.Context(), "/a"))
		equal(t, "exists", srv.Exists("/a"), false)
	})
}
