package faultproxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	dialTimeout = 5 * time.Second
	chunkSize   = 32 << 10
	// queuedChunks bounds what one direction holds back, 2 MiB; behind that the sender's kernel buffers fill, as they do
	// when a cable is pulled.
	queuedChunks = 64
)

// chunk is what one read returned, or the end of the stream.
type chunk struct {
	data []byte
	due  time.Time
	end  error // not nil on the last chunk: io.EOF, or why reading failed
}

// link is one connection through the proxy.
type link struct {
	proxy  *Proxy
	client net.Conn
	done   chan struct{} // closed by close: everything of this link ends

	mu     sync.Mutex // guards what follows; a leaf
	server net.Conn   // nil until dialled
	closed bool
}

// carry dials the target and forwards both directions until both have ended or the link is closed.
func (l *link) carry() {
	defer l.proxy.forget(l)
	defer l.close()
	if !l.proxy.gate.pass(ToServer, l.done) {
		return
	}
	nc, err := net.DialTimeout("tcp", l.proxy.target, dialTimeout)
	if err != nil {
		reset(l.client)
		return
	}
	if !l.adopt(nc) {
		reset(nc)
		return
	}
	filter := l.proxy.conn()
	toServer, toClient := filter(ToServer), filter(ToClient)
	var both sync.WaitGroup
	// Two directions; owned by carry, which waits; each ends with its stream or with the link.
	both.Go(func() { l.forward(ToServer, l.client, nc, toServer) })
	both.Go(func() { l.forward(ToClient, nc, l.client, toClient) })
	both.Wait()
}

// adopt makes nc the link's other side, unless the link is closed already.
func (l *link) adopt(nc net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.server = nc
	return true
}

// close ends both connections and whoever waits for the gate or the queue. It may be called again.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	close(l.done)
	_ = l.client.Close() // its peer learns that it is gone; nobody is left to tell an error
	if l.server != nil {
		_ = l.server.Close()
	}
}

// forward carries one direction. Reading goes on while earlier chunks wait for their time, so that a delay does not
// become a bound of the throughput.
func (l *link) forward(d Direction, src, dst net.Conn, filter func([]byte) []byte) {
	queue := make(chan chunk, queuedChunks)
	var reading sync.WaitGroup
	// Reader of one direction; owned by forward, which waits; ends with the stream or the link.
	reading.Go(func() { l.read(src, queue) })
	l.write(d, dst, filter, queue)
	reading.Wait()
}

// read fills the queue until the stream ends, which the last chunk says.
func (l *link) read(src net.Conn, queue chan<- chunk) {
	buf := make([]byte, chunkSize)
	for {
		n, err := src.Read(buf)
		c := chunk{data: append([]byte(nil), buf[:n]...), due: l.proxy.gate.due(), end: err}
		select {
		case queue <- c:
		case <-l.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// write empties the queue into dst, each chunk at its time and when the gate is open.
func (l *link) write(d Direction, dst net.Conn, filter func([]byte) []byte, queue <-chan chunk) {
	for {
		var c chunk
		select {
		case c = <-queue:
		case <-l.done:
			return
		}
		if !l.wait(c.due) || !l.proxy.gate.pass(d, l.done) {
			return
		}
		if len(c.data) > 0 {
			out := filter(c.data)
			l.proxy.bytes[d].Add(int64(len(out))) // before the other side can have seen them
			n, err := dst.Write(out)
			l.proxy.bytes[d].Add(int64(n - len(out)))
			if err != nil {
				l.close()
				return
			}
		}
		if c.end != nil {
			l.end(dst, c.end)
			return
		}
	}
}

// end passes on how a stream ended: a finished one is half-closed, a broken one breaks the link.
func (l *link) end(dst net.Conn, cause error) {
	if tcp, ok := dst.(*net.TCPConn); ok && errors.Is(cause, io.EOF) {
		_ = tcp.CloseWrite() // fails only when the other side is gone, which its own direction reports
		return
	}
	reset(dst)
	l.close()
}

// wait sleeps until due and reports true, or false when the link is closed first.
func (l *link) wait(due time.Time) bool {
	left := time.Until(due)
	if left <= 0 {
		return true
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.done:
		return false
	}
}

// reset closes a connection so that its peer sees a reset, not an orderly end.
func reset(nc net.Conn) {
	if tcp, ok := nc.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // best effort: the close below happens in any case
	}
	_ = nc.Close()
}
