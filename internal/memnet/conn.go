package memnet

import (
	"io"
	"net"
	"time"
)

// network is the name of this network in addresses and errors.
const network = "mem"

// Addr is the name of one end.
type Addr string

// Network returns "mem".
func (Addr) Network() string { return network }

// String returns the name.
func (a Addr) String() string { return string(a) }

// Conn is one end of a connection in memory; Pipe and Listener return it as a net.Conn. All methods are safe for use by
// several goroutines at once; concurrent writes do not mix.
type Conn struct {
	in, out       *pipe
	local, remote Addr
}

// Pipe returns the two ends of a connection whose buffers are not bounded: a Write never blocks.
func Pipe() (a, b net.Conn) { return BoundedPipe(0) }

// BoundedPipe returns the two ends of a connection that holds at most limit unread bytes in each direction: a Write beyond
// that blocks until the peer reads, closes, or a deadline passes, as one to a socket whose buffers are full. A limit of 0
// or below means no bound.
func BoundedPipe(limit int) (a, b net.Conn) { return connect("a", "b", limit) }

func connect(a, b Addr, limit int) (*Conn, *Conn) {
	there, back := newPipe(max(limit, 0)), newPipe(max(limit, 0))
	return &Conn{in: back, out: there, local: a, remote: b}, &Conn{in: there, out: back, local: b, remote: a}
}

// Read waits for bytes of the peer and returns at least one, or an error: io.EOF once the peer has closed and everything
// was read, else a *net.OpError. A deadline that has passed fails also a Read for which bytes are waiting, as in package net.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.in.read(b)
	if err != nil && err != io.EOF {
		err = c.opError("read", err)
	}
	return n, err
}

// Write copies b into the buffer that the peer reads from. With an error it returns how many bytes were copied before.
func (c *Conn) Write(b []byte) (int, error) {
	n, err := c.out.write(b)
	if err != nil {
		err = c.opError("write", err)
	}
	return n, err
}

// Close ends both directions: the peer reads what is buffered, then io.EOF, and can write no more; blocked calls on this
// end return net.ErrClosed. A second Close returns that too.
func (c *Conn) Close() error {
	open := c.out.closeWriter()
	c.in.closeReader()
	if !open {
		return c.opError("close", net.ErrClosed)
	}
	return nil
}

// Reset breaks the connection as a TCP reset does: what is buffered is lost, and reads and writes of both ends fail with
// syscall.ECONNRESET. Both ends still have to be closed.
func (c *Conn) Reset() {
	c.out.abort()
	c.in.abort()
}

// Unread returns the number of bytes that this end has written and the peer has not read.
func (c *Conn) Unread() int { return c.out.unread() }

// Arrived returns the number of bytes that the peer has written and this end has not read.
func (c *Conn) Arrived() int { return c.in.unread() }

// LocalAddr returns the Addr of this end.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the Addr of the peer.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines; see SetReadDeadline.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline makes reads, one that is blocked included, fail with os.ErrDeadlineExceeded from t on; the zero time
// means never. After Close it fails with net.ErrClosed.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if err := c.in.setReadDeadline(t); err != nil {
		return c.opError("set", err)
	}
	return nil
}

// SetWriteDeadline is SetReadDeadline for writes.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	if err := c.out.setWriteDeadline(t); err != nil {
		return c.opError("set", err)
	}
	return nil
}

func (c *Conn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: network, Source: c.local, Addr: c.remote, Err: err}
}
