package hist_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/internal/hist"
)

var quantiles = []float64{0, 0.01, 0.5, 0.9, 0.99, 0.999, 1}

// exact is Quantile on the values themselves.
func exact(sorted []time.Duration, q float64) time.Duration {
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// within checks a quantile against the exact one.
func within(t *testing.T, want, got time.Duration, q float64) {
	t.Helper()
	// The middle of a bucket is rounded to whole nanoseconds.
	assert.InDelta(t, float64(want), float64(got), hist.RelativeError*float64(want)+0.5, "quantile %v", q)
}

func TestQuantilesAreWithinTheRelativeError(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for name, value := range map[string]func() time.Duration{
		"uniform":   func() time.Duration { return time.Duration(rnd.Int64N(int64(time.Second))) },
		"all sizes": func() time.Duration { return time.Duration(math.Exp2(42 * rnd.Float64())) },
		"small":     func() time.Duration { return time.Duration(rnd.Int64N(200)) },
		"normal":    func() time.Duration { return time.Duration(1e6 + 1e5*rnd.NormFloat64()) },
	} {
		t.Run(name, func(t *testing.T) {
			var h hist.Histogram
			var all []time.Duration
			sum := 0.0
			for range 10_000 {
				v := value()
				h.Record(v)
				all = append(all, v)
				sum += float64(v)
			}
			slices.Sort(all)
			for _, q := range quantiles {
				within(t, exact(all, q), h.Quantile(q), q)
			}
			assert.EqualValues(t, len(all), h.Count())
			assert.Equal(t, all[0], h.Min())
			assert.Equal(t, all[len(all)-1], h.Max())
			assert.InDelta(t, sum/float64(len(all)), float64(h.Mean()), 1)
		})
	}
}

// Around each power of two, where a bucket ends and the width changes.
func TestEveryBucketBoundary(t *testing.T) {
	for bit := range 42 {
		for off := int64(-2); off <= 2; off++ {
			v := time.Duration(int64(1)<<bit + off)
			if v < 0 {
				continue
			}
			var h hist.Histogram
			h.Record(0)
			h.Record(v)
			h.Record(time.Duration(math.MaxInt64))
			within(t, v, h.Quantile(0.5), 0.5)
		}
	}
}

func TestExtremesAreKept(t *testing.T) {
	var h hist.Histogram
	h.Record(-time.Second)
	h.Record(math.MaxInt64)
	assert.EqualValues(t, 0, h.Min())
	assert.EqualValues(t, math.MaxInt64, h.Max())
	assert.EqualValues(t, 0, h.Quantile(0.5))
	assert.EqualValues(t, math.MaxInt64, h.Quantile(1))
	assert.EqualValues(t, math.MaxInt64, h.Quantile(7), "taken as 1")
	assert.EqualValues(t, 0, h.Quantile(-7), "taken as 0")
}

func TestAnEmptyHistogramHasNoNumbers(t *testing.T) {
	var h, o hist.Histogram
	h.Merge(&o)
	for _, q := range quantiles {
		assert.Zero(t, h.Quantile(q))
	}
	assert.Zero(t, h.Count())
	assert.Zero(t, h.Mean())
	assert.Zero(t, h.Min())
	assert.Zero(t, h.Max())
}

func TestMergeIsTheSameAsRecordingInOne(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var whole, merged hist.Histogram
	for range 5 {
		var part hist.Histogram
		for range 1000 {
			v := time.Duration(rnd.Int64N(int64(time.Minute)))
			whole.Record(v)
			part.Record(v)
		}
		before := part
		merged.Merge(&part)
		require.Equal(t, before, part, "Merge changes what it reads")
	}
	for _, q := range quantiles {
		assert.Equal(t, whole.Quantile(q), merged.Quantile(q))
	}
	assert.Equal(t, whole.Count(), merged.Count())
	assert.Equal(t, whole.Min(), merged.Min())
	assert.Equal(t, whole.Max(), merged.Max())
	merged.Reset()
	assert.Zero(t, merged.Count())
}

func TestRecordingDoesNotAllocate(t *testing.T) {
	var h hist.Histogram
	v := time.Duration(1)
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		h.Record(v)
		v = v*3 + 1
	}))
}

func BenchmarkRecord(b *testing.B) {
	var h hist.Histogram
	v := time.Duration(1)
	for b.Loop() {
		h.Record(v)
		v = (v*5 + 1) & (1<<30 - 1)
	}
}
