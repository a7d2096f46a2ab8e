package zktest

import (
	"bytes"
	"slices"
	"time"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// judgeLocked finds the verdict for a. It releases Server.mu while the hook runs.
func (s *Server) judgeLocked(a *arrival) Verdict {
	if len(s.rules) == 0 && s.hook == nil {
		return Verdict{}
	}
	req := describe(a.c, a.frame)
	for _, r := range s.rules {
		if r.applyLocked(req) {
			return r.verdict
		}
	}
	hook := s.hook
	if hook == nil {
		return Verdict{}
	}
	s.mu.Unlock()
	v := hook(req)
	s.mu.Lock()
	return v
}

// describe reads what a request is about.
func describe(c *connection, frame []byte) *Request {
	r := jute.NewReader(frame)
	req := &Request{Member: c.member.addr, Conn: c.number, SessionID: c.ss.id, Xid: r.Int(), Op: proto.Op(r.Int())}
	req.Body = r.Rest()
	switch req.Op {
	case proto.OpPing, proto.OpSetWatches, proto.OpSetWatches2, proto.OpWhoAmI, proto.OpCloseSession, proto.OpReconfig:
	case proto.OpMulti, proto.OpMultiRead:
		for op, more := nextPart(&r); more; op, more = nextPart(&r) {
			req.Paths = append(req.Paths, skipPart(&r, op))
		}
	default:
		req.Paths = []string{r.String()}
	}
	if len(req.Paths) > 0 {
		req.Path = req.Paths[0]
	}
	return req
}

// skipPart passes over one operation of a multi and returns its path.
func skipPart(r *jute.Reader, op proto.Op) string {
	m := proto.MultiOp{Path: r.String()}
	switch op {
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		r.Buffer()
		count, _ := readCount(r, 12)
		for range count {
			var a proto.ACL
			a.ReadFrom(r)
		}
		r.Int()
		if op == proto.OpCreateTTL {
			r.Long()
		}
	case proto.OpSetData:
		r.Buffer()
		r.Int()
	case proto.OpDelete, proto.OpCheck:
		r.Int()
	case proto.OpGetData, proto.OpGetChildren:
		r.Bool()
	default:
		r.Fail("multi", jute.ErrCount)
	}
	return m.Path
}

// admitLocked reports whether the first arrival of c may be executed now; if not, whatever it waits for drains c again.
func (c *connection) admitLocked(a *arrival) bool {
	s := c.s
	if a.shake != nil {
		return c.member.refusal != RefuseStall && !c.member.cut
	}
	if !a.judged {
		a.verdict = s.judgeLocked(a)
		a.judged = true
		if c.gone {
			return false
		}
	}
	if d := a.verdict.Delay; d > 0 {
		a.verdict.Delay = 0
		c.blocked = true
		s.afterLocked(d, func() {
			c.blocked = false
			c.drainLocked()
		})
		return false
	}
	if g := a.verdict.Wait; g != nil && !g.passed(c) {
		c.blocked = true
		if a.verdict.Accepted && needsLeader(opOf(a.frame)) {
			s.accepted = append(s.accepted, a)
		}
		return false
	}
	switch {
	case a.committed || !needsLeader(opOf(a.frame)):
		return true
	case slices.Contains(s.accepted, a): // its turn comes in commitLocked
		c.blocked = true
		return false
	case len(s.accepted) > 0:
		c.blocked = true
		s.behind = append(s.behind, c)
		return false
	}
	return !c.member.cut
}

// runLocked executes a request under its verdict.
func (c *connection) runLocked(a *arrival, now time.Time) {
	v := &a.verdict
	r := &c.r
	r.Reset(a.frame)
	xid, op := r.Int(), proto.Op(r.Int())
	c.replyAt = -1
	c.committing = a.committed
	switch {
	case v.Skip:
	case v.Err != 0:
		c.replyLocked(xid, c.viewLocked().zxid, v.Err)
	default:
		c.dispatchLocked(xid, op, r, now)
	}
	c.committing = false
	if c.replyAt >= 0 {
		c.treatReplyLocked(v)
	}
	if v.Close {
		c.s.closeLocked(c)
	}
}

// treatReplyLocked does to the reply, the last frame of c.out, what the verdict says.
func (c *connection) treatReplyLocked(v *Verdict) {
	if v.Lose {
		c.out = c.out[:c.replyAt]
		return
	}
	if v.Corrupt != nil {
		frame := v.Corrupt(bytes.Clone(c.out[c.replyAt:]))
		c.out = append(c.out[:c.replyAt], frame...)
	}
	if g := v.ReplyWait; g != nil && !g.passed(c) {
		c.parks = append(c.parks, park{c.replyAt, g})
	}
	if v.ReplyDelay > 0 {
		g := NewGate()
		c.parks = append(c.parks, park{c.replyAt, g})
		c.s.afterLocked(v.ReplyDelay, func() { c.unparkLocked(g) })
	}
}

// unparkLocked lets the output go on that waits for g.
func (c *connection) unparkLocked(g *Gate) {
	before := len(c.parks)
	c.parks = slices.DeleteFunc(c.parks, func(p park) bool { return p.gate == g })
	if len(c.parks) < before {
		c.s.dirtyLocked(c)
	}
}
