package zktest

import (
	"slices"
	"strings"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
)

// Held is a request, or several, that wait for Release.
type Held struct {
	*Rule
	gate *Gate
}

// Release executes what was held and ends the rule.
func (h *Held) Release() {
	h.Remove()
	h.gate.Open()
}

// Waiting returns how many connections wait.
func (h *Held) Waiting() int { return h.gate.Waiting() }

// Hold keeps the matching requests from being executed until Release. What is behind one on its connection waits too.
func (s *Server) Hold(m Match) *Held {
	g := NewGate()
	return &Held{Rule: s.On(m, Verdict{Wait: g}), gate: g}
}

// HoldCommit keeps the matching requests from being executed until Release, and has them executed then even if their
// connections are gone; see Verdict.Accepted.
func (s *Server) HoldCommit(m Match) *Held {
	g := NewGate()
	return &Held{Rule: s.On(m, Verdict{Wait: g, Accepted: true}), gate: g}
}

// HoldReply executes the matching requests and keeps their replies, and all that goes to the same client behind them,
// until Release.
func (s *Server) HoldReply(m Match) *Held {
	g := NewGate()
	return &Held{Rule: s.On(m, Verdict{ReplyWait: g}), gate: g}
}

// DropReply executes the matching requests and never answers them. The connection lives on.
func (s *Server) DropReply(m Match) *Rule { return s.On(m, Verdict{Lose: true}) }

// DropRequest neither executes nor answers the matching requests. The connection lives on.
func (s *Server) DropRequest(m Match) *Rule { return s.On(m, Verdict{Skip: true}) }

// CloseBefore closes the connection in place of executing the matching requests.
func (s *Server) CloseBefore(m Match) *Rule { return s.On(m, Verdict{Skip: true, Close: true}) }

// CloseAfter executes the matching requests, loses the replies and closes the connection.
func (s *Server) CloseAfter(m Match) *Rule { return s.On(m, Verdict{Lose: true, Close: true}) }

// Fail answers the matching requests with an error code and executes nothing.
func (s *Server) Fail(m Match, code proto.Code) *Rule { return s.On(m, Verdict{Err: code}) }

// Delay executes the matching requests, and what is behind them on their connection, d later.
func (s *Server) Delay(m Match, d time.Duration) *Rule { return s.On(m, Verdict{Delay: d}) }

// Corrupt has f change the bytes of the matching requests' replies; see Verdict.Corrupt. A nil f turns every bit of the
// last byte around.
func (s *Server) Corrupt(m Match, f func(frame []byte) []byte) *Rule {
	if f == nil {
		f = func(frame []byte) []byte {
			frame[len(frame)-1] ^= 0xff
			return frame
		}
	}
	return s.On(m, Verdict{Corrupt: f})
}

// ExpireSession ends a session as its deadline does: the ephemerals go, watches fire, the connection is closed without a
// word. It reports whether there was such a session.
func (s *Server) ExpireSession(id int64) bool {
	s.mu.Lock()
	ss := s.sessions[id]
	if ss != nil {
		s.stats.expired++
		s.endSessionLocked(ss, time.Now())
	}
	s.releaseLocked(nil)
	return ss != nil
}

// SetZxid sets the zxid of the last transaction: to a lower one as after the restore of a backup, when clients that have
// seen a higher one are refused (docs/protocol.md section 21, number 38), or to a higher one as after an election. The
// znodes keep theirs.
func (s *Server) SetZxid(zxid int64) {
	s.mu.Lock()
	s.tree.zxid = zxid
	s.mu.Unlock()
}

// SetCounter sets the creation counter of a znode, which numbers its sequential children, and reports whether the znode
// exists.
func (s *Server) SetCounter(path string, counter int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.tree.nodes[path]
	if n != nil {
		n.creates = counter
	}
	return n != nil
}

// Sweep does what a real server does once a minute: it removes the containers that had a child and have none, and the TTL
// znodes without children whose data has not changed for longer than their time, in the order of their paths. A container that
// becomes empty by that stays until the next time. It returns how many it removed.
func (s *Server) Sweep() int {
	s.mu.Lock()
	now := time.Now()
	var due []*node
	for _, n := range s.tree.nodes {
		idle := now.UnixMilli() - n.mtime
		if len(n.children) == 0 && (n.kind == kindContainer && n.creates > 0 || n.kind == kindTTL && idle > n.ttl) {
			due = append(due, n)
		}
	}
	slices.SortFunc(due, func(a, b *node) int { return strings.Compare(a.path, b.path) })
	for _, n := range due {
		tx := s.beginLocked(now)
		tx.remove(n)
		tx.commit()
	}
	s.releaseLocked(nil)
	return len(due)
}
