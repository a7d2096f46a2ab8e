package fuzz_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/jute"
)

// readerSeed is one value of each kind, as the script 0 to 11 reads them.
func readerSeed() (script, input []byte) {
	input = jute.AppendBool(nil, true)
	input = jute.AppendInt(input, -5)
	input = jute.AppendLong(input, 1<<40)
	input = jute.AppendFloat(input, 1.5)
	input = jute.AppendDouble(input, -2.5)
	input = jute.AppendBuffer(input, []byte{1, 2, 3})
	input = jute.AppendString(input, "/a")
	input = jute.AppendString(input, "aliased")
	input = jute.AppendNullableString(input, jute.NullString{})
	input = jute.AppendCount(input, 2)
	input = append(input, make([]byte, 20)...)
	return []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, input
}

// FuzzReader runs a script of reads over arbitrary bytes. The offset only grows, nothing is returned that was not there, and
// the first failure sticks.
func FuzzReader(f *testing.F) {
	script, input := readerSeed()
	f.Add(script, input)
	for i := range input {
		f.Add(script, input[:i])
	}
	f.Add([]byte{5}, []byte{0x7f, 0xff, 0xff, 0xff})
	f.Add([]byte{6}, []byte{0xff, 0xff, 0xff, 0xfe})
	f.Add([]byte{9, 250}, []byte{0x7f, 0xff, 0xff, 0xff, 0})
	f.Fuzz(func(t *testing.T, script, input []byte) {
		r := jute.NewReader(input)
		for _, op := range script {
			checkRead(t, &r, op, input)
		}
	})
}

// checkRead does one read and compares the Reader before and after it.
func checkRead(t *testing.T, r *jute.Reader, op byte, input []byte) {
	before, left, failed := r.Offset(), r.Remaining(), r.Err()
	size := read(r, op)
	require.GreaterOrEqual(t, r.Offset(), before)
	require.LessOrEqual(t, r.Offset(), len(input))
	require.LessOrEqual(t, size, left, "more than there was")
	switch err := r.Err(); {
	case failed != nil:
		require.Equal(t, failed, err, "the first failure sticks")
		require.Equal(t, before, r.Offset())
		require.Zero(t, size)
		require.Zero(t, r.Remaining())
	case err != nil:
		var de *jute.DecodeError
		require.ErrorAs(t, err, &de)
		require.LessOrEqual(t, de.Offset, len(input))
		require.Zero(t, size)
	default:
		require.Equal(t, len(input)-r.Offset(), r.Remaining())
		require.Len(t, r.Rest(), r.Remaining())
	}
}

// read does one read and returns the size in bytes of what it gave: that of strings and buffers, of a count the bytes that
// its elements need, 0 for numbers.
func read(r *jute.Reader, op byte) int {
	switch op % 12 {
	case 0:
		r.Bool()
	case 1:
		r.Int()
	case 2:
		r.Long()
	case 3:
		r.Float()
	case 4:
		r.Double()
	case 5:
		return len(r.Buffer())
	case 6:
		return len(r.String())
	case 7:
		return len(r.StringBytes())
	case 8:
		return len(r.NullableString().String)
	case 9:
		elem := int(op / 12)
		n, _ := r.Count(elem)
		return n * max(elem, 1)
	case 10:
		r.Skip(int(op) - 20)
	case 11:
		return len(r.Rest())
	}
	return 0
}
