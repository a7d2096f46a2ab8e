package svg

import (
	"math"
	"strconv"
	"strings"
)

// zeroGap is the place of zero: so far from where the powers of ten begin.
const zeroGap = 26.0

// nearly is what a logarithm of a whole power of ten may be off.
const nearly = 1e-9

// axis maps values to places on a logarithmic scale of whole powers of ten.
type axis struct {
	from, to float64 // places of the two ends
	begin    float64 // place of the smallest power of ten
	lo, hi   int     // powers of ten at begin and to
	zero     bool    // there is a place for zero, at from
}

// newAxis makes an axis for values that all have a place.
func newAxis(values []float64, from, to float64) axis {
	a := axis{from: from, to: to, begin: from}
	least, most := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v == 0 {
			a.zero = true
			continue
		}
		least, most = min(least, v), max(most, v)
	}
	if least > most { // nothing but zeros, or nothing
		least, most = 1, 1
	}
	a.lo, a.hi = int(math.Floor(math.Log10(least)+nearly)), int(math.Ceil(math.Log10(most)-nearly))
	if a.hi == a.lo {
		a.hi++
	}
	if a.zero {
		a.begin += math.Copysign(zeroGap, to-from)
	}
	return a
}

// at returns the place of a value.
func (a *axis) at(v float64) float64 {
	if v == 0 {
		return a.from
	}
	return a.begin + (math.Log10(v)-float64(a.lo))/float64(a.hi-a.lo)*(a.to-a.begin)
}

// tick is a value with a line of the grid, and a label that may be empty.
type tick struct {
	value float64
	label string
}

// ticks returns the ticks in rising order. Where there are few powers of ten their doubles and fives have labels as well.
func (a *axis) ticks() (all []tick) {
	if a.zero {
		all = append(all, tick{0, "0"})
	}
	few := a.hi-a.lo <= 2
	for p := a.lo; p <= a.hi; p++ {
		all = append(all, tick{math.Pow10(p), label(math.Pow10(p))})
		for _, m := range []float64{2, 5} {
			if v := m * math.Pow10(p); few && p < a.hi {
				all = append(all, tick{v, label(v)})
			}
		}
	}
	return all
}

// label writes a value with one of the prefixes that people read at a glance.
func label(v float64) string {
	for _, p := range []struct {
		unit float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= p.unit {
			return short(v/p.unit) + p.name
		}
	}
	return short(v)
}

// short writes four digits at most.
func short(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// num writes a length: with one decimal, if it needs one.
func num(v float64) string { return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") }
