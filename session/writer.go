package session

import (
	"runtime"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
)

// A burst is written when it has grown to this many bytes; more waits for the next one.
const maxBurst = 64 << 10

// writeLoop takes everything that is queued and writes it at once, until the connection ends.
func (cx *connection) writeLoop() {
	defer cx.wg.Done()
	for {
		select {
		case <-cx.wake:
		case <-cx.dead:
			return
		}
		// Callers that are about to queue something get to do so first, so that one write carries all of it: with a
		// hundred callers this is the difference between bursts of one and of fourteen (DESIGN.md, Non-obvious).
		runtime.Gosched()
		for {
			b, burst := cx.fill()
			if len(b) == 0 {
				break
			}
			if tr := cx.s.cfg.Trace; tr != nil && tr.Burst != nil {
				tr.Burst(burst.requests, burst.inFlight, burst.queued)
			}
			if err := cx.fc.WriteBatch(b); err != nil {
				cx.writeFailed(err)
				return
			}
			// Whoever waits parks at once, and the thread with it, if nothing else is to be done, only to be woken when the reply
			// comes some microseconds later. To yield once lets the scheduler look at the network before that (DESIGN.md, Non-obvious).
			runtime.Gosched()
		}
	}
}

// burst describes one write for a Trace.
type burst struct{ requests, inFlight, queued int }

// lastWords is how long a connection on which nothing can be written any more is still read.
const lastWords = 100 * time.Millisecond

// writeFailed ends the connection, but not before the reader has read what has arrived: a server that refuses says so and closes, and
// whoever writes just then would otherwise lose that for an error of the network.
func (cx *connection) writeFailed(err error) {
	if cx.fc.SetReadDeadline(time.Now().Add(lastWords)) != nil {
		cx.fail(err)
	}
}

// keepOut gives a large buffer back when it was not needed for a while, as Group.keep does. Requests that are all large would be
// copied into a new one every time otherwise, which costs more than the copying.
func (cx *connection) keepOut() {
	switch {
	case cap(cx.out) <= maxBurst:
	case len(cx.out) > maxBurst:
		cx.quiet = 0
	default:
		cx.quiet++
	}
	if cap(cx.out) > largeBuffer || cx.quiet > quietRounds {
		cx.out, cx.quiet = nil, 0
	}
}

// fill moves what may be written now from the queue to the FIFO and returns its bytes, valid until the next call.
func (cx *connection) fill() ([]byte, burst) {
	s := cx.s
	cx.keepOut()
	s.mu.Lock()
	defer s.mu.Unlock()
	if cx.closing {
		return nil, burst{}
	}
	now, before := s.now(), cx.fifo.n
	out := cx.fillOwnLocked(cx.out[:0], now)
	for g := s.queue.first; g != nil && len(out) < maxBurst && !cx.closing; g = s.queue.first {
		s.queue.remove(g)
		out = cx.fillGroupLocked(out, g, now)
	}
	if len(out) > 0 {
		cx.lastWrite.Store(now)
		s.counters.Requests += uint64(cx.fifo.n - before)
		s.counters.Bursts++
	}
	cx.out = out
	return out, burst{requests: cx.fifo.n - before, inFlight: cx.fifo.n, queued: s.queue.n}
}

// fillOwnLocked appends the session's own requests that are due.
func (cx *connection) fillOwnLocked(out []byte, now int64) []byte {
	s := cx.s
	if len(cx.first) > 0 {
		out = append(out, cx.prelude...)
		for _, e := range cx.first {
			e.sent = now
			if e.op == proto.OpSync {
				cx.syncOut, cx.syncSent = true, now
			}
			cx.fifo.push(e)
		}
		cx.prelude, cx.first = nil, nil
	}
	if cx.closeDue {
		cx.closing = true
		xid := s.nextXidLocked()
		cx.fifo.push(entry{xid: xid, op: proto.OpCloseSession, sent: now})
		return appendOwn(out, xid, proto.OpCloseSession, nil)
	}
	if cx.pingDue && !cx.pingOut {
		cx.pingDue, cx.pingOut, cx.pingSent = false, true, now
		s.counters.Pings++
		out = appendOwn(out, proto.XidPing, proto.OpPing, nil)
	}
	if cx.syncDue && !cx.syncOut {
		cx.syncDue, cx.syncOut, cx.syncSent = false, true, now
		xid := s.nextXidLocked()
		cx.fifo.push(entry{xid: xid, op: proto.OpSync, sent: now})
		out = appendOwn(out, xid, proto.OpSync, appendRoot)
	}
	return cx.fillAskedLocked(out, now)
}

// fillGroupLocked appends the requests of g and enters them into the FIFO.
func (cx *connection) fillGroupLocked(out []byte, g *Group, now int64) []byte {
	g.connNo = cx.no
	for i := range g.calls {
		c := &g.calls[i]
		xid := proto.XidAuth
		if c.op != proto.OpAuth {
			xid = cx.s.nextXidLocked()
		}
		stamp(g.buf[c.start:], xid)
		if c.watch != nil {
			cx.bareLocked(g, c)
		}
		cx.fifo.push(entry{g: g, i: int32(i), xid: xid, op: c.op, sent: now})
	}
	return append(out, g.buf...)
}

// appendRoot is the record of a sync of the root.
func appendRoot(b []byte) []byte { return (&proto.SyncRequest{Path: "/"}).AppendTo(b) }
