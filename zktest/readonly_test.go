package zktest_test

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// readOnly asks for a session that a read-only server may serve.
var readOnly = proto.ConnectRequest{TimeOut: 10000, Passwd: make([]byte, 16), ReadOnly: true}

// word sends a four-letter word and returns the answer.
func word(t *testing.T, srv *zktest.Server, addr, word string) string {
	t.Helper()
	nc, err := srv.Dial(t.Context(), "tcp", addr)
	require.NoError(t, err)
	defer nc.Close()
	_, err = io.WriteString(nc, word)
	require.NoError(t, err)
	answer, err := io.ReadAll(nc)
	require.NoError(t, err)
	return string(answer)
}

func TestReadOnlyMember(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		old := open(t, srv)
		old.create("/a", proto.ModePersistent)
		srv.Member(member).ReadOnly(zktest.ReadOnlyLocal)
		old.closed()
		sessions := len(srv.Sessions())
		zxid := srv.Snapshot().Zxid

		plain := readOnly
		plain.ReadOnly = false
		require.ErrorIs(t, connect(t, srv, member).attach(plain), conn.ErrRefused)
		ahead := readOnly
		ahead.LastZxidSeen = zxid + 1
		require.ErrorIs(t, connect(t, srv, member).attach(ahead), conn.ErrRefused)
		global := readOnly
		global.SessionID, global.Passwd = old.ss.SessionID, old.ss.Passwd
		require.ErrorIs(t, connect(t, srv, member).attach(global), conn.ErrRefused)

		w := connect(t, srv, member)
		require.NoError(t, w.attach(readOnly))
		assert.True(t, w.ss.ReadOnly)
		assert.Equal(t, zxid, srv.Snapshot().Zxid, "the session is no transaction")
		assert.Len(t, srv.Sessions(), sessions+1)
		assert.Equal(t, "ro", word(t, srv, member, "isro"))
		assert.Equal(t, "rw", word(t, srv, "zk2:2181", "isro"))
		assert.Contains(t, word(t, srv, member, "srvr"), "Mode: read-only\n")

		require.NoError(t, srv.Set("/a", []byte("new"))) // on the other side
		srv.Member(member).CutFromLeader(true)           // it has none
		data, _ := w.get("/a", true)
		assert.Equal(t, "d", data)
		w.ok(proto.OpAddWatch, &proto.AddWatchRequest{Path: "/", Mode: int32(proto.AddWatchPersistentRecursive)}, nil)
		require.NoError(t, srv.Set("/a", []byte("newer")))
		assert.Empty(t, w.events())
		w.ok(proto.OpSetWatches, &proto.SetWatches{RelativeZxid: zxid, DataWatches: []string{"/a"}}, nil)
		for op, rec := range map[proto.Op]encoder{
			proto.OpCreate: &proto.CreateRequest{}, proto.OpDelete: &proto.DeleteRequest{Path: "/a", Version: -1},
			proto.OpSync: &proto.SyncRequest{Path: "/"}, proto.OpMulti: none{}, proto.OpReconfig: none{}, proto.OpCheck: none{},
		} {
			rep := w.do(op, rec)
			assert.Equal(t, proto.ErrNotReadOnly, rep.Err, op)
			assert.Equal(t, zxid, rep.Zxid, op)
		}

		elsewhere := readOnly
		elsewhere.SessionID, elsewhere.Passwd = w.ss.SessionID, w.ss.Passwd
		require.ErrorIs(t, connect(t, srv, "zk2:2181").attach(elsewhere), conn.ErrExpired, "nobody else knows it")
		again := connect(t, srv, member)
		require.NoError(t, again.attach(elsewhere))
		w.closed()
		again.ok(proto.OpCloseSession, none{}, nil)
		again.closed()
		assert.Len(t, srv.Sessions(), sessions)

		left := connect(t, srv, member)
		require.NoError(t, left.attach(readOnly))
		srv.Member(member).ReadOnly(zktest.ReadWrite)
		left.closed()
		assert.Len(t, srv.Sessions(), sessions)
		back := old.again(srv, member)
		data, _ = back.get("/a", false)
		assert.Equal(t, "newer", data)
	})
}

// The refusal of a write comes from an earlier stage than that in which reads wait.
func TestReadOnlyRefusalOvertakes(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		srv.Member(member).ReadOnly(zktest.ReadOnlyLocal)
		w := connect(t, srv, member)
		require.NoError(t, w.attach(readOnly))
		held := srv.Hold(zktest.Match{Op: proto.OpExists})
		read := w.send(proto.OpExists, &proto.ExistsRequest{Path: "/"})
		assert.Equal(t, proto.ErrNotReadOnly, w.code(proto.OpSync, &proto.SyncRequest{Path: "/"}))
		held.Release()
		assert.Equal(t, read, w.recv().Xid)
	})
}

func TestReadOnlyMemberWithoutLocalSessions(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		srv.Member(member).ReadOnly(zktest.ReadOnlyBare)
		plain := readOnly
		plain.ReadOnly = false
		require.ErrorIs(t, connect(t, srv, member).attach(plain), conn.ErrRefused)
		mute := connect(t, srv, member)
		var refused *conn.RefusedError
		require.ErrorAs(t, mute.attach(readOnly), &refused)
		assert.Equal(t, proto.ErrNotReadOnly, refused.Code)
		mute.write(request(1, proto.OpPing, none{}))
		mute.silent(5 * time.Second)
		assert.Equal(t, "ro", word(t, srv, member, "isro"))
	})
}

// A local session ends by its deadline, and that is no transaction.
func TestLocalSessionExpires(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		srv.Member(member).ReadOnly(zktest.ReadOnlyLocal)
		w := connect(t, srv, member)
		require.NoError(t, w.attach(readOnly))
		zxid := srv.Snapshot().Zxid
		pass(20 * time.Second)
		w.closed()
		assert.Empty(t, srv.Sessions())
		assert.Equal(t, zxid, srv.Snapshot().Zxid)
	})
}

func TestOnHandshake(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		var seen []zktest.Handshake
		srv.OnHandshake(func(h zktest.Handshake) { seen = append(seen, h) })
		w := connect(t, srv, member)
		req := readOnly
		req.LastZxidSeen = 1 << 40
		require.ErrorIs(t, w.attach(req), conn.ErrRefused, "one that is refused is seen too")
		assert.Equal(t, []zktest.Handshake{{Member: member, LastZxid: 1 << 40, Timeout: 10 * time.Second, Passwd: make([]byte, 16), ReadOnly: true}}, seen)
		srv.OnHandshake(nil)
		open(t, srv)
		assert.Len(t, seen, 1)
	})
}
