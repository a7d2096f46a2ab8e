package session

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// log is a StreamSink that keeps what it was told.
type log struct{ events []Event }

func (l *log) StreamEvent(ev Event) { l.events = append(l.events, ev) }

// types returns the types of the events since the last call.
func (l *log) types() (list []proto.EventType) {
	for _, ev := range l.events {
		list = append(list, ev.Type)
	}
	l.events = nil
	return list
}

func newStream(path string, mode proto.AddWatchMode) (*Stream, *log) {
	sink := &log{}
	return &Stream{Path: path, Mode: mode, Sink: sink}, sink
}

// adding starts AddStream and returns where its result comes.
func adding(k *Keeper, st *Stream) <-chan error {
	done := make(chan error, 1)
	go func() { done <- k.Current().AddStream(context.Background(), st) }()
	return done
}

// added adds streams, of which the first needs the server.
func added(t *testing.T, k *Keeper, l *link, list ...*Stream) {
	t.Helper()
	for i, st := range list {
		done := adding(k, st)
		if i == 0 {
			l.reply(l.expect(proto.OpAddWatch), 1, 0, make([]byte, 4))
		}
		require.NoError(t, <-done)
	}
}

const (
	modeP = proto.AddWatchPersistent
	modeR = proto.AddWatchPersistentRecursive
)

func decoded[T any, P interface {
	*T
	ReadFrom(*jute.Reader)
}](t *testing.T, g got) T {
	t.Helper()
	var rec T
	r := jute.NewReader(g.body)
	P(&rec).ReadFrom(&r)
	require.NoError(t, r.Err())
	return rec
}

// eventAt is a notification with a zxid, as servers of 3.9 send it.
func eventAt(t proto.EventType, path string, zxid int64) []byte {
	return frame(proto.XidNotification, zxid, 0, (&proto.WatcherEvent{Type: int32(t), State: 3, Path: path}).AppendTo(nil))
}

// silent checks that nothing has been written to the server.
func silent(t *testing.T, k *Keeper, l *link) {
	t.Helper()
	synctest.Wait()
	g := setData("/probe")
	submit(t, k, g)
	l.reply(l.expect(proto.OpSetData), 1, 0, stat)
	_, err := finished(g)
	require.NoError(t, err)
}

func TestStreamsShareAWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		a, heardA := newStream("/a", modeP)
		done := adding(k, a)
		req := l.expect(proto.OpAddWatch)
		assert.Equal(t, proto.AddWatchRequest{Path: "/a"}, decoded[proto.AddWatchRequest](t, req))
		l.write(event(proto.EventNodeCreated, "/a")) // before the reply: by somebody else's watch
		l.write(frame(req.xid, 1, 0, make([]byte, 4)), event(proto.EventNodeDataChanged, "/a"), event(proto.EventNodeDataChanged, "/a/b"))
		require.NoError(t, <-done)
		synctest.Wait()
		assert.Equal(t, []proto.EventType{proto.EventNodeDataChanged}, heardA.types())

		b, heardB := newStream("/a", modeP)
		require.NoError(t, k.Current().AddStream(t.Context(), b))
		silent(t, k, l)
		l.write(event(proto.EventNodeChildrenChanged, "/a"))
		synctest.Wait()
		assert.Equal(t, []proto.EventType{proto.EventNodeChildrenChanged}, heardA.types())
		assert.Equal(t, []proto.EventType{proto.EventNodeChildrenChanged}, heardB.types())

		k.Current().RemoveStream(a)
		k.Current().RemoveStream(a)
		silent(t, k, l)
		l.write(event(proto.EventNodeDeleted, "/a"))
		synctest.Wait()
		assert.Empty(t, heardA.types())
		assert.Equal(t, []proto.EventType{proto.EventNodeDeleted}, heardB.types())

		k.Current().RemoveStream(b)
		off := l.expect(proto.OpRemoveWatches)
		assert.Equal(t, proto.RemoveWatchesRequest{Path: "/a", Type: int32(proto.WatcherAny)}, decoded[proto.RemoveWatchesRequest](t, off))
		l.reply(off, 1, 0, nil)
		assert.Zero(t, k.Current().StreamCount())
	})
}

func TestRootStreams(t *testing.T) { // C95
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		root, heard := newStream("/", modeR)
		below, heardBelow := newStream("/a", modeR)
		p, heardP := newStream("/", modeP)
		added(t, k, l, root)
		added(t, k, l, below)
		require.NoError(t, k.Current().AddStream(t.Context(), p))
		for _, path := range []string{"/a/b", "/a", "/", "/c"} {
			l.write(event(proto.EventNodeCreated, path))
		}
		l.write(event(proto.EventType(99), "/a"), event(proto.EventNodeCreated, "a"), event(proto.EventNodeCreated, ""))
		synctest.Wait()
		var paths []string
		for _, ev := range heard.events {
			paths = append(paths, ev.Path)
		}
		assert.Equal(t, []string{"/a/b", "/a", "/", "/c"}, paths)
		assert.Len(t, heardBelow.events, 2)
		assert.Equal(t, []proto.EventType{proto.EventNodeChildrenChanged, proto.EventNodeCreated, proto.EventNodeChildrenChanged}, heardP.types())
	})
}

// watched reads a request that is to leave a watch and returns whether it says so.
func watched(l *link, op proto.Op) (got, bool) {
	g := l.expect(op)
	return g, g.body[len(g.body)-1] != 0
}

func TestStreamsAfterAReconnect(t *testing.T) { // C98, C102
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		p, heardP := newStream("/p", modeP)
		r, heardR := newStream("/r", modeR)
		both, _ := newStream("/r", modeP)
		added(t, k, l, p)
		added(t, k, l, r, both)
		q := NewQueue()
		one := exists("/one", &Watch{Path: "/one", Sink: q})
		submit(t, k, one)
		l.reply(l.expect(proto.OpExists), 9, 0, stat)
		late, heardLate := newStream("/late", modeP)
		done := adding(k, late)
		l.expect(proto.OpAddWatch)
		_ = l.fc.Close()
		l2, _ := s.serve(0x77, testTimeout)
		defer finishWith(k, l2)
		set := l2.expect(proto.OpSetWatches2)
		assert.Equal(t, proto.XidSetWatches, set.xid)
		sw := decoded[proto.SetWatches2](t, set)
		assert.EqualValues(t, 9, sw.RelativeZxid)
		assert.Equal(t, []string{"/one"}, sw.DataWatches)
		assert.ElementsMatch(t, []string{"/p", "/late"}, sw.PersistentWatches)
		assert.Equal(t, []string{"/r"}, sw.PersistentRecursiveWatches)
		more, heardMore := newStream("/p", modeP)
		doneMore := adding(k, more)
		fresh, _ := newStream("/fresh", modeP)
		doneFresh := adding(k, fresh)
		add := l2.expect(proto.OpAddWatch)
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("armed before the server has answered")
		case <-doneMore:
			t.Fatal("armed by a watch that is not sure")
		default:
		}
		l2.write(event(proto.EventNodeDataChanged, "/p")) // made up for a one-shot watch
		l2.write(frame(set.xid, 10, 0, nil), event(proto.EventNodeDeleted, "/p"))
		require.NoError(t, <-done)
		require.NoError(t, <-doneMore)
		synctest.Wait()
		assert.Empty(t, doneFresh, "armed by the answer to something else")
		l2.reply(add, 10, 0, make([]byte, 4))
		require.NoError(t, <-doneFresh)
		assert.Equal(t, []proto.EventType{proto.EventGap, proto.EventNodeDeleted}, heardP.types())
		assert.Equal(t, []proto.EventType{proto.EventGap}, heardR.types())
		assert.Empty(t, heardLate.types())
		assert.Equal(t, []proto.EventType{proto.EventNodeDeleted}, heardMore.types())
	})
}

func TestStreamsOfAServerThatDoesNotKnowThem(t *testing.T) { // C102
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		p, heard := newStream("/p", modeP)
		added(t, k, l, p)
		q := NewQueue()
		one := exists("/one", &Watch{Path: "/one", Sink: q})
		submit(t, k, one)
		l.reply(l.expect(proto.OpExists), 9, 0, stat)
		_ = l.fc.Close()
		l2, _ := s.serve(0x77, testTimeout)
		set := l2.expect(proto.OpSetWatches2)
		l2.reply(set, -1, proto.ErrUnimplemented, nil)
		_ = l2.fc.Close()
		l3, _ := s.serve(0x77, testTimeout)
		defer finishWith(k, l3)
		l3.reply(l3.expect(proto.OpSetWatches), 10, 0, nil)
		silent(t, k, l3)
		require.Len(t, heard.events, 1)
		assert.ErrorIs(t, heard.events[0].Err, proto.ErrUnimplemented)
		assert.Zero(t, k.Current().StreamCount())

		done := adding(k, p)
		l3.reply(l3.expect(proto.OpAddWatch), -1, proto.ErrUnimplemented, nil)
		assert.ErrorIs(t, <-done, proto.ErrUnimplemented)
		k.Current().RemoveStream(p)
		silent(t, k, l3)
	})
}

func TestStreamsAtTheEndOfTheSession(t *testing.T) { // C71, F51
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		armed, heard := newStream("/a", modeP)
		added(t, k, l, armed)
		waiting, heardWaiting := newStream("/b", modeP)
		done := adding(k, waiting)
		l.expect(proto.OpAddWatch)
		gone, heardGone := newStream("/c", modeP)
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() { result <- k.Current().AddStream(ctx, gone) }()
		l.expect(proto.OpAddWatch)
		cancel()
		assert.ErrorIs(t, <-result, context.Canceled)
		l.expect(proto.OpRemoveWatches)
		_ = l.fc.Close()
		_, _ = s.serve(0, 0)
		l2, _ := s.serve(0x78, testTimeout)
		defer finishWith(k, l2)
		assert.ErrorIs(t, <-done, ErrSessionExpired)
		require.Len(t, heard.events, 1)
		assert.ErrorIs(t, heard.events[0].Err, ErrSessionExpired)
		assert.Empty(t, heardWaiting.events)
		assert.Empty(t, heardGone.events)
		silent(t, k, l2) // nothing is carried over
	})
}

func TestFailFastStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, func(c *Config) { c.FailFast = true })
		armed, heard := newStream("/a", modeP)
		added(t, k, l, armed)
		p, _ := newStream("/b", modeP)
		done := adding(k, p)
		l.expect(proto.OpAddWatch)
		_ = l.fc.Close()
		assert.ErrorIs(t, <-done, ErrConnectionLoss)
		l2, _ := s.serve(0x77, testTimeout)
		defer finishWith(k, l2)
		set := l2.expect(proto.OpSetWatches2)
		assert.Equal(t, []string{"/a"}, decoded[proto.SetWatches2](t, set).PersistentWatches)
		l2.reply(set, 1, 0, nil)
		synctest.Wait()
		assert.Equal(t, []proto.EventType{proto.EventGap}, heard.types())
	})
}
