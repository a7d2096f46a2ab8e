package cache_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/cache"
	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// What may not be read is there, with the reason; what may, around it, is followed.
func TestUnreadableZnodes(t *testing.T) {
	versions(t, func(t *testing.T, srv *zktest.Server) {
		nobody := []client.ACL{{Perms: client.PermAdmin, ID: client.ID{Scheme: "world", ID: "anyone"}}}
		create(t, srv, "/a=1", "/a/secret=2", "/a/secret/known=3", "/a/b=4")
		must(t, srv.SetACL("/a/secret", nobody))
		c := open(t, connect(t, srv), "/a")
		equal(t, "snapshot", text(c.Snapshot()), "/a=1 /a/b=4 /a/secret!")
		node, _ := c.Snapshot().Get("/a/secret")
		wantErr(t, node.Err, client.ErrNoAuth)
		equal(t, "data", node.Data, nil)
		// Its children are not listed, but events tell of them, and each says by its own list who may read it.
		create(t, srv, "/a/secret/new=5")
		must(t, srv.Set("/a/b", []byte("6")))
		synctest.Wait()
		equal(t, "snapshot", text(c.Snapshot()), "/a=1 /a/b=6 /a/secret! /a/secret/new=5")
		// A change of an access list is not told; the next gap shows it.
		must(t, srv.SetACL("/a/secret", client.WorldACL(client.PermAll)))
		srv.DropConnections()
		must(t, c.Sync(t.Context()))
		compare(t, srv, c.Snapshot())
	})
}

// The creation of a znode that may not be read is not told (from 3.8.4 on): the number of children shows it when the
// parent is read.
func TestHiddenCreation(t *testing.T) {
	versions(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a", "/a/b")
		c := open(t, connect(t, srv), "/a")
		writer := connect(t, srv)
		nobody := []client.ACL{{Perms: client.PermAdmin, ID: client.ID{Scheme: "world", ID: "anyone"}}}
		_, _, err := writer.Create(t.Context(), "/a/hidden", nil, client.ModePersistent, nobody)
		must(t, err)
		must(t, srv.Set("/a", []byte("1")))
		synctest.Wait()
		equal(t, "snapshot", text(c.Snapshot()), "/a=1 /a/b= /a/hidden!")
	})
}

func TestRootThatMayNotBeRead(t *testing.T) {
	versions(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a=1", "/a/b=2")
		must(t, srv.SetACL("/a", []client.ACL{{Perms: client.PermAdmin, ID: client.ID{Scheme: "world", ID: "anyone"}}}))
		c := open(t, connect(t, srv), "/a")
		node, ok := c.Snapshot().Root()
		equal(t, "exists", ok, true)
		wantErr(t, node.Err, client.ErrNoAuth)
		wantErr(t, node.ChildrenErr, client.ErrNoAuth)
	})
}

func TestThrottledReadsAreRepeated(t *testing.T) {
	for _, op := range []proto.Op{proto.OpGetData, proto.OpGetChildren2, proto.OpSync} {
		t.Run(op.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				create(t, srv, "/a=1", "/a/b=2", "/a/b/c=3")
				srv.Fail(zktest.Match{Op: op, Times: 3}, client.ErrThrottled)
				before := time.Now()
				c := open(t, connect(t, srv), "/a")
				compare(t, srv, c.Snapshot())
				if d := time.Since(before); d == 0 {
					t.Error("no pause after a throttled read")
				}
			})
		})
	}
}

func TestReplyTooLarge(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a", "/a/large="+strings.Repeat("x", 10_000), "/a/b=1", "/a/many")
		for i := range 500 {
			create(t, srv, fmt.Sprintf("/a/many/%020d", i))
		}
		c := open(t, connect(t, srv, client.ReceiveLimit(8192)), "/a")
		node, _ := c.Snapshot().Get("/a/large")
		if node.Err == nil || errors.Is(node.Err, client.ErrConnectionLoss) {
			t.Error("a znode that is too large has the error", node.Err)
		}
		node, _ = c.Snapshot().Get("/a/many")
		if node.Err != nil || node.ChildrenErr == nil {
			t.Error("a list that is too long has the errors", node.Err, node.ChildrenErr)
		}
		node, _ = c.Snapshot().Get("/a/b")
		equal(t, "data beside it", string(node.Data), "1")
		must(t, srv.Set("/a/large", []byte("small")))
		synctest.Wait()
		node, _ = c.Snapshot().Get("/a/large")
		equal(t, "data", string(node.Data), "small")
		equal(t, "error", node.Err, nil)
	})
}

// A path that cannot be sent does not keep the others from being read.
func TestRequestThatCannotBeSent(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		long := "/a/" + strings.Repeat("x", 2000)
		create(t, srv, "/a=1", long+"=2", "/a/b=3")
		c := open(t, connect(t, srv, client.SendLimit(1024)), "/a")
		node, ok := c.Snapshot().Get(long)
		equal(t, "exists", ok, true)
		var large *client.RequestTooLargeError
		if !errors.As(node.Err, &large) {
			t.Error("the error is", node.Err)
		}
		node, _ = c.Snapshot().Get("/a/b")
		equal(t, "data beside it", string(node.Data), "3")
	})
}

func TestServerWithoutTheWatch(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		srv.Fail(zktest.Match{Op: proto.OpAddWatch}, client.ErrUnimplemented)
		_, err := cache.Open(t.Context(), connect(t, srv), "/a")
		wantErr(t, err, client.ErrUnimplemented)
	})
}

func TestOptionsThatCannotBe(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		cl := connect(t, srv)
		for _, opt := range []cache.Option{nil, cache.Depth(-1), cache.Patience(-1)} {
			_, err := cache.Open(t.Context(), cl, "/a", opt)
			var bad *client.OptionError
			if !errors.As(err, &bad) {
				t.Errorf("the error is %v", err)
			}
		}
		_, err := cache.Open(t.Context(), cl, "a")
		var bad *client.PathError
		if !errors.As(err, &bad) {
			t.Errorf("the error is %v", err)
		}
	})
}
