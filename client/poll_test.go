package client_test

import (
	"testing"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestStateChange(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		for range 3 {
			change, moved := c.StateChange()
			equal(t, "state", change.State, client.StateConnected)
			synctest.Wait()
			select {
			case <-moved:
				t.Fatal("nothing has changed")
			default:
			}
			srv.Refuse(zktest.RefuseDial)
			srv.DropConnections()
			<-moved
			change, moved = c.StateChange()
			equal(t, "state", change.State, client.StateDisconnected)
			srv.Refuse(zktest.Accept)
			<-moved
		}
		must(t, c.Close())
		change, moved := c.StateChange()
		<-moved
		equal(t, "state", change.State, client.StateClosed)
		change, moved = new(client.Client).StateChange()
		<-moved
		equal(t, "state of the zero Client", change.State, client.StateClosed)
	})
}

func TestTryNext(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		w, err := c.Watch(t.Context(), "/a", client.Recursive)
		must(t, err)
		_, ok, err := w.TryNext()
		must(t, err)
		equal(t, "an event before its time", ok, false)
		create(t, srv, "/a", "")
		create(t, srv, "/a/b", "")
		<-w.Wake()
		synctest.Wait()
		for _, path := range []string{"/a", "/a/b"} {
			ev, ok, err := w.TryNext()
			must(t, err)
			equal(t, "event", ok, true)
			equal(t, "path", ev.Path, path)
		}
		_, ok, err = w.TryNext()
		must(t, err)
		equal(t, "a third event", ok, false)
		w.Close()
		<-w.Wake()
		_, ok, err = w.TryNext()
		wantErr(t, err, client.ErrWatchClosed)
		equal(t, "an event after the end", ok, false)
		for _, w := range []*client.Watcher{nil, new(client.Watcher)} {
			_, _, err = w.TryNext()
			wantErr(t, err, client.ErrZeroValue)
			equal(t, "channel of nothing", w.Wake(), nil)
		}
	})
}

func TestTryNextBesideAReader(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w, err := connect(t, srv).Watch(t.Context(), "/a", client.Recursive)
		must(t, err)
		reader := spawn(func() error { _, err := w.Next(t.Context()); return err })
		synctest.Wait()
		_, _, err = w.TryNext()
		wantErr(t, err, client.ErrWatcherBusy)
		w.Close()
		wantErr(t, <-reader, client.ErrWatchClosed)
	})
}
