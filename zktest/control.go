package zktest

import (
	"slices"
	"strings"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
)

// Request describes a request to hooks and matchers.
type Request struct {
	Member    string // address that the client dialled
	Conn      int64  // number of the connection, from 1
	SessionID int64
	Xid       int32
	Op        proto.Op
	Path      string   // the first of Paths; "" when there is none
	Paths     []string // of a multi or multiRead: those of all its parts
	Body      []byte   // the record behind the header; to be read only, and only during the call
}

// Verdict says what happens to a request. The zero Verdict means: as usual. Fields combine.
type Verdict struct {
	// Wait holds the request until the gate opens: it is not executed before, nor is anything behind it on its connection.
	Wait *Gate
	// Accepted, together with Wait, pretends that the leader has the request already and only its commit is late: it will be
	// executed even if its connection is gone by then, but for the end of its session, and the writes and syncs of all
	// connections wait behind it, while reads show the tree without it. This is how a write whose connection broke becomes
	// visible after the client has reconnected (docs/protocol.md section 17).
	Accepted bool
	// Delay is Wait for a time, counted from when it is the request's turn.
	Delay time.Duration
	// Skip drops the request: neither executed nor answered.
	Skip bool
	// Err answers with this code, unless it is 0, and executes nothing.
	Err proto.Code
	// Lose executes the request and throws the reply away.
	Lose bool
	// Corrupt, if set, is given the bytes of the reply with its length, may change them, and returns those to send.
	Corrupt func(frame []byte) []byte
	// ReplyWait executes the request, and holds the reply and everything that goes to the client behind it.
	ReplyWait *Gate
	// ReplyDelay does the same for a time.
	ReplyDelay time.Duration
	// Close closes the connection, without a word, when all that is done.
	Close bool
}

// Match chooses requests. Every field that is not zero must fit.
type Match struct {
	Op      proto.Op
	Path    string // exactly this path, of any part in a multi
	Under   string // this path or one below it, of any part in a multi
	Session int64
	Member  string // address that was dialled
	// Skip lets so many matching requests pass first.
	Skip int
	// Times is how many matching requests get the verdict: 0 means one, less than 0 all.
	Times int
}

func (m *Match) fits(req *Request) bool {
	return (m.Op == 0 || m.Op == req.Op) && (m.Session == 0 || m.Session == req.SessionID) &&
		(m.Member == "" || m.Member == req.Member) &&
		(m.Path == "" || slices.Contains(req.Paths, m.Path)) &&
		(m.Under == "" || slices.ContainsFunc(req.Paths, func(p string) bool { return under(p, m.Under) }))
}

// under reports whether path is root or below it.
func under(path, root string) bool {
	rest, ok := strings.CutPrefix(path, root)
	return ok && (rest == "" || root == "/" || rest[0] == '/')
}

// Rule gives a verdict to the requests that match.
type Rule struct {
	s       *Server
	match   Match
	verdict Verdict
	hit     chan struct{} // closed at the first hit

	seen int // guarded by Server.mu: requests that matched
	hits int // guarded by Server.mu: requests that got the verdict
}

// On adds a rule. Of several rules that match a request the oldest counts; without any the hook of OnRequest is asked.
// Requests, pings included, are judged when it is their turn, not when they arrive. Auth and sasl requests are not judged.
func (s *Server) On(m Match, v Verdict) *Rule {
	r := &Rule{s: s, match: m, verdict: v, hit: make(chan struct{})}
	s.mu.Lock()
	s.rules = append(s.rules, r)
	s.mu.Unlock()
	return r
}

// OnRequest makes f judge every request that no rule matches; nil takes it away. It is called without any lock, from
// several goroutines at once if there are several connections, and may use the server's controls; it must not wait for
// requests to be executed.
func (s *Server) OnRequest(f func(*Request) Verdict) {
	s.mu.Lock()
	s.hook = f
	s.mu.Unlock()
}

// Hits returns how many requests got the verdict.
func (r *Rule) Hits() int {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.hits
}

// Hit returns a channel that is closed when the first request gets the verdict.
func (r *Rule) Hit() <-chan struct{} { return r.hit }

// Remove ends the rule. Requests that wait go on waiting.
func (r *Rule) Remove() {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.s.rules = slices.DeleteFunc(r.s.rules, func(o *Rule) bool { return o == r })
}

// applyLocked counts a request and returns whether it gets the verdict.
func (r *Rule) applyLocked(req *Request) bool {
	if !r.match.fits(req) {
		return false
	}
	r.seen++
	times := max(r.match.Times, 1)
	if r.seen <= r.match.Skip || r.match.Times >= 0 && r.hits >= times {
		return false
	}
	if r.hits == 0 {
		close(r.hit)
	}
	r.hits++
	if r.match.Times >= 0 && r.hits >= times {
		r.s.rules = slices.DeleteFunc(r.s.rules, func(o *Rule) bool { return o == r })
	}
	return true
}
