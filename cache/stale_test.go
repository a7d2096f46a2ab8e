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
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// F52: a view that may be stale says so, stays readable, and is read again after the gap; what has changed is told.
func TestStaleWhileDisconnected(t *testing.T) {
	versions(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a=1", "/a/b=2", "/a/c=3", "/a/d", "/a/d/e=4")
		c := open(t, connect(t, srv), "/a")
		since := c.State().Since
		r := read(t, c)
		r.update()
		pass(time.Second)
		srv.Refuse(zktest.RefuseDial)
		srv.DropConnections()
		u := r.update()
		equal(t, "changes with the connection lost", changes(u), "")
		equal(t, "state", u.State, cache.State{Since: since.Add(time.Second)})
		equal(t, "the same snapshot", u.New, u.Old)
		must(t, srv.Set("/a/b", []byte("5")))
		must(t, srv.Delete("/a/c"))
		create(t, srv, "/a/f=6", "/a/d/g=7")
		pass(time.Second)
		equal(t, "state", c.State(), u.State)
		equal(t, "snapshot", text(c.Snapshot()), "/a=1 /a/b=2 /a/c=3 /a/d= /a/d/e=4")
		gets := srv.Snapshot().ByOp[proto.OpGetData]
		srv.Refuse(zktest.Accept)
		u = r.update()
		equal(t, "changes", changes(u), "changed /a/b=5, removed /a/c, added /a/d/g=7, added /a/f=6")
		equal(t, "current", u.State.Current, true)
		compare(t, srv, c.Snapshot())
		// The data of what has not changed is not read again, but for that of the root.
		equal(t, "gets", srv.Snapshot().ByOp[proto.OpGetData]-gets, int64(4))
	})
}

// The state tells of a lost connection before the goroutine of the cache has heard of it.
func TestStateIsNeverBehindTheClient(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		cl := connect(t, srv)
		c := open(t, cl, "/a")
		states := cl.States(t.Context())
		srv.DropConnections()
		for change := range states {
			if !change.State.Connected() {
				break
			}
		}
		equal(t, "current", c.State().Current, false)
	})
}

// readOnlyConn makes the answer to the handshake that of a server without quorum.
type readOnlyConn struct {
	net.Conn
	read int
}

const readOnlyByte = 40 // of the answer, with its length

func (c *readOnlyConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if i := readOnlyByte - c.read; i >= 0 && i < n {
		p[i] = 1
	}
	c.read += n
	return n, err
}

func TestReadOnlyServerIsNotCurrent(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a=1")
		readOnly := true
		cl := connect(t, srv, client.ReadOnly(), client.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := srv.Dial(ctx, network, addr)
			if err != nil || !readOnly {
				return nc, err
			}
			return &readOnlyConn{Conn: nc}, nil
		}))
		equal(t, "state of the client", cl.State(), client.StateConnectedReadOnly)
		c := open(t, cl, "/a")
		equal(t, "snapshot", text(c.Snapshot()), "/a=1")
		equal(t, "current", c.State().Current, false)
		readOnly = false
		srv.DropConnections()
		must(t, c.Sync(t.Context()))
		equal(t, "current", c.State().Current, true)
	})
}

// A server that has lost its leader does not say so. Who asks, by Sync, learns.
func TestServerWithoutItsLeader(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := open(t, connectTo(t, srv, "one:2181"), "/a")
		srv.Member("one:2181").CutFromLeader(true)
		equal(t, "current while nobody can know", c.State().Current, true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantErr(t, c.Sync(ctx), context.DeadlineExceeded)
	})
}

func TestSessionExpires(t *testing.T) {
	versions(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a=1", "/a/b=2")
		cl := connect(t, srv)
		c := open(t, cl, "/a")
		for range 3 {
			srv.Refuse(zktest.RefuseDial)
			srv.ExpireSession(cl.SessionID())
			synctest.Wait()
			equal(t, "current", c.State().Current, false)
			must(t, srv.Delete("/a/b"))
			create(t, srv, "/a/b=3")
			srv.Refuse(zktest.Accept)
			must(t, c.Sync(t.Context()))
			compare(t, srv, c.Snapshot())
			equal(t, "current", c.State().Current, true)
			create(t, srv, "/a/b/c=4") // the watch of the new session brings it
			synctest.Wait()
			compare(t, srv, c.Snapshot())
			must(t, srv.Delete("/a/b/c"))
		}
	})
}

// A member that is behind takes the new session: nothing that was shown is taken back.
func TestNewSessionIsNotBehind(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a=old")
		cl := connectTo(t, srv, "one:2181")
		c := open(t, cl, "/a")
		must(t, srv.Set("/a", []byte("new")))
		synctest.Wait()
		behind := srv.HoldCommit(zktest.Match{Op: proto.OpSync, Times: -1})
		srv.ExpireSession(cl.SessionID())
		<-behind.Hit() // nothing is read before the sync is answered
		pass(time.Second)
		equal(t, "current", c.State().Current, false)
		equal(t, "snapshot", text(c.Snapshot()), "/a=new")
		behind.Release()
		must(t, c.Sync(t.Context()))
		equal(t, "current", c.State().Current, true)
	})
}

func TestEndOfTheClient(t *testing.T) {
	for name, tc := range map[string]struct {
		opts []client.Option
		end  func(srv *zktest.Server, cl *client.Client)
		want error
	}{
		"closed": {nil, func(_ *zktest.Server, cl *client.Client) { _ = cl.Close() }, client.ErrClosed},
		"final expiry": {[]client.Option{client.FinalExpiry()}, func(srv *zktest.Server, cl *client.Client) {
			srv.ExpireSession(cl.SessionID())
		}, client.ErrSessionExpired},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				create(t, srv, "/a=1")
				cl := connect(t, srv, tc.opts...)
				c := open(t, cl, "/a")
				tc.end(srv, cl)
				<-c.Done()
				wantErr(t, c.Err(), tc.want)
				equal(t, "snapshot", text(c.Snapshot()), "/a=1")
				equal(t, "current", c.State().Current, false)
				_, err := cache.Open(t.Context(), cl, "/a")
				wantErr(t, err, tc.want)
			})
		})
	}
}

func TestOpenWaitsForAConnection(t *testing.T) {
	for name, opts := range map[string][]client.Option{"waiting": nil, "fail fast": {client.FailFast()}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				create(t, srv, "/a=1")
				cl := connect(t, srv, opts...)
				srv.Refuse(zktest.RefuseDial)
				srv.DropConnections()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := cache.Open(ctx, cl, "/a")
				wantErr(t, err, context.DeadlineExceeded)
				opened := spawn(func() *cache.Cache { c, _ := cache.Open(t.Context(), cl, "/a"); return c })
				pass(time.Second)
				srv.Refuse(zktest.Accept)
				c := <-opened
				defer c.Close()
				compare(t, srv, c.Snapshot())
				equal(t, "watches of the server", len(srv.Watches()), 1)
			})
		})
	}
}

// A full buffer makes a gap, and the cache reads everything again; meanwhile it is not current.
func TestEventsThatDoNotFit(t *testing.T) {
	versions(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a")
		c := open(t, connect(t, srv, client.EventBuffer(2)), "/a")
		srv.Stall(true)
		for i := range 100 {
			create(t, srv, fmt.Sprint("/a/", i))
		}
		lists := srv.Hold(zktest.Match{Op: proto.OpGetChildren2})
		srv.Stall(false)
		<-lists.Hit()
		synctest.Wait()
		equal(t, "current before the list is read", c.State().Current, false)
		lists.Release()
		must(t, c.Sync(t.Context()))
		compare(t, srv, c.Snapshot())
		equal(t, "current", c.State().Current, true)
	})
}

// What was being read when events were lost is read again, though it was not in the tree yet.
func TestGapWhileAZnodeIsRead(t *testing.T) {
	versions(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a")
		c := open(t, connect(t, srv, client.EventBuffer(2)), "/a")
		for i := range 50 {
			path := fmt.Sprint("/a/", i)
			reply := srv.HoldReply(zktest.Match{Op: proto.OpGetData, Path: path})
			create(t, srv, path+"=old")
			<-reply.Hit()
			create(t, srv, path+"x") // the first event fits, the others do not
			must(t, srv.Set(path, []byte("new")))
			create(t, srv, path+"y", path+"z")
			synctest.Wait()
			reply.Release()
			synctest.Wait()
			compare(t, srv, c.Snapshot())
		}
	})
}
