package zktest

import (
	"cmp"
	"crypto/rand"
	"slices"
	"time"
)

// passwordLen is the length of session passwords in bytes.
const passwordLen = 16

// session is what the ensemble keeps for a client across connections. Guarded by Server.mu.
type session struct {
	id         int64
	passwd     [passwordLen]byte
	timeout    time.Duration
	deadline   time.Duration // since Server.start; a multiple of the tick
	owner      *connection   // the connection whose writes count; nil while there is none
	ephemerals []*node
	local      *Member // the only member that knows it, which is read-only; nil for those that all know
}

func (ss *session) own(n *node) {
	n.ownPlace = len(ss.ephemerals)
	ss.ephemerals = append(ss.ephemerals, n)
}

func (ss *session) disown(n *node) {
	last := len(ss.ephemerals) - 1
	ss.ephemerals[n.ownPlace] = ss.ephemerals[last]
	ss.ephemerals[n.ownPlace].ownPlace = n.ownPlace
	ss.ephemerals[last] = nil
	ss.ephemerals = ss.ephemerals[:last]
}

// clampLocked moves the timeout a client asks for, in milliseconds, into the limits.
func (s *Server) clampLocked(ms int32) time.Duration {
	return min(max(time.Duration(ms)*time.Millisecond, s.cfg.minTimeout), s.cfg.maxTimeout)
}

// newSessionLocked opens a session, which is a transaction.
func (s *Server) newSessionLocked(timeout time.Duration, now time.Time) *session {
	s.lastSession++
	ss := &session{id: s.lastSession, timeout: timeout}
	// The documentation of rand.Read says that it never returns an error.
	_, _ = rand.Read(ss.passwd[:])
	s.sessions[ss.id] = ss
	s.tree.zxid++
	s.touchLocked(ss, now)
	return ss
}

// touchLocked renews the session's deadline: now plus the timeout, rounded up to the next tick (ExpiryQueue.update).
func (s *Server) touchLocked(ss *session, now time.Time) {
	at := now.Sub(s.start) + ss.timeout
	ss.deadline = (at/s.cfg.tick + 1) * s.cfg.tick
	if s.nextExpiry == 0 || ss.deadline < s.nextExpiry {
		s.armExpiryLocked(ss.deadline, now)
	}
}

// armExpiryLocked sets the timer for the sessions' deadlines.
func (s *Server) armExpiryLocked(at time.Duration, now time.Time) {
	s.nextExpiry = at
	wait := at - now.Sub(s.start)
	if s.expiryTimer == nil {
		s.expiryTimer = time.AfterFunc(wait, s.expire)
		return
	}
	s.expiryTimer.Reset(wait)
}

// expire ends the sessions whose deadline has come. It runs on the timer's goroutine.
func (s *Server) expire() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	now := time.Now()
	elapsed := now.Sub(s.start)
	var due []*session
	for _, ss := range s.sessions {
		if ss.deadline <= elapsed {
			due = append(due, ss)
		}
	}
	slices.SortFunc(due, func(a, b *session) int {
		return cmp.Or(cmp.Compare(a.deadline, b.deadline), cmp.Compare(a.id, b.id))
	})
	for _, ss := range due {
		s.stats.expired++
		s.endSessionLocked(ss, now)
	}
	next := time.Duration(0)
	for _, ss := range s.sessions {
		if next == 0 || ss.deadline < next {
			next = ss.deadline
		}
	}
	s.nextExpiry = 0
	if next != 0 {
		s.armExpiryLocked(next, now)
	}
	s.releaseLocked(nil)
}

// endSessionLocked removes the session and its ephemerals in one transaction, as an expiry does, and closes its connection
// without a word, unless that connection's member hears nothing from the leader.
func (s *Server) endSessionLocked(ss *session, now time.Time) {
	c := ss.owner
	s.removeSessionLocked(ss, now)
	if c != nil && !c.member.cut {
		s.closeLocked(c)
	}
}

// removeSessionLocked is the closeSession transaction; a local session ends without one.
func (s *Server) removeSessionLocked(ss *session, now time.Time) int64 {
	if ss.local != nil {
		delete(s.sessions, ss.id)
		return ss.local.snapshot.zxid
	}
	tx := s.beginLocked(now)
	for len(ss.ephemerals) > 0 {
		tx.remove(ss.ephemerals[0])
	}
	tx.commit()
	delete(s.sessions, ss.id)
	return tx.zxid
}
