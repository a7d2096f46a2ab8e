package archtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// offered are the packages that a fresh importer uses.
var offered = []string{"client", "recipes", "cache", "admin"}

// complete says that all of them must be there.
const complete = true

// importer makes a module of its own that imports the packages, and returns its folder.
func importer(t *testing.T, packages []string) string {
	t.Helper()
	dir, module := t.TempDir(), modulePath(t)
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	var program strings.Builder
	program.WriteString("package main\n\nimport (\n")
	for _, p := range packages {
		fmt.Fprintf(&program, "\t_ %q\n", module+"/"+p)
	}
	program.WriteString(")\n\nfunc main() {}\n")
	mod := fmt.Sprintf("module example.com/importer\n\ngo 1.25.0\n\nrequire %[1]s v0.0.0\n\nreplace %[1]s => %[2]s\n", module, here)
	for name, text := range map[string]string{"go.mod": mod, "main.go": program.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run runs the go command in dir. No network: whatever it would fetch is a dependency too many.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "GOFLAGS=-buildvcs=false")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func exists(dir string) bool {
	_, err := os.Stat(filepath.Join(root, dir))
	return err == nil
}

func TestAFreshImporterLinksOnlyTheStandardLibrary(t *testing.T) {
	packages := slices.DeleteFunc(slices.Clone(offered), func(p string) bool { return !exists(p) })
	if complete && len(packages) < len(offered) {
		t.Errorf("only %q of %q exist", packages, offered)
	}
	if len(packages) == 0 {
		packages = []string{"jute"} // the lowest layer, until there is something to offer
	}
	dir, module := importer(t, packages), modulePath(t)
	run(t, dir, "build", "-o", os.DevNull, "./...")
	for line := range strings.Lines(run(t, dir, "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")) {
		path := strings.TrimSpace(line)
		if path != "" && path != "example.com/importer" && !strings.HasPrefix(path, module+"/") {
			t.Errorf("an importer links %s", path)
		}
	}
	if sum := checksums(t, dir); sum != "" {
		t.Errorf("the importer's go.sum is not empty:\n%s", sum)
	}
}

// tidied says whether an importer's go.sum is empty after `go mod tidy` too, which loads the tests of every package that the
// importer links: so those use internal/assert and internal/require, or plain testing.
const tidied = true

func TestAFreshImporterThatIsTidied(t *testing.T) {
	if !complete {
		return // nothing is offered yet; the test above says what is missing
	}
	dir := importer(t, offered)
	run(t, dir, "mod", "tidy")
	if sum := checksums(t, dir); (sum == "") != tidied {
		t.Errorf("go.sum after `go mod tidy` is empty: %v, want %v\n%s", sum == "", tidied, sum)
	}
}

// checksums returns the go.sum of the module in dir; what is in it is a dependency on a third party.
func checksums(t *testing.T, dir string) string {
	t.Helper()
	sum, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(sum)
}
