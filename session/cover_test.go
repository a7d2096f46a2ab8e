package session

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/proto"
)

// A recursive watch takes the place of a persistent one, which then hears of the children through it, once, whether the server
// replaces the watch or adds to it.
func TestPersistentBehindRecursive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		p, heardP := newStream("/a", modeP)
		r, heardR := newStream("/a", modeR)
		added(t, k, l, p)
		done := adding(k, r)
		req := l.expect(proto.OpAddWatch)
		assert.Equal(t, proto.AddWatchRequest{Path: "/a", Mode: 1}, decoded[proto.AddWatchRequest](t, req))
		l.write(event(proto.EventNodeChildrenChanged, "/a"), frame(req.xid, 1, 0, make([]byte, 4)))
		require.NoError(t, <-done)
		synctest.Wait()
		assert.Equal(t, []proto.EventType{proto.EventNodeChildrenChanged}, heardP.types(), "of the old mode")

		l.write(eventAt(proto.EventNodeCreated, "/a/b", 9), eventAt(proto.EventNodeChildrenChanged, "/a", 9))
		l.write(eventAt(proto.EventNodeDeleted, "/a/b", 10))
		l.write(eventAt(proto.EventNodeChildrenChanged, "/a", 11)) // of a child that may not be read
		l.write(eventAt(proto.EventNodeCreated, "/a/b/c", 12), eventAt(proto.EventNodeDataChanged, "/a", 13))
		synctest.Wait()
		assert.Equal(t, []proto.EventType{proto.EventNodeChildrenChanged, proto.EventNodeChildrenChanged, proto.EventNodeChildrenChanged,
			proto.EventNodeDataChanged}, heardP.types())
		assert.Equal(t, []proto.EventType{proto.EventNodeCreated, proto.EventNodeDeleted, proto.EventNodeCreated, proto.EventNodeDataChanged}, heardR.types())

		k.Current().RemoveStream(r)
		req = l.expect(proto.OpAddWatch)
		assert.Equal(t, proto.AddWatchRequest{Path: "/a"}, decoded[proto.AddWatchRequest](t, req))
		l.write(eventAt(proto.EventNodeCreated, "/a/d", 14), frame(req.xid, 1, 0, make([]byte, 4)), eventAt(proto.EventNodeChildrenChanged, "/a", 15))
		synctest.Wait()
		assert.Equal(t, []proto.EventType{proto.EventNodeChildrenChanged, proto.EventNodeChildrenChanged}, heardP.types())
	})
}

// C96: the read of a path that is covered goes out without the flag, and its watch is served all the same; when the coverage goes,
// the watch is set by itself, from where it was.
func TestOneShotWatchOnACoveredPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		p, heard := newStream("/a", modeP)
		done := adding(k, p)
		req := l.expect(proto.OpAddWatch)
		q := NewQueue()
		early := exists("/a", &Watch{Path: "/a", Sink: q, Tag: 1})
		submit(t, k, early)
		g, flag := watched(l, proto.OpExists)
		assert.False(t, flag, "behind the addWatch already")
		l.write(frame(req.xid, 1, 0, make([]byte, 4)), frame(g.xid, 2, 0, stat))
		require.NoError(t, <-done)
		elsewhere := exists("/b", &Watch{Path: "/b", Sink: q, Tag: 2})
		submit(t, k, elsewhere)
		g, flag = watched(l, proto.OpExists)
		assert.True(t, flag, "another path")
		l.reply(g, 3, 0, stat)

		late := exists("/a", &Watch{Path: "/a", Sink: q, Tag: 3})
		submit(t, k, late)
		g, flag = watched(l, proto.OpExists)
		assert.False(t, flag)
		k.Current().RemoveStream(p)
		off, set := l.expect(proto.OpRemoveWatches), l.expect(proto.OpSetWatches)
		assert.Equal(t, proto.RemoveWatchesRequest{Path: "/a", Type: int32(proto.WatcherAny)}, decoded[proto.RemoveWatchesRequest](t, off))
		assert.Equal(t, proto.SetWatches{RelativeZxid: 2, DataWatches: []string{"/a"}}, decoded[proto.SetWatches](t, set))
		l.write(frame(g.xid, 4, 0, stat)) // it counted on the coverage
		again := l.expect(proto.OpSetWatches)
		assert.Equal(t, proto.SetWatches{RelativeZxid: 2, DataWatches: []string{"/a"}}, decoded[proto.SetWatches](t, again))
		l.write(frame(off.xid, 4, 0, nil), frame(set.xid, 4, 0, nil), event(proto.EventNodeDataChanged, "/a"), frame(again.xid, 5, 0, nil))
		synctest.Wait()
		assert.Empty(t, heard.types())
		for range 2 {
			it, _ := q.TryNext()
			assert.Equal(t, proto.EventNodeDataChanged, it.Event.Type)
		}
		submit(t, k, exists("/a", &Watch{Path: "/a", Sink: q, Tag: 4}))
		g, flag = watched(l, proto.OpExists)
		assert.True(t, flag, "nothing covers it any more")
		l.reply(g, 6, 0, stat)
	})
}

// A watch of children keeps its flag beside a recursive watch, which tells of no child that may not be read; and where the
// recursive one has taken its place, it is set again.
func TestWatchOfChildrenBesideARecursiveOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		q := NewQueue()
		children := func() *Group {
			g := NewGroup()
			req := proto.GetChildren2Request{Path: "/a", Watch: true}
			g.End(req.AppendTo(g.Begin(proto.OpGetChildren2)), &Watch{Kind: WatchChild, Path: "/a", Sink: q})
			return g
		}
		listing := append([]byte{0, 0, 0, 0}, stat...)
		before, flying := children(), children()
		submit(t, k, before)
		l.reply(l.expect(proto.OpGetChildren2), 4, 0, listing)
		submit(t, k, flying)
		late := l.expect(proto.OpGetChildren2)
		r, heard := newStream("/a", modeR)
		done := adding(k, r)
		add, set := l.expect(proto.OpAddWatch), l.expect(proto.OpSetWatches)
		want := proto.SetWatches{RelativeZxid: 4, ChildWatches: []string{"/a"}}
		assert.Equal(t, want, decoded[proto.SetWatches](t, set))
		l.reply(late, 5, 0, listing)
		again := l.expect(proto.OpSetWatches)
		assert.Equal(t, want, decoded[proto.SetWatches](t, again))
		l.write(frame(add.xid, 6, 0, make([]byte, 4)), frame(set.xid, 6, 0, nil), frame(again.xid, 6, 0, nil))
		require.NoError(t, <-done)
		submit(t, k, children())
		g, flag := watched(l, proto.OpGetChildren2)
		assert.True(t, flag)
		l.reply(g, 7, 0, listing)
		_ = l.fc.Close()
		l2, _ := s.serve(0x77, testTimeout)
		defer finishWith(k, l2)
		both, alone := l2.expect(proto.OpSetWatches2), l2.expect(proto.OpSetWatches)
		assert.Equal(t, proto.SetWatches2{RelativeZxid: 7, PersistentRecursiveWatches: []string{"/a"}}, decoded[proto.SetWatches2](t, both))
		assert.Equal(t, proto.SetWatches{RelativeZxid: 7, ChildWatches: []string{"/a"}}, decoded[proto.SetWatches](t, alone))
		l2.write(frame(both.xid, 8, 0, nil), frame(alone.xid, 8, 0, nil), event(proto.EventNodeCreated, "/a/x"))
		synctest.Wait()
		_, ok := q.TryNext()
		for ; ok; _, ok = q.TryNext() {
			t.Fatal("told by the creation of a child and not by its own event")
		}
		l2.write(event(proto.EventNodeChildrenChanged, "/a"))
		synctest.Wait()
		for range 3 {
			it, _ := q.TryNext()
			assert.Equal(t, proto.EventNodeChildrenChanged, it.Event.Type)
		}
		assert.Equal(t, []proto.EventType{proto.EventGap, proto.EventNodeCreated}, heard.types())
	})
}

// A recursive stream that comes while a persistent watch is about to take the recursive one's place waits for its own.
func TestNotArmedByAModeOnItsWayOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		r1, _ := newStream("/a", modeR)
		p, _ := newStream("/a", modeP)
		added(t, k, l, r1, p)
		k.Current().RemoveStream(r1)
		down := l.expect(proto.OpAddWatch)
		r2, _ := newStream("/a", modeR)
		done := adding(k, r2)
		up := l.expect(proto.OpAddWatch)
		l.reply(down, 5, 0, make([]byte, 4))
		synctest.Wait()
		assert.Empty(t, done)
		l.reply(up, 6, 0, make([]byte, 4))
		require.NoError(t, <-done)
	})
}

// A server of 3.9 keeps the recursive watch beside the persistent one that follows it; it is taken off once such a server has
// shown itself.
func TestLeftoverModeIsTakenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		r, _ := newStream("/a", modeR)
		p, _ := newStream("/a", modeP)
		added(t, k, l, r, p)
		k.Current().RemoveStream(r)
		l.reply(l.expect(proto.OpAddWatch), 5, 0, make([]byte, 4))
		silent(t, k, l)
		want := proto.RemoveWatchesRequest{Path: "/a", Type: int32(proto.WatcherPersistentRecursive)}
		l.write(eventAt(proto.EventNodeCreated, "/a/b", 9))
		for _, code := range []proto.Code{proto.ErrThrottled, 0} {
			off := l.expect(proto.OpRemoveWatches)
			assert.Equal(t, want, decoded[proto.RemoveWatchesRequest](t, off))
			l.reply(off, 9, code, nil)
		}
		r, _ = newStream("/a", modeR)
		done := adding(k, r)
		l.reply(l.expect(proto.OpAddWatch), 10, 0, make([]byte, 4))
		require.NoError(t, <-done)
		k.Current().RemoveStream(r) // from now on at once
		l.reply(l.expect(proto.OpAddWatch), 11, 0, make([]byte, 4))
		off := l.expect(proto.OpRemoveWatches)
		assert.Equal(t, want, decoded[proto.RemoveWatchesRequest](t, off))
		l.reply(off, 11, 0, nil)
		silent(t, k, l)
	})
}

// A read counts on a coverage that is refused; by the time of its reply there is another one, which came too late for what the
// read's watch waits for. The watch is set by itself, and the coverage once more.
func TestCoverageThatCameTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		a, _ := newStream("/a", modeP)
		refused := adding(k, a)
		add := l.expect(proto.OpAddWatch)
		q := NewQueue()
		submit(t, k, exists("/a", &Watch{Path: "/a", Sink: q}))
		read, flag := watched(l, proto.OpExists)
		assert.False(t, flag)
		l.reply(add, 3, proto.ErrMarshalling, nil)
		assert.ErrorIs(t, <-refused, proto.ErrMarshalling)
		b, heard := newStream("/a", modeP)
		done := adding(k, b)
		add = l.expect(proto.OpAddWatch)
		l.write(frame(read.xid, 4, 0, stat), frame(add.xid, 6, 0, make([]byte, 4)))
		set, again := l.expect(proto.OpSetWatches), l.expect(proto.OpAddWatch)
		assert.Equal(t, proto.SetWatches{RelativeZxid: 4, DataWatches: []string{"/a"}}, decoded[proto.SetWatches](t, set))
		require.NoError(t, <-done)
		l.write(event(proto.EventNodeDeleted, "/a"), frame(set.xid, 6, 0, nil), frame(again.xid, 6, 0, make([]byte, 4)))
		synctest.Wait()
		it, _ := q.TryNext()
		assert.Equal(t, proto.EventNodeDeleted, it.Event.Type)
		assert.Equal(t, []proto.EventType{proto.EventNodeDeleted, proto.EventGap}, heard.types())
	})
}

// The answer to the addWatch of a watch that was given up says nothing about the one that was set after it.
func TestWatchSetAgainAtOnce(t *testing.T) {
	setAgainAtOnce(t, 0, make([]byte, 4))
	setAgainAtOnce(t, proto.ErrMarshalling, nil)
}

func setAgainAtOnce(t *testing.T, code proto.Code, body []byte) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		a, _ := newStream("/a", modeP)
		gone := adding(k, a)
		first := l.expect(proto.OpAddWatch)
		k.Current().RemoveStream(a)
		off := l.expect(proto.OpRemoveWatches)
		assert.ErrorIs(t, <-gone, errRemoved)
		b, _ := newStream("/a", modeP)
		done := adding(k, b)
		second := l.expect(proto.OpAddWatch)
		l.write(frame(first.xid, 1, code, body), frame(off.xid, 1, 0, nil))
		synctest.Wait()
		assert.Empty(t, done)
		l.reply(second, 1, 0, make([]byte, 4))
		require.NoError(t, <-done)
	})
}

// A refused upgrade ends the streams that wanted it, and nobody else; a refused coverage sets the one-shot watches that counted
// on it by themselves, from where they were.
func TestRefusedAddWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		p, heard := newStream("/a", modeP)
		added(t, k, l, p)
		r, _ := newStream("/a", modeR)
		done := adding(k, r)
		l.reply(l.expect(proto.OpAddWatch), 1, proto.ErrMarshalling, nil)
		assert.ErrorIs(t, <-done, proto.ErrMarshalling)
		silent(t, k, l)
		l.write(event(proto.EventNodeDeleted, "/a"))
		synctest.Wait()
		assert.Equal(t, []proto.EventType{proto.EventNodeDeleted}, heard.types())

		b, _ := newStream("/b", modeP)
		done = adding(k, b)
		add := l.expect(proto.OpAddWatch)
		q := NewQueue()
		first, second := exists("/b", &Watch{Path: "/b", Sink: q}), exists("/b", &Watch{Path: "/b", Sink: q})
		submit(t, k, first, second)
		g1, _ := watched(l, proto.OpExists)
		g2, _ := watched(l, proto.OpExists)
		l.write(frame(add.xid, 5, proto.ErrMarshalling, nil), frame(g1.xid, 6, 0, stat))
		assert.ErrorIs(t, <-done, proto.ErrMarshalling)
		set := l.expect(proto.OpSetWatches)
		assert.Equal(t, proto.SetWatches{RelativeZxid: 6, DataWatches: []string{"/b"}}, decoded[proto.SetWatches](t, set))
		l.write(frame(g2.xid, 8, proto.ErrNoNode, nil), event(proto.EventNodeDeleted, "/b"), frame(set.xid, 8, 0, nil))
		set = l.expect(proto.OpSetWatches) // the missing znode: its watch was not in the request above
		l.reply(set, 9, 0, nil)
		synctest.Wait()
		it, _ := q.TryNext()
		assert.Equal(t, proto.EventNodeDeleted, it.Event.Type)
	})
}

// A throttled addWatch is repeated, and one-shot watches that counted on it are set meanwhile, from where they were. When that is
// throttled too the connection is left, after which they begin where they were as well.
func TestThrottledWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		p, heard := newStream("/a", modeP)
		done := adding(k, p)
		add := l.expect(proto.OpAddWatch)
		q := NewQueue()
		first, second := exists("/a", &Watch{Path: "/a", Sink: q}), exists("/a", &Watch{Path: "/a", Sink: q})
		submit(t, k, first, second)
		g1, _ := watched(l, proto.OpExists)
		g2, flag := watched(l, proto.OpExists)
		assert.False(t, flag)
		l.write(frame(add.xid, 3, proto.ErrThrottled, nil), frame(g1.xid, 4, 0, stat))
		set := l.expect(proto.OpSetWatches)
		want := proto.SetWatches{RelativeZxid: 4, DataWatches: []string{"/a"}}
		assert.Equal(t, want, decoded[proto.SetWatches](t, set))
		l.write(frame(g2.xid, 6, 0, stat))
		again := l.expect(proto.OpSetWatches) // the second read was to have it too
		assert.Equal(t, want, decoded[proto.SetWatches](t, again))
		l.write(frame(set.xid, 6, proto.ErrThrottled, nil))
		began := time.Now()
		l2, _ := s.serve(0x77, testTimeout)
		defer finishWith(k, l2)
		assert.NotEmpty(t, time.Since(began), "an overloaded server is not met with a storm")
		alone, rest := l2.expect(proto.OpSetWatches), l2.expect(proto.OpSetWatches2)
		assert.Equal(t, want, decoded[proto.SetWatches](t, alone))
		assert.Equal(t, proto.SetWatches2{RelativeZxid: 6, PersistentWatches: []string{"/a"}}, decoded[proto.SetWatches2](t, rest))
		l2.write(event(proto.EventNodeDataChanged, "/a"), frame(alone.xid, 8, 0, nil), frame(rest.xid, 8, 0, nil))
		require.NoError(t, <-done)
		for range 2 {
			it, _ := q.TryNext()
			assert.Equal(t, proto.EventNodeDataChanged, it.Event.Type)
		}
		assert.Empty(t, heard.types())
		k.Current().RemoveStream(p)
		l2.reply(l2.expect(proto.OpRemoveWatches), 9, proto.ErrThrottled, nil)
		l2.reply(l2.expect(proto.OpRemoveWatches), 9, 0, nil)
		silent(t, k, l2)
		assert.Empty(t, k.Current().owed)
	})
}

// A coverage that is in force, and whose change is throttled, leaves the server between two states: the connection is left.
func TestThrottledChangeOfTheMode(t *testing.T) {
	for _, upgrade := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s, k, l := start(t, nil)
			p, heard := newStream("/a", modeP)
			r, _ := newStream("/a", modeR)
			var done <-chan error
			if upgrade {
				added(t, k, l, p)
				done = adding(k, r)
			} else {
				added(t, k, l, r, p)
				k.Current().RemoveStream(r)
			}
			l.reply(l.expect(proto.OpAddWatch), 3, proto.ErrThrottled, nil)
			l2, _ := s.serve(0x77, testTimeout)
			defer finishWith(k, l2)
			set := l2.expect(proto.OpSetWatches2)
			sw := decoded[proto.SetWatches2](t, set)
			assert.Equal(t, upgrade, len(sw.PersistentRecursiveWatches) == 1)
			l2.reply(set, 5, 0, nil)
			if upgrade {
				require.NoError(t, <-done)
			}
			synctest.Wait()
			assert.Equal(t, []proto.EventType{proto.EventGap}, heard.types())
		})
	}
}

func TestRemoveOfARefusedStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		p, _ := newStream("/a", modeP)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		assert.ErrorIs(t, k.Current().AddStream(ctx, p), context.Canceled)
		k.Current().RemoveStream(p)
		silent(t, k, l)
	})
}

// F48: the server forgets a one-shot watch with the last one of ours, and not earlier.
func TestTidyWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		ss, q := k.Current(), NewQueue()
		arm := func(w *Watch) {
			g := exists(w.Path, w)
			submit(t, k, g)
			l.reply(l.expect(proto.OpExists), 1, 0, stat)
			_, err := finished(g)
			require.NoError(t, err)
		}
		a, b := &Watch{Path: "/a", Sink: q, Tidy: true}, &Watch{Path: "/a", Sink: q}
		arm(a)
		arm(b)
		ss.Unwatch(a)
		silent(t, k, l)
		ss.Unwatch(b) // not tidy: a lock has no use for the request
		silent(t, k, l)
		c := &Watch{Path: "/a", Sink: q, Tidy: true}
		arm(c)
		ss.Unwatch(c)
		off := l.expect(proto.OpRemoveWatches)
		assert.Equal(t, proto.RemoveWatchesRequest{Path: "/a", Type: int32(proto.WatcherData)}, decoded[proto.RemoveWatchesRequest](t, off))
		l.reply(off, 1, proto.ErrNoWatcher, nil)

		// One that was given up while its reply was under way is forgotten when that comes, unless another read has it too.
		for _, other := range []bool{false, true} {
			w := &Watch{Path: "/a", Sink: q, Tidy: true}
			g := exists("/a", w)
			submit(t, k, g)
			r := l.expect(proto.OpExists)
			var r2 got
			if other {
				submit(t, k, exists("/a", &Watch{Path: "/a", Sink: q}))
				r2 = l.expect(proto.OpExists)
			}
			ss.Unwatch(w)
			l.reply(r, 1, 0, stat)
			off := l.expect(proto.OpRemoveWatches)
			if other { // which the removal takes along
				l.reply(r2, 2, 0, stat)
				l.reply(off, 2, 0, nil)
				set := l.expect(proto.OpSetWatches)
				assert.Equal(t, proto.SetWatches{RelativeZxid: 2, DataWatches: []string{"/a"}}, decoded[proto.SetWatches](t, set))
				l.reply(set, 2, 0, nil)
			} else {
				l.reply(off, 1, 0, nil)
			}
		}
	})
}
