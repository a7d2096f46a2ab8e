package main

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockkeeper/lockkeeper/internal/load"
	"github.com/lockkeeper/lockkeeper/proto"
)

// sessionTimeout is the default of our client, for both.
const sessionTimeout = 10 * time.Second

// goZK is the driver of go-zookeeper/zk.
type goZK struct{}

func (goZK) Name() string { return "go-zookeeper" }

// Tokens returns false: its locks give none.
func (goZK) Tokens() bool { return false }

// silent is a logger that logs nothing.
type silent struct{}

func (silent) Printf(string, ...any) {}

func (goZK) Open(ctx context.Context, servers string) (load.Session, error) {
	if strings.Contains(servers, "/") {
		return nil, errors.New("go-zookeeper knows no chroot: name servers only")
	}
	s := &zkSession{}
	c, events, err := zk.Connect(strings.Split(servers, ","), sessionTimeout,
		zk.WithLogger(silent{}), zk.WithLogInfo(false), zk.WithDialer(s.dial))
	if err != nil {
		return nil, err
	}
	s.c = c
	for {
		select {
		case ev := <-events:
			if ev.State == zk.StateHasSession {
				return s, nil
			}
		case <-ctx.Done():
			c.Close()
			return nil, ctx.Err()
		}
	}
}

func (goZK) ErrorKind(err error) string {
	for kind, reason := range map[string]error{
		"connection loss": zk.ErrConnectionClosed,
		"session expired": zk.ErrSessionExpired,
		"closed":          zk.ErrClosing,
		"no server":       zk.ErrNoServer,
		"no node":         zk.ErrNoNode,
		"bad version":     zk.ErrBadVersion,
	} {
		if errors.Is(err, reason) {
			return kind
		}
	}
	return "other"
}

// zkSession is one session of go-zookeeper.
type zkSession struct {
	c        *zk.Conn
	requests atomic.Uint64 // publishes nothing else
}

// Counters counts writes to the socket: this client makes one for each request.
func (s *zkSession) Counters() load.Counters {
	n := s.requests.Load()
	return load.Counters{Requests: n, Flights: n}
}

func (s *zkSession) Close() error {
	s.c.Close()
	return nil
}

func (s *zkSession) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	nc, err := net.DialTimeout(network, addr, timeout)
	if err != nil {
		return nil, err
	}
	return &countedConn{Conn: nc, s: s}, nil
}

// countedConn counts the writes of requests. One goroutine of the client writes at a time.
type countedConn struct {
	net.Conn
	s     *zkSession
	shook bool // the handshake has been written
}

// opOffset is where a request's frame has its opcode, behind length and xid.
const opOffset = 8

func (c *countedConn) Write(b []byte) (int, error) {
	// Opcodes of interest fit into the last of the four bytes.
	ping := len(b) >= opOffset+4 && b[opOffset+2] == 0 && b[opOffset+3] == byte(proto.OpPing)
	if c.shook && !ping {
		c.s.requests.Add(1)
	}
	c.shook = true
	return c.Conn.Write(b)
}

// Watch leaves a watch. A channel in an interface takes no memory of its own, so what is measured is the client's.
func (s *zkSession) Watch(_ context.Context, path string) (any, error) {
	_, _, events, err := s.c.ExistsW(path)
	return events, err
}

// Wait waits for a watch that Watch has left.
func (s *zkSession) Wait(ctx context.Context, watch any) error {
	select {
	case ev := <-watch.(<-chan zk.Event):
		return ev.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Read reads. The client knows no buffers of its caller's: it allocates the data.
func (s *zkSession) Read(_ context.Context, path string, _ []byte) (int, error) {
	data, _, err := s.c.Get(path)
	return len(data), err
}

// Locker returns a contender. Its locks know no hand-over within a process.
func (s *zkSession) Locker(path string, _ load.LockOptions) load.Locker {
	return &zkLocker{zk.NewLock(s.c, path, zk.WorldACL(zk.PermAll))}
}

type zkLocker struct{ l *zk.Lock }

// Lock cannot be cancelled.
func (l *zkLocker) Lock(context.Context) (load.Token, error) { return load.Token{}, l.l.Lock() }

// Lost returns nil: the holder is not told.
func (l *zkLocker) Lost() <-chan struct{} { return nil }

func (l *zkLocker) Unlock(context.Context) error { return l.l.Unlock() }

// Call returns the operation of a workload. There are no groups: what stands for one are the same requests one by one.
func (s *zkSession) Call(w load.Workload, path string) load.Call {
	data := make([]byte, load.DataSize)
	one := func() (err error) {
		_, _, err = s.c.Exists(path)
		return err
	}
	n := 1
	switch w {
	case load.Get:
		one = func() (err error) {
			_, _, err = s.c.Get(path)
			return err
		}
	case load.Set:
		one = func() (err error) {
			_, err = s.c.Set(path, data, -1)
			return err
		}
	case load.Group:
		n = load.GroupSize
	}
	return func(ctx context.Context) (int, error) {
		for i := range n {
			if err := one(); err != nil {
				return i, err
			}
		}
		return n, nil
	}
}
