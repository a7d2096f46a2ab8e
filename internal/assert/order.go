package assert

import (
	"cmp"
	"fmt"
	"math"
)

// Number is what has a sign and a distance.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

// Less asserts that got is less than bound.
func Less[V cmp.Ordered](t T, got, bound V, message ...any) bool {
	t.Helper()
	return got < bound || Fail(t, fmt.Sprintf("wanted less than %#v, got %#v", bound, got), message...)
}

// LessOrEqual asserts that got is at most bound.
func LessOrEqual[V cmp.Ordered](t T, got, bound V, message ...any) bool {
	t.Helper()
	return got <= bound || Fail(t, fmt.Sprintf("wanted at most %#v, got %#v", bound, got), message...)
}

// Greater asserts that got is greater than bound.
func Greater[V cmp.Ordered](t T, got, bound V, message ...any) bool {
	t.Helper()
	return got > bound || Fail(t, fmt.Sprintf("wanted more than %#v, got %#v", bound, got), message...)
}

// GreaterOrEqual asserts that got is at least bound.
func GreaterOrEqual[V cmp.Ordered](t T, got, bound V, message ...any) bool {
	t.Helper()
	return got >= bound || Fail(t, fmt.Sprintf("wanted at least %#v, got %#v", bound, got), message...)
}

// Positive asserts that a number is greater than zero.
func Positive[V Number](t T, got V, message ...any) bool {
	t.Helper()
	return got > 0 || Fail(t, fmt.Sprintf("wanted a positive number, got %#v", got), message...)
}

// InDelta asserts that two numbers, as float64, are at most delta apart. NaN is near NaN and nothing else.
func InDelta[V Number](t T, want, got V, delta float64, message ...any) bool {
	t.Helper()
	w, g := float64(want), float64(got)
	if math.IsNaN(w) && math.IsNaN(g) || w == g || math.Abs(w-g) <= delta {
		return true
	}
	return Fail(t, fmt.Sprintf("wanted %v within %v, got %v", want, delta, got), message...)
}
