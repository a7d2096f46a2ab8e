package session

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// greeting says what a randServer does with a new connection.
type greeting int

const (
	welcome greeting = iota
	refuse           // close it without a word
	stall            // never answer
	expire           // answer that the session is over
	greetings
)

// randServer is a server that does as a random schedule says: what it has read waits until it is told to answer.
type randServer struct {
	ln *memnet.Listener

	mu       sync.Mutex // guards what follows; held for moments only, writes go into buffers without bound
	rng      *rand.Rand
	greet    greeting
	auto     bool // answer at once
	links    []*randLink
	nextID   int64
	zxid     int64
	heard    map[string]int          // requests that were read, by path
	answered map[string]answer       // the newest answer given, by path
	codes    map[string][]proto.Code // the codes of all answers, by path: a clean-up may be sent again, and its first request be answered to nobody
	armed    map[string]struct{}     // paths whose watch was set by an answer, or again
	closes   int                     // closeSession requests read
}

// answer is what the server said to a request.
type answer struct {
	code proto.Code
	zxid int64
	huge bool // over the client's receive limit
}

type randLink struct {
	fc      *conn.Conn
	id      int64
	waiting []got
	cut     bool
}

func newRandServer(rng *rand.Rand) *randServer {
	return &randServer{ln: memnet.Listen(), rng: rng, heard: map[string]int{}, answered: map[string]answer{}, codes: map[string][]proto.Code{}, armed: map[string]struct{}{}}
}

// run accepts until the listener is closed.
func (s *randServer) run() {
	for {
		nc, err := s.ln.Accept()
		if err != nil {
			return
		}
		go s.read(nc)
	}
}

// read takes what one connection brings.
func (s *randServer) read(nc net.Conn) {
	l := &randLink{fc: conn.New(nc, nil)}
	defer l.fc.Close()
	req, _, err := l.fc.ReadConnectRequest()
	if err != nil || !s.welcome(l, req) {
		return
	}
	for {
		b, err := l.fc.ReadFrame()
		if err != nil {
			return
		}
		g := got{int32(binary.BigEndian.Uint32(b)), proto.Op(int32(binary.BigEndian.Uint32(b[4:]))), append([]byte(nil), b[8:]...)}
		s.mu.Lock()
		if p := pathOf(g); p != "" {
			s.heard[p]++
		}
		if g.op == proto.OpCloseSession {
			s.closes++
		}
		l.waiting = append(l.waiting, g)
		if s.auto {
			s.answerLocked(l, len(l.waiting))
		}
		s.mu.Unlock()
	}
}

// welcome does the handshake and says whether there is a connection.
func (s *randServer) welcome(l *randLink, req proto.ConnectRequest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	greet := s.greet
	rep := proto.ConnectResponse{TimeOut: int32(testTimeout.Milliseconds()), SessionID: req.SessionID, Passwd: make([]byte, 16)}
	switch {
	case greet == refuse:
		return false
	case greet == stall:
		s.links = append(s.links, l)
		s.mu.Unlock()
		_, _ = l.fc.ReadFrame() // until the client or the schedule gives up
		s.mu.Lock()
		return false
	case greet == expire && req.SessionID != 0:
		rep.TimeOut, rep.SessionID = 0, 0
	case req.SessionID == 0:
		s.nextID++
		rep.SessionID = s.nextID
	}
	l.id = rep.SessionID
	b, start := conn.BeginFrame(nil)
	b = rep.AppendTo(b)
	conn.EndFrame(b, start)
	if l.fc.WriteBatch(b) != nil || rep.TimeOut == 0 {
		return false
	}
	s.links = append(s.links, l)
	return true
}

// pathOf returns the path that names a request of the schedule, "" for the session's own and for multi-path ones.
func pathOf(g got) string {
	switch g.op {
	case proto.OpExists, proto.OpGetData, proto.OpSetData, proto.OpDelete, proto.OpGetChildren2:
		r := jute.NewReader(g.body)
		return r.String()
	}
	return ""
}

func watches(g got) bool {
	switch g.op {
	case proto.OpExists, proto.OpGetData, proto.OpGetChildren2:
		return g.body[len(g.body)-1] != 0
	}
	return false
}

// hugeReply is longer than the receive limit of the schedules' clients.
var hugeReply = make([]byte, 2*scheduleLimit)

// answerLocked answers the first n requests that wait on l, in their order and in one burst.
func (s *randServer) answerLocked(l *randLink, n int) {
	var out []byte
	for ; n > 0 && len(l.waiting) > 0; n-- {
		g := l.waiting[0]
		l.waiting = l.waiting[1:]
		s.zxid++
		a := answer{zxid: s.zxid}
		var body []byte
		switch g.op {
		case proto.OpExists, proto.OpSetData:
			body = stat
		case proto.OpGetData:
			body = append(jute.AppendBuffer(nil, []byte("x")), stat...)
		case proto.OpGetChildren2:
			body = append(jute.AppendCount(nil, 0), stat...)
		case proto.OpSync:
			body = g.body
		case proto.OpSetWatches, proto.OpSetWatches2:
			out = append(out, s.rewatchLocked(g)...)
		case proto.OpAddWatch, proto.OpRemoveWatches:
			a.code = []proto.Code{0, 0, 0, 0, 0, 0, proto.ErrThrottled, proto.ErrMarshalling}[s.rng.IntN(8)]
		}
		p := pathOf(g)
		if p != "" {
			switch k := s.rng.IntN(12); {
			case k == 0:
				a.code = proto.ErrNoNode
			case k == 1:
				a.code = proto.ErrBadVersion
			case k == 2 && g.op == proto.OpGetData:
				body, a.huge = hugeReply, true
			}
			if a.code != 0 {
				body = nil
			}
			if watches(g) && (a.code == 0 || a.code == proto.ErrNoNode && g.op == proto.OpExists) {
				s.armed[p] = struct{}{}
			}
			s.answered[p] = a
			s.codes[p] = append(s.codes[p], a.code)
		}
		out = append(out, frame(g.xid, a.zxid, a.code, body)...)
		if g.op == proto.OpCloseSession {
			_ = l.fc.WriteBatch(out)
			_ = l.fc.Close()
			return
		}
	}
	_ = l.fc.WriteBatch(out) // the client may be gone
}

// rewatchLocked answers setWatches with the events of some of its paths. What setWatches2 has more comes behind it.
func (s *randServer) rewatchLocked(g got) (events []byte) {
	var sw proto.SetWatches
	r := jute.NewReader(g.body)
	sw.ReadFrom(&r)
	for i, list := range [][]string{sw.DataWatches, sw.ExistWatches, sw.ChildWatches} {
		for _, p := range list {
			if s.rng.IntN(3) > 0 {
				s.armed[p] = struct{}{}
				continue
			}
			t := []proto.EventType{proto.EventNodeDataChanged, proto.EventNodeCreated, proto.EventNodeDeleted}[i]
			delete(s.armed, p)
			events = append(events, event(t, p)...)
		}
	}
	return events
}

// fire sends the event of one armed path, or of none that exists, on a connection that is alive.
func (s *randServer) fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.aliveLocked()
	if l == nil {
		return
	}
	path, t := "/nobody", proto.EventNodeDeleted // which ends a watch of any kind
	if paths := slices.Sorted(maps.Keys(s.armed)); len(paths) > 0 {
		path = paths[s.rng.IntN(len(paths))]
	}
	if s.rng.IntN(8) == 0 {
		t = 77 // of a later version
	} else {
		delete(s.armed, path)
	}
	_ = l.fc.WriteBatch(event(t, path))
}

func (s *randServer) aliveLocked() *randLink {
	for i := len(s.links) - 1; i >= 0; i-- {
		if l := s.links[i]; !l.cut && l.id != 0 {
			return l
		}
	}
	return nil
}

// cut closes all connections.
func (s *randServer) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.links {
		l.cut = true
		_ = l.fc.Close()
	}
	s.links = nil
}

// answer answers some of what waits on the newest connection.
func (s *randServer) answer(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.aliveLocked(); l != nil {
		s.answerLocked(l, n)
	}
}

// nonsense sends a reply that nobody waits for.
func (s *randServer) nonsense() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.aliveLocked(); l != nil {
		_ = l.fc.WriteBatch(frame(1<<30, 1, 0, nil))
	}
}

func (s *randServer) set(greet greeting, auto bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.greet, s.auto = greet, auto
}

// heal makes the server a good one.
func (s *randServer) heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.greet, s.auto = welcome, true
	for _, l := range s.links {
		if l.id == 0 {
			_ = l.fc.Close() // it was stalled
		}
	}
	if l := s.aliveLocked(); l != nil {
		s.answerLocked(l, len(l.waiting))
	}
}
