package peer

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
)

// behindBase is the sequence number of the first child behind those that clients create.
const behindBase = 2_000_000_000

// Options tell which fixed children each znode has.
type Options struct {
	// Ahead is the number of children, named like a Curator lock's, with sequence numbers below those that creates get: 0 to
	// Ahead-1. Nothing removes them, so a contender behind them waits until it gives up.
	Ahead int
	// Behind is the number of such children with higher sequence numbers, from 2,000,000,000 on.
	Behind int
	// Frugal makes the peer give back the memory of large replies, so that what is measured of a process is its clients'.
	Frugal bool
	// Data is what every znode holds, "hello" if nil. The peer reads it as long as it lives.
	Data []byte
}

// Server answers on any number of connections. All methods are safe for use by several goroutines at once.
type Server struct {
	ahead, behind int    // immutable
	fixed         []byte // immutable: the fixed children, encoded
	frugal        bool   // immutable
	data          []byte // immutable

	requests atomic.Int64 // counters, read by tests; no other data is published by them
	bursts   atomic.Int64
	pings    atomic.Int64
	zxid     atomic.Int64
	seq      atomic.Int64 // sequence number of the next sequential create
	sessions atomic.Int64

	wg sync.WaitGroup // goroutines of Listen and Dial

	mu     sync.Mutex
	open   map[io.Closer]struct{} // guarded by mu: listener and connections
	closed bool                   // guarded by mu
}

// New returns a Server. It serves nothing until Listen, Dial or Serve.
func New(o Options) *Server {
	s := &Server{ahead: o.Ahead, behind: o.Behind, frugal: o.Frugal, data: o.Data, open: make(map[io.Closer]struct{})}
	if s.data == nil {
		s.data = []byte(data)
	}
	s.fixed = appendFixed(nil, 0, o.Ahead)
	s.fixed = appendFixed(s.fixed, behindBase, o.Behind)
	s.seq.Store(int64(o.Ahead))
	return s
}

// Requests returns how many requests have been answered, neither handshakes nor pings counted.
func (s *Server) Requests() int64 { return s.requests.Load() }

// Bursts returns how many groups of requests have been answered that arrived together, those of pings alone not counted. Over
// a network without delay this is about the number of writes of the clients.
func (s *Server) Bursts() int64 { return s.bursts.Load() }

// Pings returns how many pings have been answered.
func (s *Server) Pings() int64 { return s.pings.Load() }

// Listen serves on a free TCP port of the loopback interface and returns its address. It does not block.
func (s *Server) Listen() (addr string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	if !s.register(l) {
		return "", net.ErrClosed
	}
	// accept: owned by the Server, ends when Close closes l.
	s.wg.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			s.spawn(nc)
		}
	})
	return l.Addr().String(), nil
}

// Dial returns the client's end of a connection in memory. It has the form that conn.Config.Dial wants.
func (s *Server) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	near, far := memnet.Pipe()
	s.spawn(far)
	return near, nil
}

// spawn serves nc on a goroutine of its own, or closes it after Close.
func (s *Server) spawn(nc net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		nc.Close()
		return
	}
	// serve: owned by the Server, ends with nc. A client that breaks the protocol sees its connection closed.
	s.wg.Go(func() { _ = s.Serve(nc) })
}

// Serve answers on nc until the client closes the session or the connection, or Close is called, and closes nc. It returns
// nil after a session or connection that was closed between two frames, else what was wrong.
func (s *Server) Serve(nc net.Conn) error {
	if !s.register(nc) {
		return net.ErrClosed
	}
	defer s.unregister(nc)
	c := &connection{srv: s, fc: conn.New(nc, nil)}
	err := c.handshake()
	if err == nil {
		err = c.loop()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Close ends the listener and all connections and waits for their goroutines. It may be called more than once.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for c := range s.open {
		c.Close() // makes its goroutine end; nothing is lost by an error
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// register keeps c for Close; after Close it closes c and returns false.
func (s *Server) register(c io.Closer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.Close()
		return false
	}
	s.open[c] = struct{}{}
	return true
}

func (s *Server) unregister(c io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
	c.Close()
}
