package session

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

func TestUnwatchBeforeTheReply(t *testing.T) { // of a group that nobody gave up
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		q := NewQueue()
		w := &Watch{Path: "/a", Sink: q, Tag: 1}
		g := exists("/a", w)
		g.To(q, 2)
		require.NoError(t, k.Current().Submit(t.Context(), g))
		r := l.expect(proto.OpExists)
		k.Current().Unwatch(w)
		l.reply(r, 1, 0, stat)
		l.write(event(proto.EventNodeDeleted, "/a"))
		synctest.Wait()
		assert.Zero(t, k.Current().WatchCount())
		it, ok := q.TryNext()
		assert.True(t, ok && it.Kind == ItemReply && it.Tag == 2)
		_, ok = q.TryNext()
		assert.False(t, ok, "an event")
	})
}

func TestWithdraw(t *testing.T) { // C50: what is queued can be taken back, what is written cannot
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		ss, q := k.Current(), NewQueue()
		written, queued := setData("/a"), setData("/b")
		written.To(q, 1)
		queued.To(q, 2)
		require.NoError(t, ss.Submit(t.Context(), written))
		l.expect(proto.OpSetData)
		assert.False(t, ss.Withdraw(written, ErrDisconnected))
		_ = l.fc.Close()
		synctest.Wait()
		it, _ := q.TryNext()
		assert.Equal(t, uint32(1), it.Tag)
		require.NoError(t, ss.Submit(t.Context(), queued))
		assert.True(t, ss.Withdraw(queued, ErrDisconnected))
		it, _ = q.TryNext()
		assert.Equal(t, uint32(2), it.Tag)
		o, err := queued.Result(0)
		assert.Equal(t, NotSent, o)
		assert.ErrorIs(t, err, ErrDisconnected)
		assert.False(t, ss.Withdraw(queued, ErrDisconnected), "twice")
		ss.mu.Lock()
		assert.Zero(t, ss.calls+ss.bytes)
		ss.mu.Unlock()
		l, _ = s.serve(0x77, testTimeout)
		finishWith(k, l)
	})
}

// The connection breaks between the answers to two chunks of watches: the events of the second are still owed, so the next
// setWatches says the zxid from before both (docs/protocol.md section 12).
func TestRelativeZxidIsFrozenUntilAllWatchesAreSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, func(c *Config) { c.SendLimit = 1000 }) // chunks of 500 bytes
		for _, name := range []string{"/a", "/b"} {
			path := name + strings.Repeat("x", 600)
			go func() { l.reply(l.read(), 10, 0, stat) }()
			_, err := k.Do(t.Context(), exists(path, &Watch{Path: path, Sink: NewQueue()}))
			require.NoError(t, err)
		}
		relative := func(g got) int64 {
			r := jute.NewReader(g.body)
			return r.Long()
		}
		_ = l.fc.Close()
		l, _ = s.serve(0x77, testTimeout)
		first := l.expect(proto.OpSetWatches)
		assert.EqualValues(t, 10, relative(first))
		l.reply(first, 50, 0, nil)
		l.expect(proto.OpSetWatches)
		synctest.Wait()
		_ = l.fc.Close()
		l, _ = s.serve(0x77, testTimeout)
		for range 2 {
			g := l.expect(proto.OpSetWatches)
			assert.EqualValues(t, 10, relative(g))
			l.reply(g, 60, 0, nil)
		}
		finishWith(k, l)
	})
}

func TestCloseWhileDisconnectedIsUnconfirmed(t *testing.T) { // the ensemble keeps the session
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		_ = s.ln.Close()
		_ = l.fc.Close()
		synctest.Wait()
		assert.ErrorIs(t, k.Close(), ErrCloseUnconfirmed)
	})
}

func TestMatchingDeletionThatIsRefused(t *testing.T) { // is not tried for ever
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		c := new(Cleanup)
		k.Current().DeleteMatching(c, "/dir", "mine-")
		list := jute.AppendString(jute.AppendCount(nil, 1), "mine-1")
		l.reply(l.expect(proto.OpSync), 1, 0, jute.AppendString(nil, "/dir"))
		l.reply(l.expect(proto.OpGetChildren), 1, 0, list)
		l.reply(l.expect(proto.OpDelete), 1, proto.ErrNoAuth, nil)
		l.reply(l.expect(proto.OpSync), 1, 0, jute.AppendString(nil, "/dir"))
		l.reply(l.expect(proto.OpGetChildren), 1, 0, list)
		synctest.Wait()
		done, err := c.Result()
		assert.True(t, done)
		assert.ErrorIs(t, err, proto.ErrNoAuth)
	})
}

// A connection with a shorter session timeout than the one before brings the lease deadline forward.
func TestShorterTimeoutMovesTheLeaseDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		h := &lastState{}
		h.hold.Holder = h
		require.NoError(t, k.Current().Hold(&h.hold, 1))
		_ = l.fc.Close()
		l, _ = s.serve(0x77, testTimeout/6)
		synctest.Wait()
		began := time.Now()
		l.reply(l.expect(proto.OpSync), 1, 0, jute.AppendString(nil, "/"))
		go func() { l.reply(l.expect(proto.OpExists), 1, 0, stat) }()
		<-time.After(400 * time.Millisecond)
		_, err := k.Do(t.Context(), exists("/a", nil)) // the last answer: the session lasts somewhat longer than the lease
		require.NoError(t, err)
		<-time.After(testTimeout/6 - 400*time.Millisecond)
		synctest.Wait()
		assert.Equal(t, Lost, h.last)
		assert.NoError(t, k.Current().Err())
		assert.Equal(t, testTimeout/6, time.Since(began))
		_ = s.ln.Close()
		_ = k.Close()
	})
}

// A caller that learns of the end of its session finds the leases ended.
func TestHoldsEndBeforeCallsDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		ss := k.Current()
		h := &lastState{}
		h.hold.Holder = h
		require.NoError(t, ss.Hold(&h.hold, 1))
		c := &Cleanup{Owner: ownerFunc(func() { h.atEnd = h.last })}
		ss.Delete(c, "/a", nil)
		synctest.Wait()
		ss.mu.Lock()
		ss.base = ss.base.Add(-2 * testTimeout)
		ss.mu.Unlock()
		l.write(frame(proto.XidPing, 1, 0, nil))
		<-ss.Ended()
		assert.Equal(t, Lost, h.atEnd)
		l, _ = s.serve(0x78, testTimeout)
		finishWith(k, l)
	})
}

type ownerFunc func()

func (f ownerFunc) CleanupDone() { f() }

// lastState remembers the newest state of a Hold.
type lastState struct {
	hold        Hold
	last, atEnd HoldState
}

func (r *lastState) HoldChanged(s HoldState, _ error) { r.last = s }
