package jutegen

import (
	"fmt"
	"strings"
)

// maxDepth bounds how deeply vectors and maps may be nested, so that a hostile schema cannot exhaust the stack.
const maxDepth = 8

// Parse reads a schema: modules, their records, and fields with known types. It wants no comments and obeys no annotations,
// those are Generate's concern; so it reads upstream's schema as well as ours. file stands in error texts. The error is an
// *Error.
func Parse(file string, src []byte) (*Schema, error) {
	tokens, err := lex(file, src)
	if err != nil {
		return nil, err
	}
	p := &parser{file: file, tokens: tokens}
	s := &Schema{File: file}
	for p.peek().text != "" {
		m, err := p.module(s)
		if err != nil {
			return nil, err
		}
		s.Modules = append(s.Modules, m)
	}
	if err := resolve(s); err != nil {
		return nil, err
	}
	return s, nil
}

type parser struct {
	file   string
	tokens []*token
	i      int
}

func (p *parser) peek() *token { return p.tokens[p.i] }

// take returns the next token; the end is returned again and again.
func (p *parser) take() *token {
	t := p.tokens[p.i]
	if t.text != "" {
		p.i++
	}
	return t
}

func (p *parser) fail(at Pos, format string, args ...any) error {
	return &Error{p.file, at, fmt.Sprintf(format, args...)}
}

// unexpected is the error for token t where wanted should stand.
func (p *parser) unexpected(t *token, wanted string) error {
	if t.text == "" {
		return p.fail(t.pos, "file ends where %s should stand", wanted)
	}
	return p.fail(t.pos, "%q where %s should stand", t.text, wanted)
}

func (p *parser) expect(text string) (*token, error) {
	t := p.take()
	if t.text != text {
		return nil, p.unexpected(t, `"`+text+`"`)
	}
	return t, nil
}

// name takes a word that must not be dotted.
func (p *parser) name(wanted string) (*token, error) {
	t := p.take()
	if !t.word || strings.Contains(t.text, ".") {
		return nil, p.unexpected(t, wanted)
	}
	return t, nil
}

func (p *parser) module(s *Schema) (*Module, error) {
	if t := p.peek(); t.text == "include" {
		return nil, p.fail(t.pos, "include is not supported")
	}
	if _, err := p.expect("module"); err != nil {
		return nil, err
	}
	t := p.take()
	if !t.word || strings.HasSuffix(t.text, ".") || strings.Contains(t.text, "..") {
		return nil, p.unexpected(t, "the name of a module")
	}
	for _, m := range s.Modules {
		if m.Name == t.text {
			return nil, p.fail(t.pos, "module %s stands on line %d already", t.text, m.Pos.Line)
		}
	}
	m := &Module{Name: t.text, Pos: t.pos}
	if _, err := p.expect("{"); err != nil {
		return nil, err
	}
	for p.peek().text != "}" {
		r, err := p.record(m)
		if err != nil {
			return nil, err
		}
		m.Records = append(m.Records, r)
	}
	p.take()
	return m, nil
}

func (p *parser) record(m *Module) (*Record, error) {
	class, err := p.expect("class")
	if err != nil {
		return nil, err
	}
	t, err := p.name("the name of a record")
	if err != nil {
		return nil, err
	}
	if old := m.record(t.text); old != nil {
		return nil, p.fail(t.pos, "record %s stands on line %d already", t.text, old.Pos.Line)
	}
	if kindOf(t.text) != 0 {
		return nil, p.fail(t.pos, "%s is the name of a type", t.text)
	}
	r := &Record{Name: t.text, Module: m, Pos: t.pos, Doc: class.doc}
	if _, err := p.expect("{"); err != nil {
		return nil, err
	}
	for p.peek().text != "}" {
		f, err := p.field(r)
		if err != nil {
			return nil, err
		}
		r.Fields = append(r.Fields, f)
	}
	p.take()
	return r, nil
}

func (p *parser) field(r *Record) (*Field, error) {
	doc := p.peek().doc
	typ, err := p.typ(0)
	if err != nil {
		return nil, err
	}
	t, err := p.name("the name of a field")
	if err != nil {
		return nil, err
	}
	for _, f := range r.Fields {
		if f.Name == t.text {
			return nil, p.fail(t.pos, "field %s of %s stands on line %d already", t.text, r.Name, f.Pos.Line)
		}
	}
	end, err := p.expect(";")
	if err != nil {
		return nil, err
	}
	if doc == nil {
		doc = end.behind
	}
	return &Field{Name: t.text, Pos: t.pos, Doc: doc, Type: typ}, nil
}

func (p *parser) typ(depth int) (*Type, error) {
	t := p.take()
	typ := &Type{Kind: kindOf(t.text), Pos: t.pos}
	switch {
	case !t.word:
		return nil, p.unexpected(t, "a type")
	case depth > maxDepth:
		return nil, p.fail(t.pos, "type is nested too deeply")
	case typ.Kind != 0:
		return typ, nil
	case t.text == "vector":
		typ.Kind = KindVector
	case t.text == "map":
		typ.Kind = KindMap
	default:
		typ.Kind, typ.Name = KindRecord, t.text
		return typ, nil
	}
	if _, err := p.expect("<"); err != nil {
		return nil, err
	}
	var err error
	if typ.Kind == KindMap {
		if typ.Key, err = p.typ(depth + 1); err != nil {
			return nil, err
		}
		if _, err = p.expect(","); err != nil {
			return nil, err
		}
	}
	if typ.Elem, err = p.typ(depth + 1); err != nil {
		return nil, err
	}
	_, err = p.expect(">")
	return typ, err
}
