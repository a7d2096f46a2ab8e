package assert_test

import (
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
)

func TestMessage(t *testing.T) {
	attempts(t, []attempt{
		{"none", "why", func(t assert.T) bool { return assert.Fail(t, "why") }},
		{"a text", "100%d: why", func(t assert.T) bool { return assert.Fail(t, "why", "100%d") }},
		{"a value", "[1 2]: why", func(t assert.T) bool { return assert.Fail(t, "why", []int{1, 2}) }},
		{"a format", "after 2 bytes: why", func(t assert.T) bool { return assert.Fail(t, "why", "after %d bytes", 2) }},
		{"of an assertion", "after 2 bytes: wanted true, got false", func(t assert.T) bool { return assert.True(t, false, "after %d bytes", 2) }},
	})
}

func TestDifference(t *testing.T) {
	report := func(name string, want, got any, report string) attempt {
		return attempt{name, "not equal" + report, func(t assert.T) bool { return assert.Equal(t, want, got) }}
	}
	bytes := []byte("0123456789abcdef012345")
	long, far := strings.Repeat("a", 600), strings.Repeat("é", 300)
	attempts(t, []attempt{
		report("values", pair{A: 1}, pair{1, []byte{}},
			"\nwanted: assert_test.pair{A:1, B:[]uint8(nil)}\n   got: assert_test.pair{A:1, B:[]uint8{}}"),
		report("types", 1, int64(1), "\nwanted: int(1)\n   got: int64(1)"),
		report("nil and a value", nil, 1, "\nwanted: <nil>(<nil>)\n   got: int(1)"),
		report("nil and empty bytes", []byte(nil), []byte{}, "\nwanted: []byte(nil)\n   got: []byte{}"),
		report("bytes", bytes, append(bytes[:18:18], 'x'),
			" from byte 18, shown from byte 16\nwanted: 30 31 32 33 34 35 (22 bytes)\n   got: 30 31 78 (19 bytes)"),
		report("fewer bytes", bytes, bytes[:2],
			" from byte 2, shown from byte 0\nwanted: 30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66 (22 bytes)\n   got: 30 31 (2 bytes)"),
		report("texts", "a\x00", "b", "\nwanted: \"a\\x00\"\n   got: \"b\""),
		report("named texts", text("a"), text("b"), "\nwanted: \"a\"\n   got: \"b\""),
		report("lines", "a\nb\nc", "a\nx\nc", " from line 2\nwanted: \"b\\n\"\n   got: \"x\\n\""),
		report("fewer lines", "a\nb", "a\n", " from line 2\nwanted: \"b\"\n   got: \"\""),
		report("a long text", long, "b", "\nwanted: \""+long[:499]+"... (602 bytes)\n   got: \"b\""),
		report("a difference far behind", far+"b", far+"c",
			"\nwanted: ..."+far[:60]+"b\"\n   got: ..."+far[:60]+"c\""),
	})
}
