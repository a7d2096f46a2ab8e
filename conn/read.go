package conn

import (
	"encoding/binary"
	"errors"
	"io"
)

// oversized is the state of a frame above the receive limit whose body is being thrown away.
type oversized struct {
	skip     int64          // bytes of the frame that have yet to be dropped
	tooLarge *TooLargeError // nil when there is none
}

// ReadFrame waits for the next frame and returns its body, without the length. The slice is the read buffer's: it is valid
// until the next call of a reading method, and the caller may write to it. It does not allocate while frames fit into the
// buffer.
//
// The first frame of a connection has at most HandshakeLimit bytes, later ones at least those of a reply header. A frame
// over the receive limit gives a *TooLargeError, and the next call returns the frame behind it. A length that cannot be
// gives a *FrameError, for ever. A failed read gives an *Error: around io.EOF when the peer closed between two frames,
// io.ErrUnexpectedEOF when inside one, os.ErrDeadlineExceeded when the deadline passed, after which ReadFrame may be called
// again and loses nothing.
func (c *Conn) ReadFrame() ([]byte, error) {
	if c.readErr != nil {
		return nil, c.readErr
	}
	if c.tooLarge != nil {
		return nil, c.discard()
	}
	if err := c.fill(lengthSize); err != nil {
		return nil, err
	}
	length := c.peekLength()
	lo, hi := c.bounds()
	switch {
	case length < lo, length > discardFactor*hi, length > hi && !c.started:
		c.readErr = &FrameError{Length: length, Min: lo, Limit: hi, Hint: hint(c.buf[c.r:c.w]), Addr: c.addr}
		return nil, c.readErr
	case length > hi:
		return nil, c.beginDiscard(length)
	}
	need := lengthSize + int(length)
	if err := c.fill(need); err != nil {
		return nil, err
	}
	c.join(need)
	c.started = true
	body := c.buf[c.r+lengthSize : c.r+need : c.r+need]
	c.r += need
	return body, nil
}

// Buffered reports whether ReadFrame would return without waiting for the network.
func (c *Conn) Buffered() bool {
	if c.readErr != nil {
		return true
	}
	if c.tooLarge != nil {
		return int64(c.have()) >= c.skip
	}
	if c.have() < lengthSize {
		return false
	}
	length := c.peekLength()
	if lo, hi := c.bounds(); length < lo || length > discardFactor*hi || length > hi && !c.started {
		return true
	}
	return int64(c.have()) >= lengthSize+length
}

// bounds returns the smallest and the largest legal length of the next frame.
func (c *Conn) bounds() (lo, hi int64) {
	if !c.started {
		return 0, HandshakeLimit
	}
	return c.minFrame, c.limit
}

// peekLength returns the length of the next frame; four bytes of it have arrived.
func (c *Conn) peekLength() int64 {
	return int64(int32(binary.BigEndian.Uint32(c.buf[c.r:])))
}

// fill waits until need bytes of the current frame, its length included, have arrived.
func (c *Conn) fill(need int) error {
	for c.have() < need {
		c.reserve(need)
		n, err := c.read(c.nc)
		c.received.Add(int64(n))
		if err != nil && c.have() < need {
			return c.readFailed(err)
		}
	}
	return nil
}

// readFailed wraps the error of a read; a close inside a frame is told from one between two.
func (c *Conn) readFailed(err error) error {
	if errors.Is(err, io.EOF) && (c.have() > 0 || c.tooLarge != nil) {
		err = io.ErrUnexpectedEOF
	}
	return &Error{Op: "read", Addr: c.addr, Err: err}
}

// beginDiscard keeps the first bytes of a frame that is over the limit and drops the rest.
func (c *Conn) beginDiscard(length int64) error {
	e := &TooLargeError{Length: length, Limit: c.limit, Addr: c.addr}
	head := lengthSize + int(min(length, int64(len(e.Header))))
	if err := c.fill(head); err != nil {
		return err
	}
	copy(e.Header[:], c.buf[c.r+lengthSize:c.r+head])
	c.tooLarge = e
	c.skip = lengthSize + length
	return c.discard()
}

// discard drops the rest of the current frame, one buffer at a time, and returns its *TooLargeError, or the error of a read;
// after a deadline it is called again.
func (c *Conn) discard() error {
	for {
		n := min(c.skip, int64(c.have()))
		c.r += int(n)
		c.skip -= n
		if c.skip == 0 {
			break
		}
		if err := c.fill(1); err != nil {
			return err
		}
	}
	e := c.tooLarge
	c.tooLarge = nil
	return e
}
