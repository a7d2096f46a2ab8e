package client_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestWatchClose(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		create(t, srv, "/a", "")
		_, w, err := c.GetWatch(ctx, "/a")
		must(t, err)
		_, other, err := c.GetWatch(ctx, "/a")
		must(t, err)
		for range 2 {
			w.Close()
		}
		equal(t, "fired", fired(w), true)
		_, err = w.Wait(ctx)
		wantErr(t, err, client.ErrWatchClosed)
		must(t, srv.Set("/a", nil))
		ev, err := other.Wait(ctx)
		must(t, err)
		equal(t, "the other's event", ev.Type, client.EventNodeDataChanged)
		equal(t, "event", w.Event(), client.Event{Type: client.EventNone, Path: "/a", Zxid: -1, Err: client.ErrWatchClosed})
		other.Close()
		equal(t, "event after Close", other.Event(), ev)
	})
}

// Field case 48: watches that never fire.
func TestClosedWatchesAreForgotten(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		create(t, srv, "/a", "")
		for range 2000 {
			_, w, err := c.GetWatch(ctx, "/a")
			must(t, err)
			w.Close()
		}
		synctest.Wait() // the removals are on their way
		equal(t, "watches of the client", c.WatchCount(), 0)
		equal(t, "watches of the server", len(srv.Watches()), 0)
	})
}

func TestWatchWaitEndsWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		create(t, srv, "/a", "")
		_, w, err := c.GetWatch(t.Context(), "/a")
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = w.Wait(ctx)
		wantErr(t, err, context.DeadlineExceeded)
		equal(t, "text", err.Error(), "zk: watch /a: context deadline exceeded")
		must(t, srv.Set("/a", nil))
		ev, err := w.Wait(t.Context()) // it lives on
		must(t, err)
		equal(t, "type", ev.Type, client.EventNodeDataChanged)
		_, err = w.Wait(cancelled()) // what is there is there
		must(t, err)
	})
}

func TestWatchesEndWithTheirSession(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		var watches []*client.Watch
		for i := range 100 {
			path := "/a" + strconv.Itoa(i)
			create(t, srv, path, "")
			for _, arm := range []func() (*client.Watch, error){
				func() (*client.Watch, error) { _, w, err := c.GetWatch(ctx, path); return w, err },
				func() (*client.Watch, error) { _, w, err := c.ExistsWatch(ctx, path+"x"); return w, err },
				func() (*client.Watch, error) { _, w, err := c.ChildrenWatch(ctx, path); return w, err },
			} {
				w, err := arm()
				must(t, err)
				watches = append(watches, w)
			}
		}
		old := c.SessionID()
		srv.ExpireSession(old)
		for _, w := range watches {
			ev, err := w.Wait(ctx)
			wantErr(t, err, client.ErrSessionExpired)
			wantErr(t, err, net.ErrClosed)
			equal(t, "type", ev.Type, client.EventNone)
		}
		_, _, err := c.Exists(ctx, "/")
		must(t, err)
		equal(t, "same session", c.SessionID() == old, false)
		must(t, srv.Set("/a0", nil)) // and it stays at that one event
		synctest.Wait()
		wantErr(t, watches[0].Event().Err, client.ErrSessionExpired)
	})
}

func TestWatchesEndWithTheClient(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		_, w, err := c.ExistsWatch(t.Context(), "/a")
		must(t, err)
		must(t, c.Close())
		equal(t, "fired", fired(w), true)
		wantErr(t, w.Event().Err, client.ErrClosed)
		w.Close()
		wantErr(t, w.Event().Err, client.ErrClosed)
	})
}

// A caller that has gone leaves no watch behind, whether its reply comes or not.
func TestCancelledWatchCallLeavesNoWatch(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		create(t, srv, "/a", "")
		held := srv.Hold(zktest.Match{Path: "/a"})
		ctx, cancel := context.WithCancel(t.Context())
		result := spawn(func() error {
			_, w, err := c.GetWatch(ctx, "/a")
			if w != nil {
				return errors.New("a watch and an error")
			}
			return err
		})
		<-held.Hit()
		cancel()
		wantErr(t, <-result, context.Canceled)
		held.Release()
		must(t, c.Sync(t.Context(), "/"))
		equal(t, "watches", c.WatchCount(), 0)
		must(t, srv.Set("/a", nil)) // its notification finds nobody
		_, _, err := c.Get(t.Context(), "/a")
		must(t, err)
	})
}
