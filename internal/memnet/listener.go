package memnet

import (
	"context"
	"net"
	"strconv"
	"sync"
	"syscall"
)

// Listener hands out the server ends of connections made with its Dial. It implements net.Listener. All methods are safe
// for use by several goroutines at once.
type Listener struct {
	limit int // immutable: bound of the buffers of its connections, 0 for none

	mu      sync.Mutex
	cond    sync.Cond // on mu
	backlog []*Conn   // guarded by mu: dialled, not yet accepted
	dialled int       // guarded by mu: numbers the client ends
	closed  bool      // guarded by mu
}

// Listen returns a Listener whose connections have buffers without bound.
func Listen() *Listener { return ListenBounded(0) }

// ListenBounded returns a Listener whose connections are those of BoundedPipe.
func ListenBounded(limit int) *Listener {
	l := &Listener{limit: limit}
	l.cond.L = &l.mu
	return l
}

// Dial connects to the listener. It does not wait for Accept, just as the kernel completes TCP connections on behalf of a
// process that is stopped; so it never blocks, and looks at ctx only at the start. The network is ignored; addr becomes the
// name of the server's end. After Close it fails with syscall.ECONNREFUSED.
func (l *Listener) Dial(ctx context.Context, _, addr string) (net.Conn, error) {
	remote := Addr(addr)
	if err := ctx.Err(); err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: remote, Err: err}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: remote, Err: syscall.ECONNREFUSED}
	}
	l.dialled++
	near, far := connect(Addr("client-"+strconv.Itoa(l.dialled)), remote, l.limit)
	l.backlog = append(l.backlog, far)
	l.cond.Signal()
	return near, nil
}

// Accept waits for the next connection, a *Conn. After Close it fails with net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.backlog) == 0 && !l.closed {
		l.cond.Wait()
	}
	if l.closed {
		return nil, &net.OpError{Op: "accept", Net: network, Addr: l.Addr(), Err: net.ErrClosed}
	}
	c := l.backlog[0]
	l.backlog[0] = nil
	l.backlog = l.backlog[1:]
	return c, nil
}

// Close makes Accept and Dial fail, and resets the connections that nobody has accepted. Accepted ones live on. A second
// Close returns net.ErrClosed.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return &net.OpError{Op: "close", Net: network, Addr: l.Addr(), Err: net.ErrClosed}
	}
	l.closed = true
	for _, c := range l.backlog {
		c.Reset()
	}
	l.backlog = nil
	l.cond.Broadcast()
	return nil
}

// Addr returns the Addr "listener".
func (l *Listener) Addr() net.Addr { return Addr("listener") }
