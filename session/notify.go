package session

import (
	"bytes"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// notify delivers a notification to the watches that it uses up and to the streams that cover its path. One that nobody waits
// for, or of an unknown type, is normal and only counted.
func (cx *connection) notify(h header, body []byte) {
	r := jute.NewReader(body)
	t := proto.EventType(r.Int())
	r.Int() // the state is always "connected"
	path := r.StringBytes()
	to := everybody
	if cx.inferred(t, path, h.zxid) || cx.modern && h.zxid <= 0 {
		to = oneShots // streams have been told already: servers of 3.9 show by the zxid what setWatches has made up
	}
	s := cx.s
	s.mu.Lock() // once for the event of a lock, whose path nothing covers
	s.sawZxidLocked(h.zxid)
	s.counters.Events++
	if h.zxid > 0 && !cx.modern {
		cx.modernLocked()
	}
	var parent []byte
	if r.Err() == nil {
		cx.collectLocked(to, t, path)
		parent = cx.childOfLocked(t, path)
	}
	s.mu.Unlock()
	told := cx.deliver(t, path, h.zxid)
	if parent != nil {
		s.mu.Lock()
		cx.collectLocked(listeners, proto.EventNodeChildrenChanged, parent)
		s.mu.Unlock()
		told += cx.deliver(proto.EventNodeChildrenChanged, parent, h.zxid)
		cx.infer = inference{parent: append(cx.infer.parent[:0], parent...), zxid: h.zxid, valid: true}
	}
	if tr := s.cfg.Trace; tr != nil && tr.Event != nil {
		tr.Event(t, told)
	}
}

// audience says who is told of an event.
type audience uint8

const (
	oneShots  audience = 1 << iota // watches
	listeners                      // streams
	everybody = oneShots | listeners
)

// collectLocked puts those who are to be told of an event where deliver finds them. Both are for the reader.
func (cx *connection) collectLocked(to audience, t proto.EventType, path []byte) {
	s := cx.s
	if to&oneShots != 0 {
		cx.fired = s.watches.take(cx.fired, t, path)
	}
	for i := 0; i < len(cx.fired) && len(s.owed) > 0; i++ {
		delete(s.owed, cx.fired[i])
	}
	if to&listeners != 0 && cx.chunks == 0 { // until then everything belongs to the gap
		cx.streams = s.streams.hear(cx.streams, t, path)
	}
}

// deliver tells those who were collected, and returns how many that were. No lock is held.
func (cx *connection) deliver(t proto.EventType, path []byte, zxid int64) (told int) {
	told = len(cx.fired) + len(cx.streams)
	for i, w := range cx.fired {
		ev := Event{Type: t, Path: w.Path, Zxid: zxid}
		if q, ok := w.Sink.(*Queue); ok {
			q.push(Item{Kind: ItemEvent, Tag: w.Tag, Conn: cx.no, Event: ev}, false)
			cx.dirty = append(cx.dirty, q)
		} else {
			w.Sink.WatchEvent(w, ev, cx.no)
		}
		cx.fired[i] = nil
	}
	if len(cx.streams) > 0 {
		ev := Event{Type: t, Path: string(path), Zxid: zxid}
		for i, st := range cx.streams {
			st.Sink.StreamEvent(ev)
			cx.streams[i] = nil
		}
	}
	cx.fired, cx.streams = cx.fired[:0], cx.streams[:0]
	return told
}

// inference is a change of children that was told because of the creation or deletion of a child.
type inference struct {
	parent []byte
	zxid   int64
	valid  bool
}

// childOfLocked returns the parent of path if t changes its children and the server would not say so, because it has a recursive
// watch there and nothing else (see type coverage).
func (cx *connection) childOfLocked(t proto.EventType, path []byte) []byte {
	if len(cx.cover) == 0 || t != proto.EventNodeCreated && t != proto.EventNodeDeleted {
		return nil
	}
	parent := parentOf(path)
	if have := cx.cover[string(parent)]; have == nil || int(have.confirmed) != recursive {
		return nil
	}
	return parent
}

// inferred reports whether an event is one that streams were told of already: a server sends it too, right behind its cause and
// with no reply in between, when the path has a watch of another mode besides.
func (cx *connection) inferred(t proto.EventType, path []byte, zxid int64) bool {
	i := &cx.infer
	was := i.valid
	i.valid = false
	return was && t == proto.EventNodeChildrenChanged && zxid == i.zxid && bytes.Equal(path, i.parent)
}

// hear appends the armed streams that an event of type t on path is for: persistent ones of the path, and recursive ones of
// the path and of everything above it, which are not told of changes of children (docs/protocol.md section 11).
func (ss *streams) hear(dst []*Stream, t proto.EventType, path []byte) []*Stream {
	if ss.n == 0 || t < proto.EventNodeCreated || t > proto.EventNodeChildrenChanged {
		return dst
	}
	if p := ss.byPath[string(path)]; p != nil {
		dst = appendArmed(dst, p[persistent])
	}
	if t == proto.EventNodeChildrenChanged || ss.recursive == 0 {
		return dst
	}
	for ; path != nil; path = parentOf(path) {
		if p := ss.byPath[string(path)]; p != nil {
			dst = appendArmed(dst, p[recursive])
		}
	}
	return dst
}

func appendArmed(dst, list []*Stream) []*Stream {
	for _, st := range list {
		if st.state == streamArmed {
			dst = append(dst, st)
		}
	}
	return dst
}

// parentOf returns the path of the parent, nil for the root and for what is no path.
func parentOf(path []byte) []byte {
	i := bytes.LastIndexByte(path, '/')
	switch {
	case i < 0 || len(path) == 1:
		return nil
	case i == 0:
		return path[:1]
	}
	return path[:i]
}
