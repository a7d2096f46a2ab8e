package session

import (
	"context"
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// entry is a written request that waits for its reply: request i of a group, or, when g is nil, one of the session's own.
type entry struct {
	g    *Group
	i    int32
	xid  int32
	op   proto.Op
	sent int64 // when it was written, on the session's clock
}

// connection is one connection of a session with its two loops.
type connection struct {
	s      *Session
	no     uint64 // counts the connections of the session from 1
	fc     *conn.Conn
	server string
	addr   string // what was dialled: of a name, one of its addresses
	began  int64  // when the handshake was answered
	before Counters

	lookAt    int64 // run's: when it last looked
	lookBytes int64 // run's: bytes received by then

	lastRead  atomic.Int64 // publishes the reader's clock to serve
	lastWrite atomic.Int64 // publishes the writer's clock to serve
	useful    atomic.Bool  // a reply has arrived: the server does serve us

	wake chan struct{} // a token when the writer has something to look for
	dead chan struct{} // closed by the first fail

	endSearch context.CancelFunc // immutable: ends searchLoop; nil unless the server is read-only

	once sync.Once
	err  error          // why the connection ended; valid when dead is closed
	wg   sync.WaitGroup // the loops

	// Guarded by the session's mu.
	fifo     ring
	prelude  []byte  // frames that go before everything else on a new connection
	first    []entry // their entries
	pingDue  bool
	pingOut  bool
	pingSent int64
	syncDue  bool
	syncOut  bool
	syncSent int64
	closeDue bool
	closing  bool // closeSession was written: nothing may follow
	chunks   int  // of watches in the prelude, not answered
	cover    map[string]*coverage
	leftover map[string]struct{} // paths of coverages that a server of 3.9 still has a recursive watch on
	modern   bool                // it is one
	seq      uint64              // counts what was asked
	resets   map[string]resets
	asked    []watchRequest // to be written
	asking   []watchRequest // written, in order

	out     []byte    // the writer's, as is quiet
	quiet   int       // bursts in a row for which a large out was not needed
	ready   []*Group  // the reader's: groups to release at the next flush
	dirty   []*Queue  // the reader's: queues to wake at the next flush
	fired   []*Watch  // the reader's scratch
	streams []*Stream // likewise
	infer   inference
}

// fail ends the connection with err; only the first call counts.
func (cx *connection) fail(err error) {
	cx.once.Do(func() {
		cx.err = err
		close(cx.dead)
		if cx.endSearch != nil {
			cx.endSearch()
		}
		_ = cx.fc.Close() // the loops learn of the end by it; its own error adds nothing
	})
}

// signal makes the writer look.
func (cx *connection) signal() {
	select {
	case cx.wake <- struct{}{}:
	default:
	}
}

// nextXid returns the xid of the next request: positive, back to 1 after the largest, as in the Java client
// (ClientCnxn.getXid). An xid that is still in flight after a wrap is skipped.
func (s *Session) nextXidLocked() int32 {
	for {
		if s.xid == math.MaxInt32 {
			s.xid, s.wrapped = 0, true
		}
		s.xid++
		if s.cx == nil || s.cx.fifo.n == 0 {
			s.wrapped = false // nothing from before the wrap is in flight
		}
		if !s.wrapped || !s.cx.fifo.has(s.xid) {
			return s.xid
		}
	}
}

// appendOwn appends a request of the session itself.
func appendOwn(b []byte, xid int32, op proto.Op, record func([]byte) []byte) []byte {
	b, start := conn.BeginFrame(b)
	b = jute.AppendInt(b, xid)
	b = jute.AppendInt(b, int32(op))
	if record != nil {
		b = record(b)
	}
	conn.EndFrame(b, start)
	return b
}

// preludeAdd appends a request of the session to what goes first on the connection.
func (cx *connection) preludeAdd(xid int32, op proto.Op, record func([]byte) []byte) {
	cx.prelude = appendOwn(cx.prelude, xid, op, record)
	cx.first = append(cx.first, entry{xid: xid, op: op})
}

// stamp writes the xid into a frame that starts at b[0].
func stamp(b []byte, xid int32) { binary.BigEndian.PutUint32(b[4:], uint32(xid)) }

// ring is a queue of entries that grows to what was in flight at once and shrinks when it is empty.
type ring struct {
	buf  []entry // length 0 or a power of two
	head int
	n    int
}

func (r *ring) at(k int) *entry { return &r.buf[(r.head+k)&(len(r.buf)-1)] }

func (r *ring) push(e entry) {
	if r.n == len(r.buf) {
		grown := make([]entry, max(16, 2*len(r.buf)))
		for k := range r.n {
			grown[k] = *r.at(k)
		}
		r.buf, r.head = grown, 0
	}
	r.n++
	*r.at(r.n - 1) = e
}

func (r *ring) pop() entry {
	e := *r.at(0)
	*r.at(0) = entry{}
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	if r.n == 0 && len(r.buf) > 1024 {
		*r = ring{}
	}
	return e
}

// unpop puts back what pop returned.
func (r *ring) unpop(e entry) {
	if r.n == len(r.buf) {
		rest := *r
		*r = ring{}
		r.push(e)
		for k := range rest.n {
			r.push(*rest.at(k))
		}
		return
	}
	r.head = (r.head - 1) & (len(r.buf) - 1)
	r.n++
	*r.at(0) = e
}

// remove takes out entry k, closing the gap.
func (r *ring) remove(k int) entry {
	e := *r.at(k)
	for ; k > 0; k-- {
		*r.at(k) = *r.at(k - 1)
	}
	r.pop()
	return e
}

func (r *ring) has(xid int32) bool {
	for k := range r.n {
		if r.at(k).xid == xid {
			return true
		}
	}
	return false
}
