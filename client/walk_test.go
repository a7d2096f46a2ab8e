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

// walked returns what a Walk yields.
func walked(ctx context.Context, c *client.Client, path string) (paths []string, errs []error) {
	for n, err := range c.Walk(ctx, path) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		paths = append(paths, n.Path)
	}
	return paths, errs
}

func TestWalk(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		for _, path := range []string{"/app", "/app/b", "/app/a", "/app/a/y", "/app/a/x", "/app/a/x/1", "/app/c", "/app/zookeeper", "/app/zookeeper/z"} {
			create(t, srv, path, "data")
		}
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		paths, errs := walked(ctx, c, "/")
		equal(t, "paths", paths, []string{"/", "/a", "/a/x", "/a/x/1", "/a/y", "/b", "/c"}) // zookeeper has no name
		equal(t, "errors", len(errs), 0)
		paths, _ = walked(ctx, c, "/a/x")
		equal(t, "paths", paths, []string{"/a/x", "/a/x/1"})
		paths, _ = walked(ctx, c, "/zookeeper")
		equal(t, "paths", paths, []string{"/zookeeper", "/zookeeper/config", "/zookeeper/quota"})
		paths, _ = walked(ctx, connect(t, srv), "/app")
		equal(t, "paths", paths, []string{"/app", "/app/a", "/app/a/x", "/app/a/x/1", "/app/a/y", "/app/b", "/app/c", "/app/zookeeper", "/app/zookeeper/z"})
		for n, err := range c.Walk(ctx, "/a") {
			must(t, err)
			_, want, err := srv.Get(c.FullPath(n.Path))
			must(t, err)
			equal(t, "stat", n.Stat, want)
		}
		walk := c.Walk(ctx, "/a") // it can be used again
		for range 2 {
			n := 0
			for range walk {
				n++
			}
			equal(t, "znodes", n, 4)
		}
	})
}

// The lists of many znodes travel together, also when each directory is small.
func TestWalkIsPipelined(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		n := tree(t, srv, "/a", 5, 4)
		c := connect(t, srv)
		before := srv.Snapshot().Requests
		var paths []string
		flights := srv.Flights(synctest.Wait, func() { paths, _ = walked(t.Context(), c, "/a") })
		equal(t, "znodes", len(paths), n)
		equal(t, "requests", int(srv.Snapshot().Requests-before), n)
		for i := range paths[1:] {
			if paths[i] >= paths[i+1] {
				t.Fatalf("%s before %s", paths[i], paths[i+1])
			}
		}
		if flights > 20 {
			t.Errorf("%d flights for %d znodes", flights, n)
		}
	})
}

func TestWalkThatIsLeft(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		tree(t, srv, "/a", 3000, 1)
		c := connect(t, srv)
		before := srv.Snapshot().Requests
		for range c.Walk(t.Context(), "/a") {
			break
		}
		equal(t, "requests", srv.Snapshot().Requests, before+1)
		n := 0
		for range c.Walk(t.Context(), "/a") {
			if n++; n == 10 {
				break
			}
		}
		if n := srv.Snapshot().Requests - before; n > 100 {
			t.Errorf("%d requests", n)
		}
	})
}

// What goes before its turn is left out, and what cannot be read is told.
func TestWalkAmongOthers(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		for _, path := range []string{"/a", "/a/b", "/a/b/x", "/a/c", "/a/c/x", "/a/d"} {
			create(t, srv, path, "")
		}
		must(t, srv.SetACL("/a/c", client.WorldACL(client.PermWrite)))
		srv.OnRequest(func(req *zktest.Request) zktest.Verdict {
			if req.Op == proto.OpGetChildren2 && req.Path == "/a/b" {
				_ = srv.Delete("/a/b/x")
				_ = srv.Delete("/a/b")
			}
			return zktest.Verdict{}
		})
		c, ctx := connect(t, srv), t.Context()
		paths, errs := walked(ctx, c, "/a")
		equal(t, "paths", paths, []string{"/a", "/a/d"})
		equal(t, "errors", len(errs), 1)
		wantErr(t, errs[0], client.ErrNoAuth)
		for n, err := range c.Walk(ctx, "/a") {
			if err != nil {
				equal(t, "path", n.Path, "/a/c")
				break // with an error too
			}
		}
	})
}

func TestWalkThatFails(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		tree(t, srv, "/a", 3, 2)
		c, ctx := connect(t, srv), t.Context()
		only := func(ctx context.Context, what string, c *client.Client, path string, target error) {
			t.Helper()
			paths, errs := walked(ctx, c, path)
			if len(paths) != 0 || len(errs) != 1 || !errors.Is(errs[0], target) {
				t.Errorf("%s: %v, %v", what, paths, errs)
			}
		}
		var none context.Context
		only(ctx, "missing", c, "/missing", client.ErrNoNode)
		only(cancelled(), "cancelled", c, "/a", context.Canceled)
		only(none, "no context", c, "/a", client.ErrNilContext)
		only(ctx, "zero client", new(client.Client), "/a", client.ErrZeroValue)
		_, errs := walked(ctx, c, "/a/")
		var bad *client.PathError
		if len(errs) != 1 || !errors.As(errs[0], &bad) {
			t.Errorf("a bad path: %v", errs)
		}
		srv.CloseAfter(zktest.Match{Op: proto.OpGetChildren2, Path: "/a/n001"})
		paths, errs := walked(ctx, c, "/a")
		equal(t, "errors", len(errs), 1)
		wantErr(t, errs[0], client.ErrConnectionLoss)
		equal(t, "paths", paths[:2], []string{"/a", "/a/n000"})
	})
}
