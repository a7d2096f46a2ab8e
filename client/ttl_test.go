package client_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestCreateTTL(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		path, st, err := c.CreateTTL(ctx, "/a", []byte("x"), client.ModePersistentTTL, time.Second, nil)
		must(t, err)
		equal(t, "path", path, "/a")
		equal(t, "length", st.DataLength, 1)
		path, _, err = c.CreateTTL(ctx, "/s-", nil, client.ModePersistentSequentialTTL, time.Hour, client.WorldACL(client.PermRead))
		must(t, err)
		equal(t, "path", path, "/s-0000000001")
		acl, _, err := c.GetACL(ctx, path)
		must(t, err)
		equal(t, "ACL", acl, client.WorldACL(client.PermRead))
		path, _, err = c.CreateTTL(ctx, "/", nil, client.ModePersistentSequentialTTL, time.Hour, nil)
		must(t, err)
		equal(t, "path", path, "/0000000002")
		pass(2 * time.Second)
		srv.Sweep()
		equal(t, "children", srv.Children("/app"), []string{"0000000002", "s-0000000001"})

		g := c.Group()
		first := g.CreateTTL("/g", nil, client.ModePersistentTTL, time.Second, nil)
		must(t, g.Do(ctx))
		path, _, err = first.Path()
		must(t, err)
		equal(t, "path", path, "/g")
	})
}

// A fraction of a millisecond counts as a whole one: a znode does not go before its time.
func TestTTLIsRoundedUp(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		_, _, err := c.CreateTTL(ctx, "/a", nil, client.ModePersistentTTL, 1, nil)
		must(t, err)
		_, _, err = c.CreateTTL(ctx, "/b", nil, client.ModePersistentTTL, time.Millisecond+1, nil)
		must(t, err)
		pass(2 * time.Millisecond)
		srv.Sweep()
		equal(t, "/a exists", srv.Exists("/a"), false)
		equal(t, "/b exists", srv.Exists("/b"), true)
	})
}

func TestTTLsThatAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		before := srv.Snapshot().Requests
		for _, tc := range []struct {
			mode client.CreateMode
			ttl  time.Duration
		}{
			{client.ModePersistentTTL, 0},
			{client.ModePersistentTTL, -1},
			{client.ModePersistentTTL, math.MinInt64},
			{client.ModePersistentTTL, math.MaxInt64},
			{client.ModePersistentTTL, 1 << 40 * time.Millisecond},
			{client.ModePersistent, time.Second},
			{client.ModeEphemeralSequential, time.Second},
			{client.ModeContainer, time.Second},
			{7, time.Second},
			{-1, time.Second},
		} {
			var bad *client.TTLError
			_, _, err := c.CreateTTL(ctx, "/a", nil, tc.mode, tc.ttl, nil)
			if !errors.As(err, &bad) || bad.Mode != tc.mode {
				t.Errorf("%v for %v: %v", tc.mode, tc.ttl, err)
			}
			outcome(t, err, client.OutcomeNotSent, false)
			_, err = c.Multi(ctx, client.CreateOp("/b", nil, client.ModePersistent, nil), client.CreateTTLOp("/a", nil, tc.mode, tc.ttl, nil))
			var multi *client.MultiError
			if !errors.As(err, &bad) || !errors.As(err, &multi) || multi.Index != 1 || multi.Op != "create" {
				t.Errorf("%v for %v in a Multi: %v", tc.mode, tc.ttl, err)
			}
		}
		_, _, err := c.CreateTTL(ctx, "/a/", nil, client.ModePersistentTTL, time.Second, nil)
		var path *client.PathError
		if !errors.As(err, &path) {
			t.Errorf("a bad path: %v", err)
		}
		equal(t, "requests", srv.Snapshot().Requests, before)
		must(t, c.Sync(ctx, "/")) // none of it has cost the connection
		equal(t, "connections", srv.Snapshot().Connections, 1)
	})
}

func TestCreateTTLInMulti(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		c := connectTo(t, srv, "zk/app")
		res, err := c.Multi(t.Context(),
			client.CreateTTLOp("/a", []byte("x"), client.ModePersistentTTL, time.Second, nil),
			client.CreateTTLOp("/s-", nil, client.ModePersistentSequentialTTL, time.Hour, client.WorldACL(client.PermRead)))
		must(t, err)
		equal(t, "paths", []string{res[0].Path, res[1].Path}, []string{"/a", "/s-0000000001"})
		equal(t, "has a Stat", res[0].HasStat, true)
		pass(2 * time.Second)
		srv.Sweep()
		equal(t, "children", srv.Children("/app"), []string{"s-0000000001"})
	})
}

func TestServerWithoutTTL(t *testing.T) {
	srv := zktest.New(zktest.WithoutTTL())
	defer srv.Close()
	c := connect(t, srv)
	_, _, err := c.CreateTTL(t.Context(), "/a", nil, client.ModePersistentTTL, time.Second, nil)
	wantErr(t, err, client.ErrUnimplemented)
	must(t, c.Sync(t.Context(), "/"))
}
