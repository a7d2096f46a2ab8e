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
// exception are watches of children where the mode is recursive (see type coverage): those come last, in requests of their own.
func (s *Session) rewatchLocked(cx *connection) {
	c := chunker{cx: cx, limit: min(maxWatchChunk, s.cfg.SendLimit/2)}
	c.next.RelativeZxid = s.relativeZxid
	for kind, list := range [watchKinds]*[]string{&c.next.DataWatches, &c.next.ExistWatches, &c.next.ChildWatches} {
		for path := range s.watches[kind] {
			if mode, any := s.streams.mode(path); !any || WatchKind(kind) != WatchChild || int(mode) != recursive {
				c.add(list, path)
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
			cx.cover[path] = &coverage{written: want, confirmed: want, restored: true, sent: true}
			c.add(list, path)
		}
	}
	c.flush()
	for path := range s.watches[WatchChild] {
		if mode, any := s.streams.mode(path); any && int(mode) == recursive {
			c.add(&c.next.ChildWatches, path)
		}
	}
	c.flush()
}

// chunker divides watches among requests.
type chunker struct {
	cx    *connection
	limit int
	size  int
	next  proto.SetWatches2
}

func (c *chunker) add(list *[]string, path string) {
	*list = append(*list, path)
	if c.size += len(jute.AppendString(nil, path)); c.size >= c.limit {
		c.flush()
	}
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
	if code != 0 {
		return &ProtocolError{Reason: "watches refused: " + code.Error(), Xid: xid}
	}
	return nil
}
