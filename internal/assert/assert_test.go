package assert_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
)

// record keeps what is reported.
type record struct{ failures []string }

func (r *record) Helper() {}

func (r *record) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

type (
	text   string
	number int8
	pair   struct {
		A int
		B []byte
	}
)

// attempt is an assertion that holds, or one that does not and what it reports.
type attempt struct {
	name   string
	report string // "" = it holds
	try    func(t assert.T) bool
}

func attempts(t *testing.T, all []attempt) {
	t.Helper()
	for _, a := range all {
		var r record
		if held := a.try(&r); held != (a.report == "") {
			t.Errorf("%s: holds: %v", a.name, held)
		}
		if got := strings.Join(r.failures, "|"); got != a.report {
			t.Errorf("%s: reports\n%s\nwanted\n%s", a.name, got, a.report)
		}
	}
}

// pairs are equal or not, for Equal and for EqualValues.
var pairs = []struct {
	want, got     any
	equal, values bool
}{
	{nil, nil, true, true},
	{1, 1, true, true},
	{1, 2, false, false},
	{1, int64(1), false, true},
	{int64(1), 1, false, true},
	{uint8(1), number(1), false, true},
	{256, uint8(0), false, false},
	{uint8(0), 256, false, false},
	{1.0, 1, false, true},
	{1.5, 1, false, false},
	{"a", text("a"), false, true},
	{"a", text("b"), false, false},
	{"a", []byte("a"), false, true},
	{1, "1", false, false},
	{nil, 0, false, false},
	{nil, []byte(nil), false, false},
	{[]byte(nil), nil, false, false},
	{[]byte(nil), []byte{}, false, false},
	{[]byte{}, []byte{}, true, true},
	{[]byte{1}, []byte{1}, true, true},
	{[]byte{1}, []byte{2}, false, false},
	{[]int(nil), []int{}, false, false},
	{map[string]int{"a": 1}, map[string]int{"a": 1}, true, true},
	{pair{1, nil}, pair{1, nil}, true, true},
	{pair{1, nil}, pair{1, []byte{}}, false, false},
	{&pair{1, nil}, &pair{1, nil}, true, true},
	{math.NaN(), math.NaN(), false, false},
	{io.EOF, io.EOF, true, true},
}

func TestEqual(t *testing.T) {
	for i, tt := range pairs {
		if got := assert.Equal(&record{}, tt.want, tt.got); got != tt.equal {
			t.Errorf("%d: Equal(%#v, %#v) = %v", i, tt.want, tt.got, got)
		}
		if got := assert.EqualValues(&record{}, tt.want, tt.got); got != tt.values {
			t.Errorf("%d: EqualValues(%#v, %#v) = %v", i, tt.want, tt.got, got)
		}
	}
	f := func() {}
	if assert.Equal(&record{}, f, f) {
		t.Error("functions are equal")
	}
}

// nothings are zero, nil and empty, or not.
var nothings = []struct {
	value            any
	zero, null, none bool
}{
	{nil, true, true, true},
	{0, true, false, true},
	{1, false, false, false},
	{false, true, false, true},
	{"", true, false, true},
	{"a", false, false, false},
	{pair{}, true, false, true},
	{pair{B: []byte{}}, false, false, false},
	{[]int(nil), true, true, true},
	{[]int{}, false, false, true},
	{[]int{0}, false, false, false},
	{[2]int{}, true, false, true},
	{[2]int{0, 1}, false, false, false},
	{map[int]int(nil), true, true, true},
	{map[int]int{}, false, false, true},
	{(*string)(nil), true, true, true},
	{new(string), false, false, true},
	{(func())(nil), true, true, true},
	{full(), false, false, false},
	{error(nil), true, true, true},
	{io.EOF, false, false, false},
}

// full returns a channel with something in it.
func full() chan int {
	c := make(chan int, 1)
	c <- 1
	return c
}

func TestNothing(t *testing.T) {
	for i, tt := range nothings {
		for name, held := range map[string][2]bool{
			"Zero":     {assert.Zero(&record{}, tt.value), tt.zero},
			"NotZero":  {assert.NotZero(&record{}, tt.value), !tt.zero},
			"Nil":      {assert.Nil(&record{}, tt.value), tt.null},
			"NotNil":   {assert.NotNil(&record{}, tt.value), !tt.null},
			"Empty":    {assert.Empty(&record{}, tt.value), tt.none},
			"NotEmpty": {assert.NotEmpty(&record{}, tt.value), !tt.none},
		} {
			if held[0] != held[1] {
				t.Errorf("%d: %s(%#v) = %v", i, name, tt.value, held[0])
			}
		}
	}
}

func TestConditions(t *testing.T) {
	p, q := new(int), new(int)
	attempts(t, []attempt{
		{"true", "", func(t assert.T) bool { return assert.True(t, true) }},
		{"not true", "wanted true, got false", func(t assert.T) bool { return assert.True(t, false) }},
		{"false", "", func(t assert.T) bool { return assert.False(t, false) }},
		{"not false", "wanted false, got true", func(t assert.T) bool { return assert.False(t, true) }},
		{"fail", "why", func(t assert.T) bool { return assert.Fail(t, "why") }},
		{"same", "", func(t assert.T) bool { return assert.Same(t, p, p) }},
		{"not same", fmt.Sprintf("not the same pointer\nwanted: *int %p\n   got: *int %p", p, q), func(t assert.T) bool { return assert.Same(t, p, q) }},
		{"no pointers", "not the same pointer\nwanted: int %!p(int=1)\n   got: int %!p(int=1)", func(t assert.T) bool { return assert.Same(t, 1, 1) }},
		{"type", "", func(t assert.T) bool { return assert.IsType(t, pair{}, pair{A: 1}) }},
		{"another type", "wanted the type assert_test.text, got string", func(t assert.T) bool { return assert.IsType(t, text(""), "") }},
		{"file", "", func(t assert.T) bool { return assert.FileExists(t, "doc.go") }},
		{"folder", "wanted a file, got a folder: .", func(t assert.T) bool { return assert.FileExists(t, ".") }},
		{"no file", "wanted a file: lstat absent: no such file or directory", func(t assert.T) bool { return assert.FileExists(t, "absent") }},
	})
}

func TestOrder(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	attempts(t, []attempt{
		{"less", "", func(t assert.T) bool { return assert.Less(t, 1, 2) }},
		{"not less", "wanted less than 2, got 2", func(t assert.T) bool { return assert.Less(t, number(2), 2) }},
		{"at most", "", func(t assert.T) bool { return assert.LessOrEqual(t, 2, 2) }},
		{"not at most", "wanted at most 2, got 2.5", func(t assert.T) bool { return assert.LessOrEqual(t, 2.5, 2) }},
		{"greater", "", func(t assert.T) bool { return assert.Greater(t, "b", "a") }},
		{"not greater", `wanted more than "a", got "a"`, func(t assert.T) bool { return assert.Greater(t, "a", "a") }},
		{"at least", "", func(t assert.T) bool { return assert.GreaterOrEqual(t, 2, 2) }},
		{"not at least", "wanted at least 2, got 1", func(t assert.T) bool { return assert.GreaterOrEqual(t, 1, 2) }},
		{"positive", "", func(t assert.T) bool { return assert.Positive(t, 0.1) }},
		{"not positive", "wanted a positive number, got 0", func(t assert.T) bool { return assert.Positive(t, 0) }},
		{"near", "", func(t assert.T) bool { return assert.InDelta(t, 5, 7, 2) }},
		{"near below", "", func(t assert.T) bool { return assert.InDelta(t, uint(7), 5, 2) }},
		{"far", "wanted 5 within 2, got 8", func(t assert.T) bool { return assert.InDelta(t, 5, 8, 2) }},
		{"NaN", "", func(t assert.T) bool { return assert.InDelta(t, nan, nan, 1) }},
		{"NaN and a number", "wanted 1 within 5, got NaN", func(t assert.T) bool { return assert.InDelta(t, 1, nan, 5) }},
		{"infinite", "", func(t assert.T) bool { return assert.InDelta(t, inf, inf, 1) }},
		{"infinitely far", "wanted 1 within 5, got +Inf", func(t assert.T) bool { return assert.InDelta(t, 1, inf, 5) }},
	})
}

func TestErrors(t *testing.T) {
	wrapped := fmt.Errorf("x: %w", &fs.PathError{Op: "open", Path: "/a", Err: io.EOF})
	const shown = `"x: open /a: EOF" (*fmt.wrapError)`
	var perr *fs.PathError
	as := func(err error) func(t assert.T) bool {
		return func(t assert.T) bool { return assert.ErrorAs(t, err, &perr) }
	}
	attempts(t, []attempt{
		{"none", "", func(t assert.T) bool { return assert.NoError(t, nil) }},
		{"not none", "wanted no error, got " + shown, func(t assert.T) bool { return assert.NoError(t, wrapped) }},
		{"error", "", func(t assert.T) bool { return assert.Error(t, wrapped) }},
		{"no error", "wanted an error, got nil", func(t assert.T) bool { return assert.Error(t, nil) }},
		{"text", "", func(t assert.T) bool { return assert.EqualError(t, io.EOF, "EOF") }},
		{"another text", "not the text of the error\nwanted: \"eof\"\n   got: \"EOF\"", func(t assert.T) bool { return assert.EqualError(t, io.EOF, "eof") }},
		{"no text", "wanted an error, got nil", func(t assert.T) bool { return assert.EqualError(t, nil, "") }},
		{"part", "", func(t assert.T) bool { return assert.ErrorContains(t, wrapped, "/a") }},
		{"no such part", shown + ` lacks "/b"`, func(t assert.T) bool { return assert.ErrorContains(t, wrapped, "/b") }},
		{"part of nothing", "wanted an error, got nil", func(t assert.T) bool { return assert.ErrorContains(t, nil, "") }},
		{"is", "", func(t assert.T) bool { return assert.ErrorIs(t, wrapped, io.EOF) }},
		{"nil is nil", "", func(t assert.T) bool { return assert.ErrorIs(t, nil, nil) }},
		{"is another", shown + ` is not "file does not exist" (*errors.errorString)`, func(t assert.T) bool { return assert.ErrorIs(t, wrapped, fs.ErrNotExist) }},
		{"is nil", `nil is not "EOF" (*errors.errorString)`, func(t assert.T) bool { return assert.ErrorIs(t, nil, io.EOF) }},
		{"is not", "", func(t assert.T) bool { return assert.NotErrorIs(t, wrapped, fs.ErrNotExist) }},
		{"is, and should not", shown + ` is "EOF" (*errors.errorString)`, func(t assert.T) bool { return assert.NotErrorIs(t, wrapped, io.EOF) }},
		{"as", "", as(wrapped)},
		{"as another", `"EOF" (*errors.errorString) is no *fs.PathError`, as(io.EOF)},
		{"nil as", "nil is no *fs.PathError", as(nil)},
	})
	if !errors.Is(perr, io.EOF) {
		t.Errorf("ErrorAs sets %v", perr)
	}
}

func TestCollections(t *testing.T) {
	in := func(collection, element any) func(t assert.T) bool {
		return func(t assert.T) bool { return assert.Contains(t, collection, element) }
	}
	notIn := func(collection, element any) func(t assert.T) bool {
		return func(t assert.T) bool { return assert.NotContains(t, collection, element) }
	}
	match := func(want, got any) func(t assert.T) bool {
		return func(t assert.T) bool { return assert.ElementsMatch(t, want, got) }
	}
	attempts(t, []attempt{
		{"length", "", func(t assert.T) bool { return assert.Len(t, "abc", 3) }},
		{"length of nil", "", func(t assert.T) bool { return assert.Len(t, map[int]int(nil), 0) }},
		{"another length", "wanted 1 elements, got 2: []int{1, 2}", func(t assert.T) bool { return assert.Len(t, []int{1, 2}, 1) }},
		{"no length", "1 has no length", func(t assert.T) bool { return assert.Len(t, 1, 1) }},
		{"nil has no length", "<nil> has no length", func(t assert.T) bool { return assert.Len(t, nil, 0) }},
		{"in a string", "", in(text("abc"), "b")},
		{"in a slice", "", in([]pair{{1, nil}}, pair{1, nil})},
		{"in an array", "", in([2]int{1, 2}, 2)},
		{"in a map", "", in(map[string]int{"a": 1}, "a")},
		{"not in a string", `"abc" lacks "d"`, in("abc", "d")},
		{"not in a slice, by type", "[]int32{1} lacks 1", in([]int32{1}, 1)},
		{"not among keys", `map[string]int{"a":1} lacks 1`, in(map[string]int{"a": 1}, 1)},
		{"nothing in a number", "1 cannot contain 1", in(1, 1)},
		{"nothing in nil", "<nil> cannot contain 1", in(nil, 1)},
		{"no number in a string", `"1" cannot contain 1`, in("1", 1)},
		{"absent", "", notIn([]string{"a"}, "b")},
		{"absent from nothing", "", notIn([]string(nil), "b")},
		{"there", `[]string{"a"} contains "a"`, notIn([]string{"a"}, "a")},
		{"absent from a number", "1 cannot contain 2", notIn(1, 2)},
		{"any order", "", match([]int{1, 2, 2}, [3]int{2, 1, 2})},
		{"nothing and nothing", "", match(nil, []int{})},
		{"other elements", "the elements differ\nmissing: []interface {}{2}\n  extra: []interface {}{3, 1}", match([]int{1, 2}, []int{3, 1, 1})},
		{"nothing and something", "<nil> and []int{1} are not both slices or arrays", match(nil, []int{1})},
	})
}
