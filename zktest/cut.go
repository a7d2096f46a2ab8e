package zktest

import "time"

// CutFromLeader pretends that the member has lost the leader and has not noticed (docs/protocol.md section 16): it answers
// pings and reads from the tree as it was, sends no events, and neither renews sessions nor serves writes, syncs and
// handshakes. Those wait, unanswered, with everything behind them on their connection. The leader, and with it all other
// members, goes on, so that sessions connected here expire when their deadline comes, which their clients do not hear.
//
// CutFromLeader(false) heals it: connections whose session is over are closed, the events that were missed are sent, the
// requests that waited are executed.
func (m *Member) CutFromLeader(on bool) {
	s := m.s
	s.mu.Lock()
	if m.cut == on {
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
	for _, c := range s.byMemberLocked(m) {
		if c.ss != nil && s.sessions[c.ss.id] != c.ss {
			s.closeLocked(c)
			continue
		}
		if c.ss != nil && c.ss.owner == c {
			s.touchLocked(c.ss, now)
		}
		s.catchUpLocked(c, relative)
		c.drainLocked()
	}
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
		if s.watches[side].remove(c, r.path) {
			s.rewatchLocked(c, s.tree, r.how, r.path, relative)
		}
	}
}
