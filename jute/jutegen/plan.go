package jutegen

import (
	"fmt"
	"strconv"
	"strings"
)

// goRecord is a record with all that emitting it takes.
type goRecord struct {
	name    string
	doc     []string
	fields  []*goField
	minSize int // fewest bytes of the encoding
	fixed   bool
	memory  memory

	optionalSize int // bytes of the optional field, which is read or not but always written
}

// goField is a field with all that emitting it takes.
type goField struct {
	name, schemaName string
	doc              []string
	typ              *Type
	nullable         bool
	optional         bool
	limited          bool // low and high are set
	low, high        int64
}

// planner checks a schema for what Generate wants beyond the grammar.
type planner struct {
	file    string
	records map[*Record]*goRecord
	names   map[string]Pos
}

func (p *planner) fail(at Pos, format string, args ...any) error {
	return &Error{p.file, at, fmt.Sprintf(format, args...)}
}

// record plans r and, before it, the records it contains; there are no cycles, resolve has seen to that.
func (p *planner) record(r *Record) (*goRecord, error) {
	if g, ok := p.records[r]; ok {
		return g, nil
	}
	g := &goRecord{name: goName(r.Name), doc: r.Doc, fixed: true}
	if err := p.checkRecord(r, g.name); err != nil {
		return nil, err
	}
	for i, f := range r.Fields {
		gf, err := p.field(r, f)
		if err != nil {
			return nil, err
		}
		for _, other := range g.fields {
			if other.name == gf.name {
				return nil, p.fail(f.Pos, "field %s of %s has the Go name of %s", f.Name, r.Name, other.schemaName)
			}
		}
		if gf.optional && i != len(r.Fields)-1 {
			return nil, p.fail(f.Pos, "field %s of %s is @optional but not the last", f.Name, r.Name)
		}
		g.fields = append(g.fields, gf)
		if err := p.measure(r, g, gf); err != nil {
			return nil, err
		}
	}
	p.records[r] = g
	return g, nil
}

func (p *planner) checkRecord(r *Record, name string) error {
	if name == "" {
		return p.fail(r.Pos, "record %s has no Go name", r.Name)
	}
	if len(r.Doc) == 0 {
		return p.fail(r.Pos, "record %s has no comment", r.Name)
	}
	if first, _, _ := strings.Cut(r.Doc[0], " "); first != name {
		return p.fail(r.Pos, "comment of record %s does not begin with %q", r.Name, name)
	}
	if len(r.Fields) == 0 {
		return p.fail(r.Pos, "record %s has no fields", r.Name)
	}
	if at, ok := p.names[name]; ok {
		return p.fail(r.Pos, "record %s has the Go name of the one on line %d", r.Name, at.Line)
	}
	p.names[name] = r.Pos
	return nil
}

func (p *planner) field(r *Record, f *Field) (*goField, error) {
	g := &goField{name: goName(f.Name), schemaName: f.Name, typ: f.Type}
	for _, line := range f.Doc {
		line, err := p.annotations(r, f, g, strings.Fields(line))
		if err != nil {
			return nil, err
		}
		if line != "" {
			g.doc = append(g.doc, line)
		}
	}
	if len(g.doc) == 0 {
		return nil, p.fail(f.Pos, "field %s of %s has no comment", f.Name, r.Name)
	}
	switch {
	case g.name == "":
		return nil, p.fail(f.Pos, "field %s of %s has no Go name", f.Name, r.Name)
	case g.name == "AppendTo" || g.name == "ReadFrom" || g.name == "Size":
		return nil, p.fail(f.Pos, "field %s of %s has the Go name of a method", f.Name, r.Name)
	case g.nullable && f.Type.Kind != KindString:
		return nil, p.fail(f.Pos, "field %s of %s is @nullable but no ustring", f.Name, r.Name)
	case g.limited && f.Type.Kind != KindInt && f.Type.Kind != KindLong:
		return nil, p.fail(f.Pos, "field %s of %s has a @range but is no int or long", f.Name, r.Name)
	}
	return g, nil
}

// annotations takes the annotations out of a comment line and returns what remains.
func (p *planner) annotations(r *Record, f *Field, g *goField, words []string) (string, error) {
	var rest []string
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case w == "@nullable":
			g.nullable = true
		case w == "@optional":
			g.optional = true
		case w == "@range":
			if i+2 >= len(words) {
				return "", p.fail(f.Pos, "@range of field %s of %s lacks a number", f.Name, r.Name)
			}
			low, err := strconv.ParseInt(words[i+1], 10, bits(f.Type))
			high, err2 := strconv.ParseInt(words[i+2], 10, bits(f.Type))
			if err != nil || err2 != nil || low > high {
				return "", p.fail(f.Pos, "@range of field %s of %s is no range", f.Name, r.Name)
			}
			g.limited, g.low, g.high = true, low, high
			i += 2
		case strings.HasPrefix(w, "@"):
			return "", p.fail(f.Pos, "unknown annotation %s of field %s of %s", w, f.Name, r.Name)
		default:
			rest = append(rest, w)
		}
	}
	return strings.Join(rest, " "), nil
}

func bits(t *Type) int {
	if t.Kind == KindLong {
		return 64
	}
	return 32
}

// measure adds the sizes of field f to those of its record g.
func (p *planner) measure(r *Record, g *goRecord, f *goField) error {
	size, fixed, mem, err := p.size(f.typ)
	switch {
	case err != nil:
		return err
	case f.nullable:
		mem = memory{24, 8}
	case f.optional:
		if !fixed || f.typ.Kind == KindRecord {
			return p.fail(f.typ.Pos, "field %s of %s is @optional but no number or boolean", f.schemaName, r.Name)
		}
		g.optionalSize, size = size, 0
	}
	g.minSize += size
	g.fixed = g.fixed && fixed
	g.memory = g.memory.with(mem)
	return nil
}

// size returns the fewest bytes that a value of type t takes when encoded, whether all its values take as many, and what it
// takes in memory.
func (p *planner) size(t *Type) (size int, fixed bool, mem memory, err error) {
	switch t.Kind {
	case KindBoolean:
		return 1, true, memory{1, 1}, nil
	case KindInt, KindFloat:
		return 4, true, memory{4, 4}, nil
	case KindLong, KindDouble:
		return 8, true, memory{8, 8}, nil
	case KindString:
		return 4, false, memory{16, 8}, nil
	case KindBuffer:
		return 4, false, memory{24, 8}, nil
	case KindRecord:
		g, err := p.record(t.Record)
		if err != nil {
			return 0, false, memory{}, err
		}
		if n := len(g.fields); g.fields[n-1].optional {
			return 0, false, memory{}, p.fail(t.Pos, "record %s ends with an @optional field and cannot be part of another", t.Name)
		}
		return g.minSize, g.fixed, g.memory.padded(), nil
	case KindVector:
		if t.Elem.Kind == KindVector {
			return 0, false, memory{}, p.fail(t.Pos, "no code for a vector of vectors")
		}
		_, _, _, err := p.size(t.Elem)
		return 4, false, memory{24, 8}, err
	}
	return 0, false, memory{}, p.fail(t.Pos, "no code for type %s", t)
}

// memory is the size and alignment of a Go type on a 64-bit machine, in bytes. It decides only how much a vector allocates
// ahead, so that it may be wrong for other machines.
type memory struct {
	size, align int
}

// with returns the memory of a struct m that gets one more field, without the padding at the end.
func (m memory) with(f memory) memory {
	return memory{up(m.size, f.align) + f.size, max(m.align, f.align)}
}

func (m memory) padded() memory { return memory{up(m.size, m.align), m.align} }

func up(n, align int) int { return (n + align - 1) / align * align }
