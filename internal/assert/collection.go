package assert

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Len asserts how many elements, or bytes in a string, there are in something that has a length.
func Len(t T, collection any, want int, message ...any) bool {
	t.Helper()
	got, ok := length(reflect.ValueOf(collection))
	if !ok {
		return Fail(t, show(collection)+" has no length", message...)
	}
	return got == want || Fail(t, fmt.Sprintf("wanted %d elements, got %d: %s", want, got, show(collection)), message...)
}

// Empty asserts that there is nothing in a value: it is nil, the zero value, of length 0, or a pointer to such a value.
func Empty(t T, got any, message ...any) bool {
	t.Helper()
	return isEmpty(reflect.ValueOf(got)) || Fail(t, "wanted nothing, got "+show(got), message...)
}

// NotEmpty asserts that there is something in a value; Empty says when there is nothing.
func NotEmpty(t T, got any, message ...any) bool {
	t.Helper()
	return !isEmpty(reflect.ValueOf(got)) || Fail(t, "wanted something, got "+show(got), message...)
}

// Contains asserts that a string contains a string, a slice or an array an element, or a map a key.
func Contains(t T, collection, element any, message ...any) bool {
	t.Helper()
	found, ok := contains(reflect.ValueOf(collection), element)
	if !ok {
		return Fail(t, show(collection)+" cannot contain "+show(element), message...)
	}
	return found || Fail(t, show(collection)+" lacks "+show(element), message...)
}

// NotContains asserts that a string, slice, array or map does not contain what Contains looks for.
func NotContains(t T, collection, element any, message ...any) bool {
	t.Helper()
	found, ok := contains(reflect.ValueOf(collection), element)
	if !ok {
		return Fail(t, show(collection)+" cannot contain "+show(element), message...)
	}
	return !found || Fail(t, show(collection)+" contains "+show(element), message...)
}

// ElementsMatch asserts that two slices or arrays have the same elements, each as often, in any order. Values that Empty
// accepts match each other.
func ElementsMatch(t T, want, got any, message ...any) bool {
	t.Helper()
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	if isEmpty(w) && isEmpty(g) {
		return true
	}
	if !isList(w) || !isList(g) {
		return Fail(t, show(want)+" and "+show(got)+" are not both slices or arrays", message...)
	}
	missing, extra := elements(w), []any{}
	for _, e := range elements(g) {
		if i := slices.IndexFunc(missing, func(m any) bool { return equal(m, e) }); i >= 0 {
			missing = slices.Delete(missing, i, i+1)
		} else {
			extra = append(extra, e)
		}
	}
	if len(missing)+len(extra) == 0 {
		return true
	}
	return Fail(t, "the elements differ\nmissing: "+show(missing)+"\n  extra: "+show(extra), message...)
}

func length(v reflect.Value) (n int, ok bool) {
	switch v.Kind() {
	case reflect.Array, reflect.Chan, reflect.Map, reflect.Slice, reflect.String:
		return v.Len(), true
	}
	return 0, false
}

func isEmpty(v reflect.Value) bool {
	if !v.IsValid() || v.IsZero() {
		return true
	}
	switch v.Kind() {
	case reflect.Chan, reflect.Map, reflect.Slice:
		return v.Len() == 0
	case reflect.Pointer:
		return isEmpty(v.Elem())
	}
	return false
}

func isList(v reflect.Value) bool { return v.Kind() == reflect.Array || v.Kind() == reflect.Slice }

// elements returns the elements of a slice or an array.
func elements(v reflect.Value) []any {
	list := make([]any, v.Len())
	for i := range list {
		list[i] = v.Index(i).Interface()
	}
	return list
}

// contains reports whether element is in v, and whether v may contain such a thing at all.
func contains(v reflect.Value, element any) (found, ok bool) {
	list := []any{}
	switch v.Kind() {
	case reflect.String:
		part := reflect.ValueOf(element)
		return part.Kind() == reflect.String && strings.Contains(v.String(), part.String()), part.Kind() == reflect.String
	case reflect.Map:
		for _, key := range v.MapKeys() {
			list = append(list, key.Interface())
		}
	case reflect.Array, reflect.Slice:
		list = elements(v)
	default:
		return false, false
	}
	return slices.ContainsFunc(list, func(e any) bool { return equal(e, element) }), true
}
