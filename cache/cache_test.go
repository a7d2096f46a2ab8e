package cache_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/cache"
	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestOpenReadsTheSubtree(t *testing.T) {
	versions(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/other=x", "/a=1", "/a/c=2", "/a/b=3", "/a/b/d=4", "/a/b/d/e=5", "/ab=y")
		c := open(t, connect(t, srv), "/a")
		s := c.Snapshot()
		equal(t, "snapshot", text(s), "/a=1 /a/b=3 /a/b/d=4 /a/b/d/e=5 /a/c=2")
		equal(t, "current", c.State().Current, true)
		equal(t, "mixed", s.Mixed(), false)
		equal(t, "children", s.ChildCount("/a"), 2)
		compare(t, srv, s)
		for _, p := range []string{"", "/", "/ab", "/a/", "/a/x", "/a/b/d/e/f", "a"} {
			if _, ok := s.Get(p); ok {
				t.Errorf("%q is in the snapshot", p)
			}
		}
		var names []string
		for name := range s.Children("/a") {
			names = append(names, name)
		}
		equal(t, "names", names, []string{"b", "c"})
	})
}

func TestEveryChangeIsFollowed(t *testing.T) {
	versions(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a=1", "/a/b=2")
		c := open(t, connect(t, srv), "/a")
		for _, change := range []func() error{
			func() error { return srv.Set("/a/b", []byte("3")) },
			func() error { return srv.Set("/a", []byte("4")) },
			func() error { create(t, srv, "/a/c=5", "/a/c/d=6", "/a/c/d/e=7"); return nil },
			func() error { return srv.Delete("/a/b") },
			func() error { return srv.Delete("/a/c/d/e") },
			func() error { create(t, srv, "/a/b=8"); return srv.Delete("/a/b") },
			func() error { create(t, srv, "/a/b"); return nil },
		} {
			must(t, change())
			synctest.Wait()
			compare(t, srv, c.Snapshot())
		}
	})
}

func TestRootIsCreatedDeletedAndCreated(t *testing.T) {
	versions(t, func(t *testing.T, srv *zktest.Server) {
		for _, depth := range []int{0, 1, 2} {
			root := fmt.Sprint("/root", depth)
			c := open(t, connect(t, srv), root, cache.Depth(depth))
			equal(t, "number of znodes", c.Snapshot().Len(), 0)
			equal(t, "current", c.State().Current, true)
			for range 2 {
				create(t, srv, root+"=1")
				synctest.Wait()
				equal(t, "snapshot", text(c.Snapshot()), root+"=1")
				must(t, srv.Delete(root))
				synctest.Wait()
				equal(t, "number of znodes", c.Snapshot().Len(), 0)
			}
		}
	})
}

func TestDepth(t *testing.T) {
	versions(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a=1", "/a/b=2", "/a/b/c=3", "/a/b/c/d=4")
		cl := connect(t, srv)
		zero, one := open(t, cl, "/a", cache.Depth(0)), open(t, cl, "/a", cache.Depth(1))
		equal(t, "depth 0", text(zero.Snapshot()), "/a=1")
		equal(t, "depth 1", text(one.Snapshot()), "/a=1 /a/b=2")
		create(t, srv, "/a/b/e", "/a/b/c/f", "/a/g=5")
		must(t, srv.Set("/a/b/c", []byte("6")))
		synctest.Wait()
		equal(t, "depth 0", text(zero.Snapshot()), "/a=1")
		equal(t, "depth 1", text(one.Snapshot()), "/a=1 /a/b=2 /a/g=5")
		for _, c := range []*cache.Cache{zero, one} { // the Stat is kept too
			node, _ := c.Snapshot().Get("/a")
			_, st, _ := srv.Get("/a")
			equal(t, "Stat", node.Stat, st)
		}
		node, _ := one.Snapshot().Get("/a/b")
		_, st, _ := srv.Get("/a/b")
		equal(t, "Stat at the border", node.Stat, st)
	})
}

func TestWholeTreeAndChroot(t *testing.T) {
	versions(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app=0", "/app/a=1", "/app/a/b=2")
		whole, app := open(t, connect(t, srv), "/"), open(t, connectTo(t, srv, "zk:2181/app"), "/")
		sub := open(t, connectTo(t, srv, "zk:2181/app"), "/a")
		compare(t, srv, whole.Snapshot())
		create(t, srv, "/app/a/c=3", "/x=4")
		must(t, srv.Set("/app", []byte("5")))
		synctest.Wait()
		compare(t, srv, whole.Snapshot())
		equal(t, "behind the chroot", text(app.Snapshot()), "/=5 /a=1 /a/b=2 /a/c=3")
		equal(t, "below it", text(sub.Snapshot()), "/a=1 /a/b=2 /a/c=3")
	})
}

func TestUpdates(t *testing.T) {
	versions(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a=1", "/a/b=2")
		c := open(t, connect(t, srv), "/a")
		r := read(t, c)
		u := r.update()
		equal(t, "first update", changes(u), "added /a=1, added /a/b=2")
		equal(t, "path of nothing", u.Old.Path(), "/a")
		create(t, srv, "/a/c=3")
		equal(t, "update", changes(r.update()), "added /a/c=3")
		must(t, srv.Set("/a/c", []byte("4")))
		u = r.update()
		equal(t, "update", changes(u), "changed /a/c=4")
		equal(t, "new is newest", u.New, c.Snapshot())
		create(t, srv, "/a/c/d")
		synctest.Wait()
		// A slow reader is told of the difference, whatever lies between.
		must(t, srv.Delete("/a/c/d"))
		must(t, srv.Delete("/a/c"))
		create(t, srv, "/a/e=5")
		must(t, srv.Set("/a/b", []byte("6")))
		synctest.Wait()
		_ = r.update()
		equal(t, "update of a slow reader", changes(r.update()), "changed /a/b=6, removed /a/c/d, removed /a/c, added /a/e=5")
	})
}

func TestUpdatesEndWithTheContext(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := open(t, connect(t, srv), "/a")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		for _, err := range c.Updates(ctx) {
			if n++; n == 1 {
				must(t, err)
				create(t, srv, "/a=1") // something to tell; but the context has ended first
				cancel()
				continue
			}
			wantErr(t, err, context.Canceled)
		}
		equal(t, "rounds of the loop", n, 2)
		for u := range c.Updates(t.Context()) { // the cache lives on
			if got := changes(u); got != "" { // what the server has sent may be on its way
				equal(t, "changes", got, "added /a=1")
				break
			}
		}
	})
}

// Deleted and created again is another znode, with nothing of the old one's below it.
func TestReplacedZnode(t *testing.T) {
	versions(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a", "/a/b=1", "/a/b/c=2")
		cl := connect(t, srv)
		c := open(t, cl, "/a")
		before := c.Snapshot()
		writer := connect(t, srv)
		_, err := writer.Multi(t.Context(), client.DeleteOp("/a/b/c", -1), client.DeleteOp("/a/b", -1),
			client.CreateOp("/a/b", []byte("3"), client.ModePersistent, nil), client.CreateOp("/a/b/d", []byte("4"), client.ModePersistent, nil))
		must(t, err)
		synctest.Wait()
		compare(t, srv, c.Snapshot())
		equal(t, "changes", changes(cache.Update{Old: before, New: c.Snapshot()}),
			"removed /a/b/c, removed /a/b, added /a/b=3, added /a/b/d=4")
	})
}

func TestWait(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/flag=stop")
		c := open(t, connect(t, srv), "/flag", cache.Depth(0))
		is := func(want string) func(*cache.Snapshot) bool {
			return func(s *cache.Snapshot) bool { n, ok := s.Root(); return ok && string(n.Data) == want }
		}
		s, err := c.Wait(t.Context(), is("stop"))
		must(t, err)
		equal(t, "snapshot", s, c.Snapshot())
		result := spawn(func() error { _, err := c.Wait(t.Context(), is("go")); return err })
		must(t, srv.Set("/flag", []byte("not yet")))
		synctest.Wait()
		select {
		case err := <-result:
			t.Fatal("Wait returned too early:", err)
		default:
		}
		must(t, srv.Set("/flag", []byte("go")))
		must(t, <-result)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = c.Wait(ctx, is("never"))
		wantErr(t, err, context.DeadlineExceeded)
	})
}

func TestSyncShowsOwnWrites(t *testing.T) {
	versions(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a", "/a/b")
		cl, other := connect(t, srv), connect(t, srv)
		c := open(t, cl, "/a")
		for i := range 50 {
			data := fmt.Sprint(i)
			_, err := other.Set(t.Context(), "/a/b", []byte(data), client.AnyVersion)
			must(t, err)
			must(t, c.Sync(t.Context()))
			node, _ := c.Snapshot().Get("/a/b")
			equal(t, "data", string(node.Data), data)
		}
	})
}

func TestCloseEndsReaders(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a=1")
		cl := connect(t, srv)
		c := open(t, cl, "/a")
		r := spawn(func() (last error) {
			for _, err := range c.Updates(t.Context()) {
				last = err
			}
			return last
		})
		w := spawn(func() error { _, err := c.Wait(t.Context(), func(*cache.Snapshot) bool { return false }); return err })
		synctest.Wait()
		equal(t, "error of a cache that lives", c.Err(), nil)
		c.Close()
		c.Close()
		for _, err := range []error{<-r, <-w, c.Err(), c.Sync(t.Context())} {
			wantErr(t, err, cache.ErrClosed)
			wantErr(t, err, net.ErrClosed)
		}
		<-c.Done()
		equal(t, "snapshot", text(c.Snapshot()), "/a=1")
		equal(t, "current", c.State().Current, false)
		synctest.Wait()
		equal(t, "watches of the server", len(srv.Watches()), 0)
	})
}

func TestNilAndZero(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		ctx, cl := t.Context(), connect(t, srv)
		for _, c := range []*cache.Cache{nil, new(cache.Cache)} {
			c.Close()
			<-c.Done()
			equal(t, "path", c.Path(), "")
			equal(t, "state", c.State(), cache.State{})
			s := c.Snapshot()
			_, ok := s.Root()
			equal(t, "nothing", fmt.Sprintln(s.Len(), s.Zxid(), s.Mixed(), s.ChildCount("/"), text(s), ok), "0 0 false 0  false\n")
			for range s.Children("/") {
				t.Error("a child")
			}
			wantErr(t, c.Err(), client.ErrZeroValue)
			wantErr(t, c.Sync(ctx), client.ErrZeroValue)
			_, err := c.Wait(ctx, func(*cache.Snapshot) bool { return true })
			wantErr(t, err, client.ErrZeroValue)
			for _, err := range c.Updates(ctx) {
				wantErr(t, err, client.ErrZeroValue)
			}
		}
		var none context.Context
		_, err := cache.Open(ctx, nil, "/")
		wantErr(t, err, client.ErrZeroValue)
		_, err = cache.Open(ctx, new(client.Client), "/")
		wantErr(t, err, client.ErrZeroValue)
		_, err = cache.Open(none, cl, "/")
		wantErr(t, err, client.ErrNilContext)
		c := open(t, cl, "/")
		wantErr(t, c.Sync(none), client.ErrNilContext)
		_, err = c.Wait(none, nil)
		wantErr(t, err, client.ErrNilContext)
		_, err = c.Wait(ctx, nil)
		wantErr(t, err, client.ErrZeroValue)
		for range cache.Diff(nil, nil) {
			t.Error("a difference between nothing and nothing")
		}
	})
}
