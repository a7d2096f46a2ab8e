package jutegen

import "path"

// testEmitter writes the generated test. What that calls, checkRecord and the filler, is written by hand in the package the
// test is for.
type testEmitter struct {
	emitter
	pkg string
}

func (e *testEmitter) start(schema, importPath string) {
	e.pkg = path.Base(importPath)
	e.header(schema, e.pkg+"_test", "testing", "", importPath)
}

// record writes the test of one record and the function that fills it.
func (e *testEmitter) record(g *goRecord) {
	e.line("\nfunc Test%sRoundTrip(t *testing.T) {", g.name)
	e.line("g := newFiller()")
	e.line("for range fills {")
	e.line("want := fill%s(g)", g.name)
	e.line("checkRecord(t, &want, new(%s.%s), %d)", e.pkg, g.name, g.optionalSize)
	e.line("}\n}")
	e.line("\nfunc fill%s(g *filler) %s.%s {", g.name, e.pkg, g.name)
	e.line("return %s.%s{", e.pkg, g.name)
	for _, f := range g.fields {
		e.fill(f)
	}
	e.line("}\n}")
}

// fill writes one field of the composite literal.
func (e *testEmitter) fill(f *goField) {
	switch {
	case f.limited:
		e.line("%s: %s(g.between(%d, %d)),", f.name, f.goType(), f.low, f.high)
	case f.typ.Kind == KindVector && f.typ.Elem.Kind == KindRecord:
		e.line("%s: several(g, fill%s),", f.name, goType(f.typ.Elem))
	case f.typ.Kind == KindVector:
		e.line("%s: several(g, (*filler).%s),", f.name, fillMethod(f.typ.Elem, false))
	case f.typ.Kind == KindRecord:
		e.line("%s: fill%s(g),", f.name, goType(f.typ))
	default:
		e.line("%s: g.%s(),", f.name, fillMethod(f.typ, f.nullable))
	}
}

// fillMethod returns the method of the filler that makes a value of type t; it is called as the type, but for the first
// letter.
func fillMethod(t *Type, nullable bool) string {
	name := method(t, nullable)
	return string(name[0]|0x20) + name[1:]
}
