package proto_test

import (
	"strconv"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

func lockNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = "_c_f3a1c5d2-6a3b-4f6e-9e0f-0a1b2c3d4e5f-lock-" + strconv.Itoa(1000000000+i)
	}
	return names
}

func TestChildScanner(t *testing.T) {
	want := proto.GetChildren2Response{Children: []string{"a", "", "é", "\xff"}, Stat: proto.Stat{Czxid: 7, NumChildren: 4}}
	s := proto.NewChildScanner(want.AppendTo(nil))
	assert.Equal(t, 4, s.Left())
	var got []string
	for name, ok := s.Next(); ok; name, ok = s.Next() {
		got = append(got, string(name))
	}
	assert.Equal(t, want.Children, got)
	assert.Zero(t, s.Left())
	assert.Equal(t, want.Stat, s.Stat())
	assert.NoError(t, s.Err())
}

func TestChildScannerStatSkipsNames(t *testing.T) {
	want := proto.GetChildren2Response{Children: lockNames(10), Stat: proto.Stat{Pzxid: 9}}
	s := proto.NewChildScanner(want.AppendTo(nil))
	s.Next()
	assert.Equal(t, want.Stat, s.Stat())
	assert.NoError(t, s.Err())
}

func TestChildScannerWithoutStat(t *testing.T) {
	s := proto.NewChildScanner((&proto.GetChildrenResponse{Children: []string{"a"}}).AppendTo(nil))
	_, ok := s.Next()
	assert.True(t, ok)
	_, ok = s.Next()
	assert.False(t, ok)
	assert.NoError(t, s.Err())
	assert.Zero(t, s.Stat())
	assert.ErrorIs(t, s.Err(), jute.ErrShort)
}

func TestChildScannerNull(t *testing.T) {
	s := proto.NewChildScanner(jute.AppendInt(nil, -1))
	_, ok := s.Next()
	assert.False(t, ok)
	assert.NoError(t, s.Err())
}

func TestChildScannerBroken(t *testing.T) {
	whole := (&proto.GetChildren2Response{Children: []string{"a", "bc"}}).AppendTo(nil)
	for n := range whole {
		s := proto.NewChildScanner(whole[:n:n])
		for _, ok := s.Next(); ok; _, ok = s.Next() {
		}
		s.Stat()
		assert.Error(t, s.Err(), "cut after %d bytes", n)
	}
	s := proto.NewChildScanner([]byte{0x7f, 0xff, 0xff, 0xff})
	_, ok := s.Next()
	assert.False(t, ok)
	assert.ErrorIs(t, s.Err(), jute.ErrCount)
	assert.Zero(t, s.Left())
}

// TestChildScannerAllocatesNothing goes over many names with nothing but the body.
func TestChildScannerAllocatesNothing(t *testing.T) {
	body := (&proto.GetChildren2Response{Children: lockNames(100)}).AppendTo(nil)
	n := 0
	allocs := testing.AllocsPerRun(100, func() {
		s := proto.NewChildScanner(body)
		for name, ok := s.Next(); ok; name, ok = s.Next() {
			n += len(name)
		}
		st := s.Stat()
		n += int(st.NumChildren)
		if s.Err() != nil {
			n = -1 << 30
		}
	})
	assert.Zero(t, allocs)
	require.Positive(t, n)
}

func BenchmarkChildScanner(b *testing.B) {
	for _, n := range []int{1, 100, 10000} {
		body := (&proto.GetChildren2Response{Children: lockNames(n)}).AppendTo(nil)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				s := proto.NewChildScanner(body)
				for _, ok := s.Next(); ok; _, ok = s.Next() {
				}
				if s.Err() != nil {
					b.Fatal(s.Err())
				}
			}
		})
	}
}
