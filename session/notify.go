package session

import (
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// notify delivers a notification to the watches that it uses up. One that nobody waits for, or of an unknown type, is
// normal and only counted.
func (cx *connection) notify(h header, body []byte) {
	r := jute.NewReader(body)
	t := proto.EventType(r.Int())
	r.Int() // the state is always "connected"
	path := r.StringBytes()
	s := cx.s
	s.mu.Lock()
	s.sawZxidLocked(h.zxid)
	s.counters.Events++
	if r.Err() == nil {
		cx.fired = s.watches.take(cx.fired[:0], t, path)
	}
	s.mu.Unlock()
	if tr := s.cfg.Trace; tr != nil && tr.Event != nil {
		tr.Event(t, len(cx.fired))
	}
	for i, w := range cx.fired {
		ev := Event{Type: t, Path: w.Path, Zxid: h.zxid}
		if q, ok := w.Sink.(*Queue); ok {
			q.push(Item{Kind: ItemEvent, Tag: w.Tag, Conn: cx.no, Event: ev}, false)
			cx.dirty = append(cx.dirty, q)
		} else {
			w.Sink.WatchEvent(w, ev, cx.no)
		}
		cx.fired[i] = nil
	}
	cx.fired = cx.fired[:0]
}
