package session

import (
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
)

// coverage is the persistent watch that a connection has on a path.
//
// Servers before 3.9.0 keep one mode per connection, path and side (data, children): a later watch of another mode takes the
// place of the earlier one, a plain one-shot watch too (docs/protocol.md section 11). From 3.9.0 on modes add up. What is done
// here has the same result on both, so that nobody needs to know the version:
//
//   - There is one mode per path: recursive if a stream wants that, else persistent. Where it is recursive, persistent streams
//     get the change of the children from the creation or deletion of a child.
//   - Reads that want a one-shot watch on a covered path go out without the flag; the watch is served by the events that the
//     coverage brings. The writer decides, since only there the order of requests is known. Watches of children are the
//     exception where the mode is recursive: that lives on the data side alone, so they do not harm it, and they are not served
//     by it, since it tells of no child that may not be read.
//   - What takes one-shot watches of ours along, at one server or the other, is followed by a setWatches that sets them again,
//     from the zxids of their own replies on: what was missed is told by that. Reads that were in flight meanwhile do it when
//     their reply comes.
type coverage struct {
	written   proto.AddWatchMode // by the newest request
	confirmed proto.AddWatchMode // by the newest reply
	sure      bool               // confirmed is in force
	restored  bool               // set by the prelude, with confirmed as if it were in force, since nothing else was before
	sent      bool               // the server may have it
	last      proto.AddWatchMode // by the newest request that was sent
	asked     int                // addWatch requests without a reply
	refused   proto.Code         // of one of them; 0 if none was
}

// serves reports whether streams of a mode hear all they must. A recursive one does not while the server may be on its way to
// another mode.
func (c *coverage) serves(mode int) bool {
	return c.sure && (mode == persistent || int(c.confirmed) == recursive && int(c.written) == recursive && c.asked == 0)
}

// coverLocked makes what the server has on a path what the streams there need, by requests that go ahead of everything
// queued.
func (cx *connection) coverLocked(path string) {
	want, any := cx.s.streams.mode(path)
	have := cx.cover[path]
	switch {
	case any && have == nil:
		have = &coverage{written: want}
		if cx.cover == nil {
			cx.cover = make(map[string]*coverage)
		}
		cx.cover[path] = have
		cx.addLocked(path, have)
	case any && have.written != want:
		have.written = want
		cx.unaskLocked(path, have)
		if !have.sent || have.last != want {
			cx.addLocked(path, have)
		}
	case !any && have != nil:
		delete(cx.cover, path)
		delete(cx.leftover, path)
		cx.unaskLocked(path, have)
		if have.sent {
			cx.clearLocked(path)
		}
	}
}

// addLocked asks for the mode of a coverage.
func (cx *connection) addLocked(path string, have *coverage) {
	have.asked++
	cx.askLocked(watchRequest{op: proto.OpAddWatch, path: path, mode: have.written, cover: have})
	if int(have.written) == recursive {
		delete(cx.leftover, path)
		cx.rearmLocked(path) // before 3.9 it has taken the place of watches of children
	}
}

// leaveLocked is told that a persistent watch has followed a recursive one on a path. From 3.9 on the recursive one is still there,
// and the only way to take it off by itself has been since then. Until an event shows such a server it costs nothing.
func (cx *connection) leaveLocked(path string) {
	if cx.modern {
		cx.askLocked(watchRequest{op: proto.OpRemoveWatches, path: path, kind: proto.WatcherPersistentRecursive})
		return
	}
	if cx.leftover == nil {
		cx.leftover = make(map[string]struct{})
	}
	cx.leftover[path] = struct{}{}
}

// modernLocked is told that the server is one of 3.9 or later.
func (cx *connection) modernLocked() {
	cx.modern = true
	for path := range cx.leftover {
		cx.askLocked(watchRequest{op: proto.OpRemoveWatches, path: path, kind: proto.WatcherPersistentRecursive})
	}
	if cx.leftover != nil {
		cx.leftover = nil
		cx.signal()
	}
}

// clearLocked takes off everything that the connection has on a path: no narrower type reaches persistent watches before 3.9.
// The one-shot watches are set again.
func (cx *connection) clearLocked(path string) {
	cx.askLocked(watchRequest{op: proto.OpRemoveWatches, path: path, kind: proto.WatcherAny})
	cx.rearmLocked(path)
}

// rearmLocked sets the registered one-shot watches on a path that no coverage serves, kind by kind, since each must be told of
// what has come after its own reply and of nothing before.
func (cx *connection) rearmLocked(path string) {
	have := cx.cover[path]
	for kind := range watchKinds {
		if cx.s.watches[kind][path] == nil || have != nil && (kind != WatchChild || int(have.written) != recursive) {
			continue
		}
		cx.setLocked(path, kind)
	}
}

// setLocked asks for the one-shot watches of a kind on a path, from the oldest of their replies on. Until that is answered they are
// owed: a reconnect must not begin anywhere else. It reports false if the request was queued already.
func (cx *connection) setLocked(path string, kind WatchKind) bool {
	seq, fresh := cx.askLocked(watchRequest{op: proto.OpSetWatches, path: path, one: kind})
	s := cx.s
	if s.owed == nil {
		s.owed = make(map[*Watch]uint64)
	}
	for w := s.watches[kind][path]; w != nil; w = w.next {
		s.owed[w] = seq
	}
	return fresh
}

// makeGoodLocked sets a one-shot watch that the server has not had, or not all the time, since its reply. On a covered path the
// coverage is asked for once more, since before 3.9 it gives way to that; in between events may be missed, so its streams are told
// of a gap.
func (cx *connection) makeGoodLocked(w *Watch) {
	have := cx.cover[w.Path]
	if have == nil || w.Kind == WatchChild && int(have.written) == recursive {
		cx.rearmLocked(w.Path)
		return
	}
	if !cx.setLocked(w.Path, w.Kind) { // what is on its way will be for w too
		return
	}
	have.asked++
	cx.askLocked(watchRequest{op: proto.OpAddWatch, path: w.Path, mode: have.written, cover: have, gap: true})
}

// armServedLocked arms the streams that wait for what is confirmed.
func (cx *connection) armServedLocked(path string) {
	have, p := cx.cover[path], cx.s.streams.byPath[path]
	if have == nil || p == nil {
		return
	}
	for mode, list := range p {
		if have.serves(mode) {
			for _, st := range list {
				st.armLocked()
			}
		}
	}
}

// answered takes the reply to a request about watches.
func (cx *connection) answered(code proto.Code, xid int32) error {
	s := cx.s
	s.mu.Lock()
	q := cx.takeAskedLocked(xid)
	cx.unresetLocked(&q)
	var told, gaps []*Stream
	var err error
	switch {
	case q.op == proto.OpAddWatch:
		if q.gap && code == 0 {
			gaps = s.streams.armedOnLocked(q.path)
		}
		told = cx.addedLocked(&q, code)
	case q.op == proto.OpSetWatches && code == 0:
		cx.paidLocked(&q)
	case q.op == proto.OpSetWatches:
		err = &ProtocolError{Reason: "watches refused: " + code.Error(), Xid: xid}
	case code == proto.ErrThrottled:
		cx.laterLocked(q.path, q.again)
	}
	if code == proto.ErrThrottled && (q.gap || q.op == proto.OpSetWatches || q.op == proto.OpAddWatch && q.cover.sure) {
		// The server is in a state between two, in which events are lost. A new connection is not.
		err = errBusyServer
	}
	s.mu.Unlock()
	tellEnd(told, code)
	tellGap(gaps)
	cx.signal()
	return err
}

// addedLocked takes the answer to an addWatch and returns the streams that it ends. A coverage that was given up meanwhile has no
// use for it: its removal follows.
func (cx *connection) addedLocked(q *watchRequest, code proto.Code) (told []*Stream) {
	have := q.cover
	have.asked--
	if code == 0 {
		// Not if the recursive one has been asked for again since: its removal would come behind that.
		if have.sure && int(have.confirmed) == recursive && int(q.mode) == persistent && int(have.written) == persistent && cx.cover[q.path] == have {
			cx.leaveLocked(q.path)
		}
		have.confirmed, have.sure = q.mode, true
	} else {
		have.refused = code
	}
	if cx.cover[q.path] != have {
		return nil
	}
	if code = have.refused; code != 0 && have.asked == 0 {
		have.refused = 0
		told = cx.refusedLocked(q.path, have, code)
	}
	cx.armServedLocked(q.path)
	return told
}

// refusedLocked is told that a coverage is not what it should be. Throttling is no answer: the request is repeated after a
// pause. Otherwise the streams that are not served end, and those whose sinks are to be told are returned.
func (cx *connection) refusedLocked(path string, have *coverage, code proto.Code) (told []*Stream) {
	if !have.sure { // the server has nothing
		delete(cx.cover, path)
	}
	if code == proto.ErrThrottled {
		if have.sure {
			return nil // the connection ends
		}
		cx.rearmLocked(path)
		cx.laterLocked(path, (*connection).coverLocked)
		return nil
	}
	for mode, list := range cx.s.streams.lists(path) {
		for _, st := range list {
			if (!have.sure || mode != persistent && int(have.confirmed) != recursive) && cx.s.endLocked(st, code) {
				told = append(told, st)
			}
		}
	}
	if have.sure {
		have.written = have.confirmed
		cx.coverLocked(path)
	}
	cx.rearmLocked(path)
	return told
}

// paidLocked takes the answer to a setWatches: what it set is not owed any more, unless it was asked for again since.
func (cx *connection) paidLocked(q *watchRequest) {
	for w := cx.s.watches[q.one][q.path]; w != nil && len(cx.s.owed) > 0; w = w.next {
		if seq, ok := cx.s.owed[w]; ok && seq <= q.seq {
			delete(cx.s.owed, w)
		}
	}
}

// laterLocked does f for a path after a pause, if the connection is still there.
func (cx *connection) laterLocked(path string, f func(*connection, string)) {
	// The timer's goroutine, owned by the session; it does not block. On a connection that is gone it has nothing to do.
	time.AfterFunc(throttledPause, func() {
		cx.s.mu.Lock()
		if cx.s.cx == cx {
			f(cx, path)
		}
		cx.s.mu.Unlock()
		cx.signal()
	})
}

// droppedLocked is told that a one-shot watch, which the server has, is of no use any more.
func (cx *connection) droppedLocked(w *Watch) {
	if w.Tidy {
		cx.tidyLocked(w.Path, w.Kind == WatchChild)
	}
}

// tidyLocked takes the one-shot watches on one side of a path off the server, if nobody here waits for them. Under a coverage
// they go with it.
func (cx *connection) tidyLocked(path string, child bool) {
	kind, kinds := proto.WatcherData, dataAndExist[:]
	if child {
		kind, kinds = proto.WatcherChildren, childOnly[:]
	}
	if cx.cover[path] != nil {
		return
	}
	for _, k := range kinds {
		if cx.s.watches[k][path] != nil {
			return
		}
	}
	cx.askLocked(watchRequest{op: proto.OpRemoveWatches, path: path, kind: kind})
	cx.signal()
}

// bareLocked takes the watch flag off a read of a path that is covered; it stands last in all records that have one.
func (cx *connection) bareLocked(g *Group, c *Call) {
	c.seq, c.cover = cx.seq, nil
	if len(cx.cover) == 0 {
		return
	}
	have := cx.cover[c.watch.Path]
	if have == nil || c.watch.Kind == WatchChild && int(have.written) == recursive {
		return
	}
	g.buf[c.end-1] = 0
	c.cover = have
}

// wipedLocked reports whether the server does not have, or will not keep, the watch of a read that it has answered: the coverage
// that it counted on is not there, or something was asked for since that takes it along.
func (cx *connection) wipedLocked(c *Call) bool {
	if c.cover != nil && c.cover != cx.cover[c.watch.Path] {
		return true
	}
	r := cx.resets[c.watch.Path]
	if c.watch.Kind == WatchChild {
		return c.seq < r.child
	}
	return c.seq < r.data
}
