package memnet

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// keepBuffer is the capacity in bytes up to which a drained buffer is kept for the next write.
const keepBuffer = 1 << 20

// pipe is one direction of a connection: one end writes, the other reads.
type pipe struct {
	mu     sync.Mutex
	cond   sync.Cond // on mu; broadcast at every change of a field below and when a deadline passes
	buf    []byte    // guarded by mu: buf[off:] was written and not yet read
	off    int       // guarded by mu
	limit  int       // immutable: the most bytes that buf[off:] may hold, 0 for no bound
	busy   bool      // guarded by mu: a Write is under way; others wait, so that writes do not mix
	eof    bool      // guarded by mu: the writing end is closed
	gone   bool      // guarded by mu: the reading end is closed
	reset  bool      // guarded by mu: the connection was reset by one of its ends
	rd, wd deadline  // guarded by mu: the deadlines of the reading and of the writing end
}

// deadline is a point in time after which waiting ends. The pipe's mutex guards it.
type deadline struct {
	at    time.Time // zero for none
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func newPipe(limit int) *pipe {
	p := &pipe{limit: limit}
	p.cond.L = &p.mu
	return p
}

// read waits for bytes and returns io.EOF after the last of a closed writer. The errors are bare.
func (p *pipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.gone:
			return 0, net.ErrClosed
		case p.reset:
			return 0, syscall.ECONNRESET
		case p.rd.passed():
			return 0, os.ErrDeadlineExceeded
		case len(b) == 0:
			return 0, nil
		case p.off < len(p.buf):
			n := copy(b, p.buf[p.off:])
			p.consumeLocked(n)
			return n, nil
		case p.eof:
			return 0, io.EOF
		}
		p.cond.Wait()
	}
}

// consumeLocked drops n bytes from the front of the buffer; p.mu is held.
func (p *pipe) consumeLocked(n int) {
	p.off += n
	if p.off == len(p.buf) {
		p.off = 0
		p.buf = p.buf[:0]
		if cap(p.buf) > keepBuffer {
			p.buf = nil
		}
	}
	if p.limit > 0 {
		p.cond.Broadcast()
	}
}

// write hands over all of b, in pieces when the buffer is bounded, and tells how much the reader can get. The errors are bare.
func (p *pipe) write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.busy {
		if err := p.writableLocked(); err != nil {
			return 0, err
		}
		p.cond.Wait()
	}
	p.busy = true
	defer func() { p.busy = false; p.cond.Broadcast() }()
	done := 0
	for {
		if err := p.writableLocked(); err != nil {
			return done, err
		}
		room := len(b) - done
		if p.limit > 0 {
			room = min(room, p.limit-(len(p.buf)-p.off))
		}
		if room > 0 {
			p.appendLocked(b[done : done+room])
			done += room
		}
		if done == len(b) {
			return done, nil
		}
		p.cond.Broadcast()
		p.cond.Wait()
	}
}

// writableLocked tells why nothing can be written now; p.mu is held.
func (p *pipe) writableLocked() error {
	switch {
	case p.eof:
		return net.ErrClosed
	case p.reset:
		return syscall.ECONNRESET
	case p.gone:
		return syscall.EPIPE
	case p.wd.passed():
		return os.ErrDeadlineExceeded
	}
	return nil
}

// appendLocked adds b to the buffer. It moves what is unread to the front rather than let the buffer grow, unless that would
// copy more than it frees; p.mu is held.
func (p *pipe) appendLocked(b []byte) {
	if len(p.buf)+len(b) > cap(p.buf) && p.off > len(p.buf)/2 {
		n := copy(p.buf, p.buf[p.off:])
		p.buf, p.off = p.buf[:n], 0
	}
	p.buf = append(p.buf, b...)
}

// setReadDeadline changes the deadline of the reading end; it fails once that end is closed.
func (p *pipe) setReadDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return net.ErrClosed
	}
	p.setLocked(&p.rd, t)
	return nil
}

// setWriteDeadline is setReadDeadline for the writing end.
func (p *pipe) setWriteDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.eof {
		return net.ErrClosed
	}
	p.setLocked(&p.wd, t)
	return nil
}

// setLocked changes d, which is p.rd or p.wd, and wakes those who wait; p.mu is held.
func (p *pipe) setLocked(d *deadline, t time.Time) {
	d.at = t
	if d.timer != nil {
		d.timer.Stop()
	}
	if !t.IsZero() {
		p.armLocked(d)
	}
	p.cond.Broadcast()
}

// armLocked starts d's timer; p.mu is held.
func (p *pipe) armLocked(d *deadline) {
	left := time.Until(d.at)
	switch {
	case left <= 0:
	case d.timer == nil:
		d.timer = time.AfterFunc(left, func() { p.expire(d) })
	default:
		d.timer.Reset(left)
	}
}

// expire runs on d's timer. The deadline may have moved on since, or differ from the timer's clock by a little.
func (p *pipe) expire(d *deadline) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !d.at.IsZero() && !d.passed() {
		p.armLocked(d)
	}
	p.cond.Broadcast()
}

// closeWriter ends the writing end: the reader gets what is buffered, then io.EOF. It reports whether it was open.
func (p *pipe) closeWriter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	open := !p.eof
	p.eof = true
	p.wd.stop()
	p.cond.Broadcast()
	return open
}

// closeReader ends the reading end: what is buffered is dropped and writing fails.
func (p *pipe) closeReader() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	p.buf, p.off = nil, 0
	p.rd.stop()
	p.cond.Broadcast()
}

// abort makes both ends fail at once, and drops what is buffered.
func (p *pipe) abort() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reset = true
	p.buf, p.off = nil, 0
	p.cond.Broadcast()
}

func (d *deadline) stop() {
	d.at = time.Time{}
	if d.timer != nil {
		d.timer.Stop()
	}
}

// unread returns how many bytes wait for the reader.
func (p *pipe) unread() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.buf) - p.off
}
