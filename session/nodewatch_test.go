package session

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// tellTale is a NodeWatch that notes what it has to tell.
type tellTale struct {
	NodeWatch
	mu   sync.Mutex
	told []string
}

func newTellTale(path string) *tellTale {
	n := &tellTale{}
	n.Path = path
	n.Gone = func() { n.note("gone") }
	n.Changed = func(data []byte) { n.note("data " + string(data)) }
	return n
}

func (n *tellTale) note(s string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.told = append(n.told, s)
}

// since returns what was told since the last time.
func (n *tellTale) since() []string {
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	told := n.told
	n.told = nil
	return told
}

// dataReply is the body of a reply to getData.
func dataReply(data string) []byte { return append(jute.AppendBuffer(nil, []byte(data)), stat...) }

// The data is told when the watch begins and after each change, over lost requests and connections, until the znode is gone.
func TestNodeWatchTellsTheData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, l := start(t, nil)
		n := newTellTale("/a")
		k.Current().WatchNode(&n.NodeWatch)
		l.reply(l.expect(proto.OpGetData), 1, 0, dataReply("one"))
		assert.Equal(t, []string{"data one"}, n.since())
		l.write(event(proto.EventNodeDataChanged, "/a"))
		again := l.expect(proto.OpGetData)
		assert.Empty(t, n.since(), "the event has no data")
		l.reply(again, 2, 0, dataReply(""))
		assert.Equal(t, []string{"data "}, n.since())
		l.write(event(proto.EventNodeDataChanged, "/a"))
		throttled := l.expect(proto.OpGetData)
		l.reply(throttled, 2, proto.ErrThrottled, nil)
		lost := l.expect(proto.OpGetData)
		assert.Equal(t, throttled.body, lost.body)
		_ = l.fc.Close()
		assert.Empty(t, n.since())
		l2, _ := s.serve(0x77, testTimeout)
		defer finishWith(k, l2)
		l2.reply(l2.expect(proto.OpGetData), 3, 0, dataReply("three"))
		assert.Equal(t, []string{"data three"}, n.since())
		l2.write(event(proto.EventNodeDataChanged, "/a"))
		read := l2.expect(proto.OpGetData)
		l2.write(frame(read.xid, 4, 0, dataReply("four")), event(proto.EventNodeDeleted, "/a"))
		told := n.since() // the event may be handled before the reply that came with it
		assert.Equal(t, "gone", told[len(told)-1], "and nothing after it")
		assert.Equal(t, 0, k.Current().WatchCount())
	})
}

// What cannot be read, and what comes after Stop, is not told; and a watch without Changed needs no data.
func TestNodeWatchWithoutData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		secret, stopped, gone, short := newTellTale("/secret"), newTellTale("/stopped"), newTellTale("/gone"), newTellTale("/short")
		blind := newTellTale("/blind")
		blind.Changed = nil
		ss := k.Current()
		ss.WatchNode(&secret.NodeWatch)
		l.reply(l.expect(proto.OpGetData), 1, proto.ErrNoAuth, nil)
		assert.Empty(t, secret.since())
		ss.WatchNode(&gone.NodeWatch)
		l.reply(l.expect(proto.OpGetData), 1, proto.ErrNoNode, nil)
		assert.Equal(t, []string{"gone"}, gone.since())
		ss.WatchNode(&short.NodeWatch)
		l.reply(l.expect(proto.OpGetData), 1, 0, jute.AppendInt(nil, 99)) // a buffer that ends too early
		assert.Empty(t, short.since())

		ss.WatchNode(&stopped.NodeWatch)
		read := l.expect(proto.OpGetData)
		stopped.Stop()
		l.reply(read, 1, 0, dataReply("late"))
		assert.Empty(t, stopped.since(), "stopped while the request was under way")
		before := ss.WatchCount()
		ss.WatchNode(&blind.NodeWatch)
		l.reply(l.expect(proto.OpGetData), 1, 0, dataReply("one"))
		synctest.Wait()
		require.Equal(t, before+1, ss.WatchCount())
		l.write(event(proto.EventNodeDataChanged, "/blind"))
		l.reply(l.expect(proto.OpGetData), 1, 0, dataReply("two"))
		assert.Empty(t, blind.since())
		l.write(event(proto.EventNodeDeleted, "/blind"))
		assert.Equal(t, []string{"gone"}, blind.since())
	})
}

// Another znode at the path is not the one that is meant.
func TestNodeWatchKnowsItsZnode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		n := newTellTale("/a")
		n.Czxid = 5 // as stat has it
		k.Current().WatchNode(&n.NodeWatch)
		l.reply(l.expect(proto.OpGetData), 1, 0, dataReply("one"))
		assert.Equal(t, []string{"data one"}, n.since())
		l.write(event(proto.EventNodeDataChanged, "/a"))
		other := (&proto.Stat{Czxid: 6}).AppendTo(jute.AppendBuffer(nil, []byte("another")))
		l.reply(l.expect(proto.OpGetData), 6, 0, other)
		assert.Equal(t, []string{"gone"}, n.since())
		assert.Equal(t, 0, k.Current().WatchCount())
		short := newTellTale("/b")
		short.Czxid = 5
		k.Current().WatchNode(&short.NodeWatch)
		l.reply(l.expect(proto.OpGetData), 6, 0, jute.AppendBuffer(nil, []byte("no Stat")))
		assert.Empty(t, short.since())
	})
}
