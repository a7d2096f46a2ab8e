package archtest

import (
	"go/ast"
	"go/token"
	"strings"
)

// checkState finds what makes a package more than its code: init functions, the environment, variables that change.
func checkState(s *source, _ string) (found []string) {
	if s.test || s.in("jute/jutegen") || !s.in(library...) {
		return nil
	}
	each(s, func(n *ast.SelectorExpr) {
		if is(n, "os", "Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv") {
			found = append(found, s.at(n.Pos(), "reads the environment"))
		}
	})
	for _, decl := range s.file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				found = append(found, s.at(d.Pos(), "init function"))
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				found = append(found, variables(s, d)...)
			}
		}
	}
	return found
}

// variables finds the package's variables that are neither errors nor constant tables, and writes to those that are.
func variables(s *source, d *ast.GenDecl) (found []string) {
	for _, spec := range d.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for i, name := range v.Names {
			var value ast.Expr
			if i < len(v.Values) {
				value = v.Values[i]
			}
			if name.Name != "_" && !isError(name.Name, value) && !isTable(v.Type, value) {
				found = append(found, s.at(name.Pos(), "package variable %s", name.Name))
			}
			found = append(found, writes(s, name.Name)...)
		}
	}
	return found
}

// isError reports whether a variable is an error value: ErrX or errX, made by a call or a composite literal.
func isError(name string, value ast.Expr) bool {
	return value != nil && (strings.HasPrefix(name, "Err") || strings.HasPrefix(name, "err"))
}

// isTable reports whether a variable is an array, or a slice or map written out.
func isTable(typ, value ast.Expr) bool {
	if lit, ok := value.(*ast.CompositeLit); ok {
		typ = lit.Type
	} else if value != nil {
		return false
	}
	switch t := typ.(type) {
	case *ast.ArrayType:
		return value != nil || t.Len != nil
	case *ast.MapType:
		return value != nil
	}
	return false
}

// writes finds assignments to a package variable in its file, through an index too. It goes by the name, so a local
// variable of the same name counts; that is worth another name anyway.
func writes(s *source, name string) (found []string) {
	root := func(e ast.Expr) bool {
		for {
			switch x := e.(type) {
			case *ast.IndexExpr:
				e = x.X
			case *ast.ParenExpr:
				e = x.X
			case *ast.Ident:
				return x.Name == name && name != "_"
			default:
				return false
			}
		}
	}
	each(s, func(n *ast.AssignStmt) {
		for _, left := range n.Lhs {
			if root(left) {
				found = append(found, s.at(n.Pos(), "writes the package variable %s", name))
			}
		}
	})
	each(s, func(n *ast.IncDecStmt) {
		if root(n.X) {
			found = append(found, s.at(n.Pos(), "writes the package variable %s", name))
		}
	})
	each(s, func(n *ast.UnaryExpr) {
		if n.Op == token.AND && root(n.X) {
			found = append(found, s.at(n.Pos(), "takes the address of the package variable %s", name))
		}
	})
	return found
}
