package client_test

import (
	"errors"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestMulti(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		create(t, srv, "/a", "")
		create(t, srv, "/b", "")
		res, err := c.Multi(ctx,
			client.CheckOp("/a", 0),
			client.CreateOp("/a/s", []byte("1"), client.ModePersistentSequential, nil),
			client.CreateOp("/a/s", []byte("2"), client.ModeEphemeralSequential, client.WorldACL(client.PermRead)),
			client.SetOp("/a", []byte("new"), 0),
			client.DeleteOp("/b", client.AnyVersion),
			client.CreateOp("/c", nil, client.ModeContainer, nil))
		must(t, err)
		var paths []string
		for i, r := range res {
			paths = append(paths, r.Path)
			equal(t, "error", r.Err, nil)
			equal(t, "has a Stat", r.HasStat, i == 3 || i == 5 || r.HasStat && (i == 1 || i == 2))
		}
		equal(t, "paths", paths, []string{"/a", "/a/s0000000000", "/a/s0000000001", "/a", "/b", "/c"})
		equal(t, "version", res[3].Stat.Version, 1)
		acl, _, err := c.GetACL(ctx, "/a/s0000000001")
		must(t, err)
		equal(t, "ACL", acl, client.WorldACL(client.PermRead))
		equal(t, "/b exists", srv.Exists("/b"), false)
	})
}

func TestMultiFails(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		create(t, srv, "/a", "old")
		res, err := c.Multi(t.Context(),
			client.SetOp("/a", []byte("new"), 0),
			client.CheckOp("/a", 7),
			client.DeleteOp("/a", client.AnyVersion))
		wantErr(t, err, client.ErrBadVersion)
		outcome(t, err, client.OutcomeRejected, false)
		equal(t, "text", err.Error(), "zk: multi: op 1 (check /a): bad version")
		var multi *client.MultiError
		if !errors.As(err, &multi) {
			t.Fatal(err)
		}
		equal(t, "index", multi.Index, 1)
		equal(t, "results", res, multi.Results)
		equal(t, "errors", []error{res[0].Err, res[1].Err, res[2].Err},
			[]error{nil, client.ErrBadVersion, client.ErrRuntimeInconsistency})
		data, _, err := srv.Get("/a")
		must(t, err)
		equal(t, "data", string(data), "old")
	})
}

func TestMultiThatCannotBeSent(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		before := srv.Snapshot().Requests
		res, err := c.Multi(ctx)
		must(t, err)
		equal(t, "results of nothing", len(res), 0)
		_, err = c.Multi(ctx, client.CheckOp("/a", 0), client.SetOp("/a/", nil, 0))
		var multi *client.MultiError
		var path *client.PathError
		if !errors.As(err, &multi) || multi.Index != 1 || !errors.As(err, &path) {
			t.Errorf("a bad path: %v", err)
		}
		outcome(t, err, client.OutcomeNotSent, false)
		_, err = c.Multi(ctx, client.Op{})
		wantErr(t, err, client.ErrZeroValue)
		equal(t, "requests", srv.Snapshot().Requests, before)
	})
}
