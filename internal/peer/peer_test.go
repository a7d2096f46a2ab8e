package peer_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/peer"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

type record interface {
	AppendTo([]byte) []byte
}

// start returns a server and a connection to it, past the handshake.
func start(t testing.TB, o peer.Options) (*peer.Server, *conn.Conn) {
	t.Helper()
	s := peer.New(o)
	t.Cleanup(s.Close)
	fc, err := conn.Dial(t.Context(), "peer:2181", &conn.Config{Dial: s.Dial})
	require.NoError(t, err)
	t.Cleanup(func() { fc.Close() })
	rep, err := fc.Handshake(t.Context(), &proto.ConnectRequest{TimeOut: 9000, Passwd: make([]byte, 16)})
	require.NoError(t, err)
	assert.EqualValues(t, 9000, rep.TimeOut)
	assert.NotZero(t, rep.SessionID)
	return s, fc
}

// request returns the frame of one request; rec may be nil.
func request(xid int32, op proto.Op, rec record) []byte {
	b, start := conn.BeginFrame(nil)
	b = (&proto.RequestHeader{Xid: xid, Type: int32(op)}).AppendTo(b)
	if rec != nil {
		b = rec.AppendTo(b)
	}
	conn.EndFrame(b, start)
	return b
}

// next reads a frame and returns its header and a reader over its body.
func next(t testing.TB, fc *conn.Conn) (proto.ReplyHeader, *jute.Reader) {
	t.Helper()
	body, err := fc.ReadFrame()
	require.NoError(t, err)
	r := jute.NewReader(body)
	var h proto.ReplyHeader
	h.ReadFrom(&r)
	return h, &r
}

// call sends one request and returns its reply.
func call(t testing.TB, fc *conn.Conn, op proto.Op, rec record) (proto.ReplyHeader, *jute.Reader) {
	t.Helper()
	require.NoError(t, fc.WriteBatch(request(7, op, rec)))
	h, r := next(t, fc)
	require.EqualValues(t, 7, h.Xid)
	return h, r
}

func lockCreate() *proto.CreateRequest {
	return &proto.CreateRequest{Path: "/l/lock-", ACL: proto.WorldACL(proto.PermAll), Flags: int32(proto.ModeEphemeralSequential)}
}

// createLock makes a contender's node and returns its path.
func createLock(t testing.TB, fc *conn.Conn) string {
	t.Helper()
	h, r := call(t, fc, proto.OpCreate2, lockCreate())
	require.Zero(t, h.Err)
	var rep proto.Create2Response
	rep.ReadFrom(r)
	require.NoError(t, r.Err())
	require.NotZero(t, rep.Stat.EphemeralOwner)
	require.Equal(t, h.Zxid, rep.Stat.Czxid)
	return rep.Path
}

func children(t testing.TB, fc *conn.Conn, path string) []string {
	t.Helper()
	h, r := call(t, fc, proto.OpGetChildren2, &proto.GetChildren2Request{Path: path})
	require.Zero(t, h.Err)
	var rep proto.GetChildren2Response
	rep.ReadFrom(r)
	require.NoError(t, r.Err())
	require.Zero(t, r.Remaining())
	require.EqualValues(t, len(rep.Children), rep.Stat.NumChildren)
	return rep.Children
}

// Every canned reply decodes as the record that belongs to it, with nothing left over.
func TestCannedReplies(t *testing.T) {
	_, fc := start(t, peer.Options{Behind: 2})
	type response interface{ ReadFrom(*jute.Reader) }
	for _, tc := range []struct {
		op  proto.Op
		req record
		rep response
	}{
		{proto.OpExists, &proto.ExistsRequest{Path: "/a"}, new(proto.ExistsResponse)},
		{proto.OpGetData, &proto.GetDataRequest{Path: "/a", Watch: true}, new(proto.GetDataResponse)},
		{proto.OpSetData, &proto.SetDataRequest{Path: "/a", Data: []byte("x")}, new(proto.SetDataResponse)},
		{proto.OpGetACL, &proto.GetACLRequest{Path: "/a"}, new(proto.GetACLResponse)},
		{proto.OpSetACL, &proto.SetACLRequest{Path: "/a", ACL: proto.WorldACL(1)}, new(proto.SetACLResponse)},
		{proto.OpGetChildren, &proto.GetChildrenRequest{Path: "/a"}, new(proto.GetChildrenResponse)},
		{proto.OpGetChildren2, &proto.GetChildren2Request{Path: "/a"}, new(proto.GetChildren2Response)},
		{proto.OpCreate, &proto.CreateRequest{Path: "/a", ACL: proto.WorldACL(31)}, new(proto.CreateResponse)},
		{proto.OpCreate2, &proto.CreateRequest{Path: "/a", ACL: proto.WorldACL(31)}, new(proto.Create2Response)},
		{proto.OpCreateContainer, &proto.CreateRequest{Path: "/a", ACL: proto.WorldACL(31), Flags: 4}, new(proto.Create2Response)},
		{proto.OpDelete, &proto.DeleteRequest{Path: "/a", Version: -1}, nil},
		{proto.OpSync, &proto.SyncRequest{Path: "/a"}, new(proto.SyncResponse)},
		{proto.OpPing, nil, nil},
		{proto.OpAuth, &proto.AuthPacket{Scheme: "digest", Auth: []byte("a:b")}, nil},
		{proto.OpSetWatches, new(proto.SetWatches), nil},
		{proto.OpSetWatches2, new(proto.SetWatches2), nil},
		{proto.OpAddWatch, &proto.AddWatchRequest{Path: "/a"}, new(proto.ErrorResponse)},
		{proto.OpRemoveWatches, &proto.RemoveWatchesRequest{Path: "/a", Type: 3}, nil},
	} {
		t.Run(tc.op.String(), func(t *testing.T) {
			h, r := call(t, fc, tc.op, tc.req)
			require.Zero(t, h.Err)
			if tc.rep != nil {
				tc.rep.ReadFrom(r)
			}
			require.NoError(t, r.Err())
			assert.Zero(t, r.Remaining())
		})
	}
}

func TestSequentialNodes(t *testing.T) {
	_, fc := start(t, peer.Options{Ahead: 2, Behind: 1})
	fixed := children(t, fc, "/l")
	require.Len(t, fixed, 3)
	assert.Regexp(t, `^_c_[0-9a-f]{8}-0000-4000-8000-000000000000-lock-0000000000$`, fixed[0])
	assert.Regexp(t, `-lock-2000000000$`, fixed[2])

	first, second := createLock(t, fc), createLock(t, fc)
	assert.Equal(t, "/l/lock-0000000002", first)
	assert.Equal(t, "/l/lock-0000000003", second)
	assert.Equal(t, []string{"lock-0000000002", "lock-0000000003"}, children(t, fc, "/l")[3:])
	assert.Len(t, children(t, fc, "/other"), 3)

	// The second contender watches the first: the event comes before the reply to the delete.
	h, _ := call(t, fc, proto.OpExists, &proto.ExistsRequest{Path: first, Watch: true})
	require.Zero(t, h.Err)
	require.NoError(t, fc.WriteBatch(request(8, proto.OpDelete, &proto.DeleteRequest{Path: first, Version: -1})))
	h, r := next(t, fc)
	assert.Equal(t, proto.XidNotification, h.Xid)
	var ev proto.WatcherEvent
	ev.ReadFrom(r)
	require.NoError(t, r.Err())
	assert.Equal(t, proto.WatcherEvent{Type: int32(proto.EventNodeDeleted), State: 3, Path: first}, ev)
	h, _ = next(t, fc)
	assert.EqualValues(t, 8, h.Xid)
	assert.Zero(t, h.Err)

	for op, rec := range map[proto.Op]record{
		proto.OpDelete:  &proto.DeleteRequest{Path: first, Version: -1},
		proto.OpExists:  &proto.ExistsRequest{Path: first},
		proto.OpSetData: &proto.SetDataRequest{Path: first},
	} {
		h, r = call(t, fc, op, rec)
		assert.Equal(t, int32(proto.ErrNoNode), h.Err)
		assert.Zero(t, r.Remaining())
	}
	h, _ = call(t, fc, proto.OpExists, &proto.ExistsRequest{Path: "/l/" + fixed[0]})
	assert.Zero(t, h.Err, "the fixed children exist")
	assert.Equal(t, []string{"lock-0000000003"}, children(t, fc, "/l")[3:])
}

func TestMulti(t *testing.T) {
	_, fc := start(t, peer.Options{})
	ops := []proto.MultiOp{
		{Op: proto.OpCreateContainer, Path: "/l", ACL: proto.WorldACL(31), Flags: 4},
		{Op: proto.OpCreate, Path: "/l/lock-", ACL: proto.WorldACL(31), Flags: 3},
		{Op: proto.OpCheck, Path: "/l/lock-0000000000", Version: -1},
		{Op: proto.OpSetData, Path: "/a", Data: []byte("x"), Version: -1},
		{Op: proto.OpDelete, Path: "/l/lock-0000000000", Version: -1},
		{Op: proto.OpDelete, Path: "/l/lock-0000000000", Version: -1},
	}
	require.NoError(t, fc.WriteBatch(append(request(1, proto.OpMulti, multi(ops)), request(2, proto.OpMultiRead, multi{
		{Op: proto.OpGetData, Path: "/a"}, {Op: proto.OpGetChildren, Path: "/a"},
	})...)))
	_, r := next(t, fc)
	got := proto.ReadMultiReply(r, nil)
	require.NoError(t, r.Err())
	require.Len(t, got, len(ops))
	assert.Equal(t, proto.OpCreate2, got[0].Op)
	assert.Equal(t, "/l/lock-0000000000", got[1].Path)
	assert.Equal(t, proto.OpCheck, got[2].Op)
	assert.True(t, got[3].HasStat)
	assert.Equal(t, proto.CodeOK, got[4].Err)
	assert.Equal(t, proto.ErrNoNode, got[5].Err)
	_, r = next(t, fc)
	got = proto.ReadMultiReply(r, nil)
	require.NoError(t, r.Err())
	require.Len(t, got, 2)
	assert.Equal(t, "hello", string(got[0].Data))
}

type multi []proto.MultiOp

func (m multi) AppendTo(dst []byte) []byte { return proto.AppendMulti(dst, m) }

func TestMalformedAndUnknownRequests(t *testing.T) {
	s, fc := start(t, peer.Options{})
	h, _ := call(t, fc, proto.OpExists, nil)
	assert.Equal(t, int32(proto.ErrMarshalling), h.Err)
	h, _ = call(t, fc, proto.OpMulti, &proto.MultiHeader{Type: 99})
	assert.Equal(t, int32(proto.ErrMarshalling), h.Err)
	h, r := call(t, fc, 99, nil)
	assert.Equal(t, int32(proto.ErrUnimplemented), h.Err)
	assert.Zero(t, r.Remaining())
	_, err := fc.ReadFrame()
	assert.ErrorIs(t, err, io.EOF, "and the connection is closed")
	s.Close()
	nc, err := s.Dial(t.Context(), "tcp", "x")
	require.NoError(t, err)
	_, err = nc.Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.EOF, "nobody serves any more")
}

func TestCounters(t *testing.T) {
	s, fc := start(t, peer.Options{})
	b := append(request(1, proto.OpExists, &proto.ExistsRequest{Path: "/a"}), request(proto.XidPing, proto.OpPing, nil)...)
	require.NoError(t, fc.WriteBatch(append(b, request(2, proto.OpExists, &proto.ExistsRequest{Path: "/a"})...)))
	for range 3 {
		next(t, fc)
	}
	call(t, fc, proto.OpSync, &proto.SyncRequest{Path: "/"})
	call(t, fc, proto.OpPing, nil)
	assert.EqualValues(t, 3, s.Requests())
	assert.EqualValues(t, 2, s.Bursts())
	assert.EqualValues(t, 2, s.Pings())
}

func TestCloseSessionAndReattach(t *testing.T) {
	s := peer.New(peer.Options{})
	defer s.Close()
	addr, err := s.Listen()
	require.NoError(t, err)
	fc, err := conn.Dial(t.Context(), addr, nil)
	require.NoError(t, err)
	defer fc.Close()
	rep, err := fc.Handshake(t.Context(), &proto.ConnectRequest{TimeOut: 4000, SessionID: 77, Passwd: make([]byte, 16)})
	require.NoError(t, err)
	assert.EqualValues(t, 77, rep.SessionID)
	h, _ := call(t, fc, proto.OpCloseSession, nil)
	assert.Zero(t, h.Err)
	_, err = fc.ReadFrame()
	assert.ErrorIs(t, err, io.EOF)
}

func TestData(t *testing.T) {
	for want, data := range map[string][]byte{"hello": nil, "": {}, "four": []byte("four")} {
		_, fc := start(t, peer.Options{Data: data})
		h, r := call(t, fc, proto.OpGetData, &proto.GetDataRequest{Path: "/a"})
		require.Zero(t, h.Err)
		var rep proto.GetDataResponse
		rep.ReadFrom(r)
		require.NoError(t, r.Err())
		assert.Equal(t, want, string(rep.Data))
		assert.EqualValues(t, len(want), rep.Stat.DataLength)
	}
}
