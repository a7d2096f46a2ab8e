package scale

import "math"

// Fit is the power Factor times x to the power of Exponent that is nearest to a curve, by least squares of the logarithms of
// both, so that each point counts for its ratio and not for its size. R2 is the part of the variance that it explains: 1 when
// every point lies on it.
type Fit struct {
	Factor, Exponent, R2 float64
}

// fit finds the power. Points with a zero have no logarithm and are left out; with fewer than two different x left there is none,
// and ok is false.
func fit(xs, ys []float64) (f Fit, ok bool) {
	var lx, ly []float64
	for i, x := range xs {
		if x > 0 && ys[i] > 0 {
			lx, ly = append(lx, math.Log(x)), append(ly, math.Log(ys[i]))
		}
	}
	mx, my := mean(lx), mean(ly)
	var xx, xy, yy float64
	for i := range lx {
		dx, dy := lx[i]-mx, ly[i]-my
		xx, xy, yy = xx+dx*dx, xy+dx*dy, yy+dy*dy
	}
	if len(lx) < 2 || xx == 0 {
		return Fit{}, false
	}
	f.Exponent = xy / xx
	f.Factor = math.Exp(my - f.Exponent*mx)
	f.R2 = 1 // of a level line all points lie on, there is no variance to explain
	if yy > 0 {
		f.R2 = xy * xy / (xx * yy)
	}
	return f, true
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
