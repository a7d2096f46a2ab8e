package zktest

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/memnet"
	"github.com/lockkeeper/lockkeeper/proto"
)

// Server is an in-memory ZooKeeper. Its methods may be called by several goroutines at once, also from a hook given to
// OnRequest. A Server made inside a testing/synctest bubble belongs to that bubble.
type Server struct {
	cfg   config
	start time.Time // zero of session deadlines

	wg sync.WaitGroup // acceptLoops, readLoops and writeLoops

	// mu guards everything below and everything said to be guarded by Server.mu. It is never held over I/O or user code;
	// outbox.mu is taken after it.
	mu     sync.Mutex
	cond   *sync.Cond // a gate for readLoops changed, or a connection ended
	closed bool

	tree     *tree
	tx       txn // the transaction under way; reused
	watches  [sides]watchTable
	stamp    uint64        // number of the event being sent
	hit      []*connection // who gets it
	sessions map[int64]*session
	// quorum and configVersion are the ensemble of SetEnsemble; without it the server stands alone.
	quorum        quorum
	configVersion int64
	openACL       []proto.ACL // world, anyone, all: shared by the znodes that have it

	lastSession int64
	nextExpiry  time.Duration // what expiryTimer is set to, since start; 0: not set
	expiryTimer *time.Timer
	waits       map[*time.Timer]struct{} // of delayed requests and replies

	conns     map[*connection]struct{}
	sending   map[*connection]struct{} // conns, and those that are gone but for their output
	lastConn  int64
	dirty     []*connection // have output that is not in their outbox yet
	dead      []*outbox     // to be closed as soon as mu is free
	members   map[string]*Member
	listeners []net.Listener

	rules    []*Rule
	hook     func(*Request) Verdict
	shaken   func(Handshake)
	manual   bool
	arrived  []*arrival    // requests that wait for Step
	accepted []*arrival    // requests that wait for their commit
	behind   []*connection // whose first request waits for all of accepted
	stats    stats
}

// New returns a server without a listener: use Dial for connections in memory, Listen for TCP, or both.
func New(opts ...Option) *Server {
	now := time.Now()
	cfg := newConfig(opts)
	s := &Server{
		cfg:      cfg,
		start:    now,
		tree:     newTree(),
		watches:  [sides]watchTable{newWatchTable(dataSide, cfg.version), newWatchTable(childSide, cfg.version)},
		sessions: make(map[int64]*session),
		openACL:  []proto.ACL{{Perms: proto.PermAll, ID: proto.ID{Scheme: schemeWorld, ID: idAnyone}}},
		// Server number 1 in the top byte, then the time, as Java's SessionTrackerImpl.initializeNextSessionId.
		lastSession: 1<<56 | int64(uint64(now.UnixMilli())<<24>>8),
		waits:       make(map[*time.Timer]struct{}),
		conns:       make(map[*connection]struct{}),
		sending:     make(map[*connection]struct{}),
		members:     make(map[string]*Member),
	}
	s.cond = sync.NewCond(&s.mu)
	return s
}

// Dial connects in memory; it has the form of a client's dial function. The address names the member of the pretended
// ensemble, see Member; any will do. Dial does not wait, and fails only with ctx's error or with one that matches
// syscall.ECONNREFUSED, after Close or while the member refuses.
func (s *Server) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: memnet.Addr(addr), Err: err}
	}
	s.mu.Lock()
	defer s.releaseLocked(nil)
	m := s.memberLocked(addr)
	if s.closed || m.refusal == RefuseDial {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: memnet.Addr(addr), Err: syscall.ECONNREFUSED}
	}
	near, far := memnet.BoundedPipe(s.cfg.pipe)
	s.serveLocked(far, m)
	return near, nil
}

// Listen opens a TCP port of 127.0.0.1 that the kernel chooses and returns its address, which also names the member that
// its connections belong to. It may be called several times.
func (s *Server) Listen() (addr string, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), s.Serve(ln)
}

// Serve accepts the connections of ln, for instance of a TLS listener, until Close, which closes ln. It returns at once;
// the error, net.ErrClosed, says that the server is closed, and then ln is too.
func (s *Server) Serve(ln net.Listener) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = ln.Close() // what matters is the error returned below
		return net.ErrClosed
	}
	s.listeners = append(s.listeners, ln)
	m := s.memberLocked(ln.Addr().String())
	s.wg.Add(1)
	// acceptLoop: owned by the Server; ends when Close closes the listener.
	go s.acceptLoop(ln, m)
	return nil
}

// Addr returns the address of the first listener, or "" when there is none.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.listeners) == 0 {
		return ""
	}
	return s.listeners[0].Addr().String()
}

func (s *Server) acceptLoop(ln net.Listener, m *Member) {
	defer s.wg.Done()
	for {
		nc, err := ln.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		refused := s.closed || m.refusal == RefuseDial
		if !refused {
			s.serveLocked(nc, m)
		}
		s.releaseLocked(nil)
		if refused {
			_ = nc.Close() // nothing was exchanged
		}
	}
}

// serveLocked starts the two loops of a new connection.
func (s *Server) serveLocked(nc net.Conn, m *Member) {
	s.lastConn++
	s.stats.connections++
	c := newConnection(s, nc, m, s.lastConn)
	s.conns[c], s.sending[c] = struct{}{}, struct{}{}
	c.idle = s.afterLocked(handshakeWait, func() { s.giveUpLocked(c) })
	if m.refusal == RefuseClose {
		s.closeLocked(c)
	}
	s.wg.Add(2)
	// readLoop: owned by its connection; ends when that is closed, by either side.
	go c.readLoop()
	// writeLoop: owned by its connection; ends with it.
	go c.writeLoop()
}

// Close closes all connections and listeners, without a word to the clients, and waits until every goroutine of the
// server has ended. It always returns nil. A second Close does nothing. The tree can still be inspected.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	for c := range s.sending {
		s.dropLocked(c)
	}
	for _, ln := range s.listeners {
		_ = ln.Close() // the acceptLoop ends in any case
	}
	if s.expiryTimer != nil {
		s.expiryTimer.Stop()
	}
	for t := range s.waits {
		t.Stop()
	}
	clear(s.waits)
	s.arrived = nil
	s.cond.Broadcast()
	s.releaseLocked(nil)
	s.wg.Wait()
	return nil
}

// afterLocked runs f under Server.mu after d, unless the server is closed by then or the timer stopped.
func (s *Server) afterLocked(d time.Duration, f func()) *time.Timer {
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		s.mu.Lock()
		delete(s.waits, t)
		if !s.closed {
			f()
		}
		s.releaseLocked(nil)
	})
	s.waits[t] = struct{}{}
	return t
}

// stopLocked stops a timer of afterLocked.
func (s *Server) stopLocked(t *time.Timer) {
	t.Stop()
	delete(s.waits, t)
}

// dirtyLocked notes that c has output.
func (s *Server) dirtyLocked(c *connection) {
	if !c.dirty {
		c.dirty = true
		s.dirty = append(s.dirty, c)
	}
}

// releaseLocked moves the output of all connections into their outboxes, which must happen before Server.mu is released
// to keep its order, then releases Server.mu and has it written. The output of self is written by the calling goroutine,
// which must be its readLoop; for others their writeLoops are woken.
func (s *Server) releaseLocked(self *connection) {
	mine := false
	for i := 0; i < len(s.dirty); i++ { // it may grow on the way
		c := s.dirty[i]
		c.dirty = false
		c.pushLocked()
		if c == self {
			mine = true
		} else {
			c.box.wake()
		}
	}
	clear(s.dirty)
	s.dirty = s.dirty[:0]
	dead := s.dead
	s.dead = nil
	s.mu.Unlock()
	for _, b := range dead {
		b.kill()
	}
	if mine {
		self.box.flush()
	}
}
