package jute

import (
	"encoding/binary"
	"math"
)

// AppendBool appends one byte, 1 for true and 0 for false.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// AppendInt appends four bytes.
func AppendInt(dst []byte, v int32) []byte {
	return binary.BigEndian.AppendUint32(dst, uint32(v))
}

// AppendLong appends eight bytes.
func AppendLong(dst []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(v))
}

// AppendFloat appends the four bytes of the IEEE 754 form.
func AppendFloat(dst []byte, v float32) []byte {
	return binary.BigEndian.AppendUint32(dst, math.Float32bits(v))
}

// AppendDouble appends the eight bytes of the IEEE 754 form.
func AppendDouble(dst []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(v))
}

// AppendBuffer appends the length and the bytes of v. A nil v is null (length -1), an empty one has length 0: the server
// keeps the two apart.
func AppendBuffer(dst, v []byte) []byte {
	if v == nil {
		return AppendInt(dst, null)
	}
	return append(AppendInt(dst, int32(len(v))), v...)
}

// AppendString appends the length and the bytes of v. It never writes null; that is AppendNullableString's.
func AppendString(dst []byte, v string) []byte {
	return append(AppendInt(dst, int32(len(v))), v...)
}

// AppendNullableString appends v, or the null string when it is not valid.
func AppendNullableString(dst []byte, v NullString) []byte {
	if !v.Valid {
		return AppendInt(dst, null)
	}
	return AppendString(dst, v.String)
}

// AppendCount appends the number of elements of a vector; the elements follow.
func AppendCount(dst []byte, n int) []byte {
	return AppendInt(dst, int32(n))
}
