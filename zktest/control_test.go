package zktest_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// sendCreate writes a create without waiting for anything.
func (w *wire) sendCreate(path string) int32 {
	w.t.Helper()
	return w.send(proto.OpCreate, &proto.CreateRequest{Path: path, ACL: proto.WorldACL(31)})
}

func TestHold(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w, other := open(t, srv), open(t, srv)
		held := srv.Hold(zktest.Match{Op: proto.OpCreate, Path: "/a"})
		first, second := w.sendCreate("/a"), w.sendCreate("/b")
		<-held.Hit()
		synctest.Wait()
		assert.Equal(t, 1, held.Waiting())
		assert.False(t, srv.Exists("/a"))
		assert.False(t, srv.Exists("/b"), "what is behind waits too")
		assert.Equal(t, proto.ErrNoNode, other.exists("/a", false), "others do not")
		held.Release()
		held.Release()
		assert.Equal(t, first, w.recv().Xid)
		assert.Equal(t, second, w.recv().Xid)
		assert.Equal(t, 1, held.Hits())
	})
}

func TestHoldOfAClosedConnection(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		held := srv.Hold(zktest.Match{Op: proto.OpCreate})
		w.sendCreate("/a")
		<-held.Hit()
		require.NoError(t, w.fc.Close())
		synctest.Wait()
		held.Release()
		assert.False(t, srv.Exists("/a"), "dropped with the connection")
	})
}

func TestHoldReply(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w, other := open(t, srv), open(t, srv)
		w.exists("/x", true)
		before := w.send(proto.OpExists, &proto.ExistsRequest{Path: "/"})
		held := srv.HoldReply(zktest.Match{Op: proto.OpCreate})
		first := w.sendCreate("/a")
		<-held.Hit()
		other.create("/x", proto.ModePersistent)
		second := w.send(proto.OpExists, &proto.ExistsRequest{Path: "/a"})
		synctest.Wait()
		assert.True(t, srv.Exists("/a"))
		assert.Equal(t, before, w.recv().Xid)
		held.Release()
		assert.Equal(t, first, w.recv().Xid)
		assert.Equal(t, event{created, "/x"}, decodeEvent(t, w.recv()))
		assert.Equal(t, second, w.recv().Xid)
	})
}

func TestDelays(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		start := time.Now()
		srv.Delay(zktest.Match{Op: proto.OpCreate}, 3*time.Second)
		w.sendCreate("/a")
		synctest.Wait()
		assert.False(t, srv.Exists("/a"))
		w.recv()
		assert.Equal(t, 3*time.Second, time.Since(start))

		srv.On(zktest.Match{Op: proto.OpCreate}, zktest.Verdict{ReplyDelay: 2 * time.Second})
		w.sendCreate("/b")
		synctest.Wait()
		assert.True(t, srv.Exists("/b"))
		w.recv()
		assert.Equal(t, 5*time.Second, time.Since(start))
	})
}

func TestDrops(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		srv.DropReply(zktest.Match{Path: "/lost"})
		srv.DropRequest(zktest.Match{Path: "/never"})
		w.sendCreate("/lost")
		w.sendCreate("/never")
		last := w.sendCreate("/a")
		assert.Equal(t, last, w.recv().Xid)
		assert.Equal(t, []string{"a", "lost", "zookeeper"}, srv.Children("/"))

		srv.CloseBefore(zktest.Match{Path: "/before"})
		w.sendCreate("/before")
		w.closed()
		assert.False(t, srv.Exists("/before"))

		v := w.again(srv, member)
		srv.CloseAfter(zktest.Match{Path: "/after"})
		v.sendCreate("/after")
		v.closed()
		assert.True(t, srv.Exists("/after"))

		u := w.again(srv, member)
		srv.On(zktest.Match{Path: "/answered"}, zktest.Verdict{Close: true})
		u.createCode("/answered", 0)
		u.closed()
	})
}

func TestFailAndCorrupt(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		srv.Fail(zktest.Match{Op: proto.OpCreate}, proto.ErrThrottled)
		assert.Equal(t, proto.ErrThrottled, w.createCode("/a", 0))
		assert.Zero(t, w.createCode("/a", 0), "once")
		srv.Corrupt(zktest.Match{Op: proto.OpExists}, func(b []byte) []byte { b[4] = 0x7f; return b })
		w.send(proto.OpExists, &proto.ExistsRequest{Path: "/"})
		assert.Equal(t, int32(0x7f), w.recv().Xid>>24)
		srv.Corrupt(zktest.Match{Op: proto.OpGetData}, nil)
		_, st := w.get("/a", false)
		assert.NotEqual(t, st.Czxid&0xff, st.Pzxid&0xff)
		srv.Corrupt(zktest.Match{Op: proto.OpExists}, func([]byte) []byte { return []byte{0, 0, 0, 99, 1} })
		w.send(proto.OpExists, &proto.ExistsRequest{Path: "/"})
		srv.Corrupt(zktest.Match{Op: proto.OpGetData}, func([]byte) []byte { return nil })
		w.send(proto.OpGetData, &proto.GetDataRequest{Path: "/"})
		w.silent(time.Second) // a frame that announces more than comes
	})
}

func TestMatch(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w, other := open(t, srv), open(t, srv)
		third := srv.Fail(zktest.Match{Op: proto.OpExists, Skip: 2}, proto.ErrNoAuth)
		for _, want := range []proto.Code{0, 0, proto.ErrNoAuth, 0} {
			assert.Equal(t, want, w.exists("/", false))
		}
		assert.Equal(t, 1, third.Hits())

		all := srv.Fail(zktest.Match{Under: "/a", Times: -1}, proto.ErrNoAuth)
		for path, want := range map[string]proto.Code{"/a": proto.ErrNoAuth, "/a/b": proto.ErrNoAuth, "/ab": proto.ErrNoNode, "/": 0} {
			assert.Equal(t, want, w.exists(path, false), path)
		}
		rep := w.do(proto.OpMulti, ops{create("/x", 0), create("/a/y", 0)})
		assert.Equal(t, proto.ErrNoAuth, rep.Err, "a multi matches by any of its paths")
		assert.Equal(t, 3, all.Hits())
		all.Remove()
		assert.Equal(t, proto.ErrNoNode, w.exists("/a", false))

		srv.Fail(zktest.Match{Session: other.ss.SessionID, Times: -1}, proto.ErrNoAuth)
		assert.Zero(t, w.exists("/", false))
		assert.Equal(t, proto.ErrNoAuth, other.exists("/", false))
		srv.Fail(zktest.Match{Member: "zk9:1", Times: -1}, proto.ErrNoNode)
		v := w.again(srv, "zk9:1")
		assert.Equal(t, proto.ErrNoNode, v.exists("/", false))
	})
}

func TestOnRequest(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		var seen atomic.Pointer[zktest.Request]
		srv.OnRequest(func(req *zktest.Request) zktest.Verdict {
			seen.Store(req)
			if req.Path == "/gone" {
				srv.ExpireSession(req.SessionID) // the controls may be used
			}
			return zktest.Verdict{}
		})
		w.createCode("/a", 0)
		req := seen.Load()
		assert.Equal(t, proto.OpCreate, req.Op)
		assert.Equal(t, "/a", req.Path)
		assert.Equal(t, w.ss.SessionID, req.SessionID)
		assert.Equal(t, member, req.Member)
		assert.Equal(t, w.xid, req.Xid)
		w.do(proto.OpMulti, ops{{Op: proto.OpCheck, Path: "/a"}, {Op: proto.OpSetData, Path: "/b"}, create("/c", 0)})
		assert.Equal(t, []string{"/a", "/b", "/c"}, seen.Load().Paths)
		w.do(proto.OpMulti, cut{ops{{Op: proto.OpCheck, Path: "/a"}}, 12})
		w.send(proto.OpExists, &proto.ExistsRequest{Path: "/gone"})
		w.closed()
		srv.OnRequest(nil)
		open(t, srv).exists("/a", false)
	})
}

// TestHoldCommit is a write that the leader has while its connection breaks: it shows after the client has come back, to
// reads at once and to nobody's write or sync before.
func TestHoldCommit(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w, other := open(t, srv), open(t, srv)
		held := srv.HoldCommit(zktest.Match{Op: proto.OpCreate, Path: "/lost"})
		w.sendCreate("/lost")
		<-held.Hit()
		require.NoError(t, w.fc.Close())
		v := w.again(srv, member)
		assert.Equal(t, proto.ErrNoNode, v.exists("/lost", true), "not there yet")
		sync := v.send(proto.OpSync, &proto.SyncRequest{Path: "/"})
		again := v.sendCreate("/lost")
		theirs := other.sendCreate("/theirs")
		synctest.Wait()
		assert.Equal(t, []string{"zookeeper"}, srv.Children("/"))
		held.Release()
		assert.Equal(t, event{created, "/lost"}, decodeEvent(t, v.recv()))
		assert.Equal(t, sync, v.recv().Xid)
		rep := v.recv()
		assert.Equal(t, again, rep.Xid)
		assert.Equal(t, proto.ErrNodeExists, rep.Err)
		assert.Equal(t, theirs, other.recv().Xid)
	})
}

func TestHoldCommitsInOrder(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w, other, third := open(t, srv), open(t, srv), open(t, srv)
		first := srv.HoldCommit(zktest.Match{Path: "/a"})
		second := srv.HoldCommit(zktest.Match{Path: "/b"})
		gone := srv.HoldCommit(zktest.Match{Path: "/c"})
		w.sendCreate("/a")
		<-first.Hit()
		other.sendCreate("/b")
		<-second.Hit()
		third.sendCreate("/c")
		<-gone.Hit()
		second.Release()
		require.True(t, srv.ExpireSession(third.ss.SessionID))
		synctest.Wait()
		assert.False(t, srv.Exists("/b"), "what was accepted later is committed later")
		first.Release()
		w.recv()
		other.recv()
		gone.Release()
		assert.False(t, srv.Exists("/c"), "its session is over")
		w.create("/d", proto.ModePersistent)
	})
}
