package client_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestCreate(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		for _, tc := range []struct {
			path string
			mode client.CreateMode
			want string
		}{
			{"/p", client.ModePersistent, "/p"},
			{"/e", client.ModeEphemeral, "/e"},
			{"/p/s", client.ModePersistentSequential, "/p/s0000000000"},
			{"/p/e", client.ModeEphemeralSequential, "/p/e0000000001"},
			{"/p/", client.ModePersistentSequential, "/p/0000000002"},
			{"/c", client.ModeContainer, "/c"},
		} {
			path, st, err := c.Create(ctx, tc.path, []byte("data"), tc.mode, nil)
			must(t, err)
			equal(t, "path", path, tc.want)
			data, want, err := srv.Get(path)
			must(t, err)
			equal(t, "data", string(data), "data")
			equal(t, "stat", st, want)
			equal(t, "ephemeral", st.EphemeralOwner == c.SessionID(), tc.mode.IsEphemeral())
		}
		_, _, err := c.Create(ctx, "/p", nil, client.ModePersistent, nil)
		wantErr(t, err, client.ErrNodeExists)
		_, _, err = c.Create(ctx, "/missing/a", nil, client.ModePersistent, nil)
		wantErr(t, err, client.ErrNoNode)
		_, _, err = c.Create(ctx, "/e/a", nil, client.ModePersistent, nil)
		wantErr(t, err, client.ErrNoChildrenForEphemerals)
		_, _, err = c.Create(ctx, "/q", nil, client.ModePersistent, []client.ACL{})
		wantErr(t, err, client.ErrInvalidACL)
		outcome(t, err, client.OutcomeRejected, false)
	})
}

func TestCreateModesThatAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		before := srv.Snapshot().Requests
		for _, mode := range []client.CreateMode{client.ModePersistentTTL, client.ModePersistentSequentialTTL, -1, 7, 99} {
			_, _, err := c.Create(t.Context(), "/a", nil, mode, nil)
			var bad *client.ModeError
			if !errors.As(err, &bad) || bad.Mode != mode {
				t.Errorf("mode %d: %v", mode, err)
			}
			outcome(t, err, client.OutcomeNotSent, false)
			if _, err = c.Multi(t.Context(), client.CreateOp("/a", nil, mode, nil)); !errors.As(err, &bad) {
				t.Errorf("mode %d in a Multi: %v", mode, err)
			}
		}
		equal(t, "requests", srv.Snapshot().Requests, before)
	})
}

func TestGetAndSet(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		create(t, srv, "/a", "one")
		data, st, err := c.Get(ctx, "/a")
		must(t, err)
		equal(t, "data", string(data), "one")
		equal(t, "length", st.DataLength, 3)

		st, err = c.Set(ctx, "/a", []byte("two"), st.Version)
		must(t, err)
		equal(t, "version", st.Version, 1)
		_, err = c.Set(ctx, "/a", []byte("three"), 0)
		wantErr(t, err, client.ErrBadVersion)
		st, err = c.Set(ctx, "/a", []byte("three"), client.AnyVersion)
		must(t, err)
		equal(t, "version", st.Version, 2)
		_, err = c.Set(ctx, "/missing", nil, client.AnyVersion)
		wantErr(t, err, client.ErrNoNode)
		data, _, err = c.Get(ctx, "/missing")
		wantErr(t, err, client.ErrNoNode)
		equal(t, "data with an error", data, nil)
	})
}

func TestNullAndEmptyDataAreKeptApart(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		for path, data := range map[string][]byte{"/null": nil, "/empty": {}} {
			_, _, err := c.Create(ctx, path, data, client.ModePersistent, nil)
			must(t, err)
			got, _, err := c.Get(ctx, path)
			must(t, err)
			equal(t, path, got, data)
		}
	})
}

func TestGetInto(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		create(t, srv, "/a", "0123456789")
		small, large := make([]byte, 3, 4), make([]byte, 3, 64)
		got, _, err := c.GetInto(ctx, "/a", large)
		must(t, err)
		equal(t, "data", string(got), "0123456789")
		equal(t, "the buffer is used", &got[0] == &large[0], true)
		got, _, err = c.GetInto(ctx, "/a", small)
		must(t, err)
		equal(t, "data", string(got), "0123456789")
		equal(t, "the buffer is left alone", string(small), "\x00\x00\x00")
		got, _, err = c.GetInto(ctx, "/missing", large)
		wantErr(t, err, client.ErrNoNode)
		equal(t, "length", len(got), 0)
		equal(t, "the buffer comes back", cap(got), 64)
	})
}

// What Get returns is the caller's: later replies do not write into it.
func TestResultsAreNotOverwritten(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		create(t, srv, "/a", "aaaa")
		create(t, srv, "/b", "bbbb")
		create(t, srv, "/a/kid", "")
		data, _, err := c.Get(ctx, "/a")
		must(t, err)
		names, _, err := c.Children(ctx, "/a")
		must(t, err)
		for range 10 {
			_, _, err := c.Get(ctx, "/b")
			must(t, err)
		}
		equal(t, "data", string(data), "aaaa")
		equal(t, "names", names, []string{"kid"})
	})
}

func TestDeleteAndExists(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		create(t, srv, "/a", "x")
		create(t, srv, "/a/b", "")
		st, ok, err := c.Exists(ctx, "/a")
		must(t, err)
		equal(t, "exists", ok, true)
		equal(t, "children", st.NumChildren, 1)
		wantErr(t, c.Delete(ctx, "/a", client.AnyVersion), client.ErrNotEmpty)
		wantErr(t, c.Delete(ctx, "/a/b", 1), client.ErrBadVersion)
		must(t, c.Delete(ctx, "/a/b", 0))
		must(t, c.Delete(ctx, "/a", client.AnyVersion))
		wantErr(t, c.Delete(ctx, "/a", client.AnyVersion), client.ErrNoNode)
		st, ok, err = c.Exists(ctx, "/a")
		must(t, err)
		equal(t, "exists", ok, false)
		equal(t, "stat", st, client.Stat{})
	})
}

func TestChildren(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		create(t, srv, "/a", "")
		names, st, err := c.Children(ctx, "/a")
		must(t, err)
		equal(t, "names", names, []string{})
		equal(t, "cversion", st.Cversion, 0)
		for _, p := range []string{"/a/x", "/a/y", "/a/z"} {
			create(t, srv, p, "")
		}
		names, st, err = c.Children(ctx, "/a")
		must(t, err)
		slices.Sort(names)
		equal(t, "names", names, []string{"x", "y", "z"})
		equal(t, "cversion", st.Cversion, 3)
		names, _, err = c.Children(ctx, "/")
		must(t, err)
		slices.Sort(names)
		equal(t, "names", names, []string{"a", "zookeeper"})
		_, _, err = c.Children(ctx, "/missing")
		wantErr(t, err, client.ErrNoNode)
	})
}

func TestACL(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		create(t, srv, "/a", "")
		acl, st, err := c.GetACL(ctx, "/a")
		must(t, err)
		equal(t, "ACL", acl, client.WorldACL(client.PermAll))
		equal(t, "aversion", st.Aversion, 0)
		next := append(client.WorldACL(client.PermRead), client.ACL{
			Perms: client.PermAll, ID: client.ID{Scheme: "digest", ID: client.DigestID("bob", "secret")}})
		st, err = c.SetACL(ctx, "/a", next, 0)
		must(t, err)
		equal(t, "aversion", st.Aversion, 1)
		_, err = c.Set(ctx, "/a", nil, client.AnyVersion)
		wantErr(t, err, client.ErrNoAuth)
		must(t, c.AddAuth(ctx, "digest", []byte("bob:secret")))
		_, err = c.Set(ctx, "/a", nil, client.AnyVersion)
		must(t, err)
		acl, _, err = c.GetACL(ctx, "/a")
		must(t, err)
		equal(t, "ACL", acl, next)
		_, err = c.SetACL(ctx, "/a", next, 0)
		wantErr(t, err, client.ErrBadVersion)
		_, err = c.SetACL(ctx, "/a", nil, client.AnyVersion)
		wantErr(t, err, client.ErrInvalidACL) // there is no default that would open the znode by mistake
	})
}

func TestSync(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		must(t, c.Sync(t.Context(), "/"))
		must(t, c.Sync(t.Context(), "/missing"))
	})
}
