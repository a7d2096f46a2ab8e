package jutegen

import (
	"fmt"
	"path"
	"path/filepath"
)

// juteImport is the package that generated code stands on.
const juteImport = "github.com/lockkeeper/lockkeeper/jute"

// testFile is the name of the generated test.
const testFile = "zrecords_test.go"

// File is one generated file before formatting.
type File struct {
	Name   string
	Source []byte
}

// Generate returns the Go code for a schema: one file per module, named z and the module's last word, and one with
// round-trip tests. importPath is that of the package the code is for; its last element names the package. The same schema
// gives the same bytes.
//
// More is wanted than Parse asks for: comments on every record and field, known annotations, types that there is code for,
// Go names that do not collide. The error is an *Error.
func Generate(s *Schema, importPath string) ([]File, error) {
	p := &planner{file: s.File, records: map[*Record]*goRecord{}, names: map[string]Pos{}}
	e := &testEmitter{emitter: emitter{plan: p}}
	e.start(filepath.Base(s.File), importPath)
	var files []File
	for _, m := range s.Modules {
		f, err := generateModule(s, m, p, path.Base(importPath))
		if err != nil {
			return nil, err
		}
		for _, other := range files {
			if other.Name == f.Name {
				return nil, p.fail(m.Pos, "module %s has the file of another: %s", m.Name, f.Name)
			}
		}
		files = append(files, f)
		for _, r := range m.Records {
			e.record(p.records[r])
		}
	}
	return append(files, File{testFile, []byte(e.b.String())}), nil
}

func generateModule(s *Schema, m *Module, p *planner, pkg string) (File, error) {
	if len(m.Records) == 0 {
		return File{}, p.fail(m.Pos, "module %s has no records", m.Name)
	}
	e := &emitter{plan: p}
	e.header(filepath.Base(s.File), pkg, juteImport)
	for _, r := range m.Records {
		g, err := p.record(r)
		if err != nil {
			return File{}, err
		}
		e.record(g)
	}
	return File{fmt.Sprintf("z%s.go", lastWord(m.Name)), []byte(e.b.String())}, nil
}
