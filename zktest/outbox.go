package zktest

import (
	"net"
	"sync"
	"time"
)

// closeWait bounds how long a closing connection tries to get rid of bytes that its client does not read.
const closeWait = time.Second

// keepBuffer is the largest output buffer that is kept for the next batch.
const keepBuffer = 64 << 10

// outbox holds the bytes on their way to one client. Whoever produces output puts it here while holding Server.mu, which
// keeps the order; it is written, always by one goroutine at a time, by the connection's writeLoop or, when that is idle,
// by its readLoop right after a burst, which saves a change of goroutines.
type outbox struct {
	nc net.Conn

	mu      sync.Mutex // guards what follows; taken after Server.mu, never held over I/O
	cond    *sync.Cond // something here changed
	buf     []byte     // to be written
	spare   []byte     // the buffer of the write before, for reuse
	writing bool       // somebody is inside nc.Write
	stalled bool       // nothing goes out for now
	ending  bool       // no more output; close once buf is empty
	dead    bool       // closed; nothing is written any more
}

func newOutbox(nc net.Conn) *outbox {
	b := &outbox{nc: nc}
	b.cond = sync.NewCond(&b.mu)
	return b
}

// put queues the bytes of p, which the caller may reuse. It returns the number of bytes that wait.
func (b *outbox) put(p []byte) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ending && !b.dead {
		b.buf = append(b.buf, p...)
	}
	return len(b.buf)
}

// wake lets the writeLoop look again.
func (b *outbox) wake() {
	b.mu.Lock()
	b.cond.Broadcast()
	b.mu.Unlock()
}

// stall stops or resumes the output.
func (b *outbox) stall(on bool) {
	b.mu.Lock()
	b.stalled = on
	if b.ending && !on {
		b.limitLocked()
	}
	b.cond.Broadcast()
	b.mu.Unlock()
}

// finish closes the connection once the queued bytes are written, or closeWait later.
func (b *outbox) finish() {
	b.mu.Lock()
	b.ending = true
	if !b.stalled {
		b.limitLocked()
	}
	b.cond.Broadcast()
	b.mu.Unlock()
}

// limitLocked bounds the writes of a connection that is closing. The caller holds b.mu.
func (b *outbox) limitLocked() {
	// An error means that the connection is closed already.
	_ = b.nc.SetWriteDeadline(time.Now().Add(closeWait))
}

// kill closes the connection now; queued bytes are lost.
func (b *outbox) kill() {
	b.mu.Lock()
	b.dead = true
	b.buf = nil
	b.cond.Broadcast()
	b.mu.Unlock()
	// Closing twice is harmless, and there is nobody to tell.
	_ = b.nc.Close()
}

// await blocks until fewer than limit bytes wait to be written, or the connection is over.
func (b *outbox) await(limit int) {
	b.mu.Lock()
	for len(b.buf) >= limit && !b.dead && !b.ending {
		b.cond.Wait()
	}
	b.mu.Unlock()
}

// run is the body of the writeLoop: it writes what others queue until the connection is over.
func (b *outbox) run() {
	b.mu.Lock()
	for {
		switch {
		case b.dead:
			b.mu.Unlock()
			return
		case b.writing, b.stalled, len(b.buf) == 0 && !b.ending:
			b.cond.Wait()
		case len(b.buf) == 0:
			b.mu.Unlock()
			b.kill()
			return
		default:
			b.writeLocked()
		}
	}
}

// flush writes what is queued from the calling goroutine, unless the writeLoop is at it.
func (b *outbox) flush() {
	b.mu.Lock()
	for !b.writing && !b.stalled && !b.dead && len(b.buf) > 0 {
		b.writeLocked()
	}
	if b.ending {
		b.cond.Broadcast()
	}
	b.mu.Unlock()
}

// writeLocked takes what is queued and writes it, without b.mu, which the caller holds, during the write.
func (b *outbox) writeLocked() {
	p := b.buf
	b.buf, b.spare = b.spare[:0], nil
	b.writing = true
	b.mu.Unlock()
	_, err := b.nc.Write(p)
	b.mu.Lock()
	b.writing = false
	if cap(p) <= keepBuffer {
		b.spare = p
	}
	if err != nil {
		b.dead = true
		b.buf = nil
		_ = b.nc.Close() // the readLoop notices and takes the connection apart
	}
	b.cond.Broadcast()
}
