package client_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// With a chroot all paths, in and out, are those below it (field case 62).
func TestChroot(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "root")
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		equal(t, "chroot", c.Chroot(), "/app")
		equal(t, "full path", c.FullPath("/a"), "/app/a")
		equal(t, "full path of the root", c.FullPath("/"), "/app")

		path, _, err := c.Create(ctx, "/a", []byte("x"), client.ModePersistent, nil)
		must(t, err)
		equal(t, "path", path, "/a")
		path, _, err = c.Create(ctx, "/a/s-", nil, client.ModePersistentSequential, nil)
		must(t, err)
		equal(t, "sequential path", path, "/a/s-0000000000")
		path, _, err = c.Create(ctx, "/", nil, client.ModePersistentSequential, nil)
		must(t, err)
		equal(t, "path of a name that is only a number", path, "/0000000001")

		data, _, err := c.Get(ctx, "/")
		must(t, err)
		equal(t, "data of the root", string(data), "root")
		names, _, err := c.Children(ctx, "/")
		must(t, err)
		slices.Sort(names)
		equal(t, "children of the root", names, []string{"0000000001", "a"})
		_, err = c.Set(ctx, "/", []byte("new"), client.AnyVersion)
		must(t, err)
		_, ok, err := c.Exists(ctx, "/a/s-0000000000")
		must(t, err)
		equal(t, "exists", ok, true)
		_, _, err = c.GetACL(ctx, "/")
		must(t, err)
		_, err = c.SetACL(ctx, "/a", client.WorldACL(client.PermAll), client.AnyVersion)
		must(t, err)
		must(t, c.Sync(ctx, "/"))
		must(t, c.Delete(ctx, "/a/s-0000000000", client.AnyVersion))
		equal(t, "it exists on the server", srv.Exists("/app/a/s-0000000000"), false)

		_, _, err = c.Get(ctx, "/missing")
		equal(t, "error", err.Error(), "zk: get /missing: no node")
	})
}

func TestChrootInMulti(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		res, err := c.Multi(ctx,
			client.CheckOp("/", client.AnyVersion),
			client.CreateOp("/a", nil, client.ModePersistent, nil),
			client.CreateOp("/a/s-", nil, client.ModePersistentSequential, nil),
			client.SetOp("/a", nil, 0),
			client.CreateOp("/b", nil, client.ModePersistent, nil),
			client.DeleteOp("/b", 0))
		must(t, err)
		var paths []string
		for _, r := range res {
			paths = append(paths, r.Path)
		}
		equal(t, "paths", paths, []string{"/", "/a", "/a/s-0000000000", "/a", "/b", "/b"})
		_, err = c.Multi(ctx, client.CheckOp("/missing", 0))
		var multi *client.MultiError
		if !errors.As(err, &multi) || multi.Path != "/missing" {
			t.Errorf("%v", err)
		}
	})
}

func TestChrootOfEvents(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		for _, path := range []string{"/", "/a", "/application"} {
			_, w, err := c.ExistsWatch(ctx, path)
			must(t, err)
			if path == "/" {
				must(t, srv.Set("/app", nil))
			} else {
				create(t, srv, "/app"+path, "")
			}
			ev, err := w.Wait(ctx)
			must(t, err)
			equal(t, "path of the event", ev.Path, path)
		}
	})
}

// The boundary of a component counts, not the letters: /application is not below /app.
func TestChrootIsStrippedOnABoundary(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		create(t, srv, "/app/app", "")
		c := connectTo(t, srv, "zk/app")
		// A server that answers with a path that is not below the chroot does not exist, but for /zookeeper/config.
		for sent, want := range map[string]string{
			"/app": "/", "/app/app": "/app", "/app/x": "/x", "/apple": "/apple", "/ap": "/ap", "/": "/", "/zookeeper/config": "/zookeeper/config",
		} {
			rule := srv.Corrupt(zktest.Match{Op: proto.OpCreate2}, func(b []byte) []byte {
				return frame(b, (&proto.Create2Response{Path: sent}).AppendTo(nil))
			})
			path, _, err := c.Create(t.Context(), "/some", nil, client.ModePersistent, nil)
			rule.Remove()
			must(t, err)
			equal(t, "path made of "+sent, path, want)
			must(t, srv.Delete("/app/some"))
		}
	})
}

func TestChrootThatIsMissing(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connectTo(t, srv, "zk/app")
		_, _, err := c.Create(t.Context(), "/a", nil, client.ModePersistent, nil)
		wantErr(t, err, client.ErrNoNode)
		_, ok, err := c.Exists(t.Context(), "/")
		must(t, err)
		equal(t, "exists", ok, false)
	})
}

// The server's own tree is the same with every chroot, and what only looks like it is not.
func TestChrootLeavesTheServersTreeAlone(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		for _, path := range []string{"/app", "/app/zookeeper", "/app/zookeeper/inner", "/app/zookeepers", "/zookeeper/quota/app"} {
			create(t, srv, path, "data of "+path)
		}
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		equal(t, "full path", c.FullPath("/zookeeper/config"), "/zookeeper/config")
		for path, want := range map[string]string{
			"/zookeeper/quota/app": "data of /zookeeper/quota/app", "/zookeepers": "data of /app/zookeepers", "/zookeeper/quota": "",
		} {
			data, _, err := c.Get(ctx, path)
			must(t, err)
			equal(t, "data of "+path, string(data), want)
			res, err := c.MultiRead(ctx, client.GetOp(path))
			must(t, err)
			equal(t, "data of "+path, string(res[0].Data), want)
			_, err = c.Multi(ctx, client.CheckOp(path, client.AnyVersion))
			must(t, err)
		}
		_, ok, err := c.Exists(ctx, "/zookeeper/inner") // it has no name here
		must(t, err)
		equal(t, "exists", ok, false)

		path, _, err := c.Create(ctx, "/zookeeper/quota/new", nil, client.ModePersistent, nil)
		must(t, err)
		equal(t, "path", path, "/zookeeper/quota/new")
		path, _, err = c.Create(ctx, "/zookeeper/quota/s-", nil, client.ModePersistentSequential, nil)
		must(t, err)
		equal(t, "sequential path", path, "/zookeeper/quota/s-0000000002")
		path, _, err = c.Create(ctx, "/zookeeper", nil, client.ModePersistentSequential, nil)
		must(t, err)
		equal(t, "path of another name", path, "/zookeeper0000000002")
		equal(t, "it is below the chroot", srv.Exists("/app/zookeeper0000000002"), true)
		res, err := c.Multi(ctx, client.CreateOp("/zookeeper/quota/multi", nil, client.ModePersistent, nil))
		must(t, err)
		equal(t, "path in a Multi", res[0].Path, "/zookeeper/quota/multi")

		_, w, err := c.ExistsWatch(ctx, "/zookeeper/quota/app")
		must(t, err)
		must(t, srv.Set("/zookeeper/quota/app", nil))
		ev, err := w.Wait(ctx)
		must(t, err)
		equal(t, "path of the event", ev.Path, "/zookeeper/quota/app")
	})
}

// A chroot below the server's own tree is a chroot like any other.
func TestChrootInTheServersTree(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/zookeeper/quota/app", "")
		c, ctx := connectTo(t, srv, "zk/zookeeper/quota/app"), t.Context()
		path, _, err := c.Create(ctx, "/a", []byte("x"), client.ModeEphemeralSequential, nil)
		must(t, err)
		equal(t, "path", path, "/a0000000000")
		equal(t, "it exists", srv.Exists("/zookeeper/quota/app/a0000000000"), true)
		_, ok, err := c.Exists(ctx, "/zookeeper/config")
		must(t, err)
		equal(t, "the configuration exists", ok, true)
		paths, err := c.GetEphemerals(ctx, "/")
		must(t, err)
		equal(t, "ephemerals", paths, []string{"/a0000000000"})
	})
}
