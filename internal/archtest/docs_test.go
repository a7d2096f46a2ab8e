package archtest

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkDocs wants a comment on every exported name of the library, beginning with the name where Go expects that.
func checkDocs(s *source, _ string) (found []string) {
	if s.test || s.in("jute/jutegen/cmd") || !s.in(library...) {
		return nil
	}
	for _, decl := range s.file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && receiverExported(d) && !(d.Recv != nil && promised[d.Name.Name]) && !begins(d.Doc, d.Name.Name) {
				found = append(found, s.at(d.Pos(), "%s has no comment that begins with its name", d.Name.Name))
			}
		case *ast.GenDecl:
			found = append(found, undocumented(s, d)...)
		}
	}
	return found
}

// promised are methods whose interface in the standard library says what they do.
var promised = map[string]bool{"Error": true, "Unwrap": true, "Is": true, "String": true}

// undocumented finds exported types, constants and variables without a comment of their own or of their group.
func undocumented(s *source, d *ast.GenDecl) (found []string) {
	for _, spec := range d.Specs {
		switch sp := spec.(type) {
		case *ast.TypeSpec:
			doc := sp.Doc
			if doc == nil {
				doc = d.Doc
			}
			if sp.Name.IsExported() && !begins(doc, sp.Name.Name) {
				found = append(found, s.at(sp.Pos(), "%s has no comment that begins with its name", sp.Name.Name))
			}
		case *ast.ValueSpec:
			for _, name := range sp.Names {
				if name.IsExported() && sp.Doc == nil && sp.Comment == nil && d.Doc == nil {
					found = append(found, s.at(name.Pos(), "%s has no comment", name.Name))
				}
			}
		}
	}
	return found
}

// receiverExported reports whether d is a function, or a method of an exported type.
func receiverExported(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	typ := d.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return false
		}
	}
}

// begins reports whether a comment begins with name, after an article.
func begins(doc *ast.CommentGroup, name string) bool {
	text := doc.Text()
	for _, article := range []string{"A ", "An ", "The "} {
		text = strings.TrimPrefix(text, article)
	}
	return strings.HasPrefix(text, name)
}

func TestEveryPackageHasADocFile(t *testing.T) {
	packages := map[string]bool{}
	for _, f := range tree(t) {
		if !f.test && f.file.Name.Name != "main" {
			packages[f.dir] = true
		}
	}
	for dir := range packages {
		text, err := os.ReadFile(filepath.Join(root, dir, "doc.go"))
		if err != nil {
			t.Errorf("%s has no doc.go", dir)
			continue
		}
		f, err := parse(dir+"/doc.go", text)
		if err != nil {
			t.Fatal(err)
		}
		if !begins(f.file.Doc, "Package "+f.file.Name.Name) {
			t.Error(f.at(token.Pos(1), "no package comment"))
		}
	}
}
