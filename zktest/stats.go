package zktest

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
)

// opSlots is one more than the largest opcode; closeSession and unknown ones are counted in opOther.
const (
	opSlots = int(proto.OpWhoAmI) + 1
	opOther = 0
)

// stats counts. Guarded by Server.mu.
type stats struct {
	byOp          [opSlots]int64
	closes        int64
	bursts        int64
	flights       int64
	replies       int64
	notifications int64
	connections   int64
	reattached    int64
	expired       int64
}

func (st *stats) request(op proto.Op) {
	switch {
	case op > 0 && int(op) < opSlots:
		st.byOp[op]++
	case op == proto.OpCloseSession:
		st.closes++
	default:
		st.byOp[opOther]++
	}
}

// Counters is a look at what a Server has done so far and holds now.
type Counters struct {
	Requests      int64              // that arrived after handshakes, pings included
	ByOp          map[proto.Op]int64 // the same by operation; proto.OpNotification stands for unknown ones
	Pings         int64
	Bursts        int64 // groups of requests that a connection found waiting together
	Flights       int64 // steps that answered something, see Step
	Replies       int64
	Notifications int64
	Connections   int64 // accepted
	Reattached    int64 // handshakes that took up a session again
	Expired       int64 // sessions, by time or by ExpireSession

	OpenConnections int
	Sessions        int
	Nodes           int // the root included
	Zxid            int64
	Watches         WatchCounters
}

// WatchCounters counts the watches that are set. Those on data and on existence look the same to a server.
type WatchCounters struct {
	Data, Child, Persistent, Recursive int
}

// Total is the sum.
func (w WatchCounters) Total() int { return w.Data + w.Child + w.Persistent + w.Recursive }

// Snapshot returns all counters at one moment.
func (s *Server) Snapshot() Counters {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.stats
	c := Counters{
		ByOp: make(map[proto.Op]int64), Pings: st.byOp[proto.OpPing], Bursts: st.bursts, Flights: st.flights,
		Replies: st.replies, Notifications: st.notifications, Connections: st.connections, Reattached: st.reattached,
		Expired: st.expired, OpenConnections: len(s.conns), Sessions: len(s.sessions), Nodes: s.tree.size(),
		Zxid: s.tree.zxid,
	}
	for op, n := range st.byOp {
		if n > 0 {
			c.ByOp[proto.Op(op)] = n
			c.Requests += n
		}
	}
	if st.closes > 0 {
		c.ByOp[proto.OpCloseSession] = st.closes
		c.Requests += st.closes
	}
	for _, w := range s.watchesLocked() {
		switch w.Kind {
		case WatchData:
			c.Watches.Data++
		case WatchChild:
			c.Watches.Child++
		case WatchPersistent:
			c.Watches.Persistent++
		case WatchRecursive:
			c.Watches.Recursive++
		}
	}
	return c
}

// WatchKind is the kind of a watch as a server sees it.
type WatchKind int

// The kinds of watches.
const (
	WatchData WatchKind = iota // of data or existence
	WatchChild
	WatchPersistent
	WatchRecursive
)

// String returns the kind's name.
func (k WatchKind) String() string {
	switch k {
	case WatchData:
		return "data"
	case WatchChild:
		return "child"
	case WatchPersistent:
		return "persistent"
	case WatchRecursive:
		return "persistent recursive"
	}
	return "unknown"
}

// Watch is a watch that is set.
type Watch struct {
	Path      string
	Kind      WatchKind
	SessionID int64
	Conn      int64 // number of the connection
}

// Watches returns the watches that are set, by path, connection and kind. A persistent watch counts once, whatever tables
// it is in.
func (s *Server) Watches() []Watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watchesLocked()
}

func (s *Server) watchesLocked() []Watch {
	var out []Watch
	for side := range s.watches {
		for path, refs := range s.watches[side].byPath {
			for _, ref := range refs {
				w := Watch{Path: path, Conn: ref.c.number}
				if ref.c.ss != nil {
					w.SessionID = ref.c.ss.id
				}
				for _, k := range []struct {
					mode watchMode
					kind WatchKind
				}{{watchOnce, WatchKind(side)}, {watchPersistent, WatchPersistent}, {watchRecursive, WatchRecursive}} {
					if ref.modes&k.mode != 0 {
						w.Kind = k.kind
						out = append(out, w)
					}
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b Watch) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Conn, b.Conn), cmp.Compare(a.Kind, b.Kind))
	})
	return slices.Compact(out)
}

// SessionInfo describes a session.
type SessionInfo struct {
	ID         int64
	Timeout    time.Duration
	Left       time.Duration // until it expires, unless it is heard of again
	Connected  bool
	Conn       int64    // number of its connection, 0 without
	Member     string   // of its connection
	Ephemerals []string // sorted
}

// Sessions returns the sessions by id, that is, in the order they were opened.
func (s *Server) Sessions() []SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	elapsed := time.Since(s.start)
	out := make([]SessionInfo, 0, len(s.sessions))
	for _, ss := range s.sessions {
		info := SessionInfo{ID: ss.id, Timeout: ss.timeout, Left: ss.deadline - elapsed}
		if ss.owner != nil {
			info.Connected, info.Conn, info.Member = true, ss.owner.number, ss.owner.member.addr
		}
		for _, n := range ss.ephemerals {
			info.Ephemerals = append(info.Ephemerals, n.path)
		}
		slices.Sort(info.Ephemerals)
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b SessionInfo) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// connsLocked returns the open connections in the order they were made.
func (s *Server) connsLocked() []*connection {
	out := make([]*connection, 0, len(s.conns))
	for c := range s.conns {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *connection) int { return cmp.Compare(a.number, b.number) })
	return out
}
