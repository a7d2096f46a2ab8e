package proto_test

import (
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/proto"
)

// paths is docs/protocol.md section 15 line by line (C118). offset is that of the error, -1 for none; sequential is the
// same for the path of a sequential create.
var paths = []struct {
	path               string
	offset, sequential int
	why                string
}{
	// Rules 1 to 3.
	{"", 0, 0, "empty"},
	{"a", 0, 0, "no slash in front"},
	{"a/b", 0, 0, "no slash in front"},
	{"/", -1, -1, "the root; /0000000000 when sequential"},
	{"/a", -1, -1, ""},
	{"/a/", 2, -1, "only sequential names may be empty"},
	{"/rz/", 3, -1, "only sequential names may be empty"},
	{"//", 1, 1, "empty component"},
	{"//a", 1, 1, "empty component"},
	{"/a//b", 3, 3, "empty component"},
	{"/a//", 3, 3, "empty component"},

	// Rule 4.
	{"/.", 1, -1, "relative; .0000000000 when sequential"},
	{"/..", 1, -1, "relative; ..0000000000 when sequential"},
	{"/rz/.", 4, -1, "relative"},
	{"/rz/..", 4, -1, "relative"},
	{"/rz/../x", 4, 4, "relative"},
	{"/rz/./x", 4, 4, "relative"},
	{"/./x", 1, 1, "relative"},
	{"/...", -1, -1, "three dots are a name"},
	{"/.hidden", -1, -1, "a dot in front is a name"},
	{"/a..b/c.", -1, -1, "dots inside are a name"},
	{"/a./b", -1, -1, "a dot at the end is a name"},

	// Rule 5, each bound.
	{"/a\x00", 2, 2, "U+0000"},
	{"/a\x01b", 2, 2, "U+0001"},
	{"/a\x1f", 2, 2, "U+001F"},
	{"/a b", -1, -1, "U+0020"},
	{"/a~", -1, -1, "U+007E"},
	{"/a\x7f", 2, 2, "U+007F"},
	{"/a\u0080", 2, 2, "U+0080"},
	{"/a\u009f", 2, 2, "U+009F"},
	{"/a\u00a0", -1, -1, "U+00A0"},
	{"/rz/é", -1, -1, "U+00E9"},
	{"/a\ud7ff", -1, -1, "U+D7FF"},
	{"/a\xed\xa0\x80", 2, 2, "U+D800, which is no UTF-8 either"},
	{"/a\ue000", 2, 2, "U+E000"},
	{"/a\uefff/b", 2, 2, "U+EFFF, which go-zookeeper lets pass"},
	{"/a\uf8ff", 2, 2, "U+F8FF"},
	{"/a\uf900", -1, -1, "U+F900"},
	{"/a\uffef", -1, -1, "U+FFEF"},
	{"/a\ufff0", 2, 2, "U+FFF0"},
	{"/a\ufffd", 2, 2, "U+FFFD"},
	{"/a\uffff", 2, 2, "U+FFFF"},
	{"/a\U00010000", 2, 2, "U+10000"},
	{"/a\U0001f600", 2, 2, "an emoji"},
	{"/a\U0010ffff", 2, 2, "U+10FFFF"},

	// Rule 6.
	{"/a\xff", 2, 2, "no UTF-8"},
	{"/a\xc3", 2, 2, "no UTF-8: cut short"},
	{"/a\xc0\x80", 2, 2, "no UTF-8: NUL in two bytes"},
	{"/é/\xff", 4, 4, "offsets count bytes"},

	// The reserved tree is for the server to guard.
	{"/zookeeper/config", -1, -1, ""},
}

func TestPaths(t *testing.T) {
	for _, tt := range paths {
		checkPath(t, proto.ValidatePath(tt.path), tt.path, tt.offset, tt.why)
		checkPath(t, proto.ValidateSequentialPath(tt.path), tt.path, tt.sequential, "sequential: "+tt.why)
	}
}

func checkPath(t *testing.T, err error, path string, offset int, why string) {
	t.Helper()
	if offset < 0 {
		assert.NoError(t, err, "%q: %s", path, why)
		return
	}
	var perr *proto.PathError
	require.ErrorAs(t, err, &perr, "%q: %s", path, why)
	assert.Equal(t, path, perr.Path)
	assert.Equal(t, offset, perr.Offset, "%q: %s", path, why)
	assert.NotEmpty(t, perr.Reason)
}

// TestSequentialPathsByDefinition: a sequential path is good exactly when it is good with a digit behind it
// (PathUtils.validatePath in Java).
func TestSequentialPathsByDefinition(t *testing.T) {
	for _, tt := range paths {
		want := proto.ValidatePath(tt.path + "1")
		got := proto.ValidateSequentialPath(tt.path)
		assert.Equal(t, want == nil, got == nil, "%q", tt.path)
	}
}

func TestPathErrorText(t *testing.T) {
	assert.EqualError(t, proto.ValidatePath("/a//b"), `path "/a//b": empty component at byte 3`)
	assert.EqualError(t, proto.ValidatePath("/a\x00"), `path "/a\x00": forbidden character at byte 2`)
}

func FuzzPath(f *testing.F) {
	for _, tt := range paths {
		f.Add(tt.path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		err := proto.ValidatePath(path)
		if err == nil {
			assert.True(t, path == "/" || strings.HasPrefix(path, "/") && !strings.HasSuffix(path, "/"), "%q", path)
		}
		assert.Equal(t, proto.ValidatePath(path+"1") == nil, proto.ValidateSequentialPath(path) == nil, "%q", path)
	})
}

func BenchmarkValidatePath(b *testing.B) {
	for name, path := range map[string]string{
		"short": "/locks/a",
		"lock":  "/locks/orders/_c_f3a1c5d2-6a3b-4f6e-9e0f-0a1b2c3d4e5f-lock-0000000042",
		"wide":  "/räume/für/größere/dinge",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(path)))
			for b.Loop() {
				if proto.ValidatePath(path) != nil {
					b.Fatal("refused")
				}
			}
		})
	}
}
