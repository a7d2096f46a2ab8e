package leakcheck

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

const (
	// A goroutine that was told to end may still be on its way out: the stacks are read again this often, and this much
	// later each time, 2 s in all.
	attempts  = 28
	firstWait = 5 * time.Millisecond
)

// Main runs the tests, then looks for goroutines and sockets that they left behind, and exits. It looks only when the tests
// passed: one that failed may have left its own.
func Main(m *testing.M) {
	before, _ := Sockets()
	code := m.Run()
	if code == 0 {
		if left := Wait(); len(left) > 0 {
			fmt.Fprintf(os.Stderr, "leakcheck: %d goroutines left after the tests:\n\n%s\n", len(left), strings.Join(left, "\n\n"))
			code = 1
		}
		if n := waitSockets(before); n > 0 {
			fmt.Fprintf(os.Stderr, "leakcheck: %d sockets left after the tests\n", n)
			code = 1
		}
	}
	os.Exit(code)
}

// Wait returns the stacks of goroutines of ours, without the caller's, that are still there after some seconds; none as
// soon as there are none.
func Wait() []string {
	wait := firstWait
	for range attempts {
		if len(Left()) == 0 {
			return nil
		}
		<-time.After(wait)
		wait += firstWait
	}
	return Left()
}

// Left returns the stacks of the goroutines of ours that are there now, without the caller's and those of tests that wait
// for the caller. Other tests that run in parallel count.
func Left() []string {
	mark := module() + "/"
	var ours []string
	for i, stack := range stacks() {
		waits := strings.Contains(stack, "testing.(*M).Run(") || strings.Contains(stack, "testing.(*T).Run(")
		if i > 0 && !waits && strings.Contains(stack, mark) { // the first is the caller
			ours = append(ours, stack)
		}
	}
	return ours
}

// stacks returns the stacks of all goroutines, the caller's first.
func stacks() []string {
	buf := make([]byte, 64<<10)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			return strings.Split(strings.TrimSpace(string(buf[:n])), "\n\n")
		}
		buf = make([]byte, 2*len(buf))
	}
}

// module returns the path of this module, as the stacks spell it.
func module() string {
	pc, _, _, _ := runtime.Caller(0)
	name := runtime.FuncForPC(pc).Name()
	path, _, _ := strings.Cut(name, "/internal/leakcheck.")
	return path
}
