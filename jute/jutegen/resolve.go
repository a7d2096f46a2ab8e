package jutegen

import (
	"fmt"
	"strings"
)

// resolve finds the records that fields name: a plain name in the field's own module, a dotted one in the module before its
// last dot. Records that contain themselves are refused, directly or through others: they would have no size, and decoding
// them would be bounded by the stack only.
func resolve(s *Schema) error {
	for _, m := range s.Modules {
		for _, r := range m.Records {
			for _, f := range r.Fields {
				if err := s.resolveType(m, f.Type); err != nil {
					return err
				}
			}
		}
	}
	state := map[*Record]visit{}
	for _, m := range s.Modules {
		for _, r := range m.Records {
			if err := s.checkCycle(r, state); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Schema) resolveType(home *Module, t *Type) error {
	if t.Key != nil {
		if err := s.resolveType(home, t.Key); err != nil {
			return err
		}
	}
	if t.Elem != nil {
		return s.resolveType(home, t.Elem)
	}
	if t.Kind != KindRecord {
		return nil
	}
	in, name := home, t.Name
	if i := strings.LastIndexByte(t.Name, '.'); i >= 0 {
		in, name = s.module(t.Name[:i]), t.Name[i+1:]
	}
	if in != nil {
		t.Record = in.record(name)
	}
	if t.Record == nil {
		return &Error{s.File, t.Pos, fmt.Sprintf("unknown type %s", t.Name)}
	}
	return nil
}

func (s *Schema) module(name string) *Module {
	for _, m := range s.Modules {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// visit says how far checkCycle is with a record; the zero value is not begun.
type visit int

const (
	visiting visit = iota + 1
	visited
)

func (s *Schema) checkCycle(r *Record, state map[*Record]visit) error {
	state[r] = visiting
	for _, f := range r.Fields {
		for _, inner := range f.Type.records() {
			if state[inner] == visiting {
				return &Error{s.File, f.Pos, fmt.Sprintf("record %s contains itself", inner.Name)}
			}
			if state[inner] == visited {
				continue
			}
			if err := s.checkCycle(inner, state); err != nil {
				return err
			}
		}
	}
	state[r] = visited
	return nil
}

// records returns the records that a type is made of.
func (t *Type) records() []*Record {
	switch t.Kind {
	case KindRecord:
		return []*Record{t.Record}
	case KindVector:
		return t.Elem.records()
	case KindMap:
		return append(t.Key.records(), t.Elem.records()...)
	}
	return nil
}

// lastWord returns what follows the last dot.
func lastWord(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
