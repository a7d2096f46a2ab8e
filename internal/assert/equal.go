package assert

import (
	"bytes"
	"fmt"
	"reflect"
)

// Equal asserts that two values are deeply equal and of one type. Nil and empty slices and maps differ. Functions are never
// equal, not even to themselves.
func Equal(t T, want, got any, message ...any) bool {
	t.Helper()
	if isFunc(want) || isFunc(got) {
		return Fail(t, "functions cannot be compared", message...)
	}
	return equal(want, got) || Fail(t, "not equal"+difference(want, got), message...)
}

// EqualValues asserts that two values are equal after a conversion: of the smaller to the type of the larger one for
// numbers, of the wanted to the type of the other one for the rest.
func EqualValues(t T, want, got any, message ...any) bool {
	t.Helper()
	return equalValues(want, got) || Fail(t, "not equal"+difference(want, got), message...)
}

// Zero asserts that a value is the zero value of its type, or a nil interface.
func Zero(t T, got any, message ...any) bool {
	t.Helper()
	return isZero(got) || Fail(t, "wanted the zero value, got "+show(got), message...)
}

// NotZero asserts that a value is neither the zero value of its type nor a nil interface.
func NotZero(t T, got any, message ...any) bool {
	t.Helper()
	return !isZero(got) || Fail(t, "did not want the zero value, got "+show(got), message...)
}

// Nil asserts that a value is a nil interface, or nil in one.
func Nil(t T, got any, message ...any) bool {
	t.Helper()
	return isNil(got) || Fail(t, "wanted nil, got "+show(got), message...)
}

// NotNil asserts that a value is neither a nil interface nor nil in one.
func NotNil(t T, got any, message ...any) bool {
	t.Helper()
	return !isNil(got) || Fail(t, "did not want nil", message...)
}

// Same asserts that two pointers are of one type and point to the same thing. What is no pointer is never the same.
func Same(t T, want, got any, message ...any) bool {
	t.Helper()
	pointers := reflect.ValueOf(want).Kind() == reflect.Pointer && reflect.ValueOf(got).Kind() == reflect.Pointer
	if pointers && want == got {
		return true
	}
	return Fail(t, fmt.Sprintf("not the same pointer\nwanted: %T %[1]p\n   got: %T %[2]p", want, got), message...)
}

// IsType asserts that two values are of one type.
func IsType(t T, want, got any, message ...any) bool {
	t.Helper()
	if reflect.TypeOf(want) == reflect.TypeOf(got) {
		return true
	}
	return Fail(t, fmt.Sprintf("wanted the type %T, got %T", want, got), message...)
}

// equal reports whether two values are equal, as Equal has it.
func equal(want, got any) bool {
	if w, ok := want.([]byte); ok { // the same as below, much faster
		g, ok := got.([]byte)
		return ok && (w == nil) == (g == nil) && bytes.Equal(w, g)
	}
	return reflect.DeepEqual(want, got)
}

// equalValues reports whether two values are equal, as EqualValues has it.
func equalValues(want, got any) bool {
	if equal(want, got) {
		return true
	}
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	if !w.IsValid() || !g.IsValid() || !w.CanConvert(g.Type()) {
		return false
	}
	if !isNumber(w.Kind()) || !isNumber(g.Kind()) {
		return reflect.DeepEqual(w.Convert(g.Type()).Interface(), got)
	}
	if w.Type().Size() >= g.Type().Size() { // a number that is cut could be equal by chance
		return g.Convert(w.Type()).Interface() == want
	}
	return w.Convert(g.Type()).Interface() == got
}

func isNumber(k reflect.Kind) bool { return reflect.Int <= k && k <= reflect.Complex128 }

func isFunc(v any) bool { return reflect.ValueOf(v).Kind() == reflect.Func }

func isZero(v any) bool {
	return v == nil || reflect.DeepEqual(v, reflect.Zero(reflect.TypeOf(v)).Interface())
}

func isNil(v any) bool {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Chan, reflect.Func, reflect.Map, reflect.Pointer, reflect.Slice, reflect.UnsafePointer:
		return r.IsNil()
	}
	return false
}
