package proto_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
)

// fills is how many values the generated tests make of each record.
const fills = 20

// record is what every generated type does.
type record interface {
	AppendTo(dst []byte) []byte
	ReadFrom(r *jute.Reader)
	Size() int
}

// filler makes values for records: the same ones in every run, the odd ones often.
type filler struct{ rng *rand.Rand }

func newFiller() *filler { return &filler{rand.New(rand.NewPCG(1, 2))} }

func (g *filler) bool() bool { return g.rng.IntN(2) == 1 }

func (g *filler) int() int32 {
	odd := []int32{0, 1, -1, math.MaxInt32, math.MinInt32}
	if i := g.rng.IntN(10); i < len(odd) {
		return odd[i]
	}
	return int32(g.rng.Uint32())
}

func (g *filler) long() int64 {
	odd := []int64{0, 1, -1, math.MaxInt64, math.MinInt64}
	if i := g.rng.IntN(10); i < len(odd) {
		return odd[i]
	}
	return int64(g.rng.Uint64())
}

func (g *filler) between(low, high int64) int64 {
	switch g.rng.IntN(4) {
	case 0:
		return low
	case 1:
		return high
	}
	return low + g.rng.Int64N(high-low+1)
}

func (g *filler) string() string {
	odd := []string{"", "/", "é", "\x00", "\xff", "\xed\xa0\x80", strings.Repeat("x", 300)}
	return odd[g.rng.IntN(len(odd))]
}

func (g *filler) nullableString() jute.NullString {
	if g.bool() {
		return jute.NullString{}
	}
	return jute.NullString{String: g.string(), Valid: true}
}

func (g *filler) buffer() []byte {
	if g.bool() {
		return nil
	}
	return []byte(g.string())
}

// several returns a vector of none to four values; none is nil, as ReadFrom has it.
func several[T any](g *filler, one func(*filler) T) []T {
	var all []T
	for range g.rng.IntN(5) {
		all = append(all, one(g))
	}
	return all
}

// checkRecord encodes want and decodes it into got in all the ways that matter: whole, behind other bytes, before other
// bytes, and cut after each byte, where optional is the length of a last field that may be missing. (C1, C2, C10, C11, C14)
func checkRecord(t *testing.T, want, got record, optional int) {
	t.Helper()
	b := want.AppendTo(nil)
	require.Len(t, b, want.Size(), "Size")
	require.Equal(t, referenceEncode(want), b, "bytes by the reference encoder")
	require.Equal(t, append([]byte{7, 8}, b...), want.AppendTo([]byte{7, 8}), "appended to bytes that were there")

	r := jute.NewReader(b)
	got.ReadFrom(&r)
	require.NoError(t, r.Err())
	require.Equal(t, want, got)
	require.Zero(t, r.Remaining())

	extra := append(bytes.Clone(b), 1, 2, 3)
	r.Reset(extra)
	got.ReadFrom(&r)
	require.NoError(t, r.Err())
	require.Equal(t, want, got)
	require.Equal(t, 3, r.Remaining())

	for n := range b {
		r.Reset(b[:n])
		got.ReadFrom(&r)
		if n == len(b)-optional {
			require.NoError(t, r.Err(), "without the optional field")
			continue
		}
		var derr *jute.DecodeError
		require.ErrorAs(t, r.Err(), &derr, "cut after %d bytes", n)
	}
}
