package archtest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the repository, seen from this folder.
const root = "../.."

// source is one parsed file.
type source struct {
	path string // from the root, with slashes
	dir  string // folder of path
	test bool
	text []byte
	file *ast.File
	fset *token.FileSet
}

// at formats a finding at a position.
func (s *source) at(pos token.Pos, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", s.path, s.fset.Position(pos).Line, fmt.Sprintf(format, args...))
}

// imports calls f for each imported path.
func (s *source) imports(f func(spec *ast.ImportSpec, path string)) {
	for _, spec := range s.file.Imports {
		f(spec, strings.Trim(spec.Path.Value, "\""))
	}
}

// in reports whether the file lies in one of the folders or below.
func (s *source) in(folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return within(s.dir, f) })
}

func within(dir, folder string) bool { return dir == folder || strings.HasPrefix(dir, folder+"/") }

// parse parses one file whose path from the root is name.
func parse(name string, text []byte) (*source, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return &source{
		path: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), text: text, file: file, fset: fset,
	}, err
}

// tree parses every Go file of the repository, the nested modules included.
func tree(t *testing.T) []*source {
	t.Helper()
	var files []*source
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			hidden := name != root && (strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_"))
			if hidden || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f, err := parse(filepath.ToSlash(rel), text)
		files = append(files, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 5 {
		t.Fatalf("found %d Go files below %s: not the repository", len(files), root)
	}
	return files
}

// modulePath reads the module's path from go.mod, the only place that decides it.
func modulePath(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(name)
		}
	}
	t.Fatal(errors.New("go.mod names no module"))
	return ""
}
