package interop

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/integration/interop/driven"
	"github.com/lockkeeper/lockkeeper/integration/interop/java"
)

// patience bounds every wait for something that must happen.
const patience = time.Minute

// program runs contenders in another language.
type program = driven.Program

// until ends a program at the end of the test.
func until(t *testing.T, p *program, err error) *program {
	t.Helper()
	need(t, err)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if text := p.Log(); t.Failed() && text != "" {
			t.Logf("log of %s:\n%s", p.Name, text)
		}
	})
	return p
}

// curator starts a Java virtual machine with a version of Curator.
func curator(t *testing.T, classes, version string) *program {
	t.Helper()
	jars, err := java.Curator(version)
	need(t, err)
	p, err := java.Start(t.Context(), version, classes, jars)
	return until(t, p, err)
}

// compile compiles the Java program and returns the folder of its classes.
func compile(t *testing.T) string {
	t.Helper()
	jars, err := java.Curator("5.4")
	need(t, err)
	classes, err := java.Compile(t.Context(), t.TempDir(), jars)
	need(t, err)
	return classes
}

// kazoo starts Python with kazoo.
func kazoo(t *testing.T, interpreter string) *program {
	t.Helper()
	p, err := driven.Start(t.Context(), "kazoo", interpreter, filepath.Join("python", "contenders.py"))
	return until(t, p, err)
}
