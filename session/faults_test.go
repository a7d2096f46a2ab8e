package session

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/proto"
)

// wire is a link whose bytes a test can write, tear, hold back and reset.
type wire struct {
	*link
	nc *memnet.Conn
}

// pick takes the next connection as it is.
func (s *script) pick() *wire {
	nc, err := s.ln.Accept()
	require.NoError(s.t, err)
	mc := nc.(*memnet.Conn)
	return &wire{&link{s.t, conn.New(mc, nil)}, mc}
}

// wire is script.serve for tests that want the bytes.
func (s *script) wire(id int64, timeout time.Duration) (*wire, proto.ConnectRequest) {
	w := s.pick()
	req := w.hello()
	w.raw(answer37(id, timeout))
	return w, req
}

// hello takes the ConnectRequest.
func (w *wire) hello() proto.ConnectRequest {
	req, _, err := w.fc.ReadConnectRequest()
	require.NoError(w.t, err)
	return req
}

// raw writes bytes as they are.
func (w *wire) raw(b []byte) {
	_, err := w.nc.Write(b)
	require.NoError(w.t, err)
}

// name is what the client has dialled.
func (w *wire) name() string { return w.nc.LocalAddr().String() }

// startWire is start for tests that want the bytes.
func startWire(t *testing.T, edit func(*Config), servers ...string) (*script, *Keeper, *wire) {
	return startOn(t, memnet.Listen(), edit, servers...)
}

// startOn is startWire on a listener of the test's choice.
func startOn(t *testing.T, ln *memnet.Listener, edit func(*Config), servers ...string) (*script, *Keeper, *wire) {
	s := newScript(t)
	s.ln = ln
	cfg := s.config(servers...)
	if edit != nil {
		edit(&cfg)
	}
	k := open(t, cfg)
	w, _ := s.wire(0x77, testTimeout)
	synctest.Wait()
	return s, k, w
}

// answer37 is the frame of the answer that today's servers give.
func answer37(id int64, timeout time.Duration) []byte {
	rep := proto.ConnectResponse{TimeOut: int32(timeout.Milliseconds()), SessionID: id, Passwd: make([]byte, 16)}
	rep.Passwd[0] = 7
	b, start := conn.BeginFrame(nil)
	b = rep.AppendTo(b)
	conn.EndFrame(b, start)
	return b
}

// framed puts the length ahead of a body.
func framed(body []byte) []byte {
	b, start := conn.BeginFrame(nil)
	b = append(b, body...)
	conn.EndFrame(b, start)
	return b
}

// pass lets virtual time pass, and then waits until all is quiet.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// finished waits for a group and returns the result of its first call.
func finished(g *Group) (Outcome, error) {
	<-g.done
	return g.Result(0)
}

// lost asserts that a request was written and that nobody knows what became of it.
func lost(t *testing.T, g *Group) {
	t.Helper()
	o, err := finished(g)
	assert.Equal(t, Unknown, o)
	assert.ErrorIs(t, err, ErrConnectionLoss)
}

// submit is Session.Submit on the current session, with no end to the patience.
func submit(t *testing.T, k *Keeper, groups ...*Group) {
	t.Helper()
	for _, g := range groups {
		require.NoError(t, k.Current().Submit(t.Context(), g))
	}
}

// use has one request answered, after which a connection counts as one that was of use.
func use(t *testing.T, k *Keeper, w *wire) {
	t.Helper()
	go func() { w.reply(w.expect(proto.OpExists), 1, 0, stat) }()
	_, err := k.Do(t.Context(), exists("/", nil))
	require.NoError(t, err)
}

// large is a group of one setData request whose frame has about n bytes.
func large(path string, n int) *Group {
	g := NewGroup()
	req := proto.SetDataRequest{Path: path, Data: make([]byte, n), Version: -1}
	g.End(req.AppendTo(g.Begin(proto.OpSetData)), nil)
	return g
}

// serveAll answers every request, until the connection ends, and tells what was asked.
func (l *link) serveAll(zxid int64, asked func(g got)) {
	for {
		g, err := l.tryRead()
		if err != nil {
			return
		}
		if asked != nil {
			asked(g)
		}
		if l.fc.WriteBatch(frame(g.xid, zxid, 0, stat)) != nil {
			return
		}
	}
}
