package session

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// recorder is a Holder that notes what it is told, with the time.
type recorder struct {
	began time.Time
	mu    sync.Mutex
	notes []note
}

type note struct {
	state HoldState
	cause error
	at    time.Duration
}

func (r *recorder) HoldChanged(s HoldState, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, note{s, cause, time.Since(r.began)})
}

// seen returns the states that have been told so far.
func (r *recorder) seen() (states []HoldState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.notes {
		states = append(states, n.state)
	}
	return states
}

func (r *recorder) last() note {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.notes[len(r.notes)-1]
}

func TestHeartbeatIsSyncWhileThereAreHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		ss, began := k.Current(), time.Now()
		l.reply(l.expect(proto.OpPing), 1, 0, nil) // at T/3: nothing depends on the leader yet
		rec := &recorder{began: began}
		h := &Hold{Holder: rec}
		require.NoError(t, ss.Hold(h, 1))
		// The last proof is the handshake, older than T/4: the heartbeat is due at once, and then every T/4.
		for i := range 4 {
			l.reply(l.expect(proto.OpSync), 1, 0, jute.AppendString(nil, "/"))
			assert.Equal(t, testTimeout/3+time.Duration(i)*testTimeout/4, time.Since(began))
		}
		assert.True(t, ss.Unhold(h))
		assert.False(t, ss.Unhold(h))
		assert.Empty(t, rec.seen())
		l.expect(proto.OpPing)
	})
}

func TestContendersNeedProofToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		k.Current().Contend(1)
		began := time.Now()
		l.reply(l.expect(proto.OpSync), 1, 0, nil)
		assert.Equal(t, testTimeout/4, time.Since(began))
		k.Current().Contend(-1)
	})
}

// A follower that is cut off answers pings and reads, and no sync: the lease ends in time, by the lease clock, while the
// session clock still runs (C152, D16).
func TestLeaseEndsOnAFollowerWithoutLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		ss := k.Current()
		rec := &recorder{began: time.Now()}
		require.NoError(t, ss.Hold(&Hold{Holder: rec}, 1))
		withoutLeader := func(l *link) { // answers everything but syncs
			for {
				g, err := l.tryRead()
				if err != nil {
					return
				}
				if g.op != proto.OpSync {
					l.reply(g, 1, 0, stat)
				}
			}
		}
		go withoutLeader(l)
		// Pings are answered, so only the missing proof makes the session leave: T/3 after the first unanswered sync.
		l2, _ := s.serve(0x77, testTimeout)
		hop := testTimeout/4 + testTimeout/3
		assert.Equal(t, hop, time.Since(rec.began))
		assert.Equal(t, []HoldState{Unsure}, rec.seen())
		// The next server does not answer the sync either, which goes ahead of everything else. There is no second hop
		// within T; the hold ends T after the second handshake, which was proof.
		first := l2.read()
		assert.Equal(t, proto.OpSync, first.op)
		go withoutLeader(l2)
		<-time.After(testTimeout - time.Millisecond)
		assert.Equal(t, []HoldState{Unsure}, rec.seen())
		<-time.After(2 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, []HoldState{Unsure, Lost}, rec.seen())
		assert.Equal(t, hop+testTimeout, rec.last().at)
		assert.ErrorIs(t, rec.last().cause, ErrLeaseDeadline)
		assert.NoError(t, ss.Err(), "the session clock goes on")
		_ = l2.fc.Close()
		_ = s.ln.Close()
		_ = k.Close()
	})
}

func TestUnsureHoldIsHeldAgainAfterTheSync(t *testing.T) { // A10 rule 8
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		rec := &recorder{began: time.Now()}
		require.NoError(t, k.Current().Hold(&Hold{Holder: rec}, 1))
		_ = l.fc.Close()
		synctest.Wait()
		assert.Equal(t, []HoldState{Unsure}, rec.seen())
		user := setData("/a")
		require.NoError(t, k.Current().Submit(t.Context(), user))
		l2, _ := s.serve(0x77, testTimeout)
		defer finishWith(k, l2)
		proof := l2.expect(proto.OpSync)
		l2.expect(proto.OpSetData)
		synctest.Wait()
		assert.Equal(t, []HoldState{Unsure}, rec.seen(), "not before the answer")
		l2.reply(proof, 1, 0, nil)
		synctest.Wait()
		assert.Equal(t, []HoldState{Unsure, Held}, rec.seen())
	})
}

func TestHoldsEndWithTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		rec := &recorder{began: time.Now()}
		require.NoError(t, k.Current().Hold(&Hold{Holder: rec}, 1))
		_ = l.fc.Close()
		s.serve(0, 0)
		synctest.Wait()
		assert.Equal(t, []HoldState{Unsure, Lost}, rec.seen())
		assert.ErrorIs(t, rec.last().cause, ErrSessionExpired)
		l2, _ := s.serve(9, testTimeout)
		synctest.Wait()
		require.NoError(t, k.Current().Hold(&Hold{Holder: rec}, 1))
		assert.ErrorIs(t, k.Current().Hold(&Hold{Holder: rec}, 2), ErrDisconnected, "decided on another connection")
		go l2.goodbye()
		require.NoError(t, k.Close())
		assert.Equal(t, []HoldState{Unsure, Lost, Lost}, rec.seen())
		assert.ErrorIs(t, rec.last().cause, ErrClosed)
	})
}

// A sync that is refused, by throttling for one, need not have reached the leader: it is no proof (C57).
func TestRefusedSyncIsNoProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		rec := &recorder{began: time.Now()}
		require.NoError(t, k.Current().Hold(&Hold{Holder: rec}, 1))
		go func() {
			for {
				g, err := l.tryRead()
				if err != nil {
					return
				}
				l.reply(g, 1, proto.ErrThrottled, nil)
			}
		}()
		<-time.After(testTimeout + time.Millisecond)
		synctest.Wait()
		assert.Equal(t, []HoldState{Lost}, rec.seen())
		assert.Equal(t, testTimeout, rec.last().at)
		assert.NoError(t, k.Current().Err(), "the session lives")
		_ = l.fc.Close()
		_ = k.Close()
	})
}

func TestNoProofFollowsTheSessionClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, func(c *Config) { c.NoProof = true })
		defer finishWith(k, l)
		began := time.Now()
		require.NoError(t, k.Current().Hold(&Hold{Holder: &recorder{}}, 1))
		l.reply(l.expect(proto.OpPing), 1, 0, nil)
		synctest.Wait()
		assert.Equal(t, began.Add(testTimeout/3+testTimeout), k.Current().LeaseDeadline())
	})
}

// The lease deadline is T after the newest touch that was sent T/4 before an answered proof, or earlier.
func TestLeaseClock(t *testing.T) {
	const T = int64(12 * time.Second)
	var c clock
	c.attach(0, T)
	assert.Equal(t, T, c.leaseEnd(false))
	c.reply(T/3, false)
	c.reply(2*T/3, false)
	assert.Equal(t, 2*T/3+T, c.sessionEnd())
	assert.Equal(t, T, c.leaseEnd(false), "pings prove nothing")
	c.reply(T, true)
	assert.Equal(t, 2*T/3+T, c.leaseEnd(false), "a write proves the ping T/3 before it")
	c.reply(T+1, true)
	assert.Equal(t, 2*T/3+T, c.leaseEnd(false), "a second write at once proves nothing more")
	c.reply(T+T/4, true)
	assert.Equal(t, T+T, c.leaseEnd(false))
	for i := range int64(1000) { // a busy session: what is kept reaches back far enough
		c.reply(T+T/4+i*T/1000, true)
	}
	assert.InDelta(t, 2*T+T, c.leaseEnd(false), float64(T)/32+float64(T)/500)
}

func TestCleanerRepeatsUntilConfirmed(t *testing.T) { // H1, K44 to K46
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		ss := k.Current()
		var c Cleanup
		ss.Delete(&c, "/lock/a", nil)
		l.expect(proto.OpDelete)
		assert.Equal(t, 1, ss.CleanupsPending())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		assert.ErrorIs(t, c.Wait(ctx), context.Canceled)
		_ = l.fc.Close()
		l2, _ := s.serve(0x77, testTimeout)
		defer finishWith(k, l2)
		l2.reply(l2.expect(proto.OpDelete), 3, proto.ErrNoNode, nil)
		assert.NoError(t, c.Wait(t.Context()), "gone by the delete that was lost")
		assert.Zero(t, ss.CleanupsPending())
		assert.NotNil(t, c.TakeGroup())

		var second Cleanup
		ss.Delete(&second, "/lock/b", nil)
		l2.reply(l2.expect(proto.OpDelete), 3, proto.ErrNoNode, nil)
		assert.ErrorIs(t, second.Wait(t.Context()), proto.ErrNoNode, "somebody else deleted it")

		var throttled Cleanup
		ss.Delete(&throttled, "/lock/c", nil)
		l2.reply(l2.expect(proto.OpDelete), 3, proto.ErrThrottled, nil)
		l2.reply(l2.expect(proto.OpDelete), 3, 0, nil)
		assert.NoError(t, throttled.Wait(t.Context()))
	})
}

func TestCleanerSearches(t *testing.T) { // D5: a sync ahead of every list
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		var c Cleanup
		k.Current().DeleteMatching(&c, "/lock", "_c_me")
		names := func(ns ...string) []byte {
			return (&proto.GetChildrenResponse{Children: ns}).AppendTo(nil)
		}
		l.reply(l.expect(proto.OpSync), 1, 0, nil)
		l.reply(l.expect(proto.OpGetChildren), 1, 0, names("_c_you-1", "_c_me-2", "_c_me-3"))
		for range 2 {
			l.reply(l.expect(proto.OpDelete), 1, 0, nil)
		}
		l.reply(l.expect(proto.OpSync), 1, 0, nil)
		l.reply(l.expect(proto.OpGetChildren), 1, 0, names("_c_you-1"))
		assert.NoError(t, c.Wait(t.Context()))
	})
}

func TestCleanupEndsWithTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		ss := k.Current()
		var c, late Cleanup
		ss.Delete(&c, "/lock/a", nil)
		l.expect(proto.OpDelete)
		_ = l.fc.Close()
		s.serve(0, 0)
		assert.ErrorIs(t, c.Wait(t.Context()), ErrSessionExpired)
		ss.Delete(&late, "/lock/b", nil)
		assert.ErrorIs(t, late.Wait(t.Context()), ErrSessionExpired)
		assert.Zero(t, ss.CleanupsPending())
		l2, _ := s.serve(5, testTimeout)
		finishWith(k, l2)
	})
}
