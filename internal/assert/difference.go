package assert

import (
	"fmt"
	"reflect"
	"strings"
)

const (
	most   = 500 // bytes of a value that are shown
	before = 60  // of them before a difference
	row    = 16  // bytes that are shown of a []byte, from the row that differs
)

// difference says how two values differ, on lines of their own.
func difference(want, got any) string {
	wb, wok := want.([]byte)
	gb, gok := got.([]byte)
	if wok && gok && wb != nil && gb != nil {
		return byteDifference(wb, gb)
	}
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	if w.Kind() == reflect.String && g.Kind() == reflect.String && w.Type() == g.Type() {
		return lineDifference(w.String(), g.String())
	}
	verb := "%#v"
	if reflect.TypeOf(want) != reflect.TypeOf(got) {
		verb = "%T(%#[1]v)"
	}
	return pair(fmt.Sprintf(verb, want), fmt.Sprintf(verb, got))
}

// byteDifference shows the first row of bytes that is not the same.
func byteDifference(want, got []byte) string {
	at := common(want, got)
	from := at - at%row
	part := func(b []byte) string {
		return fmt.Sprintf("% x (%d bytes)", b[min(from, len(b)):min(from+row, len(b))], len(b))
	}
	return fmt.Sprintf(" from byte %d, shown from byte %d\nwanted: %s\n   got: %s", at, from, part(want), part(got))
}

// lineDifference shows the first line that is not the same. There is one in both: only the last has no end of line.
func lineDifference(want, got string) string {
	w, g := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	n, place := common(w, g), ""
	if len(w) > 1 || len(g) > 1 {
		place = fmt.Sprintf(" from line %d", n+1)
	}
	return place + pair(fmt.Sprintf("%q", w[n]), fmt.Sprintf("%q", g[n]))
}

// pair formats what was wanted and what there is. Of long texts it shows the part around the first difference.
func pair(want, got string) string {
	from := 0
	if len(want) > most || len(got) > most {
		from = max(0, common([]byte(want), []byte(got))-before)
	}
	return "\nwanted: " + cut(want, from) + "\n   got: " + cut(got, from)
}

// show formats a value, cut off where it gets long.
func show(v any) string { return cut(fmt.Sprintf("%#v", v), 0) }

// cut returns the part of a text that begins at a byte, with dots for what is left out.
func cut(s string, from int) string {
	from = min(from, len(s))
	to := min(from+most, len(s))
	part := strings.ToValidUTF8(s[from:to], "")
	if from > 0 {
		part = "..." + part
	}
	if to < len(s) {
		part += fmt.Sprintf("... (%d bytes)", len(s))
	}
	return part
}

// common returns how many elements at the beginning are the same.
func common[E comparable](a, b []E) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
