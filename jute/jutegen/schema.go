package jutegen

// Schema is a parsed file.
type Schema struct {
	File    string // name it was parsed under; it stands in error texts
	Modules []*Module
}

// Module is one module of a schema: a name space for records, and one file of the output.
type Module struct {
	Name    string // dotted
	Pos     Pos
	Records []*Record
}

// Record is one class of a schema.
type Record struct {
	Name   string
	Module *Module
	Pos    Pos
	Doc    []string // lines of the comment above it, without the slashes
	Fields []*Field
}

// Field is one field of a record.
type Field struct {
	Name string
	Pos  Pos
	Doc  []string // lines of the comment above it, or else of the one behind it
	Type *Type
}

// Type is the type of a field, or of an element.
type Type struct {
	Kind   Kind
	Key    *Type   // of a map
	Elem   *Type   // of a vector or map
	Name   string  // of a record, as the schema writes it
	Record *Record // of a record
	Pos    Pos
}

// Kind tells the types of jute apart.
type Kind int

// The types of jute's grammar. KindByte and KindMap are parsed but no code is generated for them: no ZooKeeper record has
// such a field.
const (
	KindByte Kind = iota + 1
	KindBoolean
	KindInt
	KindLong
	KindFloat
	KindDouble
	KindString
	KindBuffer
	KindVector
	KindMap
	KindRecord
)

// kindOf returns the kind of a basic type, or 0 when word is not the name of one.
func kindOf(word string) Kind {
	switch word {
	case "byte":
		return KindByte
	case "boolean":
		return KindBoolean
	case "int":
		return KindInt
	case "long":
		return KindLong
	case "float":
		return KindFloat
	case "double":
		return KindDouble
	case "ustring":
		return KindString
	case "buffer":
		return KindBuffer
	}
	return 0
}

// Record returns the first record of that name in any module, or nil.
func (s *Schema) Record(name string) *Record {
	for _, m := range s.Modules {
		if r := m.record(name); r != nil {
			return r
		}
	}
	return nil
}

func (m *Module) record(name string) *Record {
	for _, r := range m.Records {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// String returns the type as a schema writes it, records without their module: two schemas that divide the same records
// into different modules agree in it.
func (t *Type) String() string {
	switch t.Kind {
	case KindByte:
		return "byte"
	case KindBoolean:
		return "boolean"
	case KindInt:
		return "int"
	case KindLong:
		return "long"
	case KindFloat:
		return "float"
	case KindDouble:
		return "double"
	case KindString:
		return "ustring"
	case KindBuffer:
		return "buffer"
	case KindVector:
		return "vector<" + t.Elem.String() + ">"
	case KindMap:
		return "map<" + t.Key.String() + "," + t.Elem.String() + ">"
	}
	return lastWord(t.Name)
}
