// Package require holds assertions without which a test cannot go on: each is that of package assert with the same name, and
// stops the test with FailNow when it does not hold. So it is called by the goroutine that runs the test, as FailNow is.
package require
