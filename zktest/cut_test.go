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
