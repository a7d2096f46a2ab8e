package zktest

import "time"

// CutFromLeader pretends that the member has lost the leader and has not noticed (docs/protocol.md section 16): it answers
// pings and reads from the tree as it was, sends no events, and neither renews sessions nor serves writes, syncs and
// handshakes. Those wait, unanswered, with everything behind them on their connection. The leader, and with it all other
// members, goes on, so that sessions connected here expire when their deadline comes, which their clients do not hear.
//
// A write that the leader had accepted before and commits meanwhile (HoldCommit) is seen by everybody else, and here neither
// seen nor answered.
//
// CutFromLeader(false) heals it: connections whose session is over are closed, the events and replies that were missed are
// sent, the requests that waited are executed.
func (m *Member) CutFromLeader(on bool) {
	s := m.s
	s.mu.Lock()
	if m.cut == on || m.service != ReadWrite {
		s.mu.Unlock()
		return
	}
	if on {
		m.cut, m.snapshot = true, s.tree.clone()
	} else {
		s.healLocked(m)
	}
	s.releaseLocked(nil)
}

// CutFromLeader is Member.CutFromLeader for all members.
func (s *Server) CutFromLeader(on bool) { s.eachMember(func(m *Member) { m.CutFromLeader(on) }) }

func (s *Server) healLocked(m *Member) {
	relative := m.snapshot.zxid
	m.cut, m.snapshot = false, nil
	now := time.Now()
	conns := s.byMemberLocked(m)
	// Each connection hears what it has missed before anything new happens: a server applies transactions in their order.
	for _, c := range conns {
		if c.ss != nil && s.sessions[c.ss.id] != c.ss {
			s.closeLocked(c)
			continue
		}
		if c.ss != nil && c.ss.owner == c {
			s.touchLocked(c.ss, now)
		}
		s.catchUpLocked(c, relative)
	}
	for _, c := range conns {
		if len(c.queue) > 0 && c.queue[0].unheard {
			c.settleLocked(len(c.queue[0].frame))
			c.queue = c.queue[1:]
			c.blocked = false
		}
		c.drainLocked()
	}
}

// runUnheardLocked executes the first request of c, which the leader had accepted before c's member was cut off: everybody
// else sees it, and the member hears of it when it is back. Until then its reply waits with the events, and what is behind it
// on c waits too, since the member would show a tree without it.
func (c *connection) runUnheardLocked(a *arrival) {
	a.unheard = true
	if c.s.sessions[c.ss.id] != c.ss {
		return // healLocked closes it
	}
	out, parks := c.out, c.parks
	c.out, c.parks = nil, nil
	c.runLocked(a, time.Now())
	if !c.gone {
		c.late = append(c.late, c.out...)
	}
	c.out, c.parks = out, parks
}

// catchUpLocked sends what c missed: the events of watches that it had, then those of watches that it set on an old tree.
func (s *Server) catchUpLocked(c *connection, relative int64) {
	late, regs := c.late, c.lateRegs
	c.late, c.lateRegs = nil, nil
	if len(late) > 0 {
		c.out = append(c.out, late...)
		s.dirtyLocked(c)
	}
	for _, r := range regs {
		side := dataSide
		if r.how == regChild {
			side = childSide
		}
		if s.watches[side].remove(c, r.path, watchOnce) {
			s.rewatchLocked(c, s.tree, r.how, r.path, relative)
		}
	}
}
