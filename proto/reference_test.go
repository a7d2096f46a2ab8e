package proto_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"

	"github.com/lockkeeper/lockkeeper/jute"
)

// referenceEncode encodes a record the slow way, by looking at its Go type and at nothing that jutegen wrote. It is short
// enough to be compared with docs/protocol.md section 2 by eye.
func referenceEncode(rec record) []byte {
	return referenceValue(nil, reflect.ValueOf(rec).Elem())
}

func referenceValue(b []byte, v reflect.Value) []byte {
	if s, ok := v.Interface().(jute.NullString); ok {
		if !s.Valid {
			return binary.BigEndian.AppendUint32(b, math.MaxUint32)
		}
		return referenceValue(b, v.FieldByName("String"))
	}
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case reflect.Int32:
		return binary.BigEndian.AppendUint32(b, uint32(v.Int()))
	case reflect.Int64:
		return binary.BigEndian.AppendUint64(b, uint64(v.Int()))
	case reflect.String:
		return append(binary.BigEndian.AppendUint32(b, uint32(v.Len())), v.String()...)
	case reflect.Struct:
		for i := range v.NumField() {
			b = referenceValue(b, v.Field(i))
		}
		return b
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if v.IsNil() {
				return binary.BigEndian.AppendUint32(b, math.MaxUint32)
			}
			return append(binary.BigEndian.AppendUint32(b, uint32(v.Len())), v.Bytes()...)
		}
		b = binary.BigEndian.AppendUint32(b, uint32(v.Len()))
		for i := range v.Len() {
			b = referenceValue(b, v.Index(i))
		}
		return b
	}
	panic(fmt.Sprintf("no record has a field of type %s", v.Type()))
}
