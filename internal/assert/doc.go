// Package assert holds the assertions of the tests of jute, proto, conn and session. Those tests use nothing but this module,
// since `go mod tidy` loads them for everybody who imports client: a third party in one of them stands in every go.sum.
//
//	assert.Equal(t, want, got)
//	assert.NoError(t, err, "after %d bytes", n)
//
// An assertion that does not hold is reported with Errorf, at the line that calls it, and the test goes on; package require
// stops it. What compares two values for equality takes the wanted one first. The message at the end is optional: a value, or
// a format and its arguments.
//
// Names, arguments and results are those of github.com/stretchr/testify, as far as anything here needs them. Functions that
// compare by order are generic, so that values of different types do not compile instead of failing.
//
// Everything may be called by several goroutines, as far as the T may.
package assert
