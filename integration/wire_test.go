package integration_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// bound is how long one exchange may take; nothing is concluded from reaching it but failure.
const bound = 30 * time.Second

// opened dials a server and makes a session on the connection.
func opened(t *testing.T, addr string, req proto.ConnectRequest) (*conn.Conn, proto.ConnectResponse, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	fc, err := conn.Dial(ctx, addr, &conn.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fc.Close() })
	answer, err := fc.Handshake(ctx, &req)
	if err := fc.SetReadDeadline(time.Now().Add(bound)); err != nil {
		t.Fatal(err)
	}
	return fc, answer, err
}

func newSession() proto.ConnectRequest {
	return proto.ConnectRequest{TimeOut: 10_000, Passwd: make([]byte, 16)}
}

// record is what has bytes.
type record interface{ AppendTo(dst []byte) []byte }

// send frames one request without waiting for its reply.
func send(t *testing.T, fc *conn.Conn, xid int32, op proto.Op, body record) {
	t.Helper()
	b, start := conn.BeginFrame(nil)
	b = (&proto.RequestHeader{Xid: xid, Type: int32(op)}).AppendTo(b)
	if body != nil {
		b = body.AppendTo(b)
	}
	conn.EndFrame(b, start)
	if err := fc.WriteBatch(b); err != nil {
		t.Fatal(err)
	}
}

// receive reads one reply and returns its header and its body's reader.
func receive(t *testing.T, fc *conn.Conn) (proto.ReplyHeader, jute.Reader) {
	t.Helper()
	frame, err := fc.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	r := jute.NewReader(frame)
	var h proto.ReplyHeader
	h.ReadFrom(&r)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return h, r
}

func TestRequestsOnARealServer(t *testing.T) {
	ens := zkserver.Require(t, zkserver.Options{})
	fc, session, err := opened(t, ens.Server(1).Addr(), newSession())
	if err != nil || session.SessionID == 0 || len(session.Passwd) != 16 {
		t.Fatalf("handshake: %+v, %v", session, err)
	}
	send(t, fc, 1, proto.OpCreate, &proto.CreateRequest{
		Path: "/wire-", Data: []byte("x"), ACL: proto.WorldACL(proto.PermAll), Flags: int32(proto.ModeEphemeralSequential),
	})
	h, r := receive(t, fc)
	var created proto.CreateResponse
	if created.ReadFrom(&r); h.Xid != 1 || h.Err != 0 || r.Err() != nil {
		t.Fatalf("create: %+v, %v", h, r.Err())
	}
	// Two requests in one flight; replies come in order (docs/protocol.md section 20, G2).
	send(t, fc, 2, proto.OpGetData, &proto.GetDataRequest{Path: created.Path})
	send(t, fc, 3, proto.OpExists, &proto.ExistsRequest{Path: "/not-there"})
	h, r = receive(t, fc)
	var got proto.GetDataResponse
	if got.ReadFrom(&r); h.Xid != 2 || r.Err() != nil || string(got.Data) != "x" || got.Stat.EphemeralOwner != session.SessionID {
		t.Errorf("getData: %+v, %+v, %v", h, got, r.Err())
	}
	if h, _ = receive(t, fc); h.Xid != 3 || !errors.Is(proto.Code(h.Err), proto.ErrNoNode) {
		t.Errorf("exists: %+v, want no node", h)
	}
	send(t, fc, 4, proto.OpCloseSession, nil)
	if h, _ = receive(t, fc); h.Xid != 4 || h.Err != 0 {
		t.Errorf("closeSession: %+v", h)
	}
	again := newSession()
	again.SessionID, again.Passwd = session.SessionID, session.Passwd
	if _, _, err := opened(t, ens.Server(1).Addr(), again); !errors.Is(err, conn.ErrExpired) {
		t.Errorf("re-attaching to a closed session: %v, want ErrExpired", err)
	}
}

func TestDiallingAKilledServer(t *testing.T) {
	ens := zkserver.Require(t, zkserver.Options{Own: true})
	s := ens.Server(1)
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	var op *net.OpError
	if _, err := conn.Dial(ctx, s.Addr(), &conn.Config{}); !errors.As(err, &op) {
		t.Errorf("dialling a killed server: %v, want the dial error", err)
	}
}
