package client_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// watch sets a watcher that is closed at the end of the test.
func watch(t *testing.T, c *client.Client, path string, mode client.WatchMode) *client.Watcher {
	t.Helper()
	w, err := c.Watch(t.Context(), path, mode)
	must(t, err)
	t.Cleanup(w.Close)
	return w
}

// heard returns the events that wait in w as text, such as "node created /a, gap /".
func heard(t *testing.T, w *client.Watcher) string {
	t.Helper()
	synctest.Wait()
	var list []string
	for ev, err := range w.Events(cancelled()) {
		if err != nil {
			wantErr(t, err, context.Canceled)
			break
		}
		list = append(list, ev.Type.String()+" "+ev.Path)
	}
	return strings.Join(list, ", ")
}

func TestWatchers(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		p, r := watch(t, c, "/a", client.Persistent), watch(t, c, "/a", client.Recursive)
		equal(t, "path", p.Path(), "/a")
		for _, change := range []func() error{
			func() error { _, err := srv.Create("/a", nil, client.ModePersistent); return err },
			func() error { _, err := srv.Create("/a/b", nil, client.ModePersistent); return err },
			func() error { return srv.Set("/a/b", nil) },
			func() error { return srv.Set("/a", nil) },
			func() error { return srv.Delete("/a/b") },
			func() error { return srv.Delete("/a") },
		} {
			must(t, change())
		}
		equal(t, "persistent", heard(t, p), "node created /a, node children changed /a, node data changed /a, node children changed /a, node deleted /a")
		equal(t, "recursive", heard(t, r), "node created /a, node created /a/b, node data changed /a/b, node data changed /a, node deleted /a/b, node deleted /a")
	})
}

// Reading one's own write shows its event, and the loop can be left and taken up again.
func TestEventsLoop(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		w := watch(t, c, "/", client.Recursive)
		for _, path := range []string{"/a", "/b", "/c"} {
			_, _, err := c.Create(ctx, path, nil, client.ModePersistent, nil)
			must(t, err)
		}
		var paths []string
		for ev, err := range w.Events(ctx) {
			must(t, err)
			if paths = append(paths, ev.Path); len(paths) == 2 {
				break
			}
		}
		ev, err := w.Next(cancelled()) // what waits is there all the same
		must(t, err)
		equal(t, "paths", append(paths, ev.Path), []string{"/a", "/b", "/c"})
		_, err = w.Next(cancelled())
		wantErr(t, err, context.Canceled)
		outcome(t, err, client.OutcomeNotSent, false)
	})
}

func TestWatcherHasOneReader(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		w := watch(t, c, "/a", client.Persistent)
		reading := spawn(func() error { _, err := w.Next(context.Background()); return err })
		synctest.Wait()
		_, err := w.Next(t.Context())
		wantErr(t, err, client.ErrWatcherBusy)
		w.Close()
		w.Close()
		wantErr(t, <-reading, client.ErrWatchClosed)
		_, err = w.Next(t.Context())
		wantErr(t, err, client.ErrWatchClosed)
		synctest.Wait()
		equal(t, "watches at the server", srv.Snapshot().Watches.Total(), 0)
	})
}

func TestWatcherAfterReconnect(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		w := watch(t, c, "/a", client.Persistent)
		srv.DropConnections()
		synctest.Wait()
		srv.DropConnections()
		synctest.Wait()
		create(t, srv, "/a", "")
		must(t, c.Sync(ctx, "/"))
		equal(t, "after two reconnects", heard(t, w), "gap /a, node created /a")
		create(t, srv, "/a/b", "")
		equal(t, "later", heard(t, w), "node children changed /a")
	})
}

// Nothing is dropped silently, and nothing waits for a slow reader.
func TestEventBufferOverflow(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv, client.EventBuffer(4)), t.Context()
		w, other := watch(t, c, "/", client.Recursive), watch(t, c, "/", client.Recursive)
		for _, name := range strings.Fields("a b c d e f") {
			create(t, srv, "/"+name, "")
		}
		synctest.Wait() // all events are there: whoever takes one before makes room for another
		_, err := w.Next(ctx)
		must(t, err)
		must(t, c.Sync(ctx, "/"))
		_, err = w.Next(ctx)
		must(t, err)
		create(t, srv, "/g", "")
		equal(t, "events", heard(t, w), "node created /c, gap /, node created /g")
		create(t, srv, "/h", "")
		srv.DropConnections()
		equal(t, "one gap says it all", heard(t, other), "node created /a, node created /b, node created /c, gap /")
		_, err = client.Lazy("zk:2181", client.EventBuffer(1))
		var oe *client.OptionError
		if !errors.As(err, &oe) {
			t.Errorf("EventBuffer(1): %v", err)
		}
	})
}

func TestWatcherAtTheEnd(t *testing.T) { // F51, C71
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		ctx := t.Context()
		w := watch(t, c, "/a", client.Persistent)
		create(t, srv, "/a", "")
		synctest.Wait()
		srv.ExpireSession(c.Generation().SessionID())
		synctest.Wait()
		must(t, c.Sync(ctx, "/")) // by the next session
		ev, err := w.Next(ctx)
		must(t, err)
		equal(t, "what came before the end", ev.Type, client.EventNodeCreated)
		for range 2 {
			_, err = w.Next(ctx)
			if err == nil {
				_, err = w.Next(ctx) // behind the gap of a reconnect that found the session gone
			}
			wantErr(t, err, client.ErrSessionExpired)
			wantErr(t, err, net.ErrClosed)
		}
		w2 := watch(t, c, "/a", client.Persistent)
		must(t, c.Close())
		_, err = w2.Next(ctx)
		wantErr(t, err, client.ErrClosed)
		w2.Close()
		_, err = c.Watch(ctx, "/a", client.Persistent)
		wantErr(t, err, client.ErrClosed)
	})
}

// Watchers of several chroots on one session share what the server has, and each sees its own paths.
func TestWatchThroughChroot(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app", "")
		c := connectTo(t, srv, "zk:2181/app")
		w, rec := watch(t, c, "/", client.Persistent), watch(t, c, "/", client.Recursive)
		config := watch(t, c, "/zookeeper/config", client.Persistent)
		create(t, srv, "/app/a", "")
		create(t, srv, "/application", "")
		must(t, srv.Set("/app", nil))
		must(t, srv.Set("/zookeeper/config", nil))
		equal(t, "persistent", heard(t, w), "node children changed /, node data changed /")
		equal(t, "recursive", heard(t, rec), "node created /a, node data changed /")
		equal(t, "config", heard(t, config), "node data changed /zookeeper/config")
	})
}

func TestWatchRefusals(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		var pe *client.PathError
		if _, err := c.Watch(ctx, "a", client.Persistent); !errors.As(err, &pe) {
			t.Errorf("bad path: %v", err)
		}
		_, err := c.Watch(ctx, "/a", client.WatchMode(7))
		wantErr(t, err, client.ErrWatchMode)
		var none context.Context
		_, err = c.Watch(none, "/a", client.Persistent)
		wantErr(t, err, client.ErrNilContext)
		_, err = c.Watch(cancelled(), "/a", client.Persistent)
		wantErr(t, err, context.Canceled)
		var nobody *client.Client
		_, err = nobody.Watch(ctx, "/a", client.Persistent)
		wantErr(t, err, client.ErrZeroValue)
		for _, w := range []*client.Watcher{nil, {}} {
			w.Close()
			_, err = w.Next(ctx)
			wantErr(t, err, client.ErrZeroValue)
			equal(t, "path", w.Path(), "")
		}
		srv.Fail(zktest.Match{Op: proto.OpAddWatch}, proto.ErrMarshalling) // as WatchManagerOptimized does
		_, err = c.Watch(ctx, "/a", client.Persistent)
		wantErr(t, err, client.ErrMarshalling)
		outcome(t, err, client.OutcomeRejected, false)
		equal(t, "modes", client.Persistent.String()+", "+client.Recursive.String()+", "+client.WatchMode(9).String(), "persistent, recursive, unknown watch mode")
	})
}

// A Watch that nobody waits for any more leaves nothing, here and at the server, whenever it is given up.
func TestWatchGivenUp(t *testing.T) { // F48, C107
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		create(t, srv, "/a", "")
		for range 1000 {
			_, w, err := c.GetWatch(ctx, "/a")
			must(t, err)
			w.Close()
		}
		synctest.Wait()
		equal(t, "watches", srv.Snapshot().Watches.Total(), 0)
		for _, op := range []proto.Op{proto.OpGetData, proto.OpAddWatch} {
			held := srv.HoldReply(zktest.Match{Op: op})
			short, cancel := context.WithCancel(ctx)
			result := spawn(func() error {
				if op == proto.OpAddWatch {
					_, err := c.Watch(short, "/a", client.Recursive)
					return err
				}
				_, _, err := c.GetWatch(short, "/a")
				return err
			})
			<-held.Hit()
			cancel()
			wantErr(t, <-result, context.Canceled)
			held.Release()
			must(t, c.Sync(ctx, "/"))
			synctest.Wait()
			equal(t, "watches after "+op.String(), srv.Snapshot().Watches.Total(), 0)
		}
		_, keep, err := c.GetWatch(ctx, "/a")
		must(t, err)
		_, drop, err := c.ExistsWatch(ctx, "/a")
		must(t, err)
		drop.Close()
		must(t, srv.Set("/a", nil))
		_, err = keep.Wait(ctx)
		must(t, err)
	})
}

// A watcher beside a one-shot watch takes nothing from it: that of children hears of those that may not be read too.
func TestChildrenWatchBesideAWatcher(t *testing.T) {
	for _, version := range []zktest.Version{zktest.Version380, zktest.Version393} {
		for _, mode := range []client.WatchMode{client.Persistent, client.Recursive} {
			synctest.Test(t, func(t *testing.T) {
				srv := zktest.New(zktest.Imitate(version))
				t.Cleanup(func() { srv.Close() })
				create(t, srv, "/a", "")
				c, ctx := connect(t, srv), t.Context()
				before := listing(t, c)
				watch(t, c, "/a", mode)
				after := listing(t, c)
				_, _, err := connect(t, srv).Create(ctx, "/a/hidden", nil, client.ModePersistent, client.WorldACL(client.PermDelete))
				must(t, err)
				synctest.Wait()
				equal(t, "watch from before is told", fired(before), true)
				equal(t, "watch from afterwards is told", fired(after), true)
			})
		}
	}
}

func listing(t *testing.T, c *client.Client) *client.Watch {
	t.Helper()
	_, w, err := c.ChildrenWatch(t.Context(), "/a")
	must(t, err)
	return w
}
