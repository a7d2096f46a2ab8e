package zktest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// TestCutFromLeader is what a follower did on a real ensemble: pings answered, nothing renewed, the session gone.
func TestCutFromLeader(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		other := connect(t, srv, "zk2:2181")
		require.NoError(t, other.attach(proto.ConnectRequest{TimeOut: 40000, Passwd: make([]byte, 16)}))
		w.create("/eph", proto.ModeEphemeral)
		other.exists("/eph", true)
		srv.Member(member).CutFromLeader(true)
		start := time.Now()
		for range 8 {
			pass(time.Second)
			assert.Empty(t, w.events(), "pings are answered")
			assert.Zero(t, w.exists("/eph", false))
		}
		assert.Equal(t, event{deleted, "/eph"}, decodeEvent(t, other.recv()))
		assert.Equal(t, 12*time.Second, time.Since(start), "the deadline was not renewed")
		assert.Zero(t, w.exists("/eph", false), "still there, seen from here")
		w.sendCreate("/never")
		synctest.Wait()
		srv.Member(member).CutFromLeader(false)
		w.closed()
		assert.Equal(t, []string{"zookeeper"}, srv.Children("/"))
	})
}

func TestEveryMemberCut(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		srv.CutFromLeader(true)
		srv.CutFromLeader(true)
		_, err := srv.Create("/a", nil, proto.ModePersistent)
		require.NoError(t, err)
		assert.Equal(t, proto.ErrNoNode, w.exists("/a", false))
		srv.CutFromLeader(false)
		assert.Zero(t, w.exists("/a", false))
		assert.Equal(t, member, srv.Member(member).Addr())
	})
}

func TestHealedInTime(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		other := connect(t, srv, "zk2:2181")
		require.NoError(t, other.attach(proto.ConnectRequest{TimeOut: 40000, Passwd: make([]byte, 16)}))
		for _, path := range []string{"/seen", "/late", "/same", "/kids"} {
			other.create(path, proto.ModePersistent)
		}
		w.get("/seen", true)
		srv.Member(member).CutFromLeader(true)
		zxid := w.do(proto.OpExists, &proto.ExistsRequest{Path: "/"}).Zxid
		other.set("/seen", "1")
		other.set("/late", "1")
		other.delete("/kids")
		other.create("/new", proto.ModePersistent)
		w.get("/late", true)
		w.get("/same", true)
		w.children("/kids", true)
		assert.Equal(t, proto.ErrNoNode, w.exists("/new", true))
		assert.Equal(t, zxid, w.do(proto.OpExists, &proto.ExistsRequest{Path: "/"}).Zxid)
		assert.Empty(t, w.events())
		sync := w.send(proto.OpSync, &proto.SyncRequest{Path: "/"})
		mine := w.sendCreate("/mine")
		fresh := connect(t, srv, member)
		done := make(chan error, 1)
		// The client of a handshake that waits; ends with the answer.
		go func() { done <- fresh.attach(proto.ConnectRequest{TimeOut: 10000, Passwd: make([]byte, 16)}) }()
		synctest.Wait()
		assert.False(t, srv.Exists("/mine"))
		assert.Empty(t, done)

		srv.Member(member).CutFromLeader(false)
		for _, want := range []event{{changed, "/seen"}, {changed, "/late"}, {deleted, "/kids"}, {created, "/new"}} {
			assert.Equal(t, want, decodeEvent(t, w.recv()))
		}
		assert.Equal(t, sync, w.recv().Xid)
		assert.Equal(t, mine, w.recv().Xid)
		require.NoError(t, <-done)
		other.set("/same", "1")
		assert.Equal(t, []event{{changed, "/same"}}, w.events())
	})
}

// TestCommitBehindACut is a write that the leader has while the member of its connection is cut off: everybody else sees it,
// and the member answers it, and what was asked after it, only when it has heard of it.
func TestCommitBehindACut(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		other := connect(t, srv, "zk2:2181")
		require.NoError(t, other.attach(proto.ConnectRequest{TimeOut: 40000, Passwd: make([]byte, 16)}))
		w.exists("/a", true)
		held := srv.HoldCommit(zktest.Match{Op: proto.OpCreate})
		write := w.sendCreate("/a")
		<-held.Hit()
		read := w.send(proto.OpExists, &proto.ExistsRequest{Path: "/a"})
		srv.Member(member).CutFromLeader(true)
		held.Release()
		synctest.Wait()
		assert.Zero(t, other.exists("/a", false), "committed")
		answered := make(chan reply, 1)
		// The reader of w; ends with the first frame.
		go func() { answered <- w.recv() }()
		synctest.Wait()
		assert.Empty(t, answered, "neither the reply nor the event, and no read of an old tree")

		srv.Member(member).CutFromLeader(false)
		assert.Equal(t, event{created, "/a"}, decodeEvent(t, <-answered))
		assert.Equal(t, reply{Xid: write}, headOf(w.recv()))
		assert.Equal(t, reply{Xid: read}, headOf(w.recv()))
		assert.Zero(t, w.exists("/a", false), "the connection goes on")
	})
}

// headOf is what a reply says about its request.
func headOf(r reply) reply { return reply{Xid: r.Xid, Err: r.Err} }

// A session that moved on, or ended, while its accepted write waited behind a cut.
func TestCommitBehindACutOfAMovedSession(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w, lost := open(t, srv), open(t, srv)
		first := srv.HoldCommit(zktest.Match{Path: "/moved"})
		second := srv.HoldCommit(zktest.Match{Path: "/over"})
		w.sendCreate("/moved")
		<-first.Hit()
		lost.sendCreate("/over")
		<-second.Hit()
		srv.Member(member).CutFromLeader(true)
		moved := w.again(srv, "zk2:2181")
		require.True(t, srv.ExpireSession(lost.ss.SessionID))
		first.Release()
		second.Release()
		synctest.Wait()
		assert.Zero(t, moved.exists("/moved", false), "the leader had it before the session moved")
		assert.Equal(t, proto.ErrNoNode, moved.exists("/over", false), "the end of the session went before it")
		assert.Equal(t, 3, srv.Snapshot().OpenConnections, "which the member does not know yet")
		srv.Member(member).CutFromLeader(false)
		lost.closed()
	})
}
