package zktest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestTimeoutNegotiation(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		for asked, want := range map[int32]int32{1: 4000, -5: 4000, 1e9: 40000, 10000: 10000} {
			w := connect(t, srv, member)
			require.NoError(t, w.attach(proto.ConnectRequest{TimeOut: asked, Passwd: make([]byte, 16)}))
			assert.Equal(t, want, w.ss.TimeOut)
		}
		w := open(t, srv)
		v := connect(t, srv, member)
		require.NoError(t, v.attach(proto.ConnectRequest{TimeOut: 20000, SessionID: w.ss.SessionID, Passwd: w.ss.Passwd}))
		assert.Equal(t, int32(20000), v.ss.TimeOut)
		assert.Equal(t, w.ss.SessionID, v.ss.SessionID)
		assert.Equal(t, w.ss.Passwd, v.ss.Passwd)
	})
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := connect(t, srv, member)
		require.NoError(t, w.attach(proto.ConnectRequest{TimeOut: 100, Passwd: make([]byte, 16)}))
		assert.Equal(t, int32(150), w.ss.TimeOut)
	}, zktest.TickTime(10*time.Millisecond), zktest.SessionTimeouts(150*time.Millisecond, time.Second))
}

// TestExpiryTakesUpToATickLonger is what a real server showed: 5.92 s with a timeout of 4 s and ticks of 2 s.
func TestExpiryTakesUpToATickLonger(t *testing.T) {
	for _, test := range []struct{ at, life time.Duration }{
		{0, 6 * time.Second},
		{80 * time.Millisecond, 5920 * time.Millisecond},
		{1999 * time.Millisecond, 4001 * time.Millisecond},
		{2 * time.Second, 6 * time.Second},
	} {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			watcher := open(t, srv)
			w := connect(t, srv, member)
			require.NoError(t, w.attach(proto.ConnectRequest{TimeOut: 4000, Passwd: make([]byte, 16)}))
			w.create("/eph", proto.ModeEphemeral)
			pass(test.at)
			w.events() // a ping
			assert.Equal(t, test.life, srv.Sessions()[1].Left)
			watcher.exists("/eph", true)
			start := time.Now()
			assert.Equal(t, event{deleted, "/eph"}, decodeEvent(t, watcher.recv()))
			assert.Equal(t, test.life, time.Since(start))
			w.closed()
			assert.Equal(t, int64(1), srv.Snapshot().Expired)
		})
	}
}

func TestAnyRequestRenews(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		for range 10 {
			pass(9 * time.Second)
			w.exists("/", false)
		}
		for range 2 {
			pass(5 * time.Second)
			w.ok(proto.OpAuth, &proto.AuthPacket{Scheme: "digest", Auth: []byte("a:b")}, nil)
		}
		w.closed() // auth does not count
	})
}

func TestExpiredAndWrongPassword(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/eph", proto.ModeEphemeral)
		bad := connect(t, srv, member)
		err := bad.attach(proto.ConnectRequest{SessionID: w.ss.SessionID, Passwd: make([]byte, 16)})
		require.ErrorIs(t, err, conn.ErrExpired)
		bad.closed()
		w.closed() // the owner goes all the same
		v := w.again(srv, member)
		require.True(t, srv.ExpireSession(w.ss.SessionID))
		require.False(t, srv.ExpireSession(w.ss.SessionID))
		v.closed()
		assert.False(t, srv.Exists("/eph"))
		late := connect(t, srv, member)
		require.ErrorIs(t, late.attach(proto.ConnectRequest{SessionID: w.ss.SessionID, Passwd: w.ss.Passwd}), conn.ErrExpired)
		late.closed()
	})
}

func TestReattach(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/eph", proto.ModeEphemeral)
		v := w.again(srv, member)
		w.closed()
		assert.Equal(t, proto.Code(0), v.exists("/eph", false))
		require.NoError(t, v.fc.Close())
		synctest.Wait()
		assert.False(t, srv.Sessions()[0].Connected)
		pass(8 * time.Second)
		u := w.again(srv, member)
		pass(8 * time.Second)
		assert.Equal(t, proto.Code(0), u.exists("/eph", false), "the handshake renews the session")
		assert.Equal(t, int64(2), srv.Snapshot().Reattached)
		assert.Equal(t, 1, srv.Snapshot().Sessions)
	})
}

func TestCloseSession(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w, other := open(t, srv), open(t, srv)
		w.create("/a", proto.ModeEphemeral)
		w.create("/b", proto.ModeEphemeral)
		other.exists("/a", true)
		b := request(90, proto.OpCloseSession, none{})
		w.write(append(b, request(91, proto.OpCreate, &proto.CreateRequest{Path: "/late", ACL: proto.WorldACL(31)})...))
		rep := w.recv()
		assert.Equal(t, int32(90), rep.Xid)
		w.closed()
		assert.Equal(t, []event{{deleted, "/a"}}, other.events())
		assert.Equal(t, []string{"zookeeper"}, srv.Children("/"), "what is behind closeSession is dropped")
		_, root, err := srv.Get("/")
		require.NoError(t, err)
		assert.Equal(t, rep.Zxid, root.Pzxid, "one transaction")
	})
}

func TestLastZxidSeen(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/a", proto.ModePersistent)
		seen := srv.Snapshot().Zxid
		v := connect(t, srv, member)
		err := v.attach(proto.ConnectRequest{LastZxidSeen: seen + 1, SessionID: w.ss.SessionID, Passwd: w.ss.Passwd})
		require.ErrorIs(t, err, conn.ErrRefused)
		srv.SetZxid(seen - 1) // an older backup
		v = connect(t, srv, member)
		err = v.attach(proto.ConnectRequest{LastZxidSeen: seen, SessionID: w.ss.SessionID, Passwd: w.ss.Passwd})
		require.ErrorIs(t, err, conn.ErrRefused)
		assert.Equal(t, proto.Code(0), w.exists("/a", false), "the older connection is not touched")
	})
}

func TestPipelinedBehindTheHandshake(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := connect(t, srv, member)
		b := (&proto.ConnectRequest{TimeOut: 10000, Passwd: make([]byte, 16)}).AppendTo([]byte{0, 0, 0, 45})
		b = append(b, request(-4, proto.OpAuth, &proto.AuthPacket{Scheme: "digest", Auth: []byte("a:b")})...)
		b = append(b, request(1, proto.OpExists, &proto.ExistsRequest{Path: "/"})...)
		b = append(b, request(7, proto.OpPing, none{})...)
		w.write(b)
		first, err := w.fc.ReadFrame()
		require.NoError(t, err)
		assert.Len(t, first, 37)
		assert.Equal(t, int32(-4), w.recv().Xid)
		assert.Equal(t, int32(1), w.recv().Xid)
		assert.Equal(t, proto.XidPing, w.recv().Xid, "whatever xid the ping had")
	})
}

func TestSilentConnectionWithoutHandshake(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		r := dialRaw(t, srv)
		r.write("0000")
		start := time.Now()
		r.closed()
		assert.Equal(t, 10*time.Second, time.Since(start))
	})
}

func TestSessionMovedToAnotherMember(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/a", proto.ModePersistent)
		v := w.again(srv, "zk2:2181")
		assert.Equal(t, proto.Code(0), w.exists("/a", false), "the old member is not told")
		w.send(proto.OpSetData, &proto.SetDataRequest{Path: "/a", Version: -1})
		w.closed()
		_, st := v.get("/a", false)
		assert.Zero(t, st.Version)
	})
}
