package recipes

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// TestObserveThroughFaults: the observer goes on when its connection breaks, at whatever request, and when its session ends.
func TestObserveThroughFaults(t *testing.T) {
	for name, fault := range map[string]func(srv *zktest.Server, c *client.Client){
		"connection": func(srv *zktest.Server, _ *client.Client) { srv.Member("three:2181").DropConnections() },
		"session":    func(srv *zktest.Server, c *client.Client) { srv.ExpireSession(c.SessionID()) },
		"sync not executed": func(srv *zktest.Server, c *client.Client) {
			srv.CloseBefore(zktest.Match{Op: proto.OpSync, Session: c.SessionID()})
		},
		"list not executed": func(srv *zktest.Server, c *client.Client) {
			srv.CloseBefore(zktest.Match{Op: proto.OpGetChildren2, Session: c.SessionID()})
		},
		"list not answered": func(srv *zktest.Server, c *client.Client) {
			srv.CloseAfter(zktest.Match{Op: proto.OpGetChildren2, Session: c.SessionID(), Times: 2})
		},
		"watch not set": func(srv *zktest.Server, c *client.Client) {
			srv.CloseBefore(zktest.Match{Op: proto.OpGetData, Session: c.SessionID()})
		},
		"watch not answered": func(srv *zktest.Server, c *client.Client) {
			srv.CloseAfter(zktest.Match{Op: proto.OpGetData, Session: c.SessionID(), Times: 3})
		},
		"exists not answered": func(srv *zktest.Server, c *client.Client) {
			srv.CloseAfter(zktest.Match{Op: proto.OpExists, Session: c.SessionID()})
		},
		"session, at the request": func(srv *zktest.Server, c *client.Client) {
			held := srv.Hold(zktest.Match{Op: proto.OpGetData, Session: c.SessionID()})
			go func() {
				select {
				case <-held.Hit():
					srv.ExpireSession(c.SessionID())
				case <-time.After(time.Hour):
				}
				held.Release()
			}()
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b, c := dial(t, srv), dialTo(t, srv, "two:2181"), dialTo(t, srv, "three:2181")
				defer a.Close()
				defer b.Close()
				defer c.Close()
				e := NewElection(c, "/el", nil)
				fault(srv, c)
				o := observe(t, e)
				<-time.After(time.Minute)
				o.sees("")
				fault(srv, c)
				l := must(NewElection(a, "/el", []byte("a")).Campaign(t.Context()))
				<-time.After(time.Minute)
				o.sees("a")
				standby := campaign(t.Context(), NewElection(b, "/el", []byte("b")))
				fault(srv, c)
				resign(t, l)
				<-time.After(time.Minute)
				o.sees("b")
				fault(srv, c)
				<-time.After(time.Minute)
				o.sees() // the same leader
				resign(t, standby.leads(t))
				<-time.After(time.Minute)
				o.sees("")
				o.ends(srv)
				<-time.After(2 * time.Hour) // what the faults still wait for
			})
		})
	}
}

// TestObserveMissedChange: what happened while the observer was away, without a watch, in another session, it sees.
func TestObserveMissedChange(t *testing.T) {
	for _, expire := range []bool{false, true} {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			a, b, c := dial(t, srv), dialTo(t, srv, "two:2181"), dialTo(t, srv, "three:2181")
			defer a.Close()
			defer b.Close()
			defer c.Close()
			l := must(NewElection(a, "/el", []byte("a")).Campaign(t.Context()))
			o := observe(t, NewElection(c, "/el", nil))
			o.sees("a")
			srv.Member("three:2181").Refuse(zktest.RefuseClose)
			srv.Member("three:2181").DropConnections()
			synctest.Wait()
			if expire {
				srv.ExpireSession(c.SessionID())
			}
			standby := campaign(t.Context(), NewElection(b, "/el", []byte("b")))
			resign(t, l)
			l = standby.leads(t)
			o.sees()
			srv.Member("three:2181").Refuse(zktest.Accept)
			<-time.After(time.Minute)
			o.sees("b")
			resign(t, l)
			o.sees("")
			o.ends(srv)
		})
	}
}

func TestObserveEnds(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, c := dial(t, srv), dialTo(t, srv, "three:2181")
		defer a.Close()
		defer c.Close()
		e := NewElection(c, "/el", nil)
		// The loop breaks: with and without a leader the watch is taken back, on the server too.
		for range 3 {
			for p, err := range e.Observe(t.Context()) {
				if err != nil || p.Node != "" {
					t.Errorf("%+v: %v", p, err)
				}
				break
			}
			nothingLeft(t, srv)
		}
		l := must(NewElection(a, "/el", []byte("a")).Campaign(t.Context()))
		for range 3 {
			for p, err := range e.Observe(t.Context()) {
				if err != nil || string(p.Data) != "a" {
					t.Errorf("%+v: %v", p, err)
				}
				break
			}
			synctest.Wait()
			if ws := srv.Watches(); len(ws) > 0 {
				t.Errorf("watches left: %v", ws)
			}
		}
		// A request that is refused ends it, as does the end of the client.
		srv.Fail(zktest.Match{Op: proto.OpGetData, Session: c.SessionID()}, proto.ErrNoAuth)
		n := 0
		for p, err := range e.Observe(t.Context()) {
			if n++; !errors.Is(err, client.ErrNoAuth) || p.Node != "" {
				t.Errorf("%+v: %v", p, err)
			}
		}
		o := observe(t, e)
		o.sees("a")
		_ = c.Close()
		<-o.done
		if n != 1 || !errors.Is(o.err, client.ErrClosed) {
			t.Errorf("%d, %v", n, o.err)
		}
		resign(t, l)
		nothingLeft(t, srv)
	})
}

// TestObserveFinalExpiry: no other session follows.
func TestObserveFinalExpiry(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv, client.FinalExpiry())
		defer c.Close()
		o := observe(t, NewElection(c, "/el", nil))
		o.sees("")
		srv.ExpireSession(c.SessionID())
		<-o.done
		if !errors.Is(o.err, client.ErrSessionExpired) {
			t.Errorf("%v", o.err)
		}
	})
}

// TestObservedLeaderGoesBeforeItIsWatched: the next one is yielded, not an error.
func TestObservedLeaderGoesBeforeItIsWatched(t *testing.T) { // K58
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := dial(t, srv), dialTo(t, srv, "two:2181"), dialTo(t, srv, "three:2181")
		defer a.Close()
		defer b.Close()
		defer c.Close()
		l := must(NewElection(a, "/el", []byte("a")).Campaign(t.Context()))
		standby := campaign(t.Context(), NewElection(b, "/el", []byte("b")))
		held := srv.Hold(zktest.Match{Op: proto.OpGetData, Session: c.SessionID()})
		o := observe(t, NewElection(c, "/el", nil))
		resign(t, l)
		held.Release()
		o.sees("b")
		resign(t, standby.leads(t))
		o.sees("")
		o.ends(srv)
	})
}
