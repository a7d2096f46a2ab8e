package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestCreateAll(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		var path string
		var err error
		n := srv.Flights(synctest.Wait, func() {
			path, _, err = c.CreateAll(ctx, "/a/b/c", []byte("x"), client.ModeEphemeral, client.WorldACL(client.PermRead|client.PermCreate))
		})
		must(t, err)
		equal(t, "path", path, "/a/b/c")
		equal(t, "flights", n, 2) // the try, and everything else
		data, st, err := c.Get(ctx, "/a/b/c")
		must(t, err)
		equal(t, "data", string(data), "x")
		equal(t, "owner", st.EphemeralOwner, c.SessionID())
		for _, parent := range []string{"/a", "/a/b"} {
			data, st, err := c.Get(ctx, parent)
			must(t, err)
			equal(t, "data", data, []byte{})
			equal(t, "owner", st.EphemeralOwner, 0)
			acl, _, err := c.GetACL(ctx, parent)
			must(t, err)
			equal(t, "ACL", acl, client.WorldACL(client.PermAll))
		}
		before := srv.Snapshot().Requests
		path, _, err = c.CreateAll(ctx, "/a/b/s-", nil, client.ModePersistentSequential, nil)
		must(t, err)
		equal(t, "path", path, "/a/b/s-0000000001")
		equal(t, "requests, with all parents there", srv.Snapshot().Requests, before+1)
		path, _, err = c.CreateAll(ctx, "/d/e/", nil, client.ModePersistentSequential, nil)
		must(t, err)
		equal(t, "path", path, "/d/e/0000000000")
		_, _, err = c.CreateAll(ctx, "/a/b", nil, client.ModePersistent, nil)
		wantErr(t, err, client.ErrNodeExists)
		_, _, err = c.CreateAll(ctx, "/a/b/c/d", nil, client.ModePersistent, nil)
		wantErr(t, err, client.ErrNoChildrenForEphemerals)
		_, _, err = c.CreateAll(ctx, "/a//b", nil, client.ModePersistent, nil)
		var bad *client.PathError
		if !errors.As(err, &bad) {
			t.Errorf("a bad path: %v", err)
		}
	})
}

// Rights are needed only where something is made.
func TestCreateAllBelowLevelsOfOthers(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		for _, path := range []string{"/a", "/a/b", "/locked"} {
			create(t, srv, path, "")
		}
		must(t, srv.SetACL("/", client.WorldACL(client.PermRead)))
		must(t, srv.SetACL("/a", client.WorldACL(client.PermRead)))
		must(t, srv.SetACL("/locked", client.WorldACL(client.PermRead)))
		c, ctx := connect(t, srv), t.Context()
		path, _, err := c.CreateAll(ctx, "/a/b/c/d", nil, client.ModePersistent, nil)
		must(t, err)
		equal(t, "path", path, "/a/b/c/d")
		before := srv.Snapshot().Requests
		for path, level := range map[string]string{"/locked/b/c": "/locked/b", "/new/b/c": "/new", "/locked/x/y/z": "/locked/x"} {
			_, _, err = c.CreateAll(ctx, path, nil, client.ModePersistent, nil)
			wantErr(t, err, client.ErrNoAuth)
			var e *client.Error
			if !errors.As(err, &e) || e.Path != level {
				t.Errorf("%s: %v", path, err)
			}
		}
		equal(t, "requests", srv.Snapshot().Requests, before+3+3+3+4) // nothing is tried twice
	})
}

func TestCreateAllWithoutItsChroot(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		for _, path := range []string{"/a", "/a/b/c"} {
			before := srv.Snapshot().Requests
			_, _, err := c.CreateAll(ctx, path, nil, client.ModePersistent, nil)
			wantErr(t, err, client.ErrNoNode)
			if n := srv.Snapshot().Requests - before; n > 4 {
				t.Errorf("%s: %d requests", path, n)
			}
		}
		equal(t, "nodes", srv.Exists("/app"), false)
	})
}

// Somebody deletes the parents again and again.
func TestCreateAllRaces(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		deletions := 0
		srv.OnRequest(func(req *zktest.Request) zktest.Verdict {
			if req.Op == proto.OpCreate2 && req.Path == "/a/b/c" && srv.Exists("/a/b") && deletions < 3 {
				deletions++
				_ = srv.Delete("/a/b")
			}
			return zktest.Verdict{}
		})
		_, _, err := c.CreateAll(ctx, "/a/b/c", nil, client.ModePersistent, nil)
		must(t, err)
		equal(t, "deletions", deletions, 3)

		deletions = -1000
		must(t, srv.Delete("/a/b/c"))
		before := srv.Snapshot().Requests
		_, _, err = c.CreateAll(ctx, "/a/b/c", nil, client.ModePersistent, nil)
		wantErr(t, err, client.ErrNoNode)
		if n := srv.Snapshot().Requests - before; n > 40 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestCreateAllLosesItsReply(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2, Path: "/a/b", Skip: 1})
		_, _, err := c.CreateAll(ctx, "/a/b", nil, client.ModePersistent, nil)
		wantErr(t, err, client.ErrConnectionLoss)
		outcome(t, err, client.OutcomeUnknown, true)
		_, _, err = c.CreateAll(cancelled(), "/x/y", nil, client.ModePersistent, nil)
		wantErr(t, err, context.Canceled)
		outcome(t, err, client.OutcomeNotSent, false)
		_, _, err = (*client.Client)(nil).CreateAll(ctx, "/x/y", nil, client.ModePersistent, nil)
		wantErr(t, err, client.ErrZeroValue)
	})
}

func TestCreateOrSet(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		acl := client.WorldACL(client.PermRead | client.PermWrite)
		st, created, err := c.CreateOrSet(ctx, "/a", []byte("one"), acl)
		must(t, err)
		equal(t, "created", created, true)
		equal(t, "version", st.Version, 0)
		got, _, err := c.GetACL(ctx, "/a")
		must(t, err)
		equal(t, "ACL", got, acl)
		st, created, err = c.CreateOrSet(ctx, "/a", []byte("two"), nil)
		must(t, err)
		equal(t, "created", created, false)
		equal(t, "version", st.Version, 1)
		_, created, err = c.CreateOrSet(ctx, "/missing/a", nil, nil)
		wantErr(t, err, client.ErrNoNode)
		equal(t, "created", created, false)
	})
}

func TestCreateOrSetRaces(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		left := 3
		srv.OnRequest(func(req *zktest.Request) zktest.Verdict {
			if left == 0 {
				return zktest.Verdict{}
			}
			switch req.Op {
			case proto.OpCreate2:
				left--
				_, _ = srv.Create("/a", nil, client.ModePersistent)
			case proto.OpSetData:
				_ = srv.Delete("/a")
			}
			return zktest.Verdict{}
		})
		_, created, err := c.CreateOrSet(ctx, "/a", []byte("x"), nil)
		must(t, err)
		equal(t, "created", created, false)
		left = -1
		before := srv.Snapshot().Requests
		_, _, err = c.CreateOrSet(ctx, "/a", []byte("x"), nil)
		wantErr(t, err, client.ErrNodeExists)
		equal(t, "requests", srv.Snapshot().Requests, before+20)
	})
}
