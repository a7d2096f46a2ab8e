package zktest_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestRefusals(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		srv.Refuse(zktest.RefuseDial)
		_, err := srv.Dial(t.Context(), "tcp", member)
		require.Error(t, err)
		_, err = srv.Dial(t.Context(), "tcp", "zk2:2181")
		require.NoError(t, err, "a member that nobody knew of")
		srv.Refuse(zktest.RefuseClose)
		hello := proto.ConnectRequest{TimeOut: 10000, Passwd: make([]byte, 16)}
		require.ErrorIs(t, connect(t, srv, member).attach(hello), conn.ErrRefused)
		srv.Refuse(zktest.RefuseReadOnly)
		mute := connect(t, srv, member)
		var refused *conn.RefusedError
		require.ErrorAs(t, mute.attach(hello), &refused)
		assert.Equal(t, proto.ErrNotReadOnly, refused.Code)
		mute.write(request(1, proto.OpPing, none{}))
		mute.silent(5 * time.Second)
		assert.Zero(t, w.exists("/", false), "older connections live on")

		srv.Refuse(zktest.RefuseStall)
		stalled := connect(t, srv, member)
		done := make(chan error, 1)
		// The client of a handshake that waits; ends with the answer.
		go func() { done <- stalled.attach(hello) }()
		pass(time.Minute)
		select {
		case err := <-done:
			require.Fail(t, "answered", "%v", err)
		default:
		}
		srv.Refuse(zktest.Accept)
		require.NoError(t, <-done)
		assert.Zero(t, stalled.exists("/", false))
	})
}

func TestStall(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		srv.Stall(true)
		xid := w.sendCreate("/a")
		closing := w.send(proto.OpCloseSession, none{})
		synctest.Wait()
		assert.True(t, srv.Exists("/a"), "executed")
		require.NoError(t, w.fc.SetReadDeadline(time.Now().Add(time.Minute)))
		_, err := w.fc.ReadFrame()
		require.Error(t, err)
		require.NoError(t, w.fc.SetReadDeadline(time.Time{}))
		srv.Stall(false)
		assert.Equal(t, xid, w.recv().Xid)
		assert.Equal(t, closing, w.recv().Xid)
		w.closed()
	})
}

func TestStopReading(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		srv.StopReading(true)
		w.sendCreate("/a")
		synctest.Wait()
		assert.False(t, srv.Exists("/a"))
		var written atomic.Int64
		// A client that only writes; ends with its connection.
		go func() {
			for w.fc.WriteBatch(request(5, proto.OpExists, &proto.ExistsRequest{Path: "/"})) == nil {
				written.Add(1)
			}
		}()
		pass(time.Second)
		stuck := written.Load()
		assert.Less(t, stuck, int64(10_000), "the writer is blocked")
		srv.StopReading(false)
		synctest.Wait()
		assert.True(t, srv.Exists("/a"))
		require.NoError(t, w.fc.Close())
	}, zktest.PipeBuffer(64<<10))
}

func TestDropConnections(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		v := connect(t, srv, "zk2:2181")
		require.NoError(t, v.attach(proto.ConnectRequest{TimeOut: 10000, Passwd: make([]byte, 16)}))
		srv.Member(member).DropConnections()
		w.closed()
		assert.Zero(t, v.exists("/", false))
		srv.DropConnections()
		v.closed()
		assert.Equal(t, 2, srv.Snapshot().Sessions)
		assert.Zero(t, srv.Snapshot().OpenConnections)
	})
}
