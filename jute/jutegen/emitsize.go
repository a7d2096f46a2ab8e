package jutegen

import (
	"strconv"
	"strings"
)

func (e *emitter) size(g *goRecord) {
	e.line("\n// Size returns the length of the encoding in bytes.")
	e.line("func (x *%s) Size() int {", g.name)
	if g.fixed {
		e.line("return %d\n}", g.minSize+g.optionalSize)
		return
	}
	sum, after := []string{""}, []string(nil)
	constant := g.optionalSize
	for _, f := range g.fields {
		v := "x." + f.name
		size, fixed, _, _ := e.plan.size(f.typ) // the planner has returned this error before
		switch {
		case f.optional: // counted already
		case fixed:
			constant += size
		case f.typ.Kind == KindRecord:
			sum = append(sum, v+".Size()")
		case f.typ.Kind == KindVector:
			constant += size
			sum, after = e.vectorSize(f.typ.Elem, v, sum, after)
		case f.nullable:
			constant += size
			after = append(after, "if "+v+".Valid {\nn += len("+v+".String)\n}")
		default:
			constant += size
			sum = append(sum, "len("+v+")")
		}
	}
	sum[0] = strconv.Itoa(constant)
	if constant == 0 {
		sum = sum[1:]
	}
	if after == nil {
		e.line("return %s\n}", strings.Join(sum, " + "))
		return
	}
	e.line("n := %s\n%s\nreturn n\n}", strings.Join(sum, " + "), strings.Join(after, "\n"))
}

func (e *emitter) vectorSize(elem *Type, v string, sum, after []string) (newSum, newAfter []string) {
	size, fixed, _, _ := e.plan.size(elem) // the planner has returned this error before
	switch {
	case fixed && size == 1:
		return append(sum, "len("+v+")"), after
	case fixed:
		return append(sum, strconv.Itoa(size)+"*len("+v+")"), after
	case elem.Kind == KindRecord:
		return sum, append(after, "for i := range "+v+" {\nn += "+v+"[i].Size()\n}")
	}
	return sum, append(after, "for _, v := range "+v+" {\nn += 4 + len(v)\n}")
}
