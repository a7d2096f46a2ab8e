package conformance

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"syscall"
	"time"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// raw is a client that does nothing by itself: no pings, no reconnects. Its session lasts as long as the target allows.
// Paths are those of the server.
type raw struct {
	e   *env
	fc  *conn.Conn
	ss  proto.ConnectResponse
	xid int32
	// seen are the events that came in front of replies, since the last call of events.
	seen []seen
	// zxids are those of the events that came in front of replies, for who wants them.
	zxids []int64
}

// seen is a notification.
type seen struct {
	Kind proto.EventType
	Path string
}

// reply is a frame of the server.
type reply struct {
	xid  int32
	zxid int64
	code proto.Code
	body []byte
}

// encoder and decoder are any record.
type (
	encoder interface{ AppendTo([]byte) []byte }
	decoder interface{ ReadFrom(*jute.Reader) }
)

// bare is a record as it is on the wire.
type bare string

// AppendTo implements encoder.
func (b bare) AppendTo(dst []byte) []byte { return append(dst, b...) }

// none is the record of requests without one.
const none = bare("")

// newSession asks for a session.
func newSession(timeout time.Duration) proto.ConnectRequest {
	return proto.ConnectRequest{TimeOut: int32(min(timeout.Milliseconds(), math.MaxInt32)), Passwd: make([]byte, 16)}
}

// again asks for the session of r.
func (r *raw) again() proto.ConnectRequest {
	return proto.ConnectRequest{TimeOut: r.ss.TimeOut, SessionID: r.ss.SessionID, Passwd: r.ss.Passwd}
}

// raw opens a session.
func (e *env) raw() *raw {
	e.Helper()
	return e.attach(newSession(e.long))
}

// attach does a handshake that must succeed.
func (e *env) attach(req proto.ConnectRequest) *raw {
	e.Helper()
	r, err := e.open(e.ctx, req)
	e.must(err)
	e.Cleanup(r.bye)
	return r
}

// refused does a handshake that must fail, and returns the error.
func (e *env) refused(req proto.ConnectRequest) error {
	e.Helper()
	r, err := e.open(e.ctx, req)
	if err == nil {
		r.bye()
		e.Fatal("a handshake succeeded that must not")
	}
	return err
}

func (e *env) open(ctx context.Context, req proto.ConnectRequest) (*raw, error) {
	nc, err := e.tg.dial(ctx, "tcp", e.tg.Addr)
	if err != nil {
		return nil, err
	}
	r := &raw{e: e, fc: conn.New(nc, nil)}
	if r.ss, err = r.fc.Handshake(ctx, &req); err == nil {
		err = r.fc.SetReadDeadline(time.Now().Add(bound))
	}
	if err != nil {
		_ = r.fc.Close() // the handshake's error is the one to tell
		return nil, err
	}
	return r, nil
}

// bye closes the session, if the connection is still good for that, and the connection.
func (r *raw) bye() {
	if r.fc == nil {
		return
	}
	fc := r.fc
	r.fc = nil
	if fc.WriteBatch(requestFrame(math.MaxInt32, proto.OpCloseSession, none)) == nil {
		for {
			b, err := fc.ReadFrame()
			if err != nil || header(b).xid == math.MaxInt32 {
				break
			}
		}
	}
	_ = fc.Close()
}

// requestFrame returns the frame of a request.
func requestFrame(xid int32, op proto.Op, rec encoder) []byte {
	b, at := conn.BeginFrame(nil)
	b = (&proto.RequestHeader{Xid: xid, Type: int32(op)}).AppendTo(b)
	b = rec.AppendTo(b)
	conn.EndFrame(b, at)
	return b
}

// header reads the header of a reply; the body aliases b.
func header(b []byte) reply {
	r := jute.NewReader(b)
	rep := reply{xid: r.Int(), zxid: r.Long(), code: proto.Code(r.Int())}
	rep.body = r.Rest()
	return rep
}

// send writes a request and returns its xid.
func (r *raw) send(op proto.Op, rec encoder) int32 {
	r.e.Helper()
	r.xid++
	r.write(requestFrame(r.xid, op, rec))
	return r.xid
}

func (r *raw) write(b []byte) {
	r.e.Helper()
	r.e.must(r.fc.WriteBatch(b))
}

// next returns the next frame, whatever it is.
func (r *raw) next() reply {
	r.e.Helper()
	b, err := r.fc.ReadFrame()
	r.e.must(err)
	rep := header(b)
	rep.body = append([]byte{}, rep.body...)
	return rep
}

// recv returns the next reply; events in front of it are noted.
func (r *raw) recv() reply {
	r.e.Helper()
	for {
		rep := r.next()
		if rep.xid != proto.XidNotification {
			return rep
		}
		r.seen = append(r.seen, r.event(rep))
		r.zxids = append(r.zxids, rep.zxid)
	}
}

// event reads a notification.
func (r *raw) event(rep reply) seen {
	r.e.Helper()
	var ev proto.WatcherEvent
	r.decode(rep, &ev)
	if proto.KeeperState(ev.State) != proto.KeeperSyncConnected {
		r.e.Errorf("event with state %v", proto.KeeperState(ev.State))
	}
	if rep.zxid != -1 && r.e.tg.Version < NewVersion(3, 9, 0) {
		r.e.Errorf("event with zxid %#x", rep.zxid)
	}
	return seen{proto.EventType(ev.Type), ev.Path}
}

// do does a request and waits for its reply.
func (r *raw) do(op proto.Op, rec encoder) reply {
	r.e.Helper()
	xid := r.send(op, rec)
	rep := r.recv()
	if rep.xid != xid {
		r.e.Fatalf("%v: reply to request %d, want %d", op, rep.xid, xid)
	}
	return rep
}

// ok does a request that must succeed and decodes the reply, unless into is nil: then there must be no body.
func (r *raw) ok(op proto.Op, rec encoder, into decoder) reply {
	r.e.Helper()
	rep := r.do(op, rec)
	if rep.code != 0 {
		r.e.Fatalf("%v: %v", op, rep.code)
	}
	r.decode(rep, into)
	return rep
}

// decode reads a body, all of it.
func (r *raw) decode(rep reply, into decoder) {
	r.e.Helper()
	rd := jute.NewReader(rep.body)
	if into != nil {
		into.ReadFrom(&rd)
	}
	r.e.must(rd.Err())
	if n := rd.Remaining(); n != 0 {
		r.e.Errorf("reply %d has %d bytes too many", rep.xid, n)
	}
}

// code does a request and returns the code of the reply. A reply with an error has no body.
func (r *raw) code(op proto.Op, rec encoder) proto.Code {
	r.e.Helper()
	rep := r.do(op, rec)
	if rep.code != 0 && len(rep.body) != 0 {
		r.e.Errorf("%v: error %v with a body of %d bytes", op, rep.code, len(rep.body))
	}
	return rep.code
}

// events returns the events that have come since the last call, up to the reply to a ping.
func (r *raw) events() []seen {
	r.e.Helper()
	r.write(requestFrame(proto.XidPing, proto.OpPing, none))
	if rep := r.recv(); rep.xid != proto.XidPing {
		r.e.Fatalf("reply to request %d in place of the ping's", rep.xid)
	}
	out := r.seen
	r.seen = nil
	return out
}

// gone checks that the server closes the connection without another byte.
func (r *raw) gone() {
	r.e.Helper()
	if b, err := r.fc.ReadFrame(); !isClosed(err) {
		r.e.Fatalf("the server did not close: %v, frame %x", err, b)
	}
}

// isClosed reports whether err is the end of a connection by its peer.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed)
}
