package jutegen_test

import (
	"math"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/jute/jutegen/testdata/sample"
)

// record is what every generated type does.
type record interface {
	AppendTo(dst []byte) []byte
	ReadFrom(r *jute.Reader)
	Size() int
}

func roundTrip(t *testing.T, want, got record) {
	t.Helper()
	b := want.AppendTo(nil)
	require.Len(t, b, want.Size())
	r := jute.NewReader(b)
	got.ReadFrom(&r)
	require.NoError(t, r.Err())
	require.Zero(t, r.Remaining())
	assert.Equal(t, want, got)
}

func TestSampleRoundTrip(t *testing.T) {
	point := sample.Point{Lat: 1.5, LongitudeID: -math.MaxFloat64, Real: true}
	tag := sample.Tag{Key: "k", Value: jute.NullString{String: "v", Valid: true}}
	roundTrip(t, &point, new(sample.Point))
	roundTrip(t, &tag, new(sample.Tag))
	roundTrip(t, &sample.Tag{Key: "k"}, new(sample.Tag))
	roundTrip(t, &sample.OnlyRecords{A: tag, B: sample.Tag{Key: "b"}}, new(sample.OnlyRecords))
	roundTrip(t, &sample.Limited{
		Mode: -1, TTL: 1, Fixed: sample.Fixed{Point: point, N: 3}, Data: []byte{}, Tail: 9,
	}, new(sample.Limited))
	roundTrip(t, &sample.GetACLRequest{
		Points: []sample.Point{point, {}}, Tags: []sample.Tag{tag, {}}, Ints: []int32{1, -1}, Longs: []int64{2},
		Bools: []bool{true, false}, Floats: []float32{0.5}, Doubles: []float64{0.25}, Texts: []string{"", "x"},
		Buffers: [][]byte{nil, {}, {1}},
	}, new(sample.GetACLRequest))
	roundTrip(t, &sample.GetACLRequest{}, new(sample.GetACLRequest))
}

// TestSampleRange: a value out of range fails, at either end, and says which field.
func TestSampleRange(t *testing.T) {
	for _, tt := range []struct {
		mode  int32
		ttl   int64
		field string
	}{
		{-1, 1, ""},
		{2, 1 << 40 >> 1, ""},
		{0, 1<<40 - 1, ""},
		{-2, 1, "mode"},
		{3, 1, "mode"},
		{0, 0, "ttl"},
		{0, 1 << 40, "ttl"},
		{5, -1, "mode"},
	} {
		want := sample.Limited{Mode: tt.mode, TTL: tt.ttl}
		r := jute.NewReader(want.AppendTo(nil))
		var got sample.Limited
		got.ReadFrom(&r)
		if tt.field == "" {
			assert.NoError(t, r.Err())
			continue
		}
		var derr *jute.DecodeError
		require.ErrorAs(t, r.Err(), &derr)
		assert.Equal(t, tt.field, derr.Wanted)
		assert.ErrorIs(t, derr, jute.ErrRange)
	}
}

func TestSampleOptional(t *testing.T) {
	want := sample.Limited{TTL: 1, Tail: 7}
	b := want.AppendTo(nil)
	for n := range b {
		got := sample.Limited{Tail: 5}
		r := jute.NewReader(b[:n])
		got.ReadFrom(&r)
		if n != len(b)-4 {
			assert.Error(t, r.Err(), "cut after %d bytes", n)
			continue
		}
		assert.NoError(t, r.Err())
		assert.Zero(t, got.Tail)
	}
}
