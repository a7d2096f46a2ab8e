package jutegen

func (f *goField) goType() string {
	if f.nullable {
		return "jute.NullString"
	}
	return goType(f.typ)
}

func goType(t *Type) string {
	switch t.Kind {
	case KindBoolean:
		return "bool"
	case KindInt:
		return "int32"
	case KindLong:
		return "int64"
	case KindFloat:
		return "float32"
	case KindDouble:
		return "float64"
	case KindString:
		return "string"
	case KindBuffer:
		return "[]byte"
	case KindVector:
		return "[]" + goType(t.Elem)
	}
	return goName(lastWord(t.Name))
}

// zero returns the zero value of an optional field's type as Go writes it.
func zero(t *Type) string {
	if t.Kind == KindBoolean {
		return "false"
	}
	return "0"
}
