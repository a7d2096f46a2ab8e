package zktest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"time"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

const (
	// burstMax bounds the requests that are answered without a look at other connections.
	burstMax = 128
	// maxUnsent is the output in bytes from which on no further request of the same client is read.
	maxUnsent = 1 << 20
	// maxUnsentEvents is the output in bytes that ends the connection: events come without being asked for, and a client
	// that never reads must not fill the memory.
	maxUnsentEvents = 64 << 20
	// maxWaiting is the size in bytes of waiting requests from which on no further one of the same client is read.
	maxWaiting = 4 << 20
)

// errGone ends the readLoop of a connection that the server has closed.
var errGone = errors.New("zktest: connection closed by the server")

// connection is one connection of a client, with a readLoop, which also executes requests, and a writeLoop.
type connection struct {
	s      *Server
	nc     net.Conn
	box    *outbox
	member *Member
	number int64
	fr     frameReader // the readLoop's

	// Guarded by Server.mu.
	r        jute.Reader // over the request in execution
	ss       *session    // nil before the handshake is answered
	ids      []proto.ID
	sasl     saslState
	watches  [sides]map[string]struct{}
	late     []byte     // notifications that wait for the member to hear from the leader again
	lateRegs []lateReg  // watches set meanwhile
	stamp    uint64     // last event counted in Server.hit
	out      []byte     // frames on their way to the outbox
	replyAt  int        // where the last reply begins in out
	parks    []park     // from the first one's offset on, out does not go out
	queue    []*arrival // requests that wait, in order
	waiting  int        // bytes of requests that wait, those for Step included
	blocked  bool       // the first of queue waits for a gate or a timer
	draining bool
	// committing: what is being executed was accepted by the leader long ago
	committing bool
	dirty      bool        // in Server.dirty
	gone       bool        // taken apart; only output may remain
	idle       *time.Timer // runs until the ConnectRequest is there
}

// arrival is a request, or a handshake, that could not be executed at once.
type arrival struct {
	c       *connection
	frame   []byte
	shake   *handshake // nil for a request
	judged  bool
	verdict Verdict
	// committed: it was accepted by the leader and its turn has come
	committed bool
	// unheard: it was executed, and its member, which is cut off, does not know yet
	unheard bool
}

// park is a point in the output where it waits.
type park struct {
	at   int
	gate *Gate // nil: a timer
}

func newConnection(s *Server, nc net.Conn, m *Member, number int64) *connection {
	c := &connection{s: s, nc: nc, box: newOutbox(nc), member: m, number: number, fr: newFrameReader(nc)}
	c.box.stalled = m.stalled
	c.ids = []proto.ID{{Scheme: schemeIP, ID: hostOf(nc)}}
	return c
}

// hostOf returns the client's address as scheme ip sees it; connections in memory come from the loopback.
func hostOf(nc net.Conn) string {
	host, _, err := net.SplitHostPort(nc.RemoteAddr().String())
	if err != nil {
		return "127.0.0.1"
	}
	return host
}

func (c *connection) writeLoop() {
	defer c.s.wg.Done()
	c.box.run()
	s := c.s
	s.mu.Lock()
	delete(s.sending, c)
	s.mu.Unlock()
}

func (c *connection) readLoop() {
	defer c.s.wg.Done()
	err := c.readHandshake()
	for err == nil {
		var frame []byte
		if frame, err = c.fr.next(); err == nil {
			err = c.burst(frame)
		}
	}
	s := c.s
	s.mu.Lock()
	if errors.Is(err, errFrame) {
		s.closeLocked(c)
	} else if !c.gone {
		s.dropLocked(c)
	}
	s.releaseLocked(c)
}

// burst takes one frame and those that have arrived with it, and has the replies written together.
func (c *connection) burst(frame []byte) (err error) {
	s := c.s
	s.mu.Lock()
	for (c.member.deaf || c.waiting >= maxWaiting) && !c.gone {
		s.cond.Wait()
	}
	now := time.Now()
	s.stats.bursts++
	for n := 1; ; n++ {
		c.receiveLocked(frame, now)
		if c.gone || n == burstMax || c.member.deaf || c.waiting >= maxWaiting || !c.fr.buffered() {
			break
		}
		if frame, err = c.fr.next(); err != nil {
			break
		}
	}
	if c.gone {
		err = errGone
	}
	s.releaseLocked(c)
	if err == nil {
		c.box.await(maxUnsent)
	}
	return err
}

// receiveLocked counts a request and executes it, or lets it wait.
func (c *connection) receiveLocked(frame []byte, now time.Time) {
	s := c.s
	if c.gone {
		return
	}
	r := &c.r
	r.Reset(frame)
	xid, op := r.Int(), proto.Op(r.Int())
	if r.Err() != nil {
		s.closeLocked(c) // too short for a header
		return
	}
	s.stats.request(op)
	if c.ss != nil && (op == proto.OpAuth || op == proto.OpSASL) {
		c.networkLocked(xid, op, r)
		return
	}
	if c.ss != nil && c.saslMissingLocked(xid) {
		return
	}
	if c.ss != nil && c.member.service != ReadWrite && refusedReadOnly(op) {
		c.replyLocked(xid, c.member.snapshot.zxid, proto.ErrNotReadOnly) // of an earlier stage than what reads wait in
		return
	}
	if c.ss != nil && len(c.queue) == 0 && !s.watchedLocked() && !c.member.cut {
		c.dispatchLocked(xid, op, r, now)
		return
	}
	a := &arrival{c: c, frame: bytes.Clone(frame)}
	c.waiting += len(frame)
	if s.manual && c.ss != nil {
		s.arrived = append(s.arrived, a)
		s.cond.Broadcast()
		return
	}
	c.queue = append(c.queue, a)
	c.drainLocked()
}

// watchedLocked reports whether requests need a look before they are executed.
func (s *Server) watchedLocked() bool {
	return s.manual || len(s.rules) > 0 || s.hook != nil || len(s.accepted) > 0
}

// drainLocked executes what waits in c.queue until something has to go on waiting. It may release Server.mu for a time,
// while a hook runs.
func (c *connection) drainLocked() {
	if c.draining {
		return
	}
	c.draining = true
	for len(c.queue) > 0 && !c.blocked && !c.gone && c.admitLocked(c.queue[0]) {
		a := c.queue[0]
		c.queue = c.queue[1:]
		c.settleLocked(len(a.frame))
		if a.shake != nil {
			c.answerLocked(a.shake, time.Now())
		} else {
			c.runLocked(a, time.Now())
		}
	}
	c.draining = false
}

// settleLocked takes n bytes off what waits, and lets a readLoop go on that stopped for it.
func (c *connection) settleLocked(n int) {
	full := c.waiting >= maxWaiting
	c.waiting -= n
	if full && c.waiting < maxWaiting {
		c.s.cond.Broadcast()
	}
}

// closeLocked closes c without a word, once the output that is there has gone out.
func (s *Server) closeLocked(c *connection) {
	s.detachLocked(c)
}

// dropLocked closes c at once; what was on its way is lost.
func (s *Server) dropLocked(c *connection) {
	s.detachLocked(c)
	c.out, c.parks = nil, nil
	s.dead = append(s.dead, c.box)
}

// detachLocked takes c out of the server.
func (s *Server) detachLocked(c *connection) {
	if c.gone {
		return
	}
	c.gone = true
	s.dirtyLocked(c)
	for i := range s.watches {
		s.watches[i].removeAll(c)
	}
	if c.ss != nil && c.ss.owner == c {
		c.ss.owner = nil
	}
	if c.idle != nil {
		s.stopLocked(c.idle)
	}
	delete(s.conns, c)
	c.queue, c.late, c.lateRegs = nil, nil, nil
	s.cond.Broadcast()
}

// pushLocked moves the output of c, up to the first point where it waits, into the outbox.
func (c *connection) pushLocked() {
	n := len(c.out)
	if len(c.parks) > 0 {
		n = c.parks[0].at
	}
	if n > 0 {
		if c.box.put(c.out[:n]) > maxUnsentEvents {
			c.s.dropLocked(c)
		}
		c.out = c.out[:copy(c.out, c.out[min(n, len(c.out)):])]
		for i := range c.parks {
			c.parks[i].at -= n
		}
	}
	if len(c.out) == 0 && cap(c.out) > keepBuffer {
		c.out = nil
	}
	if c.gone {
		c.box.finish()
	}
}

// opOf returns the operation of a request's frame, which has a header.
func opOf(frame []byte) proto.Op { return proto.Op(int32(binary.BigEndian.Uint32(frame[4:]))) }
