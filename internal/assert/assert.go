package assert

import (
	"fmt"
	"os"
)

// T is the part of testing.TB that reports a failure.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// Fail reports a failure and returns false.
func Fail(t T, failure string, message ...any) bool {
	t.Helper()
	if text := format(message); text != "" {
		failure = text + ": " + failure
	}
	t.Errorf("%s", failure)
	return false
}

// format makes the text of the message that ends the arguments of an assertion. A single one is no format, so that a text
// with a percent sign stays as it is.
func format(message []any) string {
	switch len(message) {
	case 0:
		return ""
	case 1:
		return fmt.Sprint(message[0])
	}
	return fmt.Sprintf(fmt.Sprint(message[0]), message[1:]...)
}

// True asserts that a condition holds.
func True(t T, holds bool, message ...any) bool {
	t.Helper()
	return holds || Fail(t, "wanted true, got false", message...)
}

// False asserts that a condition does not hold.
func False(t T, holds bool, message ...any) bool {
	t.Helper()
	return !holds || Fail(t, "wanted false, got true", message...)
}

// FileExists asserts that there is something other than a folder at path. Symbolic links are not followed.
func FileExists(t T, path string, message ...any) bool {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		return Fail(t, "wanted a file: "+err.Error(), message...)
	}
	return !info.IsDir() || Fail(t, "wanted a file, got a folder: "+path, message...)
}
