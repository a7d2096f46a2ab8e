package session

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/proto"
)

// C63, F27, faults 1, 2 and 7: half-open, or everything the server says is lost. Both look alike from here: the connection is given up
// two thirds of T after the last byte, with a third left to resume the session.
func TestNothingArrivesAnyMore(t *testing.T) {
	for name, reads := range map[string]bool{"half-open": false, "replies lost": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, k, w := startWire(t, nil)
				use(t, k, w)
				began := time.Now()
				if reads {
					go func() {
						for {
							if _, err := w.tryRead(); err != nil {
								return
							}
						}
					}()
				}
				pass(testTimeout / 6)
				g := setData("/a")
				submit(t, k, g)
				again, req := s.wire(0x77, testTimeout)
				assert.Equal(t, testTimeout*2/3, time.Since(began))
				assert.EqualValues(t, 0x77, req.SessionID)
				lost(t, g)
				synctest.Wait()
				assert.Equal(t, StateConnected, k.Current().State())
				assert.EqualValues(t, 1, k.Counters().Pings, "one is enough while it is not answered")
				finishWith(k, again.link)
			})
		})
	}
}

// Fault 7: a server that answers after more than T/3, but within two thirds of T, is slow and nothing worse.
func TestSlowServerIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, w := startWire(t, nil)
		for range 5 {
			p := w.expect(proto.OpPing)
			<-time.After(testTimeout/3 - time.Second)
			w.reply(p, 1, 0, nil)
		}
		synctest.Wait()
		assert.EqualValues(t, 1, k.Counters().Connections)
		assert.Equal(t, StateConnected, k.Current().State())
		finishWith(k, w.link)
	})
}

// C54, C55, F46, faults 8 and 26: the server stops reading while callers flood it. Memory stays within the configured bounds, callers
// wait until their contexts end, what arrives is delivered, and two thirds of T after the last byte the connection is given up.
func TestZeroWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls, size = 16, 2000
		bound := func(c *Config) { c.MaxCalls, c.MaxBytes = calls, calls*size }
		s, k, w := startOn(t, memnet.ListenBounded(4096), bound)
		ss, q := k.Current(), NewQueue()
		watched := exists("/a", &Watch{Path: "/a", Sink: q})
		submit(t, k, watched)
		first := w.expect(proto.OpExists) // the last thing that the server reads
		groups := flood(t, k, calls/2)
		ss.mu.Lock()
		stuck := ss.cx.fifo.n - 1 // the writer has as many as were there when it looked; watched is the other one
		ss.mu.Unlock()
		blocked, queued := groups[:stuck], append(groups[stuck:], flood(t, k, calls/2-1)...)
		ctx, cancel := context.WithTimeout(t.Context(), testTimeout/3)
		defer cancel()
		var late atomic.Int32
		for range 100 {
			go func() {
				g := large("/late", size)
				_, _ = k.Do(ctx, g)
				if o, err := g.Result(0); o == NotSent && errors.Is(err, context.DeadlineExceeded) {
					late.Add(1)
				}
			}()
		}
		synctest.Wait()
		within(t, ss, calls, calls*size)

		pass(time.Second)
		w.reply(first, 1, 0, stat) // C55
		w.write(event(proto.EventNodeDataChanged, "/a"))
		said := time.Now()
		_, err := finished(watched)
		assert.NoError(t, err)
		it, err := q.Next(t.Context())
		require.NoError(t, err)
		assert.Equal(t, proto.EventNodeDataChanged, it.Event.Type)
		assert.Equal(t, said, time.Now())
		synctest.Wait()
		within(t, ss, calls, calls*size)

		pass(testTimeout / 3)
		assert.EqualValues(t, 100, late.Load(), "their contexts have ended")
		again, _ := s.wire(0x77, testTimeout)
		assert.Equal(t, testTimeout*2/3, time.Since(said))
		for _, g := range blocked {
			lost(t, g)
		}
		go again.serveAll(9, nil)
		for _, g := range queued {
			o, err := finished(g)
			assert.Equal(t, Replied, o)
			assert.NoError(t, err)
		}
		assert.ErrorIs(t, drain(w), io.EOF)
		_ = k.Close() // with the answers of serveAll
		_ = again.nc.Close()
	})
}

// flood submits n requests at once, and waits until all is quiet.
func flood(t *testing.T, k *Keeper, n int) []*Group {
	t.Helper()
	groups := make([]*Group, n)
	for i := range groups {
		groups[i] = large("/flood", 1900)
	}
	submit(t, k, groups...)
	synctest.Wait()
	return groups
}

// within asserts that a session has no more under way than it may.
func within(t *testing.T, ss *Session, calls, bytes int) {
	t.Helper()
	ss.mu.Lock()
	defer ss.mu.Unlock()
	assert.LessOrEqual(t, ss.calls, calls)
	assert.LessOrEqual(t, ss.bytes, bytes)
	if ss.cx != nil {
		assert.LessOrEqual(t, ss.cx.fifo.n, calls)
	}
}

// drain reads until the connection ends.
func drain(w *wire) error {
	b := make([]byte, 4096)
	for {
		if _, err := w.nc.Read(b); err != nil {
			return err
		}
	}
}

// C61, F26, faults 8 and 25: notifications without end delay neither pings nor replies, and what nobody takes out of a queue is bounded
// by the watches that were set.
func TestFloodOfNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, w := startWire(t, nil)
		q, stop := NewQueue(), make(chan struct{})
		sent := &atomic.Int64{}
		var burst []byte
		for range 1000 {
			burst = append(burst, event(proto.EventNodeDataChanged, "/a")...)
		}
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Millisecond):
					if _, err := w.nc.Write(burst); err != nil {
						return
					}
					sent.Add(1000)
				}
			}
		}()
		var pings []time.Time
		go w.serveAll(1, func(g got) {
			if g.op == proto.OpPing {
				pings = append(pings, time.Now())
			}
		})
		asked := time.Now()
		_, err := k.Do(t.Context(), exists("/a", &Watch{Path: "/a", Sink: q}))
		require.NoError(t, err)
		assert.Equal(t, asked, time.Now())
		<-time.After(2*testTimeout + time.Second)
		close(stop)
		synctest.Wait()
		assert.Len(t, pings, 6)
		for i, at := range pings {
			assert.Equal(t, time.Duration(i+1)*testTimeout/3, at.Sub(asked))
		}
		assert.EqualValues(t, sent.Load(), k.Counters().Events)
		assert.EqualValues(t, 1, k.Counters().Connections)
		_, ok := q.TryNext()
		assert.True(t, ok)
		_, ok = q.TryNext()
		assert.False(t, ok, "a watch fires once")
		_ = k.Close()
		_ = w.nc.Close()
	})
}

// C77, F46, fault 8: consumers that are stuck for ten T hold up nothing, and find everything in its order afterwards.
func TestStuckConsumers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rounds = 10
		s, k, w := startWire(t, nil)
		q, resume, followed := NewQueue(), make(chan struct{}), make(chan struct{})
		var seen []Change
		go func() {
			for c := range k.Changes(t.Context()) {
				if len(seen) == 0 {
					<-resume
				}
				seen = append(seen, c)
			}
			close(followed)
		}()
		for i := range uint32(rounds) {
			g := exists("/a", &Watch{Path: "/a", Sink: q, Tag: 2*i + 1})
			g.To(q, 2*i)
			submit(t, k, g)
			w.reply(w.expect(proto.OpExists), 1, 0, stat)
			w.write(event(proto.EventNodeDeleted, "/a"))
			for range 3 {
				w.reply(w.expect(proto.OpPing), 1, 0, nil)
			}
			_ = w.nc.Close()
			w, _ = s.wire(0x77, testTimeout)
			synctest.Wait()
			assert.Equal(t, StateConnected, k.Current().State())
		}
		for i := range uint32(2 * rounds) {
			it, ok := q.TryNext()
			assert.True(t, ok && it.Tag == i && it.Conn == uint64(i/2+1), i)
		}
		close(resume)
		finishWith(k, w.link)
		<-followed
		assert.Len(t, seen, 2*rounds+2, "connected, then both per round, then closed")
		for i, c := range seen[:2*rounds] {
			assert.Equal(t, []State{StateConnected, StateDisconnected}[i%2], c.State, i)
		}
	})
}
