package client_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// A server compares letters and knows no chroot (docs/protocol.md section 14).
func TestGetEphemerals(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		for _, path := range []string{"/app", "/app/a", "/app/ab", "/application", "/other"} {
			create(t, srv, path, "")
		}
		all := connect(t, srv)
		app, err := all.View("/app")
		must(t, err)
		for _, path := range []string{"/app/a/e", "/app/ab/e", "/app/e", "/application/e", "/other/e"} {
			_, _, err := all.Create(t.Context(), path, nil, client.ModeEphemeral, nil)
			must(t, err)
		}
		_, _, err = connect(t, srv).Create(t.Context(), "/app/of-another-session", nil, client.ModeEphemeral, nil)
		must(t, err)
		for _, tc := range []struct {
			c      *client.Client
			prefix string
			want   []string
		}{
			{all, "/", []string{"/app/a/e", "/app/ab/e", "/app/e", "/application/e", "/other/e"}},
			{all, "/app", []string{"/app/a/e", "/app/ab/e", "/app/e"}},
			{all, "/app/a", []string{"/app/a/e"}},
			{all, "/app/e", []string{"/app/e"}},
			{all, "/missing", nil},
			{app, "/", []string{"/a/e", "/ab/e", "/e"}},
			{app, "/a", []string{"/a/e"}},
			{app, "/e", []string{"/e"}},
			{app, "/other", nil},
			{app, "/zookeeper", nil},
		} {
			got, err := tc.c.GetEphemerals(t.Context(), tc.prefix)
			must(t, err)
			slices.Sort(got)
			equal(t, "ephemerals below "+tc.c.Chroot()+tc.prefix, got, tc.want)
		}
	})
}

func TestGetAllChildrenNumber(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		for _, path := range []string{"/app", "/app/a", "/app/a/b", "/app/a/b/c", "/app/d"} {
			create(t, srv, path, "")
		}
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		for path, want := range map[string]int{"/": 4, "/a": 2, "/d": 0} {
			n, err := c.GetAllChildrenNumber(ctx, path)
			must(t, err)
			equal(t, "number below "+path, n, want)
		}
		_, err := c.GetAllChildrenNumber(ctx, "/missing")
		wantErr(t, err, client.ErrNoNode)
	})
}

func TestWhoAmI(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv, client.MinServer("3.7"), client.Auth("digest", []byte("bob:secret"))), t.Context()
		must(t, c.AddAuth(ctx, "digest", []byte("bob2:secret")))
		ids, err := c.WhoAmI(ctx)
		must(t, err)
		var users []string
		for _, id := range ids {
			if id.Scheme == "digest" {
				users = append(users, id.User)
			}
		}
		slices.Sort(users)
		equal(t, "users", users, []string{"bob", "bob2"})
		equal(t, "an address is there", slices.ContainsFunc(ids, func(id client.Identity) bool { return id.Scheme == "ip" }), true)
	})
}

func TestCheckWatches(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		create(t, srv, "/app/a", "")
		c, ctx := connectTo(t, srv, "zk/app"), t.Context()
		_, w, err := c.ExistsWatch(ctx, "/a")
		must(t, err)
		defer w.Close()
		g := c.Group()
		for kind, want := range map[client.WatcherType]bool{client.WatcherData: true, client.WatcherAny: true, client.WatcherChildren: false} {
			found, err := c.CheckWatches(ctx, "/a", kind)
			must(t, err)
			equal(t, "found", found, want)
			h := g.CheckWatches("/a", kind)
			must(t, g.Do(ctx)) // that there is none is no error
			found, err = h.Found()
			must(t, err)
			equal(t, "found", found, want)
		}
		found, err := c.CheckWatches(ctx, "/", client.WatcherAny)
		must(t, err)
		equal(t, "found", found, false)
		before := srv.Snapshot().Requests
		for _, kind := range []client.WatcherType{0, -1, 6} {
			_, err = c.CheckWatches(ctx, "/a", kind)
			wantErr(t, err, client.ErrWatcherType)
			outcome(t, err, client.OutcomeNotSent, false)
		}
		_, err = c.CheckWatches(ctx, "/a", client.WatcherPersistent)
		var version *client.VersionError
		if !errors.As(err, &version) || version.Since != (client.Version{Major: 3, Minor: 9}) {
			t.Errorf("a type of 3.9: %v", err)
		}
		equal(t, "requests", srv.Snapshot().Requests, before)
	})
}

func TestAnswersThatMakeNoSense(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a", "")
		c, ctx := connect(t, srv, client.MinServer("3.9")), t.Context()
		for op, call := range map[proto.Op]func() error{
			proto.OpGetEphemerals:        func() error { _, err := c.GetEphemerals(ctx, "/"); return err },
			proto.OpGetAllChildrenNumber: func() error { _, err := c.GetAllChildrenNumber(ctx, "/a"); return err },
			proto.OpWhoAmI:               func() error { _, err := c.WhoAmI(ctx); return err },
			proto.OpGetData:              func() error { _, _, err := c.GetConfig(ctx); return err },
			proto.OpGetChildren2:         func() error { _, err := c.ScanChildren(ctx, "/a", nil); return err },
		} {
			srv.Corrupt(zktest.Match{Op: op}, func(b []byte) []byte { return frame(b, []byte{0, 0, 1}) })
			err := call()
			if err == nil {
				t.Errorf("%v: no error", op)
				continue
			}
			outcome(t, err, client.OutcomeUnknown, false)
		}
		g := c.Group()
		for op, add := range map[proto.Op]func(){
			proto.OpGetEphemerals:        func() { g.GetEphemerals("/") },
			proto.OpGetAllChildrenNumber: func() { g.GetAllChildrenNumber("/a") },
			proto.OpWhoAmI:               func() { g.WhoAmI() },
			proto.OpMultiRead:            func() { g.MultiRead(client.GetOp("/a")) },
		} {
			srv.Corrupt(zktest.Match{Op: op}, func(b []byte) []byte { return frame(b, []byte{0, 0, 1}) })
			add()
			outcome(t, g.Do(ctx), client.OutcomeUnknown, false)
		}
	})
}

// The operations without a path.
func TestNilAndZeroValuesWithoutAPath(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]*client.Client{"nil": nil, "zero": {}} {
		for op, call := range map[string]func() error{
			"whoAmI":    func() error { _, err := c.WhoAmI(ctx); return err },
			"getConfig": func() error { _, _, err := c.GetConfig(ctx); return err },
			"reconfig": func() error {
				_, _, err := c.Reconfig(ctx, client.Reconfiguration{Leaving: []string{"1"}, Version: client.AnyConfigVersion})
				return err
			},
		} {
			if err := call(); !errors.Is(err, client.ErrZeroValue) {
				t.Errorf("%s client, %s: %v", name, op, err)
			}
		}
	}
	var g *client.Group
	_, err := g.CheckWatches("/a", client.WatcherPersistent).Found()
	wantErr(t, err, client.ErrZeroValue)
	_, err = g.WhoAmI().Identities()
	wantErr(t, err, client.ErrZeroValue)
	_, err = g.GetEphemerals("/").Paths()
	wantErr(t, err, client.ErrZeroValue)
	_, err = g.GetAllChildrenNumber("/").Number()
	wantErr(t, err, client.ErrZeroValue)
	_, err = g.MultiRead(client.GetOp("/")).Results()
	wantErr(t, err, client.ErrZeroValue)
	_, _, err = g.GetConfig().Config()
	wantErr(t, err, client.ErrZeroValue)
	_, _, err = g.Reconfig(client.Reconfiguration{}).Config()
	wantErr(t, err, client.ErrZeroValue)
	_, _, err = g.CreateTTL("/a", nil, client.ModePersistentTTL, 1, nil).Path()
	wantErr(t, err, client.ErrZeroValue)
}
