package java_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/interop/driven"
	"github.com/lockkeeper/lockkeeper/integration/interop/java"
	"github.com/lockkeeper/lockkeeper/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestWhatIsMissingIsSaid(t *testing.T) {
	if jars, err := java.Curator("0.1"); !errors.Is(err, driven.ErrMissing) {
		t.Errorf("Curator 0.1: %q, %v", jars, err)
	}
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	if _, err := java.Compile(t.Context(), t.TempDir(), ""); !errors.Is(err, driven.ErrMissing) {
		t.Errorf("without a compiler: %v", err)
	}
	if _, err := java.Start(t.Context(), "5.4", "", ""); !errors.Is(err, driven.ErrMissing) {
		t.Errorf("without a virtual machine: %v", err)
	}
}

// A program that says another version than it was asked for is ended, and so is one with sources that do not compile.
func TestAnotherVersionIsRefused(t *testing.T) {
	jars, err := java.Curator("5.4")
	if errors.Is(err, driven.ErrMissing) && os.Getenv("ZK_REQUIRED") != "1" {
		t.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := java.Compile(t.Context(), t.TempDir(), "no.jar"); err == nil || errors.Is(err, driven.ErrMissing) {
		t.Errorf("without Curator: %v", err)
	}
	classes, err := java.Compile(t.Context(), t.TempDir(), jars)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := java.Start(t.Context(), "5.5", classes, jars); err == nil {
		t.Errorf("5.4 for 5.5: %v, %v", p.Greeting, p.Close())
	}
	p, err := java.Start(t.Context(), "5.4", classes, jars, java.SessionTimeout(4*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil || len(p.Greeting) != 3 {
		t.Errorf("%v, %v", p.Greeting, err)
	}
}
