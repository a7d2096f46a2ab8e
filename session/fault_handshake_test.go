package session

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// C33, F29, fault 3: servers that accept and are silent leave enough of the session for the last one to resume it.
func TestSilentHandshakesLeaveTimeForTheOthers(t *testing.T) {
	for n := 2; n <= 6; n++ {
		synctest.Test(t, func(t *testing.T) {
			var servers []string
			for i := range n {
				servers = append(servers, fmt.Sprintf("s%d:2181", i))
			}
			s, k, w := startWire(t, nil, servers...)
			began := time.Now() // of the newest answered request: the handshake
			_ = w.nc.Close()
			tried := []string{}
			for range n - 1 {
				silent := s.pick()
				assert.EqualValues(t, 0x77, silent.hello().SessionID)
				tried = append(tried, silent.name())
				_, err := silent.fc.ReadFrame()
				assert.ErrorIs(t, err, io.EOF, "given up and closed")
			}
			good, req := s.wire(0x77, testTimeout)
			defer finishWith(k, good.link)
			assert.Less(t, time.Since(began), testTimeout)
			assert.EqualValues(t, 0x77, req.SessionID)
			assert.NotContains(t, tried, good.name())
			synctest.Wait()
			assert.Equal(t, StateConnected, k.Current().State())
			assert.EqualValues(t, 1, k.Current().Generation())
		})
	}
}

// C33: the bound of an attempt counts from the dial, not from the connection.
func TestAttemptIsBoundedFromTheDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t)
		cfg := s.config("one:2181", "two:2181")
		dial := cfg.Env.Dial
		cfg.Env.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			<-time.After(testTimeout / 6)
			return dial(ctx, network, addr)
		}
		began := time.Now()
		k := open(t, cfg)
		silent := s.pick()
		silent.hello()
		_, err := silent.fc.ReadFrame()
		assert.ErrorIs(t, err, io.EOF)
		assert.Equal(t, testTimeout/2, time.Since(began), "two servers share the session timeout")
		l, _ := s.serve(1, testTimeout)
		finishWith(k, l)
	})
}

// C60, C67, fault 7: a handshake that took most of T leaves a session that is as old as its request; a ping renews it in time.
func TestSlowHandshakeIsFollowedByAPing(t *testing.T) {
	for _, took := range []time.Duration{testTimeout / 2, testTimeout * 3 / 4, testTimeout - time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(t)
			k := open(t, s.config())
			w := s.pick()
			w.hello()
			<-time.After(took)
			w.raw(answer37(0x77, testTimeout))
			w.reply(w.expect(proto.OpPing), 1, 0, nil)
			w.reply(w.expect(proto.OpPing), 1, 0, nil)
			synctest.Wait()
			assert.Equal(t, StateConnected, k.State().State)
			assert.EqualValues(t, 1, k.State().Generation)
			finishWith(k, w.link)
		})
	}
}

// C19, C28, C29, faults 11, 12, 15 and 17: what is no answer ends the attempt at once, and the next server is tried; the session is kept.
func TestWrongAnswers(t *testing.T) {
	good := answer37(0x77, testTimeout)
	cut := func(n int) []byte { return framed(good[4 : 4+n]) }
	header := func(c proto.Code) []byte {
		return framed((&proto.ReplyHeader{Err: int32(c)}).AppendTo(nil))
	}
	for name, answer := range map[string][]byte{
		"length -1":               {0xff, 0xff, 0xff, 0xff},
		"smallest length":         {0x80, 0, 0, 0},
		"length 0":                {0, 0, 0, 0},
		"15 bytes":                cut(15),
		"35 bytes":                cut(35),
		"over the limit":          framed(make([]byte, 5000)),
		"HTTP":                    []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
		"TLS alert":               {0x15, 3, 3, 0, 2, 2, 40},
		"SSH":                     []byte("SSH-2.0-OpenSSH_9.2\r\n"),
		"another session's id":    answer37(0x78, testTimeout),
		"no session id":           answer37(0, testTimeout),
		"reply header, read-only": header(proto.ErrNotReadOnly),
		"reply header, no code":   header(0),
	} {
		t.Run(name, func(t *testing.T) {
			wrongAnswer(t, true, answer)
			if name != "another session's id" {
				wrongAnswer(t, false, answer)
			}
		})
	}
	t.Run("no session for a new one", func(t *testing.T) { wrongAnswer(t, false, answer37(0, 0)) })
	t.Run("negative timeout for a new one", func(t *testing.T) { wrongAnswer(t, false, answer37(5, -time.Second)) })
}

// wrongAnswer lets the first of two servers give the answer to a client that has a session or wants one.
func wrongAnswer(t *testing.T, again bool, answer []byte) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t)
		k := open(t, s.config("one:2181", "two:2181"))
		want := int64(0)
		if again {
			w, _ := s.wire(0x77, testTimeout)
			use(t, k, w)
			_ = w.nc.Close()
			want = 0x77
		}
		began := time.Now()
		bad := s.pick()
		assert.EqualValues(t, want, bad.hello().SessionID)
		bad.raw(answer)
		l, req := s.wire(0x77, testTimeout)
		defer finishWith(k, l.link)
		synctest.Wait()
		assert.EqualValues(t, want, req.SessionID)
		assert.NotContains(t, bad.name(), l.name(), "another server")
		assert.Zero(t, time.Since(began), "at once")
		assert.Equal(t, StateConnected, k.Current().State())
		assert.EqualValues(t, 1, k.Current().Generation())
		assert.ErrorContains(t, k.Failures(), bad.name())
		_, err := bad.fc.ReadFrame()
		assert.ErrorIs(t, err, io.EOF, "closed, with nothing but the ConnectRequest")
	})
}

// C26, fault 17: servers that do not know the readOnly byte.
func TestAnswerOf36Bytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t)
		k := open(t, s.config())
		for i := range 2 {
			w := s.pick()
			req := w.hello()
			assert.Equal(t, int64(0x77*i), req.SessionID)
			w.raw(framed(answer37(0x77, testTimeout)[4:40]))
			synctest.Wait()
			assert.Equal(t, StateConnected, k.Current().State())
			if i == 1 {
				finishWith(k, w.link)
			}
			_ = w.nc.Close()
		}
	})
}

// C37: whatever is waiting to be sent, until the session is known to be resumed there is the ConnectRequest and nothing else.
func TestOnlyTheConnectRequestGoesBeforeTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, w := startWire(t, func(c *Config) { c.Credentials = []Credential{{"digest", Secret("a:b")}} })
		w.reply(w.expect(proto.OpAuth), 0, 0, nil)
		go func() { w.reply(w.expect(proto.OpExists), 1, 0, stat) }()
		_, err := k.Do(t.Context(), exists("/a", &Watch{Path: "/a", Sink: NewQueue()}))
		require.NoError(t, err)
		h := &lastState{}
		h.hold.Holder = h
		require.NoError(t, k.Current().Hold(&h.hold, 1))
		k.Current().Delete(new(Cleanup), "/gone", nil)
		synctest.Wait()
		_ = w.nc.Close()
		synctest.Wait()
		submit(t, k, setData("/b"))
		w = s.pick()
		w.hello()
		pass(testTimeout / 4)
		submit(t, k, setData("/c"))
		synctest.Wait()
		assert.Zero(t, w.nc.Arrived())
		assert.EqualValues(t, 4+45, w.fc.Received())
		w.raw(answer37(0x77, testTimeout))
		ops := []proto.Op{}
		for range 6 {
			ops = append(ops, w.read().op)
		}
		assert.Equal(t, []proto.Op{proto.OpAuth, proto.OpSetWatches, proto.OpSync, proto.OpDelete, proto.OpSetData, proto.OpSetData}, ops)
		finishWith(k, w.link)
	})
}

// C38: what comes in the same segment as the answer is handled, in its order.
func TestFramesBehindTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, w := startWire(t, nil)
		q := NewQueue()
		for i, path := range []string{"/a", "/b"} {
			go func() { w.reply(w.expect(proto.OpExists), int64(i)+1, 0, stat) }()
			_, err := k.Do(t.Context(), exists(path, &Watch{Path: path, Sink: q}))
			require.NoError(t, err)
		}
		_ = w.nc.Close()
		synctest.Wait()
		g := exists("/c", nil)
		g.To(q, 3)
		w = s.pick()
		w.hello()
		submit(t, k, g)
		pong := frame(proto.XidPing, 4, 0, nil)
		w.raw(slices.Concat(answer37(0x77, testTimeout), event(proto.EventNodeDeleted, "/b"), pong, event(proto.EventNodeDataChanged, "/a")))
		synctest.Wait()
		var set, ask got
		for ask.op != proto.OpExists {
			if ask = w.read(); ask.op == proto.OpSetWatches {
				set = ask
				w.reply(set, 5, 0, nil)
			}
		}
		w.reply(ask, 5, 0, stat)
		var seen []string
		for range 3 {
			it, err := q.Next(t.Context())
			require.NoError(t, err)
			assert.EqualValues(t, 2, it.Conn)
			seen = append(seen, it.Event.Path)
		}
		assert.Equal(t, []string{"/b", "/a", ""}, seen)
		assert.Zero(t, k.Current().WatchCount())
		finishWith(k, w.link)
	})
}

// C93, fault 14: a notification that says nothing to anybody uses up no watch and does no harm.
func TestNotificationsThatMeanNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, w := startWire(t, nil)
		defer finishWith(k, w.link)
		q := NewQueue()
		go func() { w.reply(w.expect(proto.OpExists), 1, 0, stat) }()
		_, err := k.Do(t.Context(), exists("/a", &Watch{Path: "/a", Sink: q}))
		require.NoError(t, err)
		for _, n := range []int32{-1 << 31, -2, -1, 0, 5, 6, 7, 8, 99, 1<<31 - 1} {
			w.write(event(proto.EventType(n), "/a"))
		}
		null := jute.AppendInt(jute.AppendInt(jute.AppendInt(nil, 3), 3), -1)
		torn := jute.AppendInt(jute.AppendInt(jute.AppendInt(nil, 3), 3), 1<<30)
		w.write(frame(proto.XidNotification, -1, 0, null), frame(proto.XidNotification, -1, 0, torn), frame(proto.XidNotification, -1, 0, nil))
		synctest.Wait()
		_, ok := q.TryNext()
		require.True(t, !ok)
		require.Equal(t, 1, k.Current().WatchCount())
		assert.Equal(t, StateConnected, k.Current().State())
		strange := (&proto.WatcherEvent{Type: 3, State: 99, Path: "/a"}).AppendTo(nil)
		w.write(frame(proto.XidNotification, -1, 0, strange))
		it, err := q.Next(t.Context())
		require.NoError(t, err)
		assert.Equal(t, proto.EventNodeDataChanged, it.Event.Type, "the state does not matter")
	})
}
