// Package index keeps the promises of citations: every entry of docs/conformance.md (C), docs/field-cases.md (F) and
// docs/locks.md (dangers D, ideas I, known bugs K) that code or a document of this project cites is mapped to the tests that
// cover it, or to the reason why none does.
//
// The map is in entries_test.go, one line per entry. The tests fail when a named test does not exist, when something is cited and
// not in the map, and when the documents do not define it.
package index
