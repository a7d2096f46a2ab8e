package session

import (
	"encoding/binary"
	"errors"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/proto"
)

// readLoop matches replies and delivers events until the connection ends. It waits for nothing but the socket.
func (cx *connection) readLoop() {
	defer cx.wg.Done()
	defer cx.flush()
	now := cx.s.now()
	for {
		if !cx.fc.Buffered() {
			cx.flush()
		}
		fresh := !cx.fc.Buffered()
		frame, err := cx.fc.ReadFrame()
		if fresh {
			now = cx.s.now()
			cx.lastRead.Store(now)
		}
		if err == nil {
			err = cx.handle(frame, now)
		} else {
			err = cx.handleError(err, now)
		}
		if err != nil {
			cx.fail(err)
			return
		}
	}
}

// maxReady bounds how many complete groups wait for the read buffer to run empty.
const maxReady = 128

// flush tells everybody what has been put ready for them. It runs when no complete frame is left in the read buffer, for
// two reasons: callers that are woken together write together, and a consumer of a Queue sees everything that arrived
// with the event that woke it (docs/locks.md D4b).
func (cx *connection) flush() {
	if len(cx.ready) > 0 && cx.overdue() {
		cx.disown()
	}
	for i, g := range cx.ready {
		cx.ready[i] = nil
		g.release()
	}
	for i, q := range cx.dirty {
		cx.dirty[i] = nil
		q.flush()
	}
	cx.ready, cx.dirty = cx.ready[:0], cx.dirty[:0]
}

// overdue says whether the session has ended by its own clock since the replies were matched: the process may have been
// stopped in between, and must learn of that before anything completes.
func (cx *connection) overdue() bool {
	s := cx.s
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.overdueLocked(s.now()) != nil
}

// disown ends the connection with the session, and takes back the replies that nobody has seen yet. What went to a Queue
// needs no such care: a hold is granted by the lease clock.
func (cx *connection) disown() {
	for _, g := range cx.ready {
		for i := range g.calls {
			g.calls[i].outcome, g.calls[i].err = Unknown, ErrSessionExpired
		}
	}
	cx.fail(ErrSessionExpired)
}

// header is a reply's header, decoded by hand on the hot path.
type header struct {
	xid  int32
	zxid int64
	code proto.Code
}

func readHeader(frame []byte) header {
	return header{
		xid:  int32(binary.BigEndian.Uint32(frame)),
		zxid: int64(binary.BigEndian.Uint64(frame[4:])),
		code: proto.Code(int32(binary.BigEndian.Uint32(frame[12:]))),
	}
}

// handle takes one frame of at least a header's length, which conn has checked.
func (cx *connection) handle(frame []byte, now int64) error {
	h, body := readHeader(frame), frame[proto.ReplyHeaderSize:]
	switch h.xid {
	case proto.XidNotification:
		cx.notify(h, body)
		return nil
	case proto.XidPing:
		return cx.pong(h, now)
	}
	cx.infer.valid = false
	e, err := cx.settle(h, now)
	if err != nil {
		return err
	}
	end := cx.refusal(e.op, h.code)
	switch {
	case e.g != nil:
		cx.complete(e, h, body)
	case end == nil:
		return cx.handleOwn(e, h)
	}
	return end
}

// pong takes the answer to a ping. One that was not asked for counts as a sign of life and nothing else.
func (cx *connection) pong(h header, now int64) error {
	if end := cx.refusal(proto.OpPing, h.code); end != nil {
		return end // a server that enforces authentication, and a client that has asked for nothing so far
	}
	s := cx.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sawZxidLocked(h.zxid)
	if cx.pingOut {
		cx.pingOut = false
		s.clock.reply(cx.pingSent, false)
		cx.useful.Store(true)
	}
	return s.overdueLocked(now)
}

// settle finds the request that a reply belongs to, and updates under one lock everything that must be true before its
// caller is woken: the clocks, the zxids, the watch.
func (cx *connection) settle(h header, now int64) (entry, error) {
	s := cx.s
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := cx.matchLocked(h)
	if !ok {
		return e, &ProtocolError{Reason: "reply to nothing", Xid: h.xid}
	}
	s.sawZxidLocked(h.zxid)
	if h.zxid > 0 && e.xid != proto.XidSetWatches { // with the answer to one chunk the events of the next are still owed
		s.relativeZxid = h.zxid
	}
	s.counters.Replies++
	// A refusal proves nothing: some are given by stages of a follower that never ask the leader, throttling for one. The answer
	// to a credential is not even a sign of life: servers give it before they count (docs/protocol.md section 21 number 26).
	if e.op != proto.OpAuth {
		s.clock.reply(e.sent, h.code == 0 && (e.op == proto.OpSync || e.op.IsWrite()))
		cx.useful.Store(true)
	}
	if err := s.overdueLocked(now); err != nil {
		cx.fifo.unpop(e) // its caller learns of the end like all the others
		return e, err
	}
	if e.g == nil {
		return e, nil
	}
	c := &e.g.calls[e.i]
	s.releaseRoomLocked(1, c.end-c.start)
	if c.watch != nil {
		cx.settleWatchLocked(c, !c.watch.dropped && e.g.stage.Load() != abandoned, h.code)
	}
	return e, nil
}

// settleWatchLocked registers the watch of a call, if it is still wanted and the reply says that the server has set it: exists
// leaves one on a missing znode too, the others only with success.
func (cx *connection) settleWatchLocked(c *Call, wanted bool, code proto.Code) {
	w := c.watch
	missing := code == proto.ErrNoNode && c.op == proto.OpExists
	if missing {
		w.Kind = WatchExist
	}
	switch set := code == 0 || missing; {
	case set && wanted:
		w.zxid = cx.s.relativeZxid
		cx.s.watches.add(w)
		if cx.wipedLocked(c) {
			cx.makeGoodLocked(w)
			cx.signal()
		}
	case set && c.cover == nil:
		cx.droppedLocked(w)
	}
}

// matchLocked takes the entry of a reply out of the FIFO: the head in the normal case. The exceptions of docs/protocol.md
// sections 20 and 22 are replies of earlier stages of the server, which overtake.
func (cx *connection) matchLocked(h header) (entry, bool) {
	if cx.fifo.n == 0 {
		return entry{}, false
	}
	if cx.fifo.at(0).xid == h.xid {
		return cx.fifo.pop(), true
	}
	for k := 1; k < cx.fifo.n; k++ {
		e := cx.fifo.at(k)
		if e.xid == h.xid && mayOvertake(e.op, h) {
			return cx.fifo.remove(k), true
		}
	}
	return entry{}, false
}

func mayOvertake(op proto.Op, h header) bool {
	switch h.code {
	case proto.ErrSessionClosedRequireSASL, proto.ErrUnimplemented, proto.ErrNotReadOnly:
		return true
	case proto.ErrNoAuth, proto.ErrInvalidACL:
		return h.zxid == 0
	}
	return op == proto.OpAuth || op == proto.OpSASL
}

// handleOwn takes the reply to a request of the session itself.
func (cx *connection) handleOwn(e entry, h header) error {
	s := cx.s
	switch e.op {
	case proto.OpSync:
		s.mu.Lock()
		cx.syncOut = false
		s.mu.Unlock()
		if h.code == 0 {
			s.holdsProved(cx)
		} else if h.code == proto.ErrNotReadOnly {
			s.endHolds(h.code)
		}
	case proto.OpSetWatches, proto.OpSetWatches2, proto.OpAddWatch, proto.OpRemoveWatches:
		if e.xid == proto.XidSetWatches {
			return cx.rewatched(e.op, h.code, h.xid)
		}
		return cx.answered(h.code, h.xid)
	case proto.OpCloseSession:
		return errSessionGone
	}
	return nil
}

// complete copies a reply into its group and completes the call.
func (cx *connection) complete(e entry, h header, body []byte) {
	g, c := e.g, &e.g.calls[e.i]
	c.zxid = h.zxid
	var o Outcome
	var err error
	if h.code == 0 {
		o = Replied
		c.from = len(g.replies)
		if g.stage.Load() == submitted {
			g.replies = append(g.replies, body...)
		}
		c.to = len(g.replies)
	} else {
		o, err = Rejected, h.code
		if end := cx.refusal(e.op, h.code); end != nil {
			err = end
		}
		if h.code == proto.ErrNotReadOnly {
			cx.s.endHolds(h.code)
		}
	}
	cx.finish(e, len(body), o, err)
}

// finish completes a call whose reply had received bytes of body.
func (cx *connection) finish(e entry, received int, o Outcome, err error) {
	g := e.g
	cx.s.traceRequest(e, received, o, err)
	if !g.finishCall(int(e.i), o, err) {
		return
	}
	if q := g.queue; q != nil {
		if g.stage.CompareAndSwap(submitted, complete) {
			q.push(Item{Kind: ItemReply, Tag: g.tag, Conn: cx.no}, false)
			cx.dirty = append(cx.dirty, q)
		}
		return
	}
	cx.ready = append(cx.ready, g)
	if len(cx.ready) >= maxReady {
		cx.flush()
	}
}

// handleError takes the error of a frame: a reply over the limit concerns its call, anything else the connection.
func (cx *connection) handleError(err error, now int64) error {
	var big *conn.TooLargeError
	if errors.As(err, &big) {
		return cx.handleTooLarge(big, now)
	}
	return err
}

// handleTooLarge fails the call whose reply exceeds the receive limit. The reply came, but what it said is unknown.
func (cx *connection) handleTooLarge(big *conn.TooLargeError, now int64) error {
	h := readHeader(big.Header[:])
	cx.infer.valid = false
	if h.xid == proto.XidNotification || h.xid == proto.XidPing {
		return big
	}
	e, err := cx.settle(h, now)
	if err != nil || e.g == nil {
		return err
	}
	e.g.calls[e.i].zxid = h.zxid
	cx.finish(e, int(big.Length)-proto.ReplyHeaderSize, Unknown, big)
	return nil
}
