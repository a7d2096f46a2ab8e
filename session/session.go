package session

import (
	"context"
	"sync"
	"time"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// Session is one session of the ensemble with this process, from before its handshake to its end, across any number of
// connections. It is terminal when over: every call that it accepted has then completed, exactly once, and every later one
// is refused. All methods may be called from any goroutine.
type Session struct {
	cfg   *Config // immutable
	gen   uint64  // immutable
	keep  *Keeper // immutable
	base  time.Time
	slept sleep

	ctx   context.Context // ends when Close is called
	poke  chan struct{}   // a token makes serve look at its timers
	ended chan struct{}   // closed when the session is over and all is told

	parted  bool   // run's: closeSession was answered
	dialled string // run's: the address of the newest attempt

	mu           sync.Mutex // guards what follows; see doc.go for the order of locks
	over         error      // why the session is over, or nil
	closing      bool       // no new calls: Close is under way
	state        State
	id           int64
	passwd       Secret
	temporary    bool        // the id is that of a read-only server, to which there is a connection
	searches     int         // rounds of searching for a server with quorum, since the newest connection to one
	foundAddr    string      // what the search has found, until it has been tried
	cx           *connection // nil while there is none
	connNo       uint64
	xid          int32
	wrapped      bool  // the xid has been through its range
	lastZxid     int64 // highest seen anywhere: what the handshake says
	relativeZxid int64 // of the newest reply to a request: what setWatches says
	clock        clock
	queue        groupList
	calls, bytes int           // accepted and not complete
	room         chan struct{} // closed when room is made; nil when nobody waits
	watches      registry
	streams      streams
	owed         map[*Watch]uint64 // registered, but not known to be set at the server; by the number of what was asked
	holds        holdList
	contenders   int
	leaving      bool          // Detach: the session is not to be closed
	empty        chan struct{} // for Shutdown: closed when nothing is held
	refusals     int           // attempts in a row that a server closed without an answer
	lastHop      int64         // when a connection was last given up for want of a proof
	nextLook     int64         // when serve looks at its timers next
	leaseTimer   *time.Timer
	leaseArmed   bool
	cleaner      cleaner
	counters     Counters
}

// Counters counts what a session, or all sessions of a Keeper, have done.
type Counters struct {
	Requests    uint64 // written, pings not counted
	Bursts      uint64 // writes to the socket that carried them
	Pings       uint64 // written
	Replies     uint64 // matched
	Events      uint64 // notifications received
	Connections uint64 // handshakes that succeeded
}

func (c *Counters) add(o Counters) {
	c.Requests += o.Requests
	c.Bursts += o.Bursts
	c.Pings += o.Pings
	c.Replies += o.Replies
	c.Events += o.Events
	c.Connections += o.Connections
}

// newSession returns a session that has not begun; run begins it. Calls are accepted at once.
func newSession(k *Keeper, gen uint64) *Session {
	s := &Session{cfg: &k.cfg, gen: gen, keep: k, base: time.Now(), ctx: k.ctx,
		poke: make(chan struct{}, 1), ended: make(chan struct{})}
	s.cleaner.s = s
	s.slept.begin(k.cfg.Env.Suspended, s.base)
	return s
}

// Generation counts the sessions of a Keeper from 1.
func (s *Session) Generation() uint64 { return s.gen }

// ID returns the session's id, 0 before the first handshake. Print it as unsigned hex. That of a session that a read-only
// server has given is 0 again when the connection has ended, and then another one.
func (s *Session) ID() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// Timeout returns the session timeout that the server granted on the newest connection, 0 before the first.
func (s *Session) Timeout() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Duration(s.clock.timeout)
}

// State returns where the session stands now.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Ended is closed when the session is over and every call, watch and hold has been told; Err then says why.
func (s *Session) Ended() <-chan struct{} { return s.ended }

// Err returns why the session is over, nil while it is not.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// Do submits g and waits for its completion. kept is false when the context ended while requests were in flight: then g is
// the session's, the caller drops it, and err is the context's error; the outcome of its writes is unknown. Otherwise
// results are in g, and err repeats why nothing was sent, if so.
func (s *Session) Do(ctx context.Context, g *Group) (kept bool, err error) {
	if err := s.Submit(ctx, g); err != nil {
		return true, err
	}
	if !g.wait(ctx, s) {
		return false, ctx.Err()
	}
	return true, nil
}

// Submit queues g. It blocks only while the session has as much under way as the configuration allows, until the context
// ends. On an error nothing is queued, the error is also the result of every call of g, and g will not complete again.
func (s *Session) Submit(ctx context.Context, g *Group) error {
	if !g.stage.CompareAndSwap(building, submitted) {
		return ErrBusy
	}
	err := s.submit(ctx, g)
	if err != nil {
		for i := range g.calls {
			g.calls[i].outcome, g.calls[i].err = NotSent, err
		}
		g.left = 0
		g.stage.Store(complete)
	}
	return err
}

func (s *Session) submit(ctx context.Context, g *Group) error {
	if len(g.calls) == 0 {
		return ErrEmpty
	}
	if err := s.check(g); err != nil {
		return err
	}
	if ctx != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	s.mu.Lock()
	for {
		if err := s.refusalLocked(); err != nil {
			s.mu.Unlock()
			return err
		}
		if ctx == nil || s.calls == 0 || s.calls+len(g.calls) <= s.cfg.MaxCalls && s.bytes+len(g.buf) <= s.cfg.MaxBytes {
			break
		}
		if s.room == nil {
			s.room = make(chan struct{})
		}
		room := s.room
		s.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
		s.mu.Lock()
	}
	s.enqueueLocked(g)
	cx := s.cx
	s.mu.Unlock()
	if cx != nil {
		cx.signal()
	}
	return nil
}

// enqueueLocked accepts g: from here on it completes exactly once.
func (s *Session) enqueueLocked(g *Group) {
	g.left = len(g.calls)
	s.takeRoomLocked(len(g.calls), len(g.buf))
	s.queue.push(g)
}

// refusalLocked says why no call is accepted now.
func (s *Session) refusalLocked() error {
	switch {
	case s.over != nil:
		return s.over
	case s.closing:
		return ErrClosed
	case s.cfg.FailFast && s.cx == nil && s.connNo > 0:
		return ErrDisconnected
	}
	return nil
}

// check refuses requests that must not be sent: those over the send limit, for which the server would close the connection
// without a word, and those that are the server's own, or that it is known not to check (docs/protocol.md section 22).
func (s *Session) check(g *Group) error {
	for i := range g.calls {
		c := &g.calls[i]
		if size := c.end - c.start - 4; size > s.cfg.SendLimit {
			return &RequestTooLargeError{Op: c.op, Size: size, Limit: s.cfg.SendLimit}
		}
		if err := proto.CheckSendable(c.op); err != nil {
			return err
		}
		if c.watch != nil {
			if err := s.checkWatchPath(c.op, c.watch.Path); err != nil {
				return err
			}
		}
		if c.op == proto.OpCreateTTL {
			var req proto.CreateTTLRequest
			r := jute.NewReader(g.buf[c.start+4+proto.RequestHeaderSize : c.end])
			if req.ReadFrom(&r); r.Err() != nil {
				return r.Err()
			}
		}
	}
	return nil
}

// checkWatchPath refuses a watch that could not be set again after a reconnect, because its path alone is too long for that.
func (s *Session) checkWatchPath(op proto.Op, path string) error {
	const besides = proto.RequestHeaderSize + 8 + 5*4 // the zxid and the counts of a setWatches2
	if size := besides + 4 + len(path); size > s.cfg.SendLimit {
		return &RequestTooLargeError{Op: op, Size: size, Limit: s.cfg.SendLimit}
	}
	return nil
}

func (s *Session) takeRoomLocked(calls, bytes int) {
	s.calls += calls
	s.bytes += bytes
}

func (s *Session) releaseRoomLocked(calls, bytes int) {
	s.calls -= calls
	s.bytes -= bytes
	if s.room != nil {
		close(s.room)
		s.room = nil
	}
}

// Unwatch forgets a one-shot watch, whether it is registered or its request is still under way: then it never will be. Unless
// the watch is Tidy, the server's own registration stays until it fires or the connection ends; nobody is told then. Unwatch
// does not block.
func (s *Session) Unwatch(w *Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.dropped = true
	delete(s.owed, w)
	if was, cx := s.watches.remove(w), s.cx; was && cx != nil {
		cx.droppedLocked(w)
	}
}

// WatchCount returns the number of registered one-shot watches.
func (s *Session) WatchCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watches.count()
}

// Counters returns what the session has done so far.
func (s *Session) Counters() Counters {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counters
}

// sawZxidLocked keeps the highest zxid: a server that is behind it must not serve us (docs/protocol.md section 4).
func (s *Session) sawZxidLocked(zxid int64) { s.lastZxid = max(s.lastZxid, zxid) }

// overdueLocked is the check that a process which was stopped makes before anything completes: has the session ended by
// its own clock, with everything taken into account that has been answered?
func (s *Session) overdueLocked(now int64) error {
	if !s.temporary && now >= s.clock.sessionEnd() {
		return ErrSessionExpired
	}
	return nil
}
