package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func fired(w *client.Watch) bool {
	select {
	case <-w.Done():
		return true
	default:
		return false
	}
}

func TestGetWatch(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		create(t, srv, "/a", "one")
		node, w, err := c.GetWatch(ctx, "/a")
		must(t, err)
		equal(t, "data", string(node.Data), "one")
		equal(t, "exists", node.Exists, true)
		synctest.Wait()
		equal(t, "fired", fired(w), false)
		equal(t, "event before its time", w.Event(), client.Event{})
		must(t, srv.Set("/a", []byte("two")))
		ev, err := w.Wait(ctx)
		must(t, err)
		equal(t, "type", ev.Type, client.EventNodeDataChanged)
		equal(t, "path", ev.Path, "/a")
		equal(t, "event", w.Event(), ev)
		must(t, srv.Set("/a", []byte("three")))
		must(t, srv.Delete("/a"))
		synctest.Wait()
		equal(t, "event after later changes", w.Event(), ev)
		equal(t, "notifications", srv.Snapshot().Notifications, 1)
	})
}

func TestWatchesFireOnTheirChanges(t *testing.T) {
	get := func(c *client.Client) (*client.Watch, error) {
		_, w, err := c.GetWatch(context.Background(), "/a")
		return w, err
	}
	exists := func(c *client.Client) (*client.Watch, error) {
		_, w, err := c.ExistsWatch(context.Background(), "/a")
		return w, err
	}
	children := func(c *client.Client) (*client.Watch, error) {
		_, w, err := c.ChildrenWatch(context.Background(), "/a")
		return w, err
	}
	set := func(srv *zktest.Server) error { return srv.Set("/a", nil) }
	del := func(srv *zktest.Server) error { return srv.Delete("/a") }
	child := func(srv *zktest.Server) error { _, err := srv.Create("/a/b", nil, client.ModePersistent); return err }
	for name, tc := range map[string]struct {
		arm    func(c *client.Client) (*client.Watch, error)
		change func(srv *zktest.Server) error
		want   client.EventType // 0: none
	}{
		"get, set":         {get, set, client.EventNodeDataChanged},
		"get, delete":      {get, del, client.EventNodeDeleted},
		"get, child":       {get, child, 0},
		"exists, set":      {exists, set, client.EventNodeDataChanged},
		"exists, delete":   {exists, del, client.EventNodeDeleted},
		"exists, child":    {exists, child, 0},
		"children, set":    {children, set, 0},
		"children, delete": {children, del, client.EventNodeDeleted},
		"children, child":  {children, child, client.EventNodeChildrenChanged},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := connect(t, srv)
				create(t, srv, "/a", "")
				w, err := tc.arm(c)
				must(t, err)
				must(t, tc.change(srv))
				synctest.Wait()
				equal(t, "type", w.Event().Type, tc.want)
				w.Close()
			})
		})
	}
}

func TestExistsWatchOnAMissingZnode(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		node, w, err := c.ExistsWatch(ctx, "/a")
		must(t, err)
		equal(t, "exists", node.Exists, false)
		create(t, srv, "/a", "")
		ev, err := w.Wait(ctx)
		must(t, err)
		equal(t, "type", ev.Type, client.EventNodeCreated)
	})
}

func TestNoWatchIsLeftOnAMissingZnode(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		node, w, err := c.GetWatch(ctx, "/a")
		wantErr(t, err, client.ErrNoNode)
		equal(t, "node", node, client.Node{})
		equal(t, "watch", w, nil)
		list, w, err := c.ChildrenWatch(ctx, "/a")
		wantErr(t, err, client.ErrNoNode)
		equal(t, "listing", list, client.Listing{})
		equal(t, "watch", w, nil)
		equal(t, "watches of the client", c.WatchCount(), 0)
		equal(t, "watches of the server", len(srv.Watches()), 0)
	})
}

func TestWatchSurvivesAReconnect(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		create(t, srv, "/a", "")
		create(t, srv, "/b", "")
		_, a, err := c.GetWatch(ctx, "/a")
		must(t, err)
		_, b, err := c.GetWatch(ctx, "/b")
		must(t, err)
		srv.Refuse(zktest.RefuseDial)
		srv.DropConnections()
		must(t, srv.Set("/a", nil)) // while nobody is there
		pass(time.Second)
		equal(t, "fired", fired(a), false)
		srv.Refuse(zktest.Accept)
		ev, err := a.Wait(ctx)
		must(t, err)
		equal(t, "type", ev.Type, client.EventNodeDataChanged)
		equal(t, "the other fired", fired(b), false)
		must(t, srv.Delete("/b"))
		ev, err = b.Wait(ctx)
		must(t, err)
		equal(t, "type", ev.Type, client.EventNodeDeleted)
	})
}

func TestWatchCallGoesToTheNextSession(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		create(t, srv, "/a", "")
		for range 5 {
			srv.ExpireSession(c.SessionID())
			for {
				_, w, err := c.GetWatch(t.Context(), "/a")
				if errors.Is(err, client.ErrSessionExpired) || errors.Is(err, client.ErrConnectionLoss) {
					continue // it was accepted before the session was known to be over
				}
				must(t, err)
				w.Close()
				break
			}
		}
	})
}

// Whoever sees the new data has been told, also of a change of its own.
func TestEventComesBeforeTheReplyThatShowsTheChange(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		create(t, srv, "/a", "")
		for range 100 {
			_, w, err := c.GetWatch(ctx, "/a")
			must(t, err)
			_, err = c.Set(ctx, "/a", nil, client.AnyVersion)
			must(t, err)
			if !fired(w) {
				t.Fatal("the reply was there before the event")
			}
		}
	})
}
