package index

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the repository, seen from this folder.
const root = "../.."

// noTest begins an entry that gives the reason why there is no test.
const noTest = "none: "

// citation is how entries are cited. D4b and K12 are citations, 0xC1 and IPv4 are not.
var citation = regexp.MustCompile(`\b[CFDIK][0-9]{1,3}[a-z]?\b`)

// cited collects where entries are cited: in comments of Go files and in the documents at the root.
type cited map[string]*citations

// citations is where one entry is cited.
type citations struct {
	place string   // one of the places
	tests []string // the tests in or above whose code the entry is cited
}

// add notes what text cites; test is the test it belongs to, empty for other code.
func (c cited) add(text, place, test string) {
	for _, id := range citation.FindAllString(text, -1) {
		if c[id] == nil {
			c[id] = &citations{place: place}
		}
		if test != "" && !slices.Contains(c[id].tests, test) {
			c[id].tests = append(c[id].tests, test)
		}
	}
}

// walk calls f for every Go file of the repository, the nested modules included.
func walk(t *testing.T, f func(path string, file *ast.File, fset *token.FileSet)) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f(filepath.ToSlash(rel), file, fset)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// collect returns what the project cites.
func collect(t *testing.T) cited {
	t.Helper()
	c := cited{}
	walk(t, func(path string, file *ast.File, fset *token.FileSet) {
		if strings.HasPrefix(path, "internal/index/") {
			return
		}
		for _, group := range file.Comments {
			for _, comment := range group.List {
				place := fmt.Sprintf("%s:%d", path, fset.Position(comment.Pos()).Line)
				c.add(comment.Text, place, testAround(path, file, comment.Pos()))
			}
		}
	})
	documents, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range documents {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		c.add(string(text), filepath.Base(name), "")
	}
	return c
}

// testAround returns the name of the test that has pos in its code or its comment, empty if there is none.
func testAround(path string, file *ast.File, pos token.Pos) string {
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || !isTest(path, fn) {
			continue
		}
		from := fn.Pos()
		if fn.Doc != nil {
			from = fn.Doc.Pos()
		}
		if from <= pos && pos < fn.End() {
			return nameOf(path, fn)
		}
	}
	return ""
}

// isTest reports whether fn is a test, a fuzz target or an example.
func isTest(path string, fn *ast.FuncDecl) bool {
	return strings.HasSuffix(path, "_test.go") && fn.Recv == nil && testName.MatchString(fn.Name.Name)
}

// nameOf spells a test as the map does: the folder, a dot, the function.
func nameOf(path string, fn *ast.FuncDecl) string {
	return filepath.ToSlash(filepath.Dir(path)) + "." + fn.Name.Name
}

// tests returns the names of all tests.
func tests(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	walk(t, func(path string, file *ast.File, _ *token.FileSet) {
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && isTest(path, fn) {
				found[nameOf(path, fn)] = true
			}
		}
	})
	return found
}

var testName = regexp.MustCompile(`^(Test|Fuzz|Example)([^a-z]|$)`)

// definitions returns the entries that the documents define.
func definitions(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, d := range []struct{ file, after, kind, pattern string }{
		{"conformance.md", "## 2 ", "C", `(?m)^([0-9]+)\. \[`},
		{"field-cases.md", "# 1", "F", `(?m)^### F([0-9]+) `},
		{"locks.md", "### 3.3 ", "D", `(?m)^\| D([0-9]+[a-z]?) \|`},
		{"locks.md", "### 3.2 ", "I", `(?m)^\*\*I([0-9]+) `},
		{"locks.md", "## 4. ", "K", `(?m)^([0-9]+)\. `},
	} {
		text, err := os.ReadFile(filepath.Join(root, "docs", d.file))
		if err != nil {
			t.Fatal(err)
		}
		_, part, ok := strings.Cut(string(text), "\n"+d.after)
		if !ok {
			t.Fatalf("docs/%s has no %q", d.file, d.after)
		}
		n := 0
		for _, m := range regexp.MustCompile(d.pattern).FindAllStringSubmatch(part, -1) {
			found[d.kind+m[1]] = true
			n++
		}
		if n == 0 {
			t.Fatalf("docs/%s defines no %s", d.file, d.kind)
		}
	}
	return found
}

func TestEveryNamedTestExists(t *testing.T) {
	existing := tests(t)
	for id, entry := range covered {
		if reason, none := strings.CutPrefix(entry, noTest); none {
			if strings.Trim(reason, " .") == "" {
				t.Errorf("%s: no reason", id)
			}
			continue
		}
		names := strings.Fields(entry)
		if len(names) == 0 {
			t.Errorf("%s: neither a test nor a reason", id)
		}
		for _, name := range names {
			if !existing[name] {
				t.Errorf("%s: there is no test %s", id, name)
			}
		}
	}
}

func TestEveryCitationIsInTheMap(t *testing.T) {
	for id, c := range collect(t) {
		if _, ok := covered[id]; ok {
			continue
		}
		line := strings.Join(c.tests, " ")
		if line == "" {
			line = noTest + "..."
		}
		t.Errorf("%s cites an entry that is not in entries_test.go; it could read\n\t%q: %q,", c.place, id, line)
	}
}

func TestEveryEntryIsDefined(t *testing.T) {
	defined := definitions(t)
	for id := range covered {
		if !defined[id] {
			t.Errorf("%s: no document defines it", id)
		}
	}
}

func TestWhatACitationIs(t *testing.T) {
	c := cited{}
	c.add("see C12, F02 and (D4b); not 0xC1, IPv4, E25, ABC1, c12 or C1234", "here", "x.TestX")
	if len(c) != 3 || c["C12"] == nil || c["F02"] == nil || c["D4b"] == nil {
		t.Errorf("citations: %v", c)
	}
}
