package jute

import (
	"encoding/binary"
	"math"
)

// null is the length that stands for a null string, buffer or vector.
const null = -1

// NullString is a string that may be null; the zero value is null.
type NullString struct {
	String string
	Valid  bool // false: null, and String is empty
}

// Reader decodes values one after another from bytes in memory. The first failure sticks: every later read returns zero
// and Err tells about the first. The Reader never writes to its input. It is not safe for use by several goroutines.
// The zero value reads from empty input.
type Reader struct {
	buf []byte
	off int
	err *DecodeError
}

// NewReader returns a Reader over b. Buffers that it returns alias b.
func NewReader(b []byte) Reader { return Reader{buf: b} }

// Reset makes the Reader start anew over b.
func (r *Reader) Reset(b []byte) { *r = Reader{buf: b} }

// Err returns the first failure, a *DecodeError, or nil.
func (r *Reader) Err() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

// Fail records cause as the failure of the value at the current offset, unless there is an earlier one. It is for callers
// that check more than the encoding; wanted names the value.
func (r *Reader) Fail(wanted string, cause error) { r.fail(wanted, 0, cause) }

// Offset returns the number of bytes read so far.
func (r *Reader) Offset() int { return r.off }

// Remaining returns the number of bytes that are left; 0 after a failure.
func (r *Reader) Remaining() int {
	if r.err != nil {
		return 0
	}
	return len(r.buf) - r.off
}

// Rest returns the bytes that are left without consuming them; nil after a failure. They alias the input.
func (r *Reader) Rest() []byte {
	if r.err != nil {
		return nil
	}
	return r.buf[r.off:len(r.buf):len(r.buf)]
}

// Skip passes over n bytes.
func (r *Reader) Skip(n int) {
	if n < 0 {
		r.fail("bytes", int64(n), ErrLength)
		return
	}
	r.take(n, "bytes")
}

// Bool reads one byte; any but 0 is true, as in Java's reader.
func (r *Reader) Bool() bool {
	b := r.take(1, "bool")
	return len(b) == 1 && b[0] != 0
}

// Int reads four bytes.
func (r *Reader) Int() int32 {
	b := r.take(4, "int")
	if len(b) < 4 {
		return 0
	}
	return int32(binary.BigEndian.Uint32(b))
}

// Long reads eight bytes.
func (r *Reader) Long() int64 {
	b := r.take(8, "long")
	if len(b) < 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

// Float reads the four bytes of an IEEE 754 number.
func (r *Reader) Float() float32 {
	b := r.take(4, "float")
	if len(b) < 4 {
		return 0
	}
	return math.Float32frombits(binary.BigEndian.Uint32(b))
}

// Double reads the eight bytes of an IEEE 754 number.
func (r *Reader) Double() float64 {
	b := r.take(8, "double")
	if len(b) < 8 {
		return 0
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b))
}

// Buffer reads a length and that many bytes: nil for null, empty and not nil for length 0. The result aliases the input,
// and its capacity ends with it, so that appending to it copies.
func (r *Reader) Buffer() []byte {
	b, _ := r.span("buffer")
	return b
}

// String reads a length and that many bytes, which are copied and not checked to be UTF-8: Java writes characters above
// U+FFFF in a form of its own, and the bytes are worth more than a refusal. Null reads as the empty string.
func (r *Reader) String() string {
	b, _ := r.span("string")
	return string(b)
}

// StringBytes is String without the copy: the result aliases the input, and is nil for null.
func (r *Reader) StringBytes() []byte {
	b, _ := r.span("string")
	return b
}

// NullableString is String for a field that may be null.
func (r *Reader) NullableString() NullString {
	b, ok := r.span("string")
	return NullString{String: string(b), Valid: ok}
}

// Count reads the number of elements of a vector whose elements take at least elem bytes each (at least 1 is assumed). A
// count that the rest of the input cannot hold fails here, before anybody allocates for it. Null is reported and counts 0.
func (r *Reader) Count(elem int) (n int, isNull bool) {
	start := r.off
	v := r.Int()
	switch {
	case r.err != nil:
		return 0, false
	case v == null:
		return 0, true
	case v < null || int64(v)*int64(max(elem, 1)) > int64(len(r.buf)-r.off):
		r.failAt(start, "vector", int64(v), ErrCount)
		return 0, false
	}
	return int(v), false
}

// span reads a length and that many bytes; ok is false for null and after a failure.
func (r *Reader) span(wanted string) (b []byte, ok bool) {
	start := r.off
	n := r.Int()
	switch {
	case r.err != nil, n == null:
		return nil, false
	case n < null:
		r.failAt(start, wanted, int64(n), ErrLength)
		return nil, false
	case int(n) > len(r.buf)-r.off:
		r.failAt(start, wanted, int64(n), ErrShort)
		return nil, false
	}
	b = r.buf[r.off : r.off+int(n) : r.off+int(n)]
	r.off += int(n)
	return b, true
}

// take returns the next n bytes, or nil when there are fewer or something failed before.
func (r *Reader) take(n int, wanted string) []byte {
	if r.err != nil {
		return nil
	}
	if n > len(r.buf)-r.off {
		r.fail(wanted, int64(n), ErrShort)
		return nil
	}
	b := r.buf[r.off : r.off+n]
	r.off += n
	return b
}

func (r *Reader) fail(wanted string, length int64, cause error) {
	r.failAt(r.off, wanted, length, cause)
}

func (r *Reader) failAt(off int, wanted string, length int64, cause error) {
	if r.err == nil {
		r.err = &DecodeError{Offset: off, Wanted: wanted, Length: length, Left: len(r.buf) - r.off, Cause: cause}
	}
}
