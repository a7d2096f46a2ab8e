package session

import (
	"context"
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// script is a server under the control of a test: it accepts connections, and the test says what each gets.
type script struct {
	t     *testing.T
	ln    *memnet.Listener
	dials int
}

func newScript(t *testing.T) *script {
	s := &script{t: t, ln: memnet.Listen()}
	t.Cleanup(func() { _ = s.ln.Close() })
	return s
}

// config is one for a Keeper whose only server is the script.
func (s *script) config(servers ...string) Config {
	if len(servers) == 0 {
		servers = []string{"one:2181"}
	}
	return Config{Servers: servers, Timeout: 12 * time.Second, Env: Env{
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			s.dials++
			return s.ln.Dial(ctx, network, addr)
		},
		Rand: func() uint64 { return 0 },
	}}
}

// link is the server's end of one connection.
type link struct {
	t  *testing.T
	fc *conn.Conn
}

// accept takes the next connection and its ConnectRequest.
func (s *script) accept() (*link, proto.ConnectRequest) {
	nc, err := s.ln.Accept()
	require.NoError(s.t, err)
	l := &link{s.t, conn.New(nc, nil)}
	req, _, err := l.fc.ReadConnectRequest()
	require.NoError(s.t, err)
	return l, req
}

// serve accepts and answers the handshake; timeout 0 means that the session has expired.
func (s *script) serve(id int64, timeout time.Duration) (*link, proto.ConnectRequest) {
	l, req := s.accept()
	rep := proto.ConnectResponse{TimeOut: int32(timeout.Milliseconds()), SessionID: id, Passwd: make([]byte, 16)}
	if timeout > 0 {
		rep.Passwd[0] = 7
	}
	b, start := conn.BeginFrame(nil)
	b = rep.AppendTo(b)
	conn.EndFrame(b, start)
	require.NoError(s.t, l.fc.WriteBatch(b))
	return l, req
}

// got is a request that the script has read.
type got struct {
	xid  int32
	op   proto.Op
	body []byte
}

// read takes the next request.
func (l *link) read() got {
	g, err := l.tryRead()
	require.NoError(l.t, err)
	return g
}

func (l *link) tryRead() (got, error) {
	b, err := l.fc.ReadFrame()
	if err != nil {
		return got{}, err
	}
	return got{int32(binary.BigEndian.Uint32(b)), proto.Op(int32(binary.BigEndian.Uint32(b[4:]))), append([]byte(nil), b[8:]...)}, nil
}

// expect takes the next request and checks its opcode.
func (l *link) expect(op proto.Op) got {
	g := l.read()
	require.Equal(l.t, op, g.op)
	return g
}

// frame builds a reply.
func frame(xid int32, zxid int64, code proto.Code, body []byte) []byte {
	b, start := conn.BeginFrame(nil)
	b = jute.AppendInt(b, xid)
	b = jute.AppendLong(b, zxid)
	b = jute.AppendInt(b, int32(code))
	b = append(b, body...)
	conn.EndFrame(b, start)
	return b
}

// event builds a notification.
func event(t proto.EventType, path string) []byte {
	body := (&proto.WatcherEvent{Type: int32(t), State: 3, Path: path}).AppendTo(nil)
	return frame(proto.XidNotification, -1, 0, body)
}

func (l *link) write(frames ...[]byte) {
	var all []byte
	for _, f := range frames {
		all = append(all, f...)
	}
	require.NoError(l.t, l.fc.WriteBatch(all))
}

func (l *link) reply(g got, zxid int64, code proto.Code, body []byte) {
	l.write(frame(g.xid, zxid, code, body))
}

// goodbye answers a closeSession and hangs up.
func (l *link) goodbye() {
	for {
		g, err := l.tryRead()
		if err != nil {
			return
		}
		if g.op == proto.OpCloseSession {
			l.reply(g, 1, 0, nil)
			_ = l.fc.Close()
			return
		}
	}
}

// exists is a group of one exists request for path, with a watch if w is not nil.
func exists(path string, w *Watch) *Group {
	g := NewGroup()
	addExists(g, path, w)
	return g
}

func addExists(g *Group, path string, w *Watch) int {
	req := proto.ExistsRequest{Path: path, Watch: w != nil}
	return g.End(req.AppendTo(g.Begin(proto.OpExists)), w)
}

func setData(path string) *Group {
	g := NewGroup()
	req := proto.SetDataRequest{Path: path, Version: -1}
	g.End(req.AppendTo(g.Begin(proto.OpSetData)), nil)
	return g
}

func open(t *testing.T, cfg Config) *Keeper {
	k, err := Open(cfg)
	require.NoError(t, err)
	return k
}

var stat = (&proto.Stat{Czxid: 5}).AppendTo(nil)
