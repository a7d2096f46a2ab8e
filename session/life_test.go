package session

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

const testTimeout = 12 * time.Second // T of the scripts: T/3 is 4 s, T/4 is 3 s

func TestPings(t *testing.T) { // C60, F26
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		began := time.Now()
		for i := range 3 {
			p := l.expect(proto.OpPing)
			assert.EqualValues(t, proto.XidPing, p.xid)
			assert.Equal(t, time.Duration(i+1)*testTimeout/3, time.Since(began))
			l.reply(p, 1, 0, nil)
		}
	})
}

func TestNotificationsDoNotStarvePings(t *testing.T) { // C61
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		began := time.Now()
		tick := time.NewTicker(testTimeout / 10)
		defer tick.Stop()
		stop := make(chan struct{})
		go func() {
			for {
				select {
				case <-tick.C:
					_ = l.fc.WriteBatch(event(proto.EventNodeCreated, "/nobody"))
				case <-stop:
					return
				}
			}
		}()
		l.reply(l.expect(proto.OpPing), 1, 0, nil)
		assert.Equal(t, testTimeout/3, time.Since(began))
		close(stop)
	})
}

func TestSilentServerIsLeft(t *testing.T) { // C63, F27
	synctest.Test(t, func(t *testing.T) {
		s, k, _ := start(t, nil)
		began := time.Now()
		l2, req := s.serve(0x77, testTimeout)
		defer finishWith(k, l2)
		assert.Equal(t, testTimeout*2/3, time.Since(began))
		assert.EqualValues(t, 0x77, req.SessionID)
		assert.EqualValues(t, 7, req.Passwd[0])
	})
}

func TestPingReplyWithoutPing(t *testing.T) { // C64
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		l.write(frame(proto.XidPing, 1, 0, nil))
		synctest.Wait()
		assert.Equal(t, StateConnected, k.Current().State())
	})
}

func TestExpiryByOwnClock(t *testing.T) { // C67, F22: T after the send time of the newest answered request, once
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		first := k.Current()
		began := time.Now()
		p := l.expect(proto.OpPing)
		l.reply(p, 1, 0, nil)
		_ = s.ln.Close() // nobody can be reached from here on
		_ = l.fc.Close()
		synctest.Wait()
		queued := setData("/a")
		require.NoError(t, first.Submit(t.Context(), queued))
		<-first.Ended()
		assert.Equal(t, testTimeout/3+testTimeout, time.Since(began))
		<-queued.done
		o, err := queued.Result(0)
		assert.Equal(t, NotSent, o)
		assert.ErrorIs(t, err, ErrSessionExpired)
		assert.ErrorIs(t, err, proto.ErrSessionExpired)
		assert.EqualValues(t, 2, k.Current().Generation())
		assert.ErrorIs(t, first.Submit(t.Context(), setData("/b")), ErrSessionExpired)
		require.NoError(t, k.Close())
	})
}

func TestExpiryByTheServer(t *testing.T) { // C27
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		w := &Watch{Path: "/a", Sink: NewQueue(), Tag: 3}
		go func() { l.reply(l.read(), 1, 0, stat) }()
		_, err := k.Do(t.Context(), exists("/a", w))
		require.NoError(t, err)
		first := k.Current()
		flying := setData("/a")
		require.NoError(t, first.Submit(t.Context(), flying))
		l.expect(proto.OpSetData)
		_ = l.fc.Close()
		<-flying.done
		s.serve(0, 0)
		<-first.Ended()
		assert.Equal(t, ErrSessionExpired, first.Err())
		it, err := w.Sink.(*Queue).Next(t.Context())
		require.NoError(t, err)
		assert.Equal(t, uint32(3), it.Tag)
		assert.ErrorIs(t, it.Event.Err, ErrSessionExpired)
		l3, req := s.serve(0x78, testTimeout)
		defer finishWith(k, l3)
		assert.Zero(t, req.SessionID)
		assert.Zero(t, req.LastZxidSeen)
		synctest.Wait()
		assert.EqualValues(t, 0x78, k.Current().ID())
	})
}

func TestFinalExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, func(c *Config) { c.FinalExpiry = true })
		_ = l.fc.Close()
		s.serve(0, 0)
		<-k.Done()
		_, err := k.Do(t.Context(), setData("/a"))
		assert.ErrorIs(t, err, ErrSessionExpired)
		assert.NoError(t, k.Close())
	})
}

func TestStateStream(t *testing.T) { // C76
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t)
		k := open(t, s.config())
		var seen []State
		var generations []uint64
		done := make(chan struct{})
		go func() {
			for c := range k.Changes(t.Context()) {
				seen = append(seen, c.State)
				generations = append(generations, c.Generation)
			}
			close(done)
		}()
		synctest.Wait()
		l, _ := s.serve(1, testTimeout)
		synctest.Wait()
		_ = l.fc.Close()
		s.serve(0, 0)
		l, _ = s.serve(2, testTimeout)
		synctest.Wait()
		finishWith(k, l)
		<-done
		assert.Equal(t, []State{StateConnecting, StateConnected, StateDisconnected, StateExpired, StateConnecting, StateConnected, StateClosed}, seen)
		assert.Equal(t, []uint64{1, 1, 1, 1, 2, 2, 2}, generations)
	})
}

func TestReconnectOrder(t *testing.T) { // C99, C128, F20, F36, F40: credentials, watches, then requests
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, func(c *Config) {
			c.Credentials = []Credential{{"digest", Secret("a:b")}, {"digest", Secret("c:d")}}
		})
		for range 2 {
			l.reply(l.expect(proto.OpAuth), 0, 0, nil)
		}
		q := NewQueue()
		g := NewGroup()
		addExists(g, "/data", &Watch{Path: "/data", Sink: q})
		addExists(g, "/exist", &Watch{Path: "/exist", Sink: q})
		go func() {
			l.reply(l.read(), 10, 0, stat)
			l.reply(l.read(), 11, proto.ErrNoNode, nil)
			l.write(frame(proto.XidNotification, 50, 0, (&proto.WatcherEvent{Type: 3, State: 3, Path: "/other"}).AppendTo(nil)))
		}()
		_, err := k.Do(t.Context(), g)
		require.NoError(t, err)
		synctest.Wait()
		_ = l.fc.Close()
		synctest.Wait()
		queued := setData("/after")
		require.NoError(t, k.Current().Submit(t.Context(), queued))
		l2, req := s.serve(0x77, testTimeout)
		defer finishWith(k, l2)
		assert.EqualValues(t, 50, req.LastZxidSeen, "notifications count")
		for _, want := range []string{"a:b", "c:d"} {
			var p proto.AuthPacket
			r := jute.NewReader(l2.expect(proto.OpAuth).body)
			p.ReadFrom(&r)
			assert.Equal(t, want, string(p.Auth))
		}
		var sw proto.SetWatches
		set := l2.expect(proto.OpSetWatches)
		r := jute.NewReader(set.body)
		sw.ReadFrom(&r)
		require.NoError(t, r.Err())
		assert.Equal(t, proto.SetWatches{RelativeZxid: 11, DataWatches: []string{"/data"}, ExistWatches: []string{"/exist"}}, sw,
			"replies only")
		after := l2.expect(proto.OpSetData)
		l2.write(frame(proto.XidAuth, 0, 0, nil), frame(proto.XidAuth, 0, 0, nil), event(proto.EventNodeDeleted, "/data"),
			frame(set.xid, 60, 0, nil), frame(after.xid, 60, 0, stat))
		<-queued.done
		it, ok := q.TryNext()
		assert.True(t, ok, "the event came before the reply")
		assert.Equal(t, proto.EventNodeDeleted, it.Event.Type)
		assert.EqualValues(t, 2, it.Conn)
		assert.Equal(t, 1, k.Current().WatchCount())
	})
}

func TestWatchChunks(t *testing.T) { // C101, F41
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		ss := k.Current()
		ss.mu.Lock()
		const n = 5000
		pad := make([]byte, 100)
		for i := range pad {
			pad[i] = 'x'
		}
		for i := range n {
			ss.watches.add(&Watch{Path: "/" + string(pad) + string(rune('a'+i%26)) + time.Duration(i).String(), Sink: NewQueue()})
		}
		ss.mu.Unlock()
		_ = l.fc.Close()
		l2, _ := s.serve(0x77, testTimeout)
		defer finishWith(k, l2)
		total := 0
		for total < n {
			g := l2.expect(proto.OpSetWatches)
			assert.Less(t, len(g.body), maxWatchChunk+300)
			var sw proto.SetWatches
			r := jute.NewReader(g.body)
			sw.ReadFrom(&r)
			total += len(sw.DataWatches)
			l2.reply(g, 1, 0, nil)
		}
		assert.Equal(t, n, total)
	})
}

func TestEventBehindTheReply(t *testing.T) { // C92, F44: the event follows in the same segment
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		q := NewQueue()
		go func() {
			r := l.read()
			l.write(frame(r.xid, 1, 0, stat), event(proto.EventNodeDataChanged, "/a"))
		}()
		_, err := k.Do(t.Context(), exists("/a", &Watch{Path: "/a", Sink: q}))
		require.NoError(t, err)
		it, err := q.Next(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "/a", it.Event.Path)
		assert.Zero(t, k.Current().WatchCount())
	})
}

func TestStrangeNotificationsAreIgnored(t *testing.T) { // C93
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		null := jute.AppendInt(jute.AppendInt(jute.AppendInt(nil, 3), 3), -1)
		l.write(event(99, "/a"), event(proto.EventNodeCreated, "/nobody"), frame(proto.XidNotification, -1, 0, null), frame(proto.XidNotification, -1, 0, nil))
		synctest.Wait()
		assert.Equal(t, StateConnected, k.Current().State())
		assert.EqualValues(t, 4, k.Counters().Events)
	})
}

func TestRefusedCredentialsAreFinal(t *testing.T) { // C130, C131, F38
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, func(c *Config) { c.Credentials = []Credential{{"x", Secret("y")}} })
		g := setData("/a")
		require.NoError(t, k.Current().Submit(t.Context(), g))
		l.reply(l.expect(proto.OpAuth), 0, proto.ErrAuthFailed, nil)
		<-k.Done()
		<-g.done
		_, err := g.Result(0)
		assert.ErrorIs(t, err, ErrAuthFailed)
		assert.Equal(t, StateAuthFailed, k.State().State)
		_, err = k.Do(t.Context(), setData("/b"))
		assert.ErrorIs(t, err, proto.ErrAuthFailed)
		assert.Equal(t, 1, s.dials, "no reconnect")
	})
}

func TestAcceptAndCloseIsNoStorm(t *testing.T) { // C79, F31
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t)
		k := open(t, s.config())
		go func() {
			for {
				nc, err := s.ln.Accept()
				if err != nil {
					return
				}
				_ = nc.Close()
			}
		}()
		time.AfterFunc(time.Minute, func() { _ = k.Close() })
		<-k.Done()
		assert.Less(t, s.dials, 20)
		assert.Greater(t, s.dials, 6)
	})
}

func TestHandshakeThatAnswersAndClosesIsNoStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t)
		k := open(t, s.config())
		stop := make(chan struct{})
		go func() {
			defer close(stop)
			for range 12 {
				l, _ := s.serve(0x77, testTimeout)
				_ = l.fc.Close()
			}
			_ = s.ln.Close()
		}()
		began := time.Now()
		<-stop
		assert.Greater(t, time.Since(began), 10*time.Second)
		_ = k.Close() // whether it can be confirmed depends on the moment
	})
}

func TestStoppedProcessNoticesBeforeAReplyCompletes(t *testing.T) { // C66: the reply was there in time, we were not
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		ss := k.Current()
		g := exists("/a", nil)
		require.NoError(t, ss.Submit(t.Context(), g))
		r := l.read()
		// A stopped process is one whose clock has moved on although it did nothing.
		ss.mu.Lock()
		ss.base = ss.base.Add(-2 * testTimeout)
		ss.mu.Unlock()
		l.reply(r, 1, 0, stat)
		<-g.done
		o, err := g.Result(0)
		assert.Equal(t, Unknown, o)
		assert.ErrorIs(t, err, ErrSessionExpired)
		l2, _ := s.serve(2, testTimeout)
		finishWith(k, l2)
	})
}
