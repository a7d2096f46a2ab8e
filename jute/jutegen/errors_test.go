package jutegen_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute/jutegen"
)

// TestParseErrors: each names the place and the thing.
func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{"modul x {}", `x.jute:1:1: "modul" where "module" should stand`},
		{"module {}", `x.jute:1:8: "{" where the name of a module should stand`},
		{"module a. {}", `x.jute:1:8: "a." where the name of a module should stand`},
		{"module x", `x.jute:1:9: file ends where "{" should stand`},
		{"module x {\n", `x.jute:2:1: file ends where "class" should stand`},
		{"module x { int a; }", `x.jute:1:12: "int" where "class" should stand`},
		{"include \"a\"", `x.jute:1:9: unexpected character '"'`},
		{"include a;", `x.jute:1:1: include is not supported`},
		{"module x {\n  class A.B {} }", `x.jute:2:9: "A.B" where the name of a record should stand`},
		{"module x { class int {} }", `x.jute:1:18: int is the name of a type`},
		{"module x {\n class A {}\n class A {} }", `x.jute:3:8: record A stands on line 2 already`},
		{"module x {}\nmodule x {}", `x.jute:2:8: module x stands on line 1 already`},
		{"module x { class A {\n int a;\n long a; } }", `x.jute:3:7: field a of A stands on line 2 already`},
		{"module x { class A {\n  int; } }", `x.jute:2:6: ";" where the name of a field should stand`},
		{"module x { class A { int a } }", `x.jute:1:28: "}" where ";" should stand`},
		{"module x { class A { int a.b; } }", `x.jute:1:26: "a.b" where the name of a field should stand`},
		{"module x { class A {\n\tstring a; } }", `x.jute:2:2: unknown type string`},
		{"module x { class A { y.B a; } }", `x.jute:1:22: unknown type y.B`},
		{"module x { class A { x.B a; } }", `x.jute:1:22: unknown type x.B`},
		{"module x { class A { vector<B> a; } }", `x.jute:1:29: unknown type B`},
		{"module x { class A { map<int,B> a; } }", `x.jute:1:30: unknown type B`},
		{"module x { class A { map<B,int> a; } }", `x.jute:1:26: unknown type B`},
		{"module x { class A { vector int a; } }", `x.jute:1:29: "int" where "<" should stand`},
		{"module x { class A { vector<int a; } }", `x.jute:1:33: "a" where ">" should stand`},
		{"module x { class A { map<int> a; } }", `x.jute:1:29: ">" where "," should stand`},
		{"module x { class A { ; } }", `x.jute:1:22: ";" where a type should stand`},
		{"module x { class A { " + strings.Repeat("vector<", 20), `x.jute:1:85: type is nested too deeply`},
		{"module x { class A { A a; } }", `x.jute:1:24: record A contains itself`},
		{"module x { class A { vector<B> b; }\n class B { map<int,A> a; } }", `x.jute:2:23: record A contains itself`},
		{"module x { $ }", `x.jute:1:12: unexpected character '$'`},
		{"module x { é }", `x.jute:1:12: unexpected character 'é'`},
		{"module x { \xff }", `x.jute:1:12: unexpected character '�'`},
		{"module x {\n // \xff", `x.jute:2:5: unexpected character '�'`},
		{"// \x00", `x.jute:1:4: unexpected character '\x00'`},
		{"module x {\n /* } ", `x.jute:2:2: comment does not end`},
		{"module x { / }", `x.jute:1:12: unexpected character '/'`},
	} {
		_, err := jutegen.Parse("x.jute", []byte(tt.src))
		var serr *jutegen.Error
		if assert.ErrorAs(t, err, &serr, tt.src) {
			assert.Equal(t, tt.want, err.Error(), tt.src)
		}
	}
}

// TestGenerateErrors are about schemas that Parse takes.
func TestGenerateErrors(t *testing.T) {
	const a = "// A is.\nclass A {\n" // a record's first two lines, which are the second and the third of the schema
	for _, tt := range []struct{ src, want string }{
		{"class A { int a; // b\n }", `2:7: record A has no comment`},
		{"// A is.\n\nclass A { int a; // b\n }", `4:7: record A has no comment`},
		{"/* A is. */\nclass A { int a; // b\n }", `3:7: record A has no comment`},
		{"// An A.\nclass A { int a; // b\n }", `3:7: comment of record A does not begin with "A"`},
		{"// Id is.\nclass Id { int a; // b\n }", `3:7: comment of record Id does not begin with "ID"`},
		{a + "int a; }", `4:5: field a of A has no comment`},
		{a + "int a; // @optional\n }", `4:5: field a of A has no comment`},
		{a + "//\nint a; }", `5:5: field a of A has no comment`},
		{a + "}", `3:7: record A has no fields`},
		{a + "// a\nbyte a; }", `5:1: no code for type byte`},
		{a + "// a\nmap<int,ustring> a; }", `5:1: no code for type map<int,ustring>`},
		{a + "// a\nvector<vector<int>> a; }", `5:1: no code for a vector of vectors`},
		{a + "// a\nvector<byte> a; }", `5:8: no code for type byte`},
		{a + "int a; // @nullable x\n }", `4:5: field a of A is @nullable but no ustring`},
		{a + "vector<ustring> a; // @nullable x\n }", `4:17: field a of A is @nullable but no ustring`},
		{a + "int a; // @optional x\nint b; // y\n }", `4:5: field a of A is @optional but not the last`},
		{a + "ustring a; // @optional x\n }", `4:1: field a of A is @optional but no number or boolean`},
		{a + "vector<int> a; // @optional x\n }", `4:1: field a of A is @optional but no number or boolean`},
		{a + "int a; // @range 1 x\n }", `4:5: @range of field a of A is no range`},
		{a + "int a; // @range 2 1 x\n }", `4:5: @range of field a of A is no range`},
		{a + "int a; // @range 1 4294967296 x\n }", `4:5: @range of field a of A is no range`},
		{a + "int a; // x @range 1\n }", `4:5: @range of field a of A lacks a number`},
		{a + "boolean a; // @range 1 2 x\n }", `4:9: field a of A has a @range but is no int or long`},
		{a + "int a; // @nulable x\n }", `4:5: unknown annotation @nulable of field a of A`},
		{a + "int aId; // x\nint aID; // y\n }", `5:5: field aID of A has the Go name of aId`},
		{"// A is.\nclass _ { int a; // b\n }", `3:7: record _ has no Go name`},
		{a + "int size; // x\n }", `4:5: field size of A has the Go name of a method`},
		{a + "int _; // x\n }", `4:5: field _ of A has no Go name`},
		{"// ID is.\nclass Id { int a; // b\n }\n// ID is.\nclass ID { int a; // b\n }",
			`6:7: record ID has the Go name of the one on line 3`},
		{a + "int a; // @optional x\n }\n// B is.\nclass B { A a; // x\n }",
			`7:11: record A ends with an @optional field and cannot be part of another`},
		{a + "int a; // @optional x\n }\n// B is.\nclass B { vector<A> a; // x\n }",
			`7:18: record A ends with an @optional field and cannot be part of another`},
		{"", `1:8: module x has no records`},
		{a + "int a; // x\n } }\nmodule y.x {\n// B is.\nclass B { int b; // x\n }", `6:8: module y.x has the file of another: zx.go`},
	} {
		s, err := jutegen.Parse("x.jute", []byte("module x {\n"+tt.src+"\n}\n"))
		require.NoError(t, err, tt.src)
		_, err = jutegen.Generate(s, "example.com/p")
		var serr *jutegen.Error
		if assert.ErrorAs(t, err, &serr, tt.src) {
			assert.Equal(t, "x.jute:"+tt.want, err.Error(), tt.src)
		}
	}
}

// TestParseComments: which comment belongs to what.
func TestParseComments(t *testing.T) {
	s, err := jutegen.Parse("x.jute", []byte(`// of the file

module x { // of the module
    // far away

    // of A
    //   indented
    class A {
        int a; // behind
        // above
        int b; // and behind, which does not count
        int c;
        // for nobody
    }
    class B {} // behind a brace
}`))
	require.NoError(t, err)
	a := s.Record("A")
	assert.Equal(t, []string{"of A", "  indented"}, a.Doc)
	assert.Equal(t, []string{"behind"}, a.Fields[0].Doc)
	assert.Equal(t, []string{"above"}, a.Fields[1].Doc)
	assert.Empty(t, a.Fields[2].Doc)
	assert.Empty(t, s.Record("B").Doc)
	assert.Nil(t, s.Record("C"))
}

func TestTypeStrings(t *testing.T) {
	const types = "byte boolean int long float double ustring buffer vector<int> map<ustring,vector<B>> B"
	var b strings.Builder
	for i, typ := range strings.Fields(types) {
		b.WriteString(typ + " f" + string(rune('a'+i)) + ";\n")
	}
	s, err := jutegen.Parse("x.jute", []byte("module x { class A {\n"+b.String()+"} class B {} }"))
	require.NoError(t, err)
	var got []string
	for _, f := range s.Record("A").Fields {
		got = append(got, f.Type.String())
	}
	assert.Equal(t, types, strings.Join(got, " "))
}

// FuzzParse: no input makes the parser or the generator panic, and what both take is Go.
func FuzzParse(f *testing.F) {
	src, err := os.ReadFile(filepath.Join(sampleDir, "sample.jute"))
	require.NoError(f, err)
	f.Add(src)
	f.Add([]byte("module x { class A { map<int,vector<A>> a; } }"))
	f.Add([]byte("module x {\n// A is.\nclass A { // a\nint a; // @range 1 2 b\n} }"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := jutegen.Parse("x.jute", src)
		if err != nil {
			var serr *jutegen.Error
			require.ErrorAs(t, err, &serr)
			return
		}
		files, err := jutegen.Generate(s, "example.com/p")
		if err != nil {
			return
		}
		require.NoError(t, jutegen.Write(t.TempDir(), files))
	})
}
