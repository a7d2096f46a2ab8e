package assert

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// NoError asserts that err is nil.
func NoError(t T, err error, message ...any) bool {
	t.Helper()
	return err == nil || Fail(t, "wanted no error, got "+showError(err), message...)
}

// Error asserts that err is not nil.
func Error(t T, err error, message ...any) bool {
	t.Helper()
	return err != nil || Fail(t, "wanted an error, got nil", message...)
}

// EqualError asserts that err is not nil and has this text.
func EqualError(t T, err error, want string, message ...any) bool {
	t.Helper()
	if err == nil {
		return Fail(t, "wanted an error, got nil", message...)
	}
	return err.Error() == want || Fail(t, "not the text of the error"+difference(want, err.Error()), message...)
}

// ErrorContains asserts that err is not nil and that its text contains part.
func ErrorContains(t T, err error, part string, message ...any) bool {
	t.Helper()
	if err == nil {
		return Fail(t, "wanted an error, got nil", message...)
	}
	return strings.Contains(err.Error(), part) || Fail(t, fmt.Sprintf("%s lacks %q", showError(err), part), message...)
}

// ErrorIs asserts that errors.Is finds target in err.
func ErrorIs(t T, err, target error, message ...any) bool {
	t.Helper()
	return errors.Is(err, target) || Fail(t, showError(err)+" is not "+showError(target), message...)
}

// NotErrorIs asserts that errors.Is does not find target in err.
func NotErrorIs(t T, err, target error, message ...any) bool {
	t.Helper()
	return !errors.Is(err, target) || Fail(t, showError(err)+" is "+showError(target), message...)
}

// ErrorAs asserts that errors.As finds an error of the type that target points to in err, and sets it. Like errors.As it
// panics on a target that cannot be set.
func ErrorAs(t T, err error, target any, message ...any) bool {
	t.Helper()
	if errors.As(err, target) {
		return true
	}
	return Fail(t, fmt.Sprintf("%s is no %s", showError(err), reflect.TypeOf(target).Elem()), message...)
}

// showError formats an error with its type, which its text often leaves open.
func showError(err error) string {
	if err == nil {
		return "nil"
	}
	return fmt.Sprintf("%q (%T)", err.Error(), err)
}
