package jute_test

import (
	"errors"
	"math"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
)

// TestBools: any byte but 0 is true (C8).
func TestBools(t *testing.T) {
	r := jute.NewReader([]byte{0, 1, 2, 255})
	assert.Equal(t, []bool{false, true, true, true}, []bool{r.Bool(), r.Bool(), r.Bool(), r.Bool()})
	assert.NoError(t, r.Err())
}

// TestNull and empty are told apart (C3, C4).
func TestNull(t *testing.T) {
	null, empty := jute.AppendInt(nil, -1), jute.AppendInt(nil, 0)

	r := jute.NewReader(null)
	assert.Nil(t, r.Buffer())
	r.Reset(empty)
	assert.Equal(t, []byte{}, r.Buffer())

	r.Reset(null)
	assert.Nil(t, r.StringBytes())
	r.Reset(empty)
	assert.Equal(t, []byte{}, r.StringBytes())

	r.Reset(null)
	assert.Equal(t, "", r.String())

	r.Reset(null)
	n, isNull := r.Count(1)
	assert.Zero(t, n)
	assert.True(t, isNull)
	r.Reset(empty)
	n, isNull = r.Count(1)
	assert.Zero(t, n)
	assert.False(t, isNull)
	assert.NoError(t, r.Err())
}

// spans are the reads that begin with a length.
var spans = map[string]func(r *jute.Reader) any{
	"buffer":        readBuffer,
	"string":        readString,
	"nullable":      readNullable,
	"bytes of text": func(r *jute.Reader) any { return r.StringBytes() },
}

// TestLengths: below -1, and beyond what is left, by one and by all there is (C5, C6).
func TestLengths(t *testing.T) {
	for name, read := range spans {
		for _, tt := range []struct {
			length int32
			cause  error
		}{
			{-2, jute.ErrLength},
			{math.MinInt32, jute.ErrLength},
			{4, jute.ErrShort},
			{math.MaxInt32, jute.ErrShort},
		} {
			b := append(jute.AppendInt([]byte{9}, tt.length), 1, 2, 3)
			r := jute.NewReader(b)
			r.Skip(1)
			assert.Zero(t, read(&r), name)
			var derr *jute.DecodeError
			require.ErrorAs(t, r.Err(), &derr)
			assert.ErrorIs(t, derr, tt.cause, "%s of %d", name, tt.length)
			assert.Equal(t, int64(tt.length), derr.Length)
			assert.Equal(t, 1, derr.Offset)
			assert.Equal(t, 3, derr.Left)
		}
	}
}

// TestCounts: a count below -1, or of more elements than can be there (C5, C7).
func TestCounts(t *testing.T) {
	for _, tt := range []struct {
		count      int32
		elem, rest int
		ok         bool
	}{
		{0, 4, 0, true},
		{2, 4, 8, true},
		{2, 4, 9, true},
		{2, 4, 7, false},
		{3, 1, 3, true},
		{4, 1, 3, false},
		{3, 0, 3, true},
		{4, 0, 3, false},
		{4, -5, 3, false},
		{-2, 4, 100, false},
		{math.MinInt32, 4, 100, false},
		{math.MaxInt32, 68, 100, false},
		{math.MaxInt32, math.MaxInt32, 100, false},
	} {
		r := jute.NewReader(append(jute.AppendInt(nil, tt.count), make([]byte, tt.rest)...))
		n, isNull := r.Count(tt.elem)
		assert.False(t, isNull)
		if tt.ok {
			assert.NoError(t, r.Err(), "%+v", tt)
			assert.Equal(t, int(tt.count), n)
			continue
		}
		assert.ErrorIs(t, r.Err(), jute.ErrCount, "%+v", tt)
		assert.Zero(t, n)
	}
}

// TestSticky: after the first failure everything is zero, and the first failure stays.
func TestSticky(t *testing.T) {
	r := jute.NewReader([]byte{0, 0, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8})
	assert.Nil(t, r.Buffer())
	first := r.Err()
	require.Error(t, first)
	for _, tt := range values {
		assert.Zero(t, tt.read(&r), tt.name)
	}
	n, isNull := r.Count(1)
	assert.Zero(t, n)
	assert.False(t, isNull)
	r.Skip(1)
	r.Skip(-1)
	r.Fail("anything", jute.ErrNull)
	assert.Same(t, first, r.Err())
	assert.Zero(t, r.Remaining())
	assert.Nil(t, r.Rest())

	r.Reset([]byte{1})
	assert.NoError(t, r.Err())
	assert.True(t, r.Bool())
}

func TestFail(t *testing.T) {
	cause := errors.New("cause")
	r := jute.NewReader([]byte{1, 2, 3})
	r.Skip(2)
	r.Fail("path", cause)
	var derr *jute.DecodeError
	require.ErrorAs(t, r.Err(), &derr)
	assert.Equal(t, jute.DecodeError{Offset: 2, Wanted: "path", Left: 1, Cause: cause}, *derr)
	assert.EqualError(t, r.Err(), "jute: path at offset 2: cause (wanted 0, left 1)")
}

func TestSkipAndRest(t *testing.T) {
	r := jute.NewReader([]byte{1, 2, 3, 4})
	r.Skip(0)
	r.Skip(1)
	assert.Equal(t, 1, r.Offset())
	rest := r.Rest()
	assert.Equal(t, []byte{2, 3, 4}, rest)
	assert.Equal(t, 3, cap(rest))
	assert.Equal(t, 3, r.Remaining())
	r.Skip(3)
	assert.NoError(t, r.Err())
	r.Skip(1)
	assert.ErrorIs(t, r.Err(), jute.ErrShort)
	r.Reset(nil)
	r.Skip(-1)
	assert.ErrorIs(t, r.Err(), jute.ErrLength)
}

func TestZeroReader(t *testing.T) {
	var r jute.Reader
	assert.NoError(t, r.Err())
	assert.Zero(t, r.Remaining())
	assert.Zero(t, r.Int())
	assert.ErrorIs(t, r.Err(), jute.ErrShort)
}

// TestOwnership: buffers alias the input and end where it says, strings are copies.
func TestOwnership(t *testing.T) {
	b := jute.AppendInt(jute.AppendString(jute.AppendBuffer(nil, []byte("data")), "text"), 7)
	r := jute.NewReader(b)
	buffer, text := r.Buffer(), r.String()
	b[4] = 'D'
	b[12] = 'T'
	assert.Equal(t, "Data", string(buffer))
	assert.Equal(t, "text", text)
	assert.Equal(t, len(buffer), cap(buffer))
	assert.Equal(t, int32(7), r.Int())
}

func TestReadAllocatesNothing(t *testing.T) {
	b := jute.AppendBool(nil, true)
	b = jute.AppendLong(jute.AppendInt(b, 1), 1)
	b = jute.AppendString(jute.AppendBuffer(b, make([]byte, 10)), "text")
	allocs := testing.AllocsPerRun(100, func() {
		r := jute.NewReader(b)
		r.Bool()
		r.Int()
		r.Long()
		r.Buffer()
		r.StringBytes()
		if r.Err() != nil || r.Remaining() != 0 {
			t.Error(r.Err())
		}
	})
	assert.Zero(t, allocs)
}

// TestBadLengthAllocatesTheError only (C6).
func TestBadLengthAllocatesTheError(t *testing.T) {
	b := jute.AppendInt(nil, math.MaxInt32)
	for name, read := range spans {
		allocs := testing.AllocsPerRun(100, func() {
			r := jute.NewReader(b)
			read(&r)
		})
		assert.LessOrEqual(t, allocs, 3.0, "%s: the reader and the value that this test boxes, the error", name)
	}
}

// FuzzReader runs a program of reads over a buffer: no panic, and the offset never passes the end nor goes back.
func FuzzReader(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, []byte{0, 0, 0, 1, 1, 0xff, 0xff, 0xff, 0xff, 0x7f})
	for i, tt := range values {
		f.Add([]byte{byte(i)}, tt.append(nil))
	}
	f.Fuzz(func(t *testing.T, program, input []byte) {
		r := jute.NewReader(input)
		for _, step := range program {
			before, left := r.Offset(), r.Remaining()
			failed := r.Err() != nil
			values[int(step)%len(values)].read(&r)
			require.GreaterOrEqual(t, r.Offset(), before)
			require.LessOrEqual(t, r.Offset(), len(input))
			if failed {
				require.Equal(t, before, r.Offset())
			}
			if r.Err() == nil {
				require.Equal(t, left-(r.Offset()-before), r.Remaining())
			}
		}
	})
}

func BenchmarkReader(b *testing.B) {
	in := jute.AppendLong(jute.AppendInt(nil, 1), 2)
	in = jute.AppendBuffer(in, make([]byte, 100))
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		r := jute.NewReader(in)
		r.Int()
		r.Long()
		r.Buffer()
		if r.Err() != nil {
			b.Fatal(r.Err())
		}
	}
}
