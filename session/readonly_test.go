package session

import (
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/proto"
)

// temporaryID is what the read-only server of these tests calls a session.
const temporaryID = 0x1badd00d

// serveReadOnly accepts as a server without quorum does.
func (s *script) serveReadOnly() (*link, proto.ConnectRequest) {
	l, req := s.accept()
	rep := proto.ConnectResponse{TimeOut: int32(testTimeout.Milliseconds()), SessionID: temporaryID, Passwd: make([]byte, 16), ReadOnly: true}
	rep.Passwd[0] = 9
	l.write(framed(rep.AppendTo(nil)))
	return l, req
}

// startReadOnly opens a Keeper that begins on a read-only server.
func startReadOnly(t *testing.T, edit func(*Config), servers ...string) (*script, *Keeper, *link) {
	s := newScript(t)
	cfg := s.config(servers...)
	cfg.ReadOnly = true
	if edit != nil {
		edit(&cfg)
	}
	k := open(t, cfg)
	l, req := s.serveReadOnly()
	require.True(t, req.ReadOnly)
	synctest.Wait()
	require.Equal(t, StateConnectedReadOnly, k.State().State)
	return s, k, l
}

// F72, C136: a read-only server is not used by a client that has not asked for one, whatever it answers.
func TestReadOnlyServerThatWasNotAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t)
		k := open(t, s.config())
		l, req := s.serveReadOnly()
		assert.False(t, req.ReadOnly)
		_, err := l.tryRead()
		assert.Error(t, err, "the connection is given up")
		assert.Equal(t, StateConnecting, k.State().State)
		assert.ErrorIs(t, k.Failures(), errReadOnlyServer)
		_ = k.Close()
	})
}

// F72, C137: what a read-only server has given is shown to nobody, itself included; what was seen there is.
func TestTemporaryIDIsNeverSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, l := startReadOnly(t, nil)
		ss := k.Current()
		assert.EqualValues(t, temporaryID, ss.ID())
		g := exists("/a", nil)
		submit(t, k, g)
		l.reply(l.expect(proto.OpExists), 42, 0, stat)
		<-g.done
		waiting := exists("/b", nil)
		require.NoError(t, l.fc.Close())
		synctest.Wait()
		assert.EqualValues(t, 0, ss.ID(), "after the connection")
		assert.EqualValues(t, 0, ss.Timeout())
		submit(t, k, waiting)

		l, req := s.serveReadOnly() // the same server once more
		assert.Equal(t, proto.ConnectRequest{TimeOut: req.TimeOut, LastZxidSeen: 42, Passwd: make([]byte, 16), ReadOnly: true}, req)
		l.reply(l.expect(proto.OpExists), 42, 0, stat)
		o, err := finished(waiting)
		assert.Equal(t, Replied, o)
		require.NoError(t, err)
		require.NoError(t, l.fc.Close())

		l, req = s.serve(0x77, testTimeout)
		assert.Equal(t, proto.ConnectRequest{TimeOut: req.TimeOut, LastZxidSeen: 42, Passwd: make([]byte, 16), ReadOnly: true}, req)
		synctest.Wait()
		assert.Equal(t, Change{State: StateConnected, Generation: 1, SessionID: 0x77, Server: "one:2181"}, k.State())
		require.NoError(t, l.fc.Close())

		l, req = s.serve(0x77, testTimeout) // a real one does not ask for a read-only server
		defer finishWith(k, l)
		assert.EqualValues(t, 0x77, req.SessionID)
		assert.EqualValues(t, 7, req.Passwd[0])
		assert.False(t, req.ReadOnly)
		assert.Same(t, ss, k.Current())
	})
}

// D12: nothing can be held on a read-only server, nobody is made to prove anything there, and it is not left for want of a proof.
func TestNothingIsHeldOnAReadOnlyServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := startReadOnly(t, nil)
		defer finishWith(k, l)
		ss := k.Current()
		assert.ErrorIs(t, ss.Hold(&Hold{Holder: &recorder{}}, 1), proto.ErrNotReadOnly)
		ss.Contend(1)
		defer ss.Contend(-1)
		for range 10 {
			g := l.expect(proto.OpPing)
			l.write(frame(proto.XidPing, 1, 0, nil))
			assert.EqualValues(t, proto.XidPing, g.xid)
		}
		assert.EqualValues(t, 1, ss.Counters().Connections)
		assert.Equal(t, StateConnectedReadOnly, ss.State())
	})
}

// A temporary session does not expire: there is nothing in it that could. A server that is silent is left, and its watches and
// what is queued go on.
func TestTemporarySessionDoesNotExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d dialing
		var closed atomic.Bool
		s, k, l := startReadOnly(t, func(c *Config) { d.refuse(c, &closed) })
		g := exists("/a", &Watch{Kind: WatchData, Path: "/a", Sink: NewQueue()})
		submit(t, k, g)
		l.reply(l.expect(proto.OpExists), 42, 0, stat)
		<-g.done
		closed.Store(true)
		pass(testTimeout * 2 / 3)
		assert.Equal(t, StateDisconnected, k.State().State)
		assert.ErrorIs(t, k.State().Err, errSilent)
		pass(10 * testTimeout)
		closed.Store(false)
		l, _ = s.serve(0x77, testTimeout)
		defer finishWith(k, l)
		assert.EqualValues(t, 1, k.State().Generation)
		assert.EqualValues(t, 1, k.Current().WatchCount())
		l.reply(l.expect(proto.OpSetWatches), 43, 0, nil)
	})
}

// Nor does a machine that was suspended end it: the reply that waits is good, and the connection is left.
func TestSuspensionDoesNotEndATemporarySession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, l := startReadOnly(t, nil)
		ss := k.Current()
		g := exists("/a", nil)
		submit(t, k, g)
		r := l.read()
		ss.mu.Lock()
		ss.slept.suspended = func() time.Duration { return ss.slept.before + time.Hour }
		ss.slept.wall -= int64(time.Hour) // as if the wall clock had gone on
		ss.mu.Unlock()
		l.reply(r, 1, 0, stat)
		o, err := finished(g)
		assert.Equal(t, Replied, o)
		assert.NoError(t, err)
		l, _ = s.serve(0x77, testTimeout)
		defer finishWith(k, l)
		synctest.Wait()
		assert.EqualValues(t, 1, k.State().Generation)
	})
}

// Watches are set on the next server with the zxid that the read-only one has shown, so what was missed is told.
func TestWatchesLeaveAReadOnlyServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, l := startReadOnly(t, nil)
		g := exists("/a", &Watch{Kind: WatchData, Path: "/a", Sink: NewQueue()})
		submit(t, k, g)
		l.reply(l.expect(proto.OpExists), 42, 0, stat)
		<-g.done
		require.NoError(t, l.fc.Close())
		l, _ = s.serve(0x77, testTimeout)
		defer finishWith(k, l)
		sw := decoded[proto.SetWatches](t, l.expect(proto.OpSetWatches))
		assert.EqualValues(t, 42, sw.RelativeZxid)
		assert.Equal(t, []string{"/a"}, sw.DataWatches)
	})
}

// A write on a read-only server is refused, and the refusal may overtake the replies of reads.
func TestRefusalOfAReadOnlyServerOvertakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := startReadOnly(t, nil)
		defer finishWith(k, l)
		read, write := exists("/a", nil), setData("/a")
		submit(t, k, read, write)
		r, w := l.expect(proto.OpExists), l.expect(proto.OpSetData)
		l.reply(w, 42, proto.ErrNotReadOnly, nil)
		l.reply(r, 42, 0, stat)
		o, err := finished(write)
		assert.Equal(t, Rejected, o)
		assert.ErrorIs(t, err, proto.ErrNotReadOnly)
		o, err = finished(read)
		assert.Equal(t, Replied, o)
		assert.NoError(t, err)
	})
}

func TestDetachOfATemporarySession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := startReadOnly(t, nil)
		go func() { l.reply(l.expect(proto.OpCloseSession), 1, 0, nil) }()
		ticket, err := k.Detach()
		assert.ErrorIs(t, err, ErrTemporarySession)
		assert.Equal(t, Ticket{}, ticket)
		_ = l.fc.Close()
	})
}

// C139: a session that is more than temporary is not exchanged for one. It ends by its clock, and says so; then the next
// generation begins read-only.
func TestRealSessionIsNotExchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t)
		cfg := s.config()
		cfg.ReadOnly = true
		k := open(t, cfg)
		var states []Change
		changes := k.Changes(t.Context())
		l, _ := s.serve(0x77, testTimeout)
		synctest.Wait()
		began := time.Now()
		_ = l.fc.Close()
		var ro *link
		for ro == nil { // a read-only server: it closes on whoever has a session, or does not ask
			nc, err := s.ln.Accept()
			require.NoError(t, err)
			ro = greetReadOnly(t, nc)
		}
		synctest.Wait()
		assert.GreaterOrEqual(t, time.Since(began), testTimeout)
		go ro.goodbye()
		_ = k.Close()
		for c := range changes {
			c.Err = nil
			states = append(states, c)
		}
		assert.Equal(t, []Change{
			{State: StateConnecting, Generation: 1},
			{State: StateConnected, Generation: 1, SessionID: 0x77, Server: "one:2181"},
			{State: StateDisconnected, Generation: 1, SessionID: 0x77, Server: "one:2181"},
			{State: StateExpired, Generation: 1, SessionID: 0x77},
			{State: StateConnecting, Generation: 2},
			{State: StateConnectedReadOnly, Generation: 2, SessionID: temporaryID, Server: "one:2181"},
			{State: StateClosed, Generation: 2, SessionID: temporaryID},
		}, states)
	})
}

// greetReadOnly answers as a read-only server of today: nil means that it has closed.
func greetReadOnly(t *testing.T, nc net.Conn) *link {
	l := &link{t, conn.New(nc, nil)}
	req, _, err := l.fc.ReadConnectRequest()
	require.NoError(t, err)
	if !req.ReadOnly || req.SessionID != 0 {
		_ = l.fc.Close()
		return nil
	}
	rep := proto.ConnectResponse{TimeOut: int32(testTimeout.Milliseconds()), SessionID: temporaryID, Passwd: make([]byte, 16), ReadOnly: true}
	l.write(framed(rep.AppendTo(nil)))
	return l
}
