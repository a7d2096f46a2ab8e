package interop

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/lockkeeper/lockkeeper/integration/interop/driven"
)

// errMissing says that something is not installed.
var errMissing = driven.ErrMissing

// need ends a test for which something is missing: it is skipped, or fails where all is required. Any other error is a failure.
func need(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, errMissing) && os.Getenv("ZK_REQUIRED") != "1" {
		t.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// python returns an interpreter that has kazoo: Debian's packages belong to Debian's own, which need not be the first in PATH.
func python(t *testing.T) (string, error) {
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		program, err := exec.LookPath(name)
		if err == nil && exec.CommandContext(t.Context(), program, "-c", "import kazoo").Run() == nil {
			return program, nil
		}
	}
	return "", fmt.Errorf("%w: no python3 with kazoo (Debian: python3-kazoo)", errMissing)
}
