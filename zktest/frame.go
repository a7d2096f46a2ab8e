package zktest

import (
	"encoding/binary"
	"errors"
	"io"
)

// errFrame says that a client announced a length no frame may have. The connection is closed without an answer.
var errFrame = errors.New("zktest: impossible frame length")

const (
	readBufferStart = 4 << 10
	// readAhead bounds what is allocated for a frame ahead of the bytes that arrived.
	readAhead = 64 << 10
)

// frameReader cuts what a client sends into frames. It belongs to the connection's readLoop.
type frameReader struct {
	src      io.Reader
	buf      []byte
	off, end int // buf[off:end] arrived and is not consumed
}

func newFrameReader(src io.Reader) frameReader {
	return frameReader{src: src, buf: make([]byte, readBufferStart)}
}

// peekWord waits for four bytes and returns them without consuming them.
func (f *frameReader) peekWord() (uint32, error) {
	if err := f.fill(4); err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint32(f.buf[f.off:]), nil
}

// next waits for one frame and returns its bytes without the length; they are valid until the next call.
func (f *frameReader) next() ([]byte, error) {
	word, err := f.peekWord()
	if err != nil {
		return nil, err
	}
	n := int(int32(word))
	if n < 0 || n > MaxFrame {
		return nil, errFrame
	}
	if err := f.fill(4 + n); err != nil {
		return nil, err
	}
	b := f.buf[f.off+4 : f.off+4+n : f.off+4+n]
	f.off += 4 + n
	return b, nil
}

// buffered reports whether next would return without reading: a whole frame, or an impossible length, has arrived.
func (f *frameReader) buffered() bool {
	have := f.end - f.off
	if have < 4 {
		return false
	}
	n := int(int32(binary.BigEndian.Uint32(f.buf[f.off:])))
	return n < 0 || n > MaxFrame || have >= 4+n
}

// fill reads until n bytes are there. The buffer grows with what arrives, not with what was announced.
func (f *frameReader) fill(n int) error {
	if f.end == f.off {
		f.off, f.end = 0, 0
		if len(f.buf) > readAhead && n <= readBufferStart {
			f.buf = make([]byte, readBufferStart)
		}
	}
	for f.end-f.off < n {
		f.room(n)
		got, err := f.src.Read(f.buf[f.end:])
		f.end += got
		if err != nil && f.end-f.off < n {
			return err
		}
	}
	return nil
}

// room makes space behind the bytes that arrived, for a frame of n bytes in all.
func (f *frameReader) room(n int) {
	have := f.end - f.off
	want := min(n, have+readAhead)
	switch {
	case f.end < len(f.buf) && f.off+want <= len(f.buf):
		return
	case want < len(f.buf):
		copy(f.buf, f.buf[f.off:f.end])
	default:
		grown := make([]byte, max(want, 2*len(f.buf)))
		copy(grown, f.buf[f.off:f.end])
		f.buf = grown
	}
	f.off, f.end = 0, have
}
