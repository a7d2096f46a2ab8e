package archtest

import (
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// library is what users import. The rules for library code hold here.
var library = []string{"jute", "proto", "conn", "session", "client", "recipes", "cache", "admin", "zktest"}

// layers says which of our packages a folder, and what lies below it, may import outside of tests, beside each other.
// The longest match counts; a package without a match is a failure.
var layers = map[string][]string{
	"jute/jutegen":         {},
	"jute":                 {},
	"proto":                {"jute"},
	"conn":                 {"proto", "jute"},
	"session":              {"conn", "proto", "jute"},
	"client":               {"session", "proto"},
	"recipes":              {"client"},
	"cache":                {"client"},
	"admin":                {"conn"},
	"zktest":               {"proto", "conn", "jute", "internal/memnet"},
	"fuzz":                 library,
	"examples":             library,
	"bench":                append([]string{"internal/load", "internal/hist", "internal/scale"}, library...),
	"bench/versus":         append([]string{"internal/load", "internal/hist", "internal/scale", "integration", "internal/peer"}, library...),
	"bench/rivals":         append([]string{"internal/load", "internal/hist", "integration"}, library...),
	"integration":          append([]string{"internal"}, library...),
	"internal/memnet":      {},
	"internal/hist":        {},
	"internal/lines":       {},
	"internal/leakcheck":   {},
	"internal/assert":      {},
	"internal/require":     {"internal/assert"},
	"internal/archtest":    {},
	"internal/index":       {},
	"internal/peer":        {"proto", "conn", "jute", "internal/memnet"},
	"internal/svg":         {},
	"internal/relay":       {},
	"internal/scale":       {"internal/load", "internal/hist", "internal/svg", "internal/relay", "internal/peer", "client", "proto", "conn", "jute"},
	"internal/load":        append([]string{"internal/hist", "internal/relay"}, library...),
	"internal/conformance": append([]string{"internal/memnet"}, library...),
}

// layerOf returns the entry of layers that holds for a folder.
func layerOf(dir string) (folder string, ok bool) {
	for name := range layers {
		if within(dir, name) && len(name) > len(folder) {
			folder, ok = name, true
		}
	}
	return folder, ok
}

// checkLayers finds imports that do not go down.
func checkLayers(s *source, module string) (found []string) {
	if s.test {
		return nil
	}
	folder, ok := layerOf(s.dir)
	if !ok {
		return []string{s.at(s.file.Package, "the table of layers has no entry for %s", s.dir)}
	}
	s.imports(func(spec *ast.ImportSpec, path string) {
		target, ours := strings.CutPrefix(path, module+"/")
		if below, _ := layerOf(target); !ours || below == folder {
			return
		}
		if !slices.ContainsFunc(layers[folder], func(layer string) bool { return permits(layer, target) }) {
			found = append(found, s.at(spec.Pos(), "%s may not import %s", folder, target))
		}
	})
	return found
}

// permits reports whether leave to import a layer covers target. Nobody has leave to import the generator.
func permits(layer, target string) bool {
	return within(target, layer) && !within(target, "jute/jutegen")
}

// thirdParty says where a module that is not ours may be imported: in tests of these folders, or everywhere in them. Tests of
// what client and recipes link are not among them: `go mod tidy` loads those tests for an importer too, and would write what
// they import into the importer's go.sum.
var thirdParty = []struct {
	module       string
	tests, usual []string
}{
	{"github.com/stretchr/testify", []string{"zktest", "internal", "fuzz"}, nil},
	{"golang.org/x/sync", []string{"zktest", "internal", "fuzz", "bench"}, []string{"bench", "zktest"}},
}

// checkThirdParty finds imports of other modules in the root module; nested modules are free.
func checkThirdParty(s *source, module string) (found []string) {
	if s.in(nested...) {
		return nil
	}
	s.imports(func(spec *ast.ImportSpec, path string) {
		first, _, _ := strings.Cut(path, "/")
		if !strings.Contains(first, ".") || path == module || strings.HasPrefix(path, module+"/") {
			return // the standard library, or ours
		}
		for _, p := range thirdParty {
			if within(path, p.module) && (s.in(p.usual...) || s.test && s.in(p.tests...)) {
				return
			}
		}
		found = append(found, s.at(spec.Pos(), "%s may not import %s", s.path, path))
	})
	return found
}

// nested are the folders with a go.mod of their own.
var nested = []string{"integration", "bench/versus", "bench/rivals"}

func TestNestedModules(t *testing.T) {
	module := modulePath(t)
	mods, err := filepath.Glob(filepath.Join(root, "*", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	deeper, err := filepath.Glob(filepath.Join(root, "*", "*", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, mod := range append(mods, deeper...) {
		rel, err := filepath.Rel(root, filepath.Dir(mod))
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.ToSlash(rel)
		if !slices.Contains(nested, dir) {
			t.Errorf("%s is a module that this test does not know", dir)
		}
		text, err := os.ReadFile(mod)
		if err != nil {
			t.Fatal(err)
		}
		up := strings.Repeat("../", strings.Count(dir, "/")+1)
		for _, line := range []string{"module " + module + "/" + dir + "\n", module + " => " + up} {
			if !strings.Contains(string(text), line) {
				t.Errorf("%s/go.mod lacks %q", dir, line)
			}
		}
	}
}

func TestTheRootModuleRequiresOnlyWhatTestsNeed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "require ")
		name, _, ok := strings.Cut(line, " v")
		if !ok || strings.HasSuffix(line, "// indirect") {
			continue
		}
		known := slices.ContainsFunc(thirdParty, func(p struct {
			module       string
			tests, usual []string
		}) bool {
			return p.module == name
		})
		if !known {
			t.Errorf("go.mod requires %s", name)
		}
	}
}
