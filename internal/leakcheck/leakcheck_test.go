package leakcheck_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/leakcheck"
)

// leakEnv makes this test program leak on purpose when it is run as a child of itself.
const leakEnv = "LEAKCHECK_TEST_LEAK"

func TestMain(m *testing.M) { leakcheck.Main(m) }

func block(until <-chan struct{}) { <-until }

func TestLeftSeesAGoroutineOfOursUntilItEnds(t *testing.T) {
	if left := leakcheck.Left(); len(left) > 0 {
		t.Fatalf("something is left before the test: %q", left)
	}
	until := make(chan struct{})
	// Blocked on purpose; owned by the test; ends when until is closed.
	go block(until)
	left := leakcheck.Left()
	if len(left) != 1 || !strings.Contains(left[0], "TestLeftSees") {
		t.Errorf("left are %q, want the goroutine of this test", left)
	}
	close(until)
	if left := leakcheck.Wait(); len(left) > 0 {
		t.Errorf("left are %q after its end", left)
	}
}

func TestLeak(t *testing.T) {
	if os.Getenv(leakEnv) == "" {
		return // meant for the child of TestMainFailsWhenSomethingIsLeft
	}
	// Leaked on purpose; nobody owns it; ends with the process.
	go block(make(chan struct{}))
}

func TestMainFailsWhenSomethingIsLeft(t *testing.T) {
	for leak, want := range map[string]bool{"": true, "1": false} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLeak$")
		cmd.Env = append(os.Environ(), leakEnv+"="+leak)
		out, err := cmd.CombinedOutput()
		if (err == nil) != want {
			t.Errorf("leak %q: %v\n%s", leak, err, out)
		}
		if !want && !strings.Contains(string(out), "leakcheck_test.block") {
			t.Errorf("the stack of the leaked goroutine is not printed:\n%s", out)
		}
	}
}
