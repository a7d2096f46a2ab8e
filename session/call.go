package session

import (
	"context"
	"sync/atomic"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// Call is one request of a Group and, when the group is complete, what became of it.
type Call struct {
	op         proto.Op
	outcome    Outcome
	start, end int // the frame in the group's buffer
	from, to   int // the reply's body in the group's replies
	zxid       int64
	err        error
	watch      *Watch
	cover      *coverage // what it counts on for its watch: written without the flag, since the path is covered
	seq        uint64    // of the connection's own requests about watches, the newest that was written before it
}

// Group is a list of requests that are written together, contiguous on the wire, and complete together. It is built with
// Begin and End, submitted once, read, and reset for the next use; after the first rounds it allocates nothing.
//
// A group belongs to its caller, except between Submit and its completion. If Do returns early because its context ended
// while requests were in flight, the group belongs to the session for good and the caller must drop it: Do says so.
type Group struct {
	calls   []Call
	buf     []byte // the frames of all requests
	replies []byte // the bodies of all replies; written by the reader until the group is complete
	left    int    // calls without outcome; owned by whoever completes calls (see doc.go)
	quiet   int    // rounds in a row in which a large buffer was not needed
	connNo  uint64 // number of the connection that carried the group; 0 while it was on none

	stage      atomic.Int32 // publishes the hand-over between caller and session
	queued     bool         // guarded by the session's mu: in the queue, nothing written
	next, prev *Group       // guarded by the session's mu: place in the queue

	queue *Queue        // where the complete group goes, if not nil
	tag   uint32        // of its item there
	to    receiver      // who takes the complete group, if not nil and there is no queue
	done  chan struct{} // one token when complete, for groups with neither
}

// The stages of a group.
const (
	building  int32 = iota // the caller's
	submitted              // the session's
	complete               // the caller's again
	abandoned              // the session's for good
)

// receiver takes complete groups. receive is called on the session's goroutines and must not block.
type receiver interface{ receive(g *Group) }

// NewGroup returns an empty group.
func NewGroup() *Group { return &Group{done: make(chan struct{}, 1)} }

// Begin starts a request and returns the buffer to append its record to; End takes the longer buffer. Nothing else may be
// done with the group between the two.
func (g *Group) Begin(op proto.Op) []byte {
	b, start := conn.BeginFrame(g.buf)
	g.calls = append(g.calls, Call{op: op, start: start})
	b = jute.AppendInt(b, 0) // the xid, known when it is written
	return jute.AppendInt(b, int32(op))
}

// End completes the request that Begin started and returns its index. A watch, if not nil, is registered by the reader
// when the reply says that the server has set it.
func (g *Group) End(b []byte, w *Watch) int {
	i := len(g.calls) - 1
	c := &g.calls[i]
	conn.EndFrame(b, c.start)
	c.end = len(b)
	c.watch = w
	g.buf = b
	return i
}

// Reset empties the group for its next use. A large buffer is kept as long as it is needed every now and then, so that a
// caller whose replies are all large does not pay for them with garbage.
func (g *Group) Reset() {
	clear(g.calls)
	g.calls, g.buf, g.replies = g.calls[:0], g.keep(g.buf), g.keep(g.replies)
	g.left, g.connNo = 0, 0
	g.queue, g.to = nil, nil
	g.stage.Store(building)
}

// Limits of the memory that an idle group holds on to.
const (
	smallBuffer = 16 << 10 // bytes that are kept in any case
	largeBuffer = 6 << 20  // bytes above which nothing is kept: what append makes of replies of the default receive limit is
	quietRounds = 16       // rounds without need after which a buffer between the two is dropped
)

// keep returns b emptied for its next use, or nil when it is too large to be kept.
func (g *Group) keep(b []byte) []byte {
	switch {
	case cap(b) <= smallBuffer:
		return b[:0]
	case cap(b) > largeBuffer:
		return nil
	case len(b) > smallBuffer:
		g.quiet = 0
	case g.quiet >= quietRounds:
		return nil
	default:
		g.quiet++
	}
	return b[:0]
}

// Len returns the number of requests.
func (g *Group) Len() int { return len(g.calls) }

// Size returns the bytes that the requests take on the wire.
func (g *Group) Size() int { return len(g.buf) }

// Op returns the opcode of request i.
func (g *Group) Op(i int) proto.Op { return g.calls[i].op }

// Result returns what became of request i of a complete group: nil, a proto.Code, or why there is no reply.
func (g *Group) Result(i int) (Outcome, error) { return g.calls[i].outcome, g.calls[i].err }

// Body returns the body of reply i of a complete group. It is valid until Reset; nil when there was none.
func (g *Group) Body(i int) []byte {
	c := &g.calls[i]
	return g.replies[c.from:c.to:c.to]
}

// Zxid returns the zxid of reply i; for a successful write it is the write's own.
func (g *Group) Zxid(i int) int64 { return g.calls[i].zxid }

// Conn returns the number of the connection that carried a complete group, 0 when none did.
func (g *Group) Conn() uint64 { return g.connNo }

// To makes the group go to q when it is complete, as an item with the tag, in the order of the wire among the events and
// groups that go there too.
func (g *Group) To(q *Queue, tag uint32) { g.queue, g.tag = q, tag }

// finishCall records the outcome of call i; the last one completes the group.
func (g *Group) finishCall(i int, o Outcome, err error) (last bool) {
	c := &g.calls[i]
	c.outcome, c.err = o, err
	g.left--
	return g.left == 0
}

// finishAll gives the calls that have no outcome yet this one, and completes the group.
func (g *Group) finishAll(o Outcome, err error) {
	for i := range g.calls {
		if g.calls[i].outcome == Pending {
			g.calls[i].outcome, g.calls[i].err = o, err
		}
	}
	g.left = 0
	g.release()
}

// release hands a complete group back. An abandoned one is left to the garbage collector: nobody looks at it any more.
func (g *Group) release() {
	if !g.stage.CompareAndSwap(submitted, complete) {
		return
	}
	switch {
	case g.queue != nil:
		g.queue.push(Item{Kind: ItemReply, Tag: g.tag, Conn: g.connNo}, true)
	case g.to != nil:
		g.to.receive(g)
	default:
		g.done <- struct{}{}
	}
}

// wait waits for the completion of a submitted group. ok is false when the context ended first and the requests are in
// flight: then the group is the session's for good.
func (g *Group) wait(ctx context.Context, s *Session) (ok bool) {
	select {
	case <-g.done:
		return true
	case <-ctx.Done():
	}
	if !s.Withdraw(g, ctx.Err()) && g.stage.CompareAndSwap(submitted, abandoned) {
		return false
	}
	<-g.done
	return true
}

// withdraw takes g out of the queue, if nothing of it has been written.
func (s *Session) withdraw(g *Group) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !g.queued {
		return false
	}
	s.queue.remove(g)
	s.releaseRoomLocked(len(g.calls), len(g.buf))
	return true
}

// Withdraw takes back a submitted group of which nothing has been written: it completes, not sent, with err. It says whether
// that was so.
func (s *Session) Withdraw(g *Group, err error) bool {
	if !s.withdraw(g) {
		return false
	}
	s.finishUnsent(g, err)
	return true
}
