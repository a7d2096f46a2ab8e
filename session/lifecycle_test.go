package session

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/proto"
)

func TestSetServers(t *testing.T) { // C86
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		assert.ErrorIs(t, k.SetServers(nil), ErrNoServers)
		require.NoError(t, k.SetServers([]string{"two:2181", "one:2181"}))
		synctest.Wait()
		assert.EqualValues(t, 1, k.Current().connNo, "a server that is kept")
		require.NoError(t, k.SetServers([]string{"three:2181"}))
		_, err := l.tryRead()
		assert.Error(t, err)
		assert.Equal(t, 1, k.hosts.size())
		_ = k.Close()
	})
}

func TestSetServersMovesTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, _ := start(t, nil)
		require.NoError(t, k.SetServers([]string{"three:2181"}))
		l2, req := s.serve(0x77, testTimeout)
		defer finishWith(k, l2)
		assert.EqualValues(t, 0x77, req.SessionID)
		synctest.Wait()
		assert.Equal(t, "three:2181", k.State().Server)
	})
}

func TestDetachAndResume(t *testing.T) { // C80
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		rec := &recorder{began: time.Now()}
		require.NoError(t, k.Current().Hold(&Hold{Holder: rec}, 1))
		g := exists("/a", nil)
		go func() { l.reply(l.read(), 42, 0, stat) }()
		_, err := k.Do(t.Context(), g)
		require.NoError(t, err)
		ticket, err := k.Detach()
		require.NoError(t, err)
		assert.EqualValues(t, 0x77, ticket.ID)
		assert.EqualValues(t, 42, ticket.Zxid)
		assert.Equal(t, Lost, rec.last().state)
		_, err = l.tryRead()
		assert.Error(t, err, "the connection ends without closeSession")

		cfg := s.config()
		cfg.Resume = &ticket
		k2 := open(t, cfg)
		l2, req := s.serve(0x77, testTimeout)
		defer finishWith(k2, l2)
		assert.Equal(t, ticket.ID, req.SessionID)
		assert.Equal(t, ticket.Zxid, req.LastZxidSeen)
		assert.EqualValues(t, 7, req.Passwd[0])
	})
}

func TestResumeOfAnExpiredSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t)
		cfg := s.config()
		cfg.Resume, cfg.FinalExpiry = &Ticket{ID: 5, Passwd: make(Secret, 16)}, true
		k := open(t, cfg)
		s.serve(0, 0)
		<-k.Context().Done()
		assert.ErrorIs(t, context.Cause(k.Context()), ErrSessionExpired)
		<-k.Done()
	})
}

func TestDetachWithoutASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := open(t, newScript(t).config())
		_, err := k.Detach()
		assert.ErrorIs(t, err, ErrDisconnected)
	})
}

func TestDetachAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		finishWith(k, l)
		ticket, err := k.Detach()
		assert.ErrorIs(t, err, ErrClosed)
		assert.Zero(t, ticket.ID)
	})
}

func TestSetServersEndsAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t)
		cfg := s.config()
		cfg.MinBackoff = time.Hour
		dial := cfg.Env.Dial
		cfg.Env.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr == "one:2181" {
				return nil, errors.New("refused")
			}
			return dial(ctx, network, addr)
		}
		k := open(t, cfg)
		synctest.Wait()
		began := time.Now()
		require.NoError(t, k.SetServers([]string{"two:2181"}))
		l, _ := s.serve(1, testTimeout)
		defer finishWith(k, l)
		assert.Zero(t, time.Since(began))
	})
}

func TestCancelledCallsAreTraced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t)
		cfg := s.config()
		var seen []Outcome
		cfg.Trace = &Trace{Request: func(_ proto.Op, _, _ int, _ time.Duration, o Outcome, _ error) { seen = append(seen, o) }}
		k := open(t, cfg)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := k.Do(ctx, setData("/a"))
		require.NoError(t, err)
		assert.Equal(t, []Outcome{NotSent}, seen)
		_ = k.Close()
	})
}

func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		go l.goodbye()
		ss, h := k.Current(), &Hold{Holder: &recorder{}}
		require.NoError(t, ss.Hold(h, 1))
		done := make(chan error, 1)
		go func() { done <- k.Shutdown(t.Context()) }()
		synctest.Wait()
		assert.Empty(t, done)
		assert.ErrorIs(t, ss.Hold(&Hold{Holder: &recorder{}}, 1), ErrClosed, "no new holds")
		ss.Unhold(h)
		assert.NoError(t, <-done)
		assert.ErrorIs(t, context.Cause(k.Context()), ErrClosed)
	})
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		go l.goodbye()
		rec := &recorder{}
		require.NoError(t, k.Current().Hold(&Hold{Holder: rec}, 1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, k.Shutdown(ctx), context.DeadlineExceeded)
		assert.ErrorIs(t, rec.last().cause, ErrClosed)
	})
}

func TestSuspendedMachine(t *testing.T) {
	var z sleep
	asleep := time.Duration(0)
	base := time.Now()
	z.begin(func() time.Duration { return asleep }, base)
	asleep = time.Hour
	assert.Zero(t, z.since(base.Add(time.Second), int64(time.Second)), "the clocks agree: nobody asks")
	// An hour asleep: the wall clock has moved on, the monotonic one has not.
	assert.Equal(t, int64(time.Hour), z.since(base.Add(time.Second+time.Hour), int64(time.Second)))
	assert.Equal(t, int64(time.Hour), z.since(base.Add(2*time.Second+time.Hour), int64(2*time.Second)))
	// Somebody sets the wall clock back by two hours, and forth again: no effect (C69).
	assert.Equal(t, int64(time.Hour), z.since(base.Add(3*time.Second-time.Hour), int64(3*time.Second)))
	assert.Equal(t, int64(time.Hour), z.since(base.Add(4*time.Second+time.Hour), int64(4*time.Second)))
	assert.GreaterOrEqual(t, suspended(), time.Duration(0))
}

// A machine that was suspended for longer than the session timeout learns of the end before any reply completes.
func TestSuspensionEndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		ss := k.Current()
		g := exists("/a", nil)
		require.NoError(t, ss.Submit(t.Context(), g))
		r := l.read()
		ss.mu.Lock()
		ss.slept.suspended = func() time.Duration { return ss.slept.before + time.Hour }
		ss.slept.wall -= int64(time.Hour) // as if the wall clock had gone on
		ss.mu.Unlock()
		l.reply(r, 1, 0, stat)
		<-g.done
		_, err := g.Result(0)
		assert.ErrorIs(t, err, ErrSessionExpired)
		_ = k.Close()
	})
}

func TestTraceAddsUp(t *testing.T) { // C163
	synctest.Test(t, func(t *testing.T) {
		var attempts, states, events, granted, ended int
		var bursts, written int
		outcomes := map[Outcome]int{}
		var pending []int
		tr := &Trace{
			Attempt: func(string, time.Duration, error) { attempts++ },
			State:   func(Change) { states++ },
			Request: func(_ proto.Op, sent, _ int, _ time.Duration, o Outcome, _ error) {
				outcomes[o]++
				assert.Positive(t, sent)
			},
			Event: func(proto.EventType, int) { events++ },
			Burst: func(requests, _, _ int) { bursts++; written += requests },
			Hold: func(on bool, _ time.Duration, _ error) {
				if on {
					granted++
				} else {
					ended++
				}
			},
			Cleanups: func(n int) { pending = append(pending, n) },
		}
		s, k, l := start(t, func(c *Config) { c.Trace = tr })
		ss := k.Current()
		g := NewGroup()
		addExists(g, "/a", nil)
		addExists(g, "/b", nil)
		go func() {
			l.reply(l.read(), 1, 0, stat)
			l.reply(l.read(), 1, proto.ErrNoNode, nil)
		}()
		_, err := k.Do(t.Context(), g)
		require.NoError(t, err)
		l.write(event(proto.EventNodeCreated, "/nobody"))
		h := &Hold{Holder: &recorder{}}
		require.NoError(t, ss.Hold(h, 1))
		ss.Unhold(h)
		var c Cleanup
		ss.Delete(&c, "/lock", nil)
		l.reply(l.expect(proto.OpDelete), 2, 0, nil)
		require.NoError(t, c.Wait(t.Context()))
		lost := setData("/a")
		require.NoError(t, ss.Submit(t.Context(), lost))
		l.expect(proto.OpSetData)
		_ = l.fc.Close()
		<-lost.done
		l2, _ := s.serve(0x77, testTimeout)
		synctest.Wait()
		finishWith(k, l2)
		cs := k.Counters()
		assert.EqualValues(t, cs.Requests, written)
		assert.EqualValues(t, cs.Bursts, bursts)
		assert.EqualValues(t, cs.Events, events)
		assert.Equal(t, map[Outcome]int{Replied: 2, Rejected: 1, Unknown: 1}, outcomes)
		assert.Equal(t, 2, attempts)
		assert.Equal(t, 5, states, "connecting, connected, disconnected, connected, closed")
		assert.Equal(t, []int{1, 0}, pending)
		assert.Equal(t, 1, granted)
		assert.Equal(t, 1, ended)
	})
}

// A process that is stopped after a reply was matched and before its caller was woken learns of its end first, too.
func TestStopInTheMiddleOfABatch(t *testing.T) { // C66
	synctest.Test(t, func(t *testing.T) {
		var ss *Session
		stop := &Trace{Request: func(_ proto.Op, _, _ int, _ time.Duration, o Outcome, _ error) {
			if o == Replied {
				ss.slept.slept.Store(int64(2 * testTimeout)) // the clock moves on between the two
			}
		}}
		_, k, l := start(t, func(c *Config) { c.Trace = stop })
		ss = k.Current()
		g := exists("/a", nil)
		require.NoError(t, ss.Submit(t.Context(), g))
		l.reply(l.read(), 1, 0, stat)
		<-g.done
		o, err := g.Result(0)
		assert.Equal(t, Unknown, o)
		assert.ErrorIs(t, err, ErrSessionExpired)
		_ = k.Close()
	})
}
