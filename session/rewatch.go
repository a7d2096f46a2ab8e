package session

import (
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// maxWatchChunk bounds the bytes of paths in one setWatches request, as in the Java client
// (ClientCnxn.SendThread.primeConnection), well under the server's frame limit.
const maxWatchChunk = 128 << 10

// rewatchLocked puts the session's watches into the prelude, in chunks that all carry the same relativeZxid: that of the newest
// reply to a request, never that of a notification, or the events of a multi could be lost (docs/protocol.md section 12).
// Persistent watches come behind: before 3.9 they take the place of one-shot watches on the same path, which they then serve. The
// exception are watches of children where the mode is recursive (see type coverage): those come last. What was not known to be set
// on the old connection has a zxid, and a request, of its own.
func (s *Session) rewatchLocked(cx *connection) {
	c := chunker{cx: cx, limit: min(maxWatchChunk, s.cfg.SendLimit/2)}
	c.next.RelativeZxid = s.relativeZxid
	for w := range s.owed {
		s.owed[w] = 0 // the numbers of the old connection mean nothing on this one
	}
	for kind, list := range [watchKinds]*[]string{&c.next.DataWatches, &c.next.ExistWatches, &c.next.ChildWatches} {
		for path := range s.watches[kind] {
			if mode, any := s.streams.mode(path); !any || WatchKind(kind) != WatchChild || int(mode) != recursive {
				c.addWatch(list, WatchKind(kind), path)
			}
		}
	}
	byMode := [...]*[]string{persistent: &c.next.PersistentWatches, recursive: &c.next.PersistentRecursiveWatches}
	for mode, list := range byMode {
		for path := range s.streams.byPath {
			want, _ := s.streams.mode(path)
			if int(want) != mode {
				continue
			}
			if cx.cover == nil {
				cx.cover = make(map[string]*coverage, len(s.streams.byPath))
			}
			cx.cover[path] = &coverage{written: want, confirmed: want, restored: true, sent: true, last: want}
			c.add(list, path)
		}
	}
	c.flush()
	for path := range s.watches[WatchChild] {
		if mode, any := s.streams.mode(path); any && int(mode) == recursive {
			c.addWatch(&c.next.ChildWatches, WatchChild, path)
		}
	}
	c.flush()
}

// owesLocked reports whether one of the watches of a kind on path is owed.
func (s *Session) owesLocked(kind WatchKind, path string) bool {
	for w := s.watches[kind][path]; w != nil && len(s.owed) > 0; w = w.next {
		if _, ok := s.owed[w]; ok {
			return true
		}
	}
	return false
}

// chunker divides watches among requests.
type chunker struct {
	cx    *connection
	limit int
	size  int
	next  proto.SetWatches2
}

// addWatch adds the one-shot watches of a kind on a path.
func (c *chunker) addWatch(list *[]string, kind WatchKind, path string) {
	s := c.cx.s
	if !s.owesLocked(kind, path) {
		c.add(list, path)
		return
	}
	q := watchRequest{op: proto.OpSetWatches, path: path, one: kind}
	c.cx.preludeAdd(proto.XidSetWatches, proto.OpSetWatches, func(b []byte) []byte { return q.appendTo(b, s) })
	c.cx.chunks++
}

func (c *chunker) add(list *[]string, path string) {
	n := len(jute.AppendString(nil, path))
	if c.size+n > c.limit {
		c.flush() // so that a single long path is in a request of its own
	}
	*list = append(*list, path)
	c.size += n
}

// flush puts a chunk into the prelude. Without persistent watches it is one that servers before 3.6 know.
func (c *chunker) flush() {
	if c.size == 0 {
		return
	}
	sw := &c.next
	if len(sw.PersistentWatches)+len(sw.PersistentRecursiveWatches) == 0 {
		old := proto.SetWatches{RelativeZxid: sw.RelativeZxid, DataWatches: sw.DataWatches, ExistWatches: sw.ExistWatches, ChildWatches: sw.ChildWatches}
		c.cx.preludeAdd(proto.XidSetWatches, proto.OpSetWatches, old.AppendTo)
	} else {
		c.cx.preludeAdd(proto.XidSetWatches, proto.OpSetWatches2, sw.AppendTo)
	}
	c.cx.chunks++
	c.next, c.size = proto.SetWatches2{RelativeZxid: sw.RelativeZxid}, 0
}

// rewatched takes the reply to one chunk. The last one makes the coverages sure, and brings the gap event: what came before it
// was made up for one-shot watches, or is seen by whoever reads after it.
func (cx *connection) rewatched(op proto.Op, code proto.Code, xid int32) error {
	s := cx.s
	s.mu.Lock()
	var told, gaps []*Stream
	if cx.chunks--; code == 0 && cx.chunks == 0 {
		gaps = s.streams.armedLocked()
		for w, seq := range s.owed {
			if seq == 0 {
				delete(s.owed, w)
			}
		}
		for path, have := range cx.cover {
			have.sure = have.sure || have.restored
			cx.armServedLocked(path)
		}
	}
	// A server that does not know persistent watches, or was set up without them, would refuse them on every connection.
	if op == proto.OpSetWatches2 && (code == proto.ErrUnimplemented || code == proto.ErrMarshalling) {
		told = s.endStreamsLocked(code)
	}
	s.mu.Unlock()
	tellEnd(told, code)
	tellGap(gaps)
	if code == proto.ErrThrottled {
		return errBusyServer
	}
	if code != 0 {
		return &ProtocolError{Reason: "watches refused: " + code.Error(), Xid: xid}
	}
	return nil
}
