package scale

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFitFindsAPower(t *testing.T) {
	xs := []float64{1, 3, 10, 30, 100, 300, 1000}
	for _, want := range []Fit{{2, 1, 1}, {0.5, 1.5, 1}, {7, 0, 1}, {1e6, -2, 1}, {3, 0.01, 1}} {
		var ys []float64
		for _, x := range xs {
			ys = append(ys, want.Factor*math.Pow(x, want.Exponent))
		}
		got, ok := fit(xs, ys)
		assert.True(t, ok)
		assert.InEpsilon(t, want.Factor, got.Factor, 1e-9)
		assert.InDelta(t, want.Exponent, got.Exponent, 1e-9)
		assert.InDelta(t, 1, got.R2, 1e-9)
	}
}

// By hand: in powers of two the points are (0,0), (1,1), (2,1), so the exponent is 1/2 of a power of two per power of two, and
// three quarters of the variance are explained.
func TestFitIsTheLeastSquaresOfTheLogarithms(t *testing.T) {
	got, ok := fit([]float64{1, 2, 4}, []float64{1, 2, 2})
	assert.True(t, ok)
	assert.InDelta(t, 0.5, got.Exponent, 1e-12)
	assert.InDelta(t, 0.75, got.R2, 1e-12)
	assert.InDelta(t, math.Exp2(1.0/6), got.Factor, 1e-12)
}

func TestFitOfWhatHasNoTrend(t *testing.T) {
	got, ok := fit([]float64{1, 10, 100}, []float64{1, 5, 1})
	assert.True(t, ok)
	assert.InDelta(t, 0, got.Exponent, 1e-12)
	assert.InDelta(t, 0, got.R2, 1e-12)
}

func TestFitLeavesZerosOut(t *testing.T) {
	got, ok := fit([]float64{0, 1, 10, 100, 1000}, []float64{9, 3, 30, 0, 3000})
	assert.True(t, ok)
	assert.InDelta(t, 1, got.Exponent, 1e-12)
	assert.InDelta(t, 3, got.Factor, 1e-9)
}

func TestFitNeedsTwoDifferentPoints(t *testing.T) {
	for _, xy := range [][2][]float64{{nil, nil}, {{1}, {1}}, {{5, 5}, {1, 2}}, {{0, 1}, {1, 1}}, {{1, 2}, {0, 0}}} {
		_, ok := fit(xy[0], xy[1])
		assert.False(t, ok, "%v", xy)
	}
}
