package require

import (
	"cmp"

	"github.com/lockkeeper/lockkeeper/internal/assert"
)

// T is the part of testing.TB that reports a failure and stops the test.
type T interface {
	assert.T
	FailNow()
}

// Contains asserts that a string contains a string, a slice or an array an element, or a map a key.
func Contains(t T, collection, element any, message ...any) {
	t.Helper()
	if !assert.Contains(t, collection, element, message...) {
		t.FailNow()
	}
}

// Equal asserts that two values are deeply equal and of one type. Nil and empty slices and maps differ. Functions are never
// equal, not even to themselves.
func Equal(t T, want, got any, message ...any) {
	t.Helper()
	if !assert.Equal(t, want, got, message...) {
		t.FailNow()
	}
}

// Error asserts that err is not nil.
func Error(t T, err error, message ...any) {
	t.Helper()
	if !assert.Error(t, err, message...) {
		t.FailNow()
	}
}

// ErrorAs asserts that errors.As finds an error of the type that target points to in err, and sets it. Like errors.As it
// panics on a target that cannot be set.
func ErrorAs(t T, err error, target any, message ...any) {
	t.Helper()
	if !assert.ErrorAs(t, err, target, message...) {
		t.FailNow()
	}
}

// ErrorIs asserts that errors.Is finds target in err.
func ErrorIs(t T, err, target error, message ...any) {
	t.Helper()
	if !assert.ErrorIs(t, err, target, message...) {
		t.FailNow()
	}
}

// Fail reports a failure and stops the test.
func Fail(t T, failure string, message ...any) {
	t.Helper()
	assert.Fail(t, failure, message...)
	t.FailNow()
}

// Greater asserts that got is greater than bound.
func Greater[V cmp.Ordered](t T, got, bound V, message ...any) {
	t.Helper()
	if !assert.Greater(t, got, bound, message...) {
		t.FailNow()
	}
}

// GreaterOrEqual asserts that got is at least bound.
func GreaterOrEqual[V cmp.Ordered](t T, got, bound V, message ...any) {
	t.Helper()
	if !assert.GreaterOrEqual(t, got, bound, message...) {
		t.FailNow()
	}
}

// IsType asserts that two values are of one type.
func IsType(t T, want, got any, message ...any) {
	t.Helper()
	if !assert.IsType(t, want, got, message...) {
		t.FailNow()
	}
}

// Len asserts how many elements, or bytes in a string, there are in something that has a length.
func Len(t T, collection any, want int, message ...any) {
	t.Helper()
	if !assert.Len(t, collection, want, message...) {
		t.FailNow()
	}
}

// LessOrEqual asserts that got is at most bound.
func LessOrEqual[V cmp.Ordered](t T, got, bound V, message ...any) {
	t.Helper()
	if !assert.LessOrEqual(t, got, bound, message...) {
		t.FailNow()
	}
}

// NoError asserts that err is nil.
func NoError(t T, err error, message ...any) {
	t.Helper()
	if !assert.NoError(t, err, message...) {
		t.FailNow()
	}
}

// NotContains asserts that a string, slice, array or map does not contain what Contains looks for.
func NotContains(t T, collection, element any, message ...any) {
	t.Helper()
	if !assert.NotContains(t, collection, element, message...) {
		t.FailNow()
	}
}

// NotEmpty asserts that there is something in a value; Empty says when there is nothing.
func NotEmpty(t T, got any, message ...any) {
	t.Helper()
	if !assert.NotEmpty(t, got, message...) {
		t.FailNow()
	}
}

// NotErrorIs asserts that errors.Is does not find target in err.
func NotErrorIs(t T, err, target error, message ...any) {
	t.Helper()
	if !assert.NotErrorIs(t, err, target, message...) {
		t.FailNow()
	}
}

// NotNil asserts that a value is neither a nil interface nor nil in one.
func NotNil(t T, got any, message ...any) {
	t.Helper()
	if !assert.NotNil(t, got, message...) {
		t.FailNow()
	}
}

// Positive asserts that a number is greater than zero.
func Positive[V assert.Number](t T, got V, message ...any) {
	t.Helper()
	if !assert.Positive(t, got, message...) {
		t.FailNow()
	}
}

// True asserts that a condition holds.
func True(t T, holds bool, message ...any) {
	t.Helper()
	if !assert.True(t, holds, message...) {
		t.FailNow()
	}
}

// Zero asserts that a value is the zero value of its type, or a nil interface.
func Zero(t T, got any, message ...any) {
	t.Helper()
	if !assert.Zero(t, got, message...) {
		t.FailNow()
	}
}
