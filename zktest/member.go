package zktest

// Refusal says what a member does with new connections.
type Refusal int

// The ways to treat a new connection.
const (
	// Accept serves it.
	Accept Refusal = iota
	// RefuseDial refuses it, as when nothing listens there; over TCP it is accepted and closed.
	RefuseDial
	// RefuseClose accepts it and closes it at once, as a server without quorum or above its connection limit does.
	RefuseClose
	// RefuseStall accepts it and does not answer the handshake, as a stopped process does. Handshakes that wait are
	// answered once the member accepts again.
	RefuseStall
	// RefuseReadOnly answers the handshake with a ReplyHeader that holds -119 and then stays mute, as a read-only server
	// does that has no local sessions (docs/protocol.md section 18).
	RefuseReadOnly
)

// Member is one server of the pretended ensemble, named by the address that clients dial: all members show the same tree,
// and the controls of one concern the connections made through it. The methods of Server with the same names apply to all
// members that exist, that is, have been dialled or asked for.
type Member struct {
	s    *Server
	addr string

	// Guarded by Server.mu.
	refusal  Refusal
	stalled  bool // no bytes out
	deaf     bool // no bytes in
	cut      bool // hears nothing from the leader
	service  Service
	snapshot *tree // what it shows while cut, or read-only
}

// Member returns the member that is dialled as addr.
func (s *Server) Member(addr string) *Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.memberLocked(addr)
}

func (s *Server) memberLocked(addr string) *Member {
	m := s.members[addr]
	if m == nil {
		m = &Member{s: s, addr: addr}
		s.members[addr] = m
	}
	return m
}

// Addr returns the member's address.
func (m *Member) Addr() string { return m.addr }

// Refuse says what happens to connections made from now on. Existing ones live on.
func (m *Member) Refuse(how Refusal) {
	s := m.s
	s.mu.Lock()
	m.refusal = how
	for _, c := range s.byMemberLocked(m) {
		c.drainLocked()
	}
	s.releaseLocked(nil)
}

// Refuse is Member.Refuse for all members.
func (s *Server) Refuse(how Refusal) { s.eachMember(func(m *Member) { m.Refuse(how) }) }

// Stall stops everything that goes out, closes included: requests are executed, and neither replies nor events arrive.
// Stall(false) lets go what has gathered.
func (m *Member) Stall(on bool) {
	s := m.s
	s.mu.Lock()
	m.stalled = on
	for c := range s.sending {
		if c.member == m {
			c.box.stall(on)
		}
	}
	s.releaseLocked(nil)
}

// Stall is Member.Stall for all members.
func (s *Server) Stall(on bool) { s.eachMember(func(m *Member) { m.Stall(on) }) }

// StopReading makes the member read nothing more from its clients, apart from at most one buffer of each connection that
// is read and not looked at. Writing clients run into full buffers, of sockets or of PipeBuffer.
func (m *Member) StopReading(on bool) {
	s := m.s
	s.mu.Lock()
	m.deaf = on
	s.cond.Broadcast()
	s.mu.Unlock()
}

// StopReading is Member.StopReading for all members.
func (s *Server) StopReading(on bool) { s.eachMember(func(m *Member) { m.StopReading(on) }) }

// DropConnections closes the member's connections; what was on its way to the clients is lost. Sessions live on.
func (m *Member) DropConnections() {
	s := m.s
	s.mu.Lock()
	for _, c := range s.byMemberLocked(m) {
		s.dropLocked(c)
	}
	s.releaseLocked(nil)
}

// DropConnections is Member.DropConnections for all members.
func (s *Server) DropConnections() { s.eachMember((*Member).DropConnections) }

// eachMember calls f, without a lock, for every member.
func (s *Server) eachMember(f func(*Member)) {
	s.mu.Lock()
	members := make([]*Member, 0, len(s.members))
	for _, m := range s.members {
		members = append(members, m)
	}
	s.mu.Unlock()
	for _, m := range members {
		f(m)
	}
}

// byMemberLocked returns the open connections of m in the order they were made.
func (s *Server) byMemberLocked(m *Member) []*connection {
	var out []*connection
	for _, c := range s.connsLocked() {
		if c.member == m {
			out = append(out, c)
		}
	}
	return out
}
