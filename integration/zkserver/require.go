package zkserver

import (
	"errors"
	"os"
	"testing"
)

// Require starts servers for a test and closes them at its end. When the test has failed, the ends of their logs are
// printed. When there is nothing to start the test is skipped with the reason; with ZK_REQUIRED=1 it fails. A test that needs
// servers of its own is left out, with the reason, when ZK_SERVERS names others.
func Require(t testing.TB, o Options) *Ensemble {
	t.Helper()
	e, err := Start(t.Context(), o)
	if errors.Is(err, ErrNotFound) && os.Getenv("ZK_REQUIRED") != "1" {
		t.Skipf("SKIPPED, needs a real server: %v", err)
	}
	if errors.Is(err, ErrNotOurs) { // there is a real server, and this test would break it
		t.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, s := range e.servers {
				t.Logf("end of the log of server %d:\n%s", s.id, s.Tail(tailLines))
			}
		}
		if err := e.Close(); err != nil {
			t.Errorf("closing the servers: %v", err)
		}
	})
	return e
}

// Versions returns what a test that runs on several versions asks for: 3.8 and 3.9. When the environment names certain
// servers, by ZK_SERVERS, ZK_HOME or ZK_VERSION, it is the empty one alone, which takes these.
func Versions() []string {
	if os.Getenv("ZK_SERVERS")+os.Getenv("ZK_HOME")+os.Getenv("ZK_VERSION") != "" {
		return []string{""}
	}
	return []string{"3.8", "3.9"}
}
