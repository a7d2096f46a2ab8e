package zktest_test

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// server starts a server inside the bubble of the test.
func server(t *testing.T, opts ...zktest.Option) *zktest.Server {
	t.Helper()
	srv := zktest.New(opts...)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	return srv
}

// bubble runs f with a server in virtual time.
func bubble(t *testing.T, f func(t *testing.T, srv *zktest.Server), opts ...zktest.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, server(t, opts...)) })
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.After(d) }

// encoder is any record.
type encoder interface{ AppendTo([]byte) []byte }

// decoder is any record.
type decoder interface{ ReadFrom(*jute.Reader) }

// none is the record of requests without one.
type none struct{}

func (none) AppendTo(b []byte) []byte { return b }

// reply is a frame from the server.
type reply struct {
	Xid  int32
	Zxid int64
	Err  proto.Code
	Body []byte
}

// event is a notification.
type event struct {
	Type proto.EventType
	Path string
}

// wire is a client that does nothing by itself.
type wire struct {
	t   *testing.T
	fc  *conn.Conn
	ss  proto.ConnectResponse
	xid int32
}

const member = "zk1:2181"

// connect opens a connection without a handshake.
func connect(t *testing.T, srv *zktest.Server, addr string) *wire {
	t.Helper()
	nc, err := srv.Dial(t.Context(), "tcp", addr)
	require.NoError(t, err)
	w := &wire{t: t, fc: conn.New(nc, nil)}
	t.Cleanup(func() { _ = w.fc.Close() })
	return w
}

// open opens a session.
func open(t *testing.T, srv *zktest.Server) *wire {
	t.Helper()
	w := connect(t, srv, member)
	require.NoError(t, w.attach(proto.ConnectRequest{TimeOut: 10000, Passwd: make([]byte, 16)}))
	return w
}

// attach does the handshake.
func (w *wire) attach(req proto.ConnectRequest) (err error) {
	w.ss, err = w.fc.Handshake(context.Background(), &req)
	return err
}

// again connects to the session of w a second time, through addr.
func (w *wire) again(srv *zktest.Server, addr string) *wire {
	w.t.Helper()
	v := connect(w.t, srv, addr)
	require.NoError(w.t, v.attach(proto.ConnectRequest{TimeOut: w.ss.TimeOut, SessionID: w.ss.SessionID, Passwd: w.ss.Passwd}))
	return v
}

func request(xid int32, op proto.Op, rec encoder) []byte {
	b, at := conn.BeginFrame(nil)
	b = (&proto.RequestHeader{Xid: xid, Type: int32(op)}).AppendTo(b)
	b = rec.AppendTo(b)
	conn.EndFrame(b, at)
	return b
}

// send writes a request and returns its xid.
func (w *wire) send(op proto.Op, rec encoder) int32 {
	w.t.Helper()
	w.xid++
	w.write(request(w.xid, op, rec))
	return w.xid
}

func (w *wire) write(b []byte) {
	w.t.Helper()
	require.NoError(w.t, w.fc.WriteBatch(b))
}

// recv returns the next frame.
func (w *wire) recv() reply {
	w.t.Helper()
	b, err := w.fc.ReadFrame()
	require.NoError(w.t, err)
	r := jute.NewReader(b)
	rep := reply{Xid: r.Int(), Zxid: r.Long(), Err: proto.Code(r.Int())}
	rep.Body = append(rep.Body, r.Rest()...)
	return rep
}

// do sends a request and returns its reply, which must be the next frame.
func (w *wire) do(op proto.Op, rec encoder) reply {
	w.t.Helper()
	xid := w.send(op, rec)
	rep := w.recv()
	require.Equal(w.t, xid, rep.Xid, "reply to another request, or an event")
	return rep
}

// ok does a request that must succeed and decodes the reply, unless into is nil.
func (w *wire) ok(op proto.Op, rec encoder, into decoder) reply {
	w.t.Helper()
	rep := w.do(op, rec)
	require.Equal(w.t, proto.Code(0), rep.Err)
	decode(w.t, rep, into)
	return rep
}

func decode(t *testing.T, rep reply, into decoder) {
	t.Helper()
	if into == nil {
		return
	}
	r := jute.NewReader(rep.Body)
	into.ReadFrom(&r)
	require.NoError(t, r.Err())
	require.Zero(t, r.Remaining())
}

// code does a request and returns the error code of the reply.
func (w *wire) code(op proto.Op, rec encoder) proto.Code {
	w.t.Helper()
	return w.do(op, rec).Err
}

// events returns the events that have arrived by now: those in front of the reply to a ping.
func (w *wire) events() []event {
	w.t.Helper()
	synctest.Wait()
	w.write(request(proto.XidPing, proto.OpPing, none{}))
	var out []event
	for {
		rep := w.recv()
		if rep.Xid == proto.XidPing {
			return out
		}
		require.Equal(w.t, proto.XidNotification, rep.Xid)
		out = append(out, decodeEvent(w.t, rep))
	}
}

func decodeEvent(t *testing.T, rep reply) event {
	t.Helper()
	require.Equal(t, int64(-1), rep.Zxid)
	var e proto.WatcherEvent
	decode(t, rep, &e)
	require.Equal(t, int32(proto.KeeperSyncConnected), e.State)
	return event{proto.EventType(e.Type), e.Path}
}

// silent checks that nothing arrives, not even a close, and ends the connection.
func (w *wire) silent(d time.Duration) {
	w.t.Helper()
	require.NoError(w.t, w.fc.SetReadDeadline(time.Now().Add(d)))
	_, err := w.fc.ReadFrame()
	var timeout net.Error
	require.ErrorAs(w.t, err, &timeout)
	require.True(w.t, timeout.Timeout())
	_ = w.fc.Close()
}

// closed checks that the server closes without another byte.
func (w *wire) closed() {
	w.t.Helper()
	_, err := w.fc.ReadFrame()
	require.Error(w.t, err)
	require.True(w.t, errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET), "%v", err)
}

// create makes a znode open to everybody and returns its path.
func (w *wire) create(path string, mode proto.CreateMode) string {
	w.t.Helper()
	var rep proto.Create2Response
	rec := proto.CreateRequest{Path: path, Data: []byte("d"), ACL: proto.WorldACL(proto.PermAll), Flags: int32(mode)}
	w.ok(mode.Op(), &rec, &rep)
	return rep.Path
}

func (w *wire) createCode(path string, mode proto.CreateMode) proto.Code {
	w.t.Helper()
	return w.code(proto.OpCreate, &proto.CreateRequest{Path: path, ACL: proto.WorldACL(proto.PermAll), Flags: int32(mode)})
}

func (w *wire) delete(path string) {
	w.t.Helper()
	w.ok(proto.OpDelete, &proto.DeleteRequest{Path: path, Version: -1}, nil)
}

func (w *wire) set(path, data string) proto.Stat {
	w.t.Helper()
	var rep proto.SetDataResponse
	w.ok(proto.OpSetData, &proto.SetDataRequest{Path: path, Data: []byte(data), Version: -1}, &rep)
	return rep.Stat
}

func (w *wire) get(path string, watch bool) (string, proto.Stat) {
	w.t.Helper()
	var rep proto.GetDataResponse
	w.ok(proto.OpGetData, &proto.GetDataRequest{Path: path, Watch: watch}, &rep)
	return string(rep.Data), rep.Stat
}

func (w *wire) exists(path string, watch bool) proto.Code {
	w.t.Helper()
	return w.code(proto.OpExists, &proto.ExistsRequest{Path: path, Watch: watch})
}

func (w *wire) children(path string, watch bool) []string {
	w.t.Helper()
	var rep proto.GetChildrenResponse
	w.ok(proto.OpGetChildren, &proto.GetChildrenRequest{Path: path, Watch: watch}, &rep)
	return rep.Children
}
