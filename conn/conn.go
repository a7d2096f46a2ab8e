package conn

import (
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
)

// Conn is one framed connection, either end of it. One goroutine at a time may read (Handshake, ReadConnectRequest,
// ReadFrame, Buffered), and one at a time may write (Handshake, WriteBatch); the two may be different goroutines at the same
// time. Close, the deadlines, Received and the addresses may be used by anybody at any time.
type Conn struct {
	nc       net.Conn     // immutable
	addr     string       // immutable: what errors call the peer
	limit    int64        // immutable: the receive limit
	received atomic.Int64 // bytes that have arrived, for whoever watches the connection's life

	readBuffer       // owned by the reading goroutine
	minFrame   int64 // owned by the reading goroutine: the smallest legal body after the first frame
	started    bool  // owned by the reading goroutine: the first frame has been read
	oversized        // owned by the reading goroutine
	readErr    error // owned by the reading goroutine: the *FrameError after which nothing can be read

	writeErr error // owned by the writing goroutine: the error after which nothing can be written
}

// New returns a Conn over nc, which it owns from now on: Close closes it. Of cfg, which may be nil, only the receive limit is
// used. The server's end of a connection is made with New too, and begins with ReadConnectRequest.
func New(nc net.Conn, cfg *Config) *Conn {
	addr := "unknown address"
	if a := nc.RemoteAddr(); a != nil {
		addr = a.String()
	}
	return newConn(nc, addr, cfg)
}

func newConn(nc net.Conn, addr string, cfg *Config) *Conn {
	c := &Conn{nc: nc, addr: addr, limit: cfg.receiveLimit(), minFrame: proto.ReplyHeaderSize}
	c.readBuffer.init()
	return c
}

// WriteBatch writes b, whole frames made with BeginFrame and EndFrame, with one Write, and blocks until the network has
// taken all of it or the write deadline has passed. It does not keep b. A failure is an *Error whose Written tells whether
// any byte may have left; since a frame may be torn then, every later WriteBatch returns the same cause with Written 0.
func (c *Conn) WriteBatch(b []byte) error {
	if c.writeErr != nil {
		return &Error{Op: "write", Addr: c.addr, Err: c.writeErr}
	}
	if len(b) == 0 {
		return nil
	}
	n, err := c.nc.Write(b)
	if err == nil {
		return nil
	}
	c.writeErr = err
	return &Error{Op: "write", Addr: c.addr, Written: n, Err: err}
}

// Received returns the number of bytes that have arrived so far. Whoever must know that the peer is alive compares two calls;
// a change means that bytes arrived, be they a whole frame or not.
func (c *Conn) Received() int64 { return c.received.Load() }

// SetReadDeadline makes ReadFrame fail with an error that matches os.ErrDeadlineExceeded when it has to wait for bytes after
// t; the zero time means never. No byte is lost by that: with a new deadline ReadFrame goes on where it was.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.nc.SetReadDeadline(t) }

// SetWriteDeadline makes WriteBatch fail with an error that matches os.ErrDeadlineExceeded when it has to wait after t; the
// zero time means never.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.nc.SetWriteDeadline(t) }

// Encrypted reports whether the connection is a TLS one: made by Dial with Config.TLS, or a *tls.Conn, or what has its method
// ConnectionState, that came from Config.Dial or was given to New. What a dialer encrypts in another way it does not know.
func (c *Conn) Encrypted() bool {
	_, ok := c.nc.(interface{ ConnectionState() tls.ConnectionState })
	return ok
}

// Close closes the connection and makes blocked calls return. Over TLS it says good-bye first, unless a WriteBatch is
// blocked; crypto/tls gives that five seconds if the peer has stopped reading and the buffers are full to the last byte.
func (c *Conn) Close() error { return c.nc.Close() }

// LocalAddr returns the local address of the network connection.
func (c *Conn) LocalAddr() net.Addr { return c.nc.LocalAddr() }

// RemoteAddr returns the peer's address of the network connection.
func (c *Conn) RemoteAddr() net.Addr { return c.nc.RemoteAddr() }
