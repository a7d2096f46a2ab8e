package jute_test

import (
	"encoding/hex"
	"math"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
)

// values has each kind of value, its bytes by docs/protocol.md section 2, and how it reads.
var values = []struct {
	name   string
	append func(dst []byte) []byte
	hex    string
	read   func(r *jute.Reader) any
	value  any
}{
	{"false", func(b []byte) []byte { return jute.AppendBool(b, false) }, "00", readBool, false},
	{"true", func(b []byte) []byte { return jute.AppendBool(b, true) }, "01", readBool, true},
	{"int", func(b []byte) []byte { return jute.AppendInt(b, 0x01020304) }, "01020304", readInt, int32(0x01020304)},
	{"int -1", func(b []byte) []byte { return jute.AppendInt(b, -1) }, "ffffffff", readInt, int32(-1)},
	{"int min", func(b []byte) []byte { return jute.AppendInt(b, math.MinInt32) }, "80000000", readInt, int32(math.MinInt32)},
	{"long", func(b []byte) []byte { return jute.AppendLong(b, 0x0102030405060708) }, "0102030405060708", readLong,
		int64(0x0102030405060708)},
	{"long -2", func(b []byte) []byte { return jute.AppendLong(b, -2) }, "fffffffffffffffe", readLong, int64(-2)},
	{"float", func(b []byte) []byte { return jute.AppendFloat(b, 1.5) }, "3fc00000", readFloat, float32(1.5)},
	{"double", func(b []byte) []byte { return jute.AppendDouble(b, -0.25) }, "bfd0000000000000", readDouble, -0.25},
	{"buffer", func(b []byte) []byte { return jute.AppendBuffer(b, []byte{1, 2}) }, "000000020102", readBuffer, []byte{1, 2}},
	{"buffer empty", func(b []byte) []byte { return jute.AppendBuffer(b, []byte{}) }, "00000000", readBuffer, []byte{}},
	{"buffer null", func(b []byte) []byte { return jute.AppendBuffer(b, nil) }, "ffffffff", readBuffer, []byte(nil)},
	{"string", func(b []byte) []byte { return jute.AppendString(b, "/é") }, "000000032fc3a9", readString, "/é"},
	{"string empty", func(b []byte) []byte { return jute.AppendString(b, "") }, "00000000", readString, ""},
	{"string, no UTF-8 (C9)", func(b []byte) []byte { return jute.AppendString(b, "\xed\xa0\xbd\xed\xb8\x80\xff") },
		"00000007eda0bdedb880ff", readString, "\xed\xa0\xbd\xed\xb8\x80\xff"},
	{"nullable", func(b []byte) []byte { return jute.AppendNullableString(b, jute.NullString{String: "a", Valid: true}) },
		"0000000161", readNullable, jute.NullString{String: "a", Valid: true}},
	{"nullable empty", func(b []byte) []byte { return jute.AppendNullableString(b, jute.NullString{Valid: true}) },
		"00000000", readNullable, jute.NullString{Valid: true}},
	{"nullable null", func(b []byte) []byte { return jute.AppendNullableString(b, jute.NullString{String: "ignored"}) },
		"ffffffff", readNullable, jute.NullString{}},
	{"count", func(b []byte) []byte { return jute.AppendCount(b, 0) }, "00000000", readCount, 0},
}

func readBool(r *jute.Reader) any     { return r.Bool() }
func readInt(r *jute.Reader) any      { return r.Int() }
func readLong(r *jute.Reader) any     { return r.Long() }
func readFloat(r *jute.Reader) any    { return r.Float() }
func readDouble(r *jute.Reader) any   { return r.Double() }
func readBuffer(r *jute.Reader) any   { return r.Buffer() }
func readString(r *jute.Reader) any   { return r.String() }
func readNullable(r *jute.Reader) any { return r.NullableString() }

func readCount(r *jute.Reader) any {
	n, _ := r.Count(1)
	return n
}

func TestValues(t *testing.T) {
	for _, tt := range values {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.append(nil)
			require.Equal(t, tt.hex, hex.EncodeToString(b))
			assert.Equal(t, "ff"+tt.hex, hex.EncodeToString(tt.append([]byte{0xff})), "behind other bytes")

			r := jute.NewReader(b)
			assert.Equal(t, tt.value, tt.read(&r))
			assert.NoError(t, r.Err())
			assert.Zero(t, r.Remaining())
			assert.Equal(t, len(b), r.Offset())

			for n := range b {
				r.Reset(b[:n])
				assert.Zero(t, tt.read(&r))
				assert.ErrorIs(t, r.Err(), jute.ErrShort, "cut after %d bytes", n)
			}
		})
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, 1024)
	data := make([]byte, 10)
	allocs := testing.AllocsPerRun(100, func() {
		b := jute.AppendBool(buf[:0], true)
		b = jute.AppendInt(b, 1)
		b = jute.AppendLong(b, 1)
		b = jute.AppendFloat(b, 1)
		b = jute.AppendDouble(b, 1)
		b = jute.AppendBuffer(b, data)
		b = jute.AppendString(b, "string")
		b = jute.AppendNullableString(b, jute.NullString{})
		b = jute.AppendCount(b, 1)
		if len(b) != 1+4+8+4+8+14+10+4+4 {
			t.Error(len(b))
		}
	})
	assert.Zero(t, allocs)
}

func BenchmarkAppendString(b *testing.B) {
	buf := make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		buf = jute.AppendString(buf[:0], "/locks/orders/lock-0000000042")
	}
}
