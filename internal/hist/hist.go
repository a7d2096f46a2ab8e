package hist

import (
	"math"
	"math/bits"
	"time"
)

const (
	// subBits makes 64 buckets for each power of two.
	subBits = 6
	sub     = 1 << subBits
	// maxBits bounds what buckets tell apart: 2^42 ns are 73 minutes. Longer durations share the last bucket.
	maxBits = 42
	buckets = (maxBits - subBits + 1) * sub
)

// RelativeError bounds how far a quantile is from the duration it stands for, as a part of that, for durations below
// 73 minutes.
const RelativeError = 1.0 / (2 * sub)

// Histogram is a set of durations, of which it remembers how many fell into each bucket, and exactly their number, sum,
// least and greatest. It is for one goroutine at a time.
type Histogram struct {
	counts   [buckets]uint64
	n        uint64
	sum      float64 // in nanoseconds; a float does not overflow, and its error is far below that of a bucket
	min, max int64   // valid when n > 0
}

// index returns the bucket of a value that is not negative.
func index(v int64) int {
	if v < sub {
		return int(v)
	}
	length := bits.Len64(uint64(v))
	if length > maxBits {
		return buckets - 1
	}
	shift := length - 1 - subBits
	// v>>shift is between sub and 2*sub: its leading one counts the power of two.
	return shift*sub + int(v>>shift)
}

// middle returns the value in the middle of a bucket.
func middle(i int) int64 {
	if i < 2*sub {
		return int64(i)
	}
	shift := i/sub - 1
	low := int64(i-shift*sub) << shift
	return low + int64(1)<<shift/2
}

// Record adds one duration. Negative ones count as zero.
func (h *Histogram) Record(d time.Duration) {
	v := max(int64(d), 0)
	h.counts[index(v)]++
	if h.n == 0 || v < h.min {
		h.min = v
	}
	h.max = max(h.max, v)
	h.n++
	h.sum += float64(v)
}

// Merge adds everything that o holds; o is not changed.
func (h *Histogram) Merge(o *Histogram) {
	if o.n == 0 {
		return
	}
	for i, c := range o.counts {
		h.counts[i] += c
	}
	if h.n == 0 || o.min < h.min {
		h.min = o.min
	}
	h.max = max(h.max, o.max)
	h.n += o.n
	h.sum += o.sum
}

// Reset empties the histogram.
func (h *Histogram) Reset() { *h = Histogram{} }

// Count returns how many durations were recorded.
func (h *Histogram) Count() uint64 { return h.n }

// Min returns the least duration, exactly; zero when there is none.
func (h *Histogram) Min() time.Duration { return time.Duration(h.min) }

// Max returns the greatest duration, exactly; zero when there is none.
func (h *Histogram) Max() time.Duration { return time.Duration(h.max) }

// Mean returns the average; zero when there is no duration.
func (h *Histogram) Mean() time.Duration {
	if h.n == 0 {
		return 0
	}
	return time.Duration(math.Round(h.sum / float64(h.n)))
}

// Quantile returns the duration that a part q of all recorded ones do not exceed, within RelativeError: 0.5 is the median.
// It is the nearest rank, not an interpolation, so a quantile of few durations is one of them. q is taken as 0 or 1 when it
// is outside of that range. Without durations the result is zero.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := uint64(math.Ceil(min(max(q, 0), 1) * float64(h.n)))
	rank = min(max(rank, 1), h.n)
	if rank == h.n {
		return h.Max()
	}
	seen := uint64(0)
	for i, c := range h.counts {
		if seen += c; seen >= rank {
			return time.Duration(min(max(middle(i), h.min), h.max))
		}
	}
	return h.Max()
}
