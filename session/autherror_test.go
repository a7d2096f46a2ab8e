package session

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/proto"
)

// terminal waits for the end and asserts everything that is promised about a failed authentication.
func terminal(t *testing.T, s *script, k *Keeper, pending, want error) {
	t.Helper()
	<-k.Done()
	for _, err := range []error{pending, k.State().Err, context.Cause(k.Context())} {
		assert.ErrorIs(t, err, ErrAuthFailed)
		assert.ErrorIs(t, err, proto.ErrAuthFailed)
		assert.ErrorIs(t, err, net.ErrClosed)
		assert.ErrorIs(t, err, want)
		assert.NotErrorIs(t, err, proto.ErrSessionExpired)
		auth, ok := err.(*AuthError)
		require.True(t, ok)
		assert.Equal(t, "one:2181", auth.Server)
	}
	assert.Equal(t, StateAuthFailed, k.State().State)
	_, err := k.Do(t.Context(), setData("/later"))
	assert.ErrorIs(t, err, want)
	assert.Equal(t, 1, s.dials, "no reconnect")
	require.NoError(t, k.Close())
}

// A server that enforces an authentication says so to the first request, be it a ping.
func TestRequiredAuthenticationIsFinal(t *testing.T) { // C134
	refuse := func(l *link, xid int32) { l.write(frame(xid, 0, proto.ErrSessionClosedRequireSASL, nil)) }
	t.Run("request", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, k, l := start(t, nil)
			watch := exists("/w", &Watch{Path: "/w", Sink: NewQueue()})
			first, second, third := setData("/a"), setData("/b"), setData("/c")
			submit(t, k, watch, first, second, third)
			l.reply(l.expect(proto.OpExists), 1, 0, stat)
			l.expect(proto.OpSetData)
			refuse(l, l.expect(proto.OpSetData).xid) // it overtakes
			for g, want := range map[*Group]Outcome{first: Unknown, second: Rejected, third: Unknown} {
				o, err := finished(g)
				assert.Equal(t, want, o)
				terminal(t, s, k, err, proto.ErrSessionClosedRequireSASL)
			}
		})
	})
	t.Run("ping", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, k, l := start(t, nil)
			refuse(l, l.expect(proto.OpPing).xid)
			<-k.Done()
			g := setData("/a")
			_, err := k.Do(t.Context(), g)
			assert.ErrorIs(t, err, proto.ErrSessionClosedRequireSASL)
			g = setData("/a")
			require.Error(t, k.Current().Submit(t.Context(), g))
			assert.Equal(t, StateAuthFailed, k.State().State)
			assert.Equal(t, 1, s.dials)
		})
	})
	t.Run("one of the session's own", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, k, l := start(t, nil)
			g := exists("/a", &Watch{Path: "/a", Sink: NewQueue()})
			submit(t, k, g)
			l.reply(l.expect(proto.OpExists), 1, 0, stat)
			_, _ = finished(g)
			_ = l.fc.Close()
			l, _ = s.serve(0x77, testTimeout) // the server has been configured anew
			refuse(l, l.expect(proto.OpSetWatches).xid)
			<-k.Done()
			assert.ErrorIs(t, k.State().Err, proto.ErrSessionClosedRequireSASL)
			assert.Equal(t, 2, s.dials)
		})
	})
	t.Run("closeSession", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, k, l := start(t, nil)
			go func() { refuse(l, l.expect(proto.OpCloseSession).xid) }()
			assert.ErrorIs(t, k.Close(), ErrCloseUnconfirmed)
			assert.Equal(t, StateClosed, k.State().State)
		})
	})
}

// The server has been configured anew while the session lived; the bytes are those of a Java server.
func TestCredentialsRefusedAfterAReconnect(t *testing.T) { // C131
	synctest.Test(t, func(t *testing.T) {
		s, k, w := startWire(t, func(c *Config) { c.Credentials = []Credential{{"x", Secret("y")}} })
		w.reply(w.expect(proto.OpAuth), 0, 0, nil)
		use(t, k, w)
		_ = w.fc.Close()
		w, _ = s.wire(0x77, testTimeout)
		w.expect(proto.OpAuth)
		g := setData("/a")
		submit(t, k, g)
		w.raw([]byte("\x00\x00\x00\x10\xff\xff\xff\xfc\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\x8d"))
		_ = w.fc.Close()
		<-k.Done()
		_, err := finished(g)
		assert.ErrorIs(t, err, ErrAuthFailed)
		assert.EqualError(t, err, "authentication failed: server one:2181 refuses the credentials")
		assert.Equal(t, StateAuthFailed, k.State().State)
		pass(time.Minute)
		assert.Equal(t, 2, s.dials, "no reconnect")
		require.NoError(t, k.Close())
	})
}

// Servers do not count credentials as a sign of life, so neither clock may.
func TestCredentialsDoNotProlongTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		before := clockOf(k)
		pass(3 * time.Second)
		g := NewGroup()
		g.End((&proto.AuthPacket{Scheme: "digest", Auth: []byte("a:b")}).AppendTo(g.Begin(proto.OpAuth)), nil)
		submit(t, k, g)
		l.reply(l.expect(proto.OpAuth), 0, 0, nil)
		_, err := finished(g)
		require.NoError(t, err)
		assert.Equal(t, before, clockOf(k))
		finishWith(k, l)
	})
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, withSASL(&spoken{tokens: [][]byte{{}, nil}}))
		pass(2 * time.Second)
		l.exchange("")
		synctest.Wait()
		assert.Equal(t, StateConnected, k.State().State)
		c, now := clockOf(k), k.Current().now()
		assert.Equal(t, int64(2*time.Second), now-c.answered)
		assert.Equal(t, int64(2*time.Second), now-c.floor)
		finishWith(k, l)
	})
}

func clockOf(k *Keeper) clock {
	s := k.Current()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock
}
