package session

import (
	"context"

	"github.com/lockkeeper/lockkeeper/proto"
)

// Stream is a persistent registration: it delivers the events of a path, or of everything below it too, until it is removed
// or its session ends. It is given to Session.AddStream once and not changed afterwards. Any number of streams on one path
// share one watch of the server; see type coverage for how.
//
// Changes that happen while there is no connection are never reported for persistent watches (docs/protocol.md section 12),
// so each new connection brings an event of type EventGap first: what is read from then on is current.
type Stream struct {
	Path string // as sent to the server
	Mode proto.AddWatchMode
	Sink StreamSink

	armed chan struct{} // closed when err is valid

	// Guarded by the session's mu.
	state streamState
	at    int   // its place in the list of its path and mode
	err   error // why it was never armed, once the state is streamOver
}

// StreamSink takes the events of a Stream. StreamEvent is called on the session's goroutines, one call at a time but for
// the last, whose Err is set: it must not block, and it is for the packages of this module, not for user code.
type StreamSink interface {
	StreamEvent(ev Event)
}

// streamState is where a stream stands.
type streamState uint8

const (
	streamIdle    streamState = iota // not registered yet
	streamPending                    // the server has yet to confirm the watch: nothing is delivered
	streamArmed
	streamOver // no longer registered
)

// streams holds the registered streams of a session by path. The session's mu guards it.
type streams struct {
	byPath    map[string]*pathStreams
	recursive int // how many are recursive: without any, ancestors need no look
	n         int
}

// pathStreams lists the streams on one path by mode, in no order.
type pathStreams [2][]*Stream

// The indices of pathStreams.
const (
	persistent = int(proto.AddWatchPersistent)
	recursive  = int(proto.AddWatchPersistentRecursive)
)

func (ss *streams) add(st *Stream) {
	if ss.byPath == nil {
		ss.byPath = make(map[string]*pathStreams)
	}
	p := ss.byPath[st.Path]
	if p == nil {
		p = new(pathStreams)
		ss.byPath[st.Path] = p
	}
	st.at = len(p[st.Mode])
	p[st.Mode] = append(p[st.Mode], st)
	ss.n++
	if int(st.Mode) == recursive {
		ss.recursive++
	}
}

func (ss *streams) remove(st *Stream) {
	p := ss.byPath[st.Path]
	list := p[st.Mode]
	last := list[len(list)-1]
	list[st.at], last.at = last, st.at
	list[len(list)-1] = nil
	p[st.Mode] = list[:len(list)-1]
	if len(p[persistent])+len(p[recursive]) == 0 {
		delete(ss.byPath, st.Path)
	}
	ss.n--
	if int(st.Mode) == recursive {
		ss.recursive--
	}
}

// mode returns the mode of the watch that the streams on a path need, if there are any: a recursive one tells all that a
// persistent one would.
func (ss *streams) mode(path string) (m proto.AddWatchMode, any bool) {
	p := ss.byPath[path]
	switch {
	case p == nil:
		return 0, false
	case len(p[recursive]) > 0:
		return proto.AddWatchPersistentRecursive, true
	}
	return proto.AddWatchPersistent, true
}

// lists returns copies of the lists of streams on a path, for whoever ends them.
func (ss *streams) lists(path string) (lists pathStreams) {
	if p := ss.byPath[path]; p != nil {
		for mode, list := range p {
			lists[mode] = append([]*Stream(nil), list...)
		}
	}
	return lists
}

// each calls f for every stream.
func (ss *streams) each(f func(*Stream)) {
	for _, p := range ss.byPath {
		for _, list := range p {
			for _, st := range list {
				f(st)
			}
		}
	}
}

// AddStream registers st and waits until the server has confirmed the watch, which takes one round trip unless another
// stream on the path has brought it already, or until ctx ends. On an error st is not registered.
func (s *Session) AddStream(ctx context.Context, st *Stream) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.checkWatchPath(proto.OpAddWatch, st.Path); err != nil {
		return err
	}
	st.armed = make(chan struct{})
	s.mu.Lock()
	if err := s.refusalLocked(); err != nil {
		s.mu.Unlock()
		return err
	}
	st.state = streamPending
	s.streams.add(st)
	cx := s.cx
	if cx != nil {
		cx.coverLocked(st.Path)
		if cx.cover[st.Path].serves(int(st.Mode)) {
			st.armLocked()
		}
	}
	s.mu.Unlock()
	if cx != nil {
		cx.signal()
	}
	select {
	case <-st.armed:
		return st.err
	case <-ctx.Done():
		s.RemoveStream(st)
		return ctx.Err()
	}
}

// RemoveStream ends st, and an AddStream that waits for it: nothing is delivered to it any more, but for an event that is under way at this moment. The server
// is told when nobody else needs the watch. It does not block.
func (s *Session) RemoveStream(st *Stream) {
	s.mu.Lock()
	var cx *connection
	if st.state == streamPending || st.state == streamArmed {
		s.endLocked(st, errRemoved)
		if cx = s.cx; cx != nil {
			cx.coverLocked(st.Path)
		}
	}
	s.mu.Unlock()
	if cx != nil {
		cx.signal()
	}
}

// StreamCount returns the number of registered streams.
func (s *Session) StreamCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams.n
}

// armLocked tells who waits for it that the stream is armed.
func (st *Stream) armLocked() {
	if st.state == streamPending {
		st.state = streamArmed
		close(st.armed)
	}
}

// endLocked takes st out of the registry. It returns whether its sink is to be told: whoever still waits in AddStream gets the
// error from there.
func (s *Session) endLocked(st *Stream, err error) (tell bool) {
	tell = st.state == streamArmed
	s.streams.remove(st)
	st.state = streamOver
	if !tell {
		st.err = err
		close(st.armed)
	}
	return tell
}

// endStreamsLocked ends all streams and returns those whose sinks are to be told.
func (s *Session) endStreamsLocked(err error) (told []*Stream) {
	var all []*Stream
	s.streams.each(func(st *Stream) { all = append(all, st) })
	for _, st := range all {
		if s.endLocked(st, err) {
			told = append(told, st)
		}
	}
	return told
}

// endPendingLocked ends the streams that wait for the server.
func (s *Session) endPendingLocked(err error) {
	var waiting []*Stream
	s.streams.each(func(st *Stream) {
		if st.state == streamPending {
			waiting = append(waiting, st)
		}
	})
	for _, st := range waiting {
		s.endLocked(st, err)
	}
}

// tellEnd delivers the last event of streams.
func tellEnd(list []*Stream, err error) {
	for _, st := range list {
		st.Sink.StreamEvent(Event{Type: proto.EventNone, Path: st.Path, Zxid: -1, Err: err})
	}
}

// armedLocked returns the streams that a new connection owes a gap event.
func (ss *streams) armedLocked() (list []*Stream) {
	ss.each(func(st *Stream) {
		if st.state == streamArmed {
			list = append(list, st)
		}
	})
	return list
}

// armedOnLocked returns the armed streams on a path.
func (ss *streams) armedOnLocked(path string) (list []*Stream) {
	if p := ss.byPath[path]; p != nil {
		for _, of := range p {
			list = appendArmed(list, of)
		}
	}
	return list
}

// tellGap delivers the event that says that others may be missing.
func tellGap(list []*Stream) {
	for _, st := range list {
		st.Sink.StreamEvent(Event{Type: proto.EventGap, Path: st.Path, Zxid: -1})
	}
}
