// Package archtest holds the tests that keep the house in order: which folder may import which, what an importer of the
// library gets, and the rules of DESIGN.md and CONTRIBUTING.md that a machine can check. It has no code of its own.
//
// A rule looks at one parsed file and returns what it finds (rules_test.go). Each rule is itself tested on a piece of code
// that breaks it. A new package is entered in the table of layers_test.go.
package archtest
