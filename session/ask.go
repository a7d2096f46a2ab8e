package session

import "github.com/lockkeeper/lockkeeper/proto"

// watchRequest is a request about watches by the session itself, and what it is about.
type watchRequest struct {
	op    proto.Op // addWatch, removeWatches, or setWatches for one path and kind
	path  string
	mode  proto.AddWatchMode // addWatch
	cover *coverage          // addWatch: the coverage it is for
	gap   bool               // addWatch: events may have been missed before it
	kind  proto.WatcherType  // removeWatches
	one   WatchKind          // setWatches
	seq   uint64             // its number among those of the connection
	xid   int32              // once it is written
}

// resets are the numbers of the newest requests without a reply that take one-shot watches of a path along, by side.
type resets struct{ data, child uint64 }

// askLocked queues a request of the session's own and returns its number. A setWatches that is queued already is not repeated, unless
// something stands behind it that would undo it.
func (cx *connection) askLocked(q watchRequest) (seq uint64, fresh bool) {
	for i := len(cx.asked) - 1; i >= 0 && q.op == proto.OpSetWatches; i-- {
		old := &cx.asked[i]
		if old.path != q.path {
			continue
		}
		if old.op == proto.OpSetWatches && old.one == q.one {
			return old.seq, false
		}
		if old.op != proto.OpSetWatches && !old.gap {
			break
		}
	}
	cx.seq++
	q.seq = cx.seq
	cx.resetLocked(&q)
	cx.asked = append(cx.asked, q)
	return q.seq, true
}

// resetLocked notes a request that takes one-shot watches along.
func (cx *connection) resetLocked(q *watchRequest) {
	r := cx.resets[q.path]
	switch {
	case q.op == proto.OpAddWatch && int(q.mode) == recursive, q.op == proto.OpRemoveWatches && q.kind == proto.WatcherChildren:
		r.child = q.seq
	case q.op == proto.OpRemoveWatches && q.kind == proto.WatcherData:
		r.data = q.seq
	case q.op == proto.OpRemoveWatches && q.kind == proto.WatcherAny:
		r = resets{q.seq, q.seq}
	}
	if r != (resets{}) {
		if cx.resets == nil {
			cx.resets = make(map[string]resets)
		}
		cx.resets[q.path] = r
	}
}

// unresetLocked forgets a request that is answered: all reads that it could harm have been answered before it.
func (cx *connection) unresetLocked(q *watchRequest) {
	r, ok := cx.resets[q.path]
	if !ok {
		return
	}
	if r.data == q.seq {
		r.data = 0
	}
	if r.child == q.seq {
		r.child = 0
	}
	if r == (resets{}) {
		delete(cx.resets, q.path)
	} else {
		cx.resets[q.path] = r
	}
}

// unaskLocked takes back what was asked for a coverage and is not written, but for what makes another request good.
func (cx *connection) unaskLocked(path string, have *coverage) {
	kept := cx.asked[:0]
	for _, q := range cx.asked {
		if q.cover == have && !q.gap {
			have.asked--
		} else {
			kept = append(kept, q)
		}
	}
	clear(cx.asked[len(kept):])
	cx.asked = kept
	delete(cx.resets, path)
	for _, list := range [][]watchRequest{cx.asking, cx.asked} { // those that are left count
		for i := range list {
			if list[i].path == path {
				cx.resetLocked(&list[i])
			}
		}
	}
}

// fillAskedLocked appends the requests about watches.
func (cx *connection) fillAskedLocked(out []byte, now int64) []byte {
	for i := range cx.asked {
		q := &cx.asked[i]
		q.xid = cx.s.nextXidLocked()
		out = appendOwn(out, q.xid, q.op, func(b []byte) []byte { return q.appendTo(b, cx.s) })
		cx.fifo.push(entry{xid: q.xid, op: q.op, sent: now})
		cx.asking = append(cx.asking, *q)
		if q.cover != nil {
			q.cover.sent, q.cover.last = true, q.mode
		}
	}
	clear(cx.asked)
	cx.asked = cx.asked[:0]
	return out
}

// appendTo appends the record; the session's mu is held.
func (q *watchRequest) appendTo(b []byte, s *Session) []byte {
	switch q.op {
	case proto.OpAddWatch:
		return (&proto.AddWatchRequest{Path: q.path, Mode: int32(q.mode)}).AppendTo(b)
	case proto.OpRemoveWatches:
		return (&proto.RemoveWatchesRequest{Path: q.path, Type: int32(q.kind)}).AppendTo(b)
	}
	var sw proto.SetWatches
	if s.watches[q.one][q.path] != nil { // still; otherwise there is nothing to set
		sw.RelativeZxid = s.watches.oldest(q.one, q.path)
		*[watchKinds]*[]string{&sw.DataWatches, &sw.ExistWatches, &sw.ChildWatches}[q.one] = []string{q.path}
	}
	return sw.AppendTo(b)
}

// again repeats a removal that was throttled, unless it has lost its point meanwhile.
func (q watchRequest) again(cx *connection, path string) {
	switch {
	case q.kind == proto.WatcherAny:
		if cx.cover[path] == nil {
			cx.clearLocked(path)
		}
	case q.kind == proto.WatcherPersistentRecursive:
		if have := cx.cover[path]; have != nil && int(have.written) != recursive {
			cx.askLocked(watchRequest{op: q.op, path: path, kind: q.kind})
		}
	default:
		cx.tidyLocked(path, q.kind == proto.WatcherChildren)
	}
}

// takeAskedLocked returns what the request with an xid was about: the oldest one, but for replies that overtake.
func (cx *connection) takeAskedLocked(xid int32) (q watchRequest) {
	for i := range cx.asking {
		if cx.asking[i].xid != xid {
			continue
		}
		q = cx.asking[i]
		copy(cx.asking[1:i+1], cx.asking[:i])
		cx.asking[0] = watchRequest{}
		break
	}
	if cx.asking = cx.asking[1:]; len(cx.asking) == 0 {
		cx.asking = nil
	}
	return q
}
