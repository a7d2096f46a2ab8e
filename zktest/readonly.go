package zktest

import (
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
)

// Service is what a member serves.
type Service int

// The kinds of service (docs/protocol.md section 18).
const (
	// ReadWrite is that of a member of a quorum.
	ReadWrite Service = iota
	// ReadOnlyLocal is that of a member without quorum that is configured to go on with reads and has local sessions: clients
	// that accept a read-only server get one, which nobody else knows.
	ReadOnlyLocal
	// ReadOnlyBare is the same without local sessions, as is the default: those clients get a ReplyHeader that holds -119 in
	// place of the answer to the handshake, and then nothing more.
	ReadOnlyBare
)

// ReadOnly makes the member serve in this way from now on, with the tree as it is at this moment; other members go on. Its
// connections are closed, as by a server that finds itself without quorum, or with one again; what sessions it has of its own
// end with its read-only time.
//
// While it is read-only it closes connections that did not ask for that, or ask for a session that is not its own. Writes
// and syncs are refused with -119 as soon as they arrive, ahead of requests that wait; no rule or hook judges them. Changes that
// are made through other members are neither seen nor told. isro answers ro. CutFromLeader does nothing to it.
func (m *Member) ReadOnly(how Service) {
	s := m.s
	s.mu.Lock()
	defer s.releaseLocked(nil)
	if m.service == how {
		return
	}
	if m.cut {
		s.healLocked(m)
	}
	for _, c := range s.byMemberLocked(m) {
		s.closeLocked(c)
	}
	for id, ss := range s.sessions {
		if ss.local == m {
			delete(s.sessions, id)
		}
	}
	m.service, m.snapshot = how, nil
	if how != ReadWrite {
		m.snapshot = s.tree.clone()
	}
}

// refusedReadOnly reports whether a read-only server refuses op (ReadOnlyRequestProcessor).
func refusedReadOnly(op proto.Op) bool { return needsLeader(op) && op != proto.OpCloseSession }

// answerReadOnlyLocked answers the handshake of a read-only member.
func (c *connection) answerReadOnlyLocked(h *handshake, now time.Time) {
	s := c.s
	ss := s.sessions[h.sessionID]
	own := ss != nil && ss.local == c.member
	switch {
	case !h.readOnly, h.lastZxid > c.member.snapshot.zxid, h.sessionID != 0 && !own:
		s.closeLocked(c)
	case h.sessionID == 0 && c.member.service == ReadOnlyBare:
		c.replyLocked(0, 0, proto.ErrNotReadOnly)
		c.blocked = true // mute from here on
	case h.sessionID == 0:
		c.attachLocked(s.newLocalLocked(c.member, s.clampLocked(h.timeout), now), h)
	case string(ss.passwd[:]) != string(h.passwd):
		c.connectResponseLocked(&session{}, h.short)
		s.closeLocked(c)
	default:
		if ss.owner != nil {
			s.closeLocked(ss.owner)
		}
		s.touchLocked(ss, now)
		c.attachLocked(ss, h)
	}
}

// newLocalLocked opens a session that only m knows. It is no transaction.
func (s *Server) newLocalLocked(m *Member, timeout time.Duration, now time.Time) *session {
	zxid := s.tree.zxid
	ss := s.newSessionLocked(timeout, now)
	s.tree.zxid = zxid
	ss.local = m
	return ss
}

// Handshake is a ConnectRequest that has arrived.
type Handshake struct {
	Member    string // address that the client dialled
	LastZxid  int64
	Timeout   time.Duration
	SessionID int64
	Passwd    []byte
	ReadOnly  bool
}

// OnHandshake makes f see every ConnectRequest before it is answered, or refused; nil takes it away. It is called without any
// lock, from several goroutines at once if there are several connections, and may use the server's controls.
func (s *Server) OnHandshake(f func(Handshake)) {
	s.mu.Lock()
	s.shaken = f
	s.mu.Unlock()
}

// tellHandshake shows h to the function of OnHandshake.
func (c *connection) tellHandshake(h *handshake) {
	c.s.mu.Lock()
	f := c.s.shaken
	c.s.mu.Unlock()
	if f != nil {
		f(Handshake{Member: c.member.addr, LastZxid: h.lastZxid, Timeout: time.Duration(h.timeout) * time.Millisecond,
			SessionID: h.sessionID, Passwd: h.passwd, ReadOnly: h.readOnly})
	}
}
