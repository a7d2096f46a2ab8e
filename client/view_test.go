package client_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestView(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		for _, path := range []string{"/app", "/app/one", "/app/one/two"} {
			create(t, srv, path, "")
		}
		acl := client.WorldACL(client.PermRead | client.PermCreate)
		c, ctx := connectTo(t, srv, "zk/app", client.DefaultACL(acl), client.SendLimit(256)), t.Context()
		one, err := c.View("/one")
		must(t, err)
		two, err := one.View("/two")
		must(t, err)
		same, err := two.View("/")
		must(t, err)
		for v, want := range map[*client.Client]string{one: "/app/one", two: "/app/one/two", same: "/app/one/two"} {
			equal(t, "chroot", v.Chroot(), want)
			equal(t, "session", v.SessionID(), c.SessionID())
			equal(t, "default ACL", v.DefaultACL(), acl)
			equal(t, "number", v.Generation().Number(), c.Generation().Number())
		}
		path, _, err := two.Create(ctx, "/a", nil, client.ModeEphemeral, nil)
		must(t, err)
		equal(t, "path", path, "/a")
		st, ok, err := c.Exists(ctx, "/one/two/a")
		must(t, err)
		equal(t, "exists", ok, true)
		equal(t, "owner", st.EphemeralOwner, c.SessionID())
		got, _, err := one.GetACL(ctx, "/two/a")
		must(t, err)
		equal(t, "ACL", got, acl)
		_, err = two.Set(ctx, "/missing", make([]byte, 300), client.AnyVersion)
		var large *client.RequestTooLargeError
		if !errors.As(err, &large) {
			t.Errorf("the send limit: %v", err)
		}
		_, err = two.Set(ctx, "/missing", nil, client.AnyVersion)
		equal(t, "text", err.Error(), "zk: set /missing: no node")
		equal(t, "connections", srv.Snapshot().Connections, 1)
	})
}

func TestViewOfNothing(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		v, err := c.View("/")
		must(t, err)
		equal(t, "chroot", v.Chroot(), "")
		for _, path := range []string{"", "a", "/a/"} {
			_, err := c.View(path)
			var bad *client.PathError
			if !errors.As(err, &bad) {
				t.Errorf("view %q: %v", path, err)
			}
		}
		for _, c := range []*client.Client{nil, new(client.Client)} {
			_, err := c.View("/a")
			wantErr(t, err, client.ErrZeroValue)
		}
	})
}

func TestGroupsMultisAndWatchesOfAView(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		c, ctx := connect(t, srv), t.Context()
		v, err := c.View("/app")
		must(t, err)
		g := v.Group()
		a, kids := g.Create("/a", []byte("x"), client.ModePersistent, nil), g.Children("/")
		must(t, g.Do(ctx))
		path, _, err := a.Path()
		must(t, err)
		equal(t, "path", path, "/a")
		names, _, err := kids.Names()
		must(t, err)
		equal(t, "names", names, []string{"a"})
		bound := v.Generation().Group()
		get := bound.Get("/a", nil)
		must(t, bound.Do(ctx))
		data, _, err := get.Data()
		must(t, err)
		equal(t, "data", string(data), "x")

		_, w, err := v.GetWatch(ctx, "/a")
		must(t, err)
		_, whole, err := c.GetWatch(ctx, "/app/a")
		must(t, err)
		_, err = v.Multi(ctx, client.SetOp("/a", []byte("y"), client.AnyVersion))
		must(t, err)
		for want, w := range map[string]*client.Watch{"/a": w, "/app/a": whole} {
			ev, err := w.Wait(ctx)
			must(t, err)
			equal(t, "path of the event", ev.Path, want)
		}
	})
}

// A guard is a path of one chroot; another would look at some other znode.
func TestGuardsAcrossViews(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		for _, path := range []string{"/a", "/app", "/app/a"} {
			create(t, srv, path, "")
		}
		c, ctx := connect(t, srv), t.Context()
		v, err := c.View("/app")
		must(t, err)
		twin, err := c.View("/app")
		must(t, err)
		guard := v.GuardOp("/a", client.AnyVersion)
		for _, good := range []*client.Client{v, twin} {
			_, err = good.Multi(ctx, guard)
			must(t, err)
		}
		_, err = c.Multi(ctx, guard)
		wantErr(t, err, client.ErrForeignGuard)
		_, err = v.Multi(ctx, c.GuardOp("/a", client.AnyVersion))
		wantErr(t, err, client.ErrForeignGuard)
	})
}

// The session belongs to the client that has begun it.
func TestViewsDoNotEndTheSession(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		var none context.Context
		create(t, srv, "/app", "")
		c, ctx := connect(t, srv), t.Context()
		v, err := c.View("/app")
		must(t, err)
		_, _, err = v.Create(ctx, "/e", nil, client.ModeEphemeral, nil)
		must(t, err)
		must(t, v.Close())
		must(t, v.Shutdown(ctx))
		_, err = v.Detach()
		wantErr(t, err, client.ErrView)
		outcome(t, err, client.OutcomeNotSent, false)
		_, ok, err := v.Exists(ctx, "/e")
		must(t, err)
		equal(t, "exists", ok, true)
		wantErr(t, v.Shutdown(none), client.ErrNilContext)

		old := v.Generation()
		srv.ExpireSession(c.SessionID())
		<-old.Ended()
		wantErr(t, old.Err(), client.ErrSessionExpired)
		g := old.Group()
		g.Exists("/e")
		wantErr(t, g.Do(ctx), client.ErrSessionExpired)
		_, ok, err = v.Exists(ctx, "/e")
		must(t, err)
		equal(t, "exists in the next session", ok, false)
		equal(t, "number", v.Generation().Number(), 2)

		must(t, c.Close())
		_, _, err = v.Get(ctx, "/")
		wantErr(t, err, client.ErrClosed)
		wantErr(t, context.Cause(v.Context()), client.ErrClosed)
		must(t, v.Close())
	})
}
