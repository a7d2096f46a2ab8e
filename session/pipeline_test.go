package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/proto"
)

// start opens a Keeper over a script and lets it connect with session id 0x77.
func start(t *testing.T, edit func(*Config)) (*script, *Keeper, *link) {
	s := newScript(t)
	cfg := s.config()
	if edit != nil {
		edit(&cfg)
	}
	k := open(t, cfg)
	l, _ := s.serve(0x77, 12*time.Second)
	synctest.Wait()
	return s, k, l
}

// finishWith closes the Keeper while the link answers closeSession.
func finishWith(k *Keeper, l *link) {
	go l.goodbye()
	_ = k.Close()
	_ = l.fc.Close()
}

func TestPipelineKeepsOrderAndMatches(t *testing.T) { // C40
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		const n = 1000
		results := make([]error, n)
		bodies := make([]string, n)
		done := make(chan int)
		for i := range n {
			go func() {
				g := exists(fmt.Sprint("/", i), nil)
				_, results[i] = k.Do(t.Context(), g)
				bodies[i] = string(g.Body(0))
				done <- i
			}()
		}
		synctest.Wait()
		var frames [][]byte
		for range n {
			g := l.expect(proto.OpExists)
			frames = append(frames, frame(g.xid, 9, 0, g.body))
		}
		l.write(frames...)
		for range n {
			<-done
		}
		for i := range n {
			require.NoError(t, results[i])
			assert.Contains(t, bodies[i], fmt.Sprint("/", i))
		}
		c := k.Counters()
		assert.EqualValues(t, n, c.Requests)
		assert.EqualValues(t, n, c.Replies)
	})
}

func TestUnknownXidBreaksTheConnection(t *testing.T) { // C42
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		g := setData("/a")
		require.NoError(t, k.Current().Submit(t.Context(), g))
		req := l.expect(proto.OpSetData)
		l.write(frame(req.xid+1, 3, 0, nil))
		l2, again := s.serve(0x77, 12*time.Second)
		defer finishWith(k, l2)
		assert.EqualValues(t, 0x77, again.SessionID)
		<-g.done
		o, err := g.Result(0)
		assert.Equal(t, Unknown, o)
		assert.ErrorIs(t, err, ErrConnectionLoss)
	})
}

func TestXidWraps(t *testing.T) { // C46, F16
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		k.Current().xid = math.MaxInt32 - 3
		slow := exists("/slow", nil)
		require.NoError(t, k.Current().Submit(t.Context(), slow))
		first := l.read()
		groups := []*Group{}
		for range 6 {
			g := exists("/x", nil)
			groups = append(groups, g)
			require.NoError(t, k.Current().Submit(t.Context(), g))
		}
		assert.EqualValues(t, math.MaxInt32-2, first.xid)
		l.reply(first, 1, 0, stat)
		var last int32
		for range 6 {
			r := l.read()
			assert.Positive(t, r.xid)
			last = r.xid
			l.reply(r, 1, 0, stat)
		}
		assert.EqualValues(t, 4, last)
		for _, g := range groups {
			<-g.done
		}
	})
}

func TestUnknownCodeIsAnErrorOfTheCall(t *testing.T) { // C47
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		g := exists("/a", nil)
		go func() { r := l.read(); l.reply(r, 1, -999, nil) }()
		kept, err := k.Do(t.Context(), g)
		require.True(t, kept)
		require.NoError(t, err)
		o, err := g.Result(0)
		assert.Equal(t, Rejected, o)
		assert.ErrorIs(t, err, proto.Code(-999))
		assert.Equal(t, StateConnected, k.Current().State())
	})
}

func TestCancelBeforeTheWrite(t *testing.T) { // C50
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t)
		k := open(t, s.config())
		ctx, cancel := context.WithCancel(t.Context())
		g := setData("/a")
		done := make(chan error)
		go func() { _, err := k.Do(ctx, g); done <- err }()
		synctest.Wait()
		cancel()
		require.NoError(t, <-done)
		o, err := g.Result(0)
		assert.Equal(t, NotSent, o)
		assert.ErrorIs(t, err, context.Canceled)
		l, _ := s.serve(1, 12*time.Second)
		defer finishWith(k, l)
		go func() { _, _ = k.Do(t.Context(), exists("/b", nil)) }()
		r := l.expect(proto.OpExists) // the cancelled write is not on the wire
		l.reply(r, 1, 0, stat)
		synctest.Wait()
	})
}

func TestCancelAfterTheWrite(t *testing.T) { // C51
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan bool)
		go func() {
			kept, err := k.Do(ctx, setData("/a"))
			assert.ErrorIs(t, err, context.Canceled)
			done <- kept
		}()
		r := l.expect(proto.OpSetData)
		cancel()
		assert.False(t, <-done)
		l.reply(r, 2, 0, stat)
		g := exists("/b", nil)
		go func() { r := l.read(); l.reply(r, 3, 0, stat) }()
		_, err := k.Do(t.Context(), g)
		require.NoError(t, err)
		assert.Equal(t, stat, g.Body(0))
		assert.Zero(t, k.Current().calls)
	})
}

func TestLegalOvertaking(t *testing.T) { // F36, docs/protocol.md section 20
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		g := NewGroup()
		addExists(g, "/a", nil)
		g.End((&proto.AuthPacket{Scheme: "digest", Auth: []byte("a:b")}).AppendTo(g.Begin(proto.OpAuth)), nil)
		addExists(g, "/b", nil)
		done := make(chan struct{})
		go func() { _, _ = k.Do(t.Context(), g); close(done) }()
		a, auth, b := l.read(), l.read(), l.read()
		assert.EqualValues(t, proto.XidAuth, auth.xid)
		l.reply(auth, 0, 0, nil)
		l.reply(b, 0, proto.ErrNoAuth, nil) // an eager ACL check answers ahead of the queue
		l.reply(a, 4, 0, stat)
		<-done
		for i, want := range []Outcome{Replied, Replied, Rejected} {
			o, _ := g.Result(i)
			assert.Equal(t, want, o, i)
		}
	})
}

func TestIllegalOvertakingBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		g := NewGroup()
		addExists(g, "/a", nil)
		addExists(g, "/b", nil)
		require.NoError(t, k.Current().Submit(t.Context(), g))
		_, b := l.read(), l.read()
		l.reply(b, 4, 0, stat)
		l2, _ := s.serve(0x77, 12*time.Second)
		defer finishWith(k, l2)
		<-g.done
		for i := range 2 {
			o, _ := g.Result(i)
			assert.Equal(t, Unknown, o)
		}
	})
}

func TestSendLimit(t *testing.T) { // C20
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, func(c *Config) { c.SendLimit = 100 })
		defer finishWith(k, l)
		g := NewGroup()
		req := proto.SetDataRequest{Path: "/a", Data: make([]byte, 100), Version: -1}
		g.End(req.AppendTo(g.Begin(proto.OpSetData)), nil)
		_, err := k.Do(t.Context(), g)
		var big *RequestTooLargeError
		require.ErrorAs(t, err, &big)
		assert.Equal(t, 122, big.Size)
		o, _ := g.Result(0)
		assert.Equal(t, NotSent, o)
	})
}

func TestReceiveLimitFailsOneCall(t *testing.T) { // C16
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, func(c *Config) { c.ReceiveLimit = 1000 })
		defer finishWith(k, l)
		g := NewGroup()
		addExists(g, "/a", nil)
		addExists(g, "/b", nil)
		go func() {
			a, b := l.read(), l.read()
			l.write(frame(a.xid, 2, 0, make([]byte, 5000)), frame(b.xid, 3, 0, stat))
		}()
		_, err := k.Do(t.Context(), g)
		require.NoError(t, err)
		o, err := g.Result(0)
		assert.Equal(t, Unknown, o)
		assert.Error(t, err)
		o, _ = g.Result(1)
		assert.Equal(t, Replied, o)
		assert.EqualValues(t, 1, k.Current().connNo)
	})
}

func TestBackPressure(t *testing.T) { // C54: callers block, memory is bounded, contexts free them
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, func(c *Config) { c.MaxCalls = 2 })
		defer finishWith(k, l)
		for range 2 {
			require.NoError(t, k.Current().Submit(t.Context(), exists("/a", nil)))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		g := exists("/b", nil)
		assert.ErrorIs(t, k.Current().Submit(ctx, g), context.DeadlineExceeded)
		third := make(chan error, 1)
		go func() { third <- k.Current().Submit(t.Context(), exists("/c", nil)) }()
		synctest.Wait()
		assert.Empty(t, third)
		l.reply(l.read(), 1, 0, stat)
		assert.NoError(t, <-third)
	})
}

func TestGroupsAreContiguousAndReusable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		g := NewGroup()
		for round := range 3 {
			g.Reset()
			for i := range 3 {
				addExists(g, fmt.Sprint("/", i), nil)
			}
			go func() {
				for range 3 {
					l.reply(l.read(), int64(round), 0, stat)
				}
			}()
			kept, err := k.Do(t.Context(), g)
			require.True(t, kept)
			require.NoError(t, err)
		}
		_, err := k.Do(t.Context(), g)
		assert.ErrorIs(t, err, ErrBusy, "not reset")
	})
}

func TestClose(t *testing.T) { // C140 to C144, F54 to F56
	t.Run("with requests in flight and queued", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, k, l := start(t, nil)
			g := setData("/a")
			require.NoError(t, k.Current().Submit(t.Context(), g))
			l.expect(proto.OpSetData)
			assert.ErrorIs(t, k.Close(), ErrCloseUnconfirmed, "nobody answers")
			<-g.done
			o, err := g.Result(0)
			assert.Equal(t, Unknown, o)
			assert.ErrorIs(t, err, ErrClosed)
			assert.ErrorIs(t, err, net.ErrClosed)
			late := setData("/b")
			_, err = k.Do(t.Context(), late)
			assert.ErrorIs(t, err, ErrClosed)
			assert.ErrorIs(t, k.Close(), ErrCloseUnconfirmed, "twice")
		})
	})
	t.Run("answered", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, k, l := start(t, nil)
			go l.goodbye()
			assert.NoError(t, k.Close())
			assert.NoError(t, k.Close(), "twice")
		})
	})
	t.Run("server that does not answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, k, _ := start(t, nil)
			began := time.Now()
			assert.ErrorIs(t, k.Close(), ErrCloseUnconfirmed)
			assert.Equal(t, DefaultCloseBound, time.Since(began))
		})
	})
	t.Run("never connected", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(t)
			cfg := s.config()
			cfg.Env.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") }
			k := open(t, cfg)
			g := setData("/a")
			require.NoError(t, k.Current().Submit(t.Context(), g))
			synctest.Wait()
			require.NoError(t, k.Close())
			o, err := g.Result(0)
			assert.Equal(t, NotSent, o)
			assert.ErrorIs(t, err, ErrClosed)
			assert.Equal(t, StateClosed, k.State().State)
			assert.ErrorContains(t, k.Failures(), "refused")
		})
	})
}

func TestRequestsThatMustNotBeSent(t *testing.T) { // C49
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		for _, op := range []proto.Op{proto.OpNotification, proto.OpCheck, proto.OpDeleteContainer, proto.OpCreateSession, proto.OpError} {
			g := NewGroup()
			g.End(g.Begin(op), nil)
			_, err := k.Do(t.Context(), g)
			assert.Error(t, err, op)
			o, _ := g.Result(0)
			assert.Equal(t, NotSent, o)
		}
		assert.Zero(t, k.Counters().Requests)
	})
}
