// Package jutegen turns a jute schema into Go: a parser for the schema language that ZooKeeper uses, and an emitter of
// structs with AppendTo, ReadFrom and Size on top of package jute. It runs through go generate, from its command in the
// folder cmd; nothing of it is linked into the client.
//
// The language is jute's own: modules, classes, fields with the types boolean, int, long, float, double, ustring, buffer,
// vector and the names of classes; byte and map are parsed, but there is no code for them. Comments with two slashes above
// a class, above a field or behind a field become its documentation, and a schema without them is refused with the line and
// the name. Three annotations in a field's comment change the code:
//
//	@nullable      a ustring becomes a jute.NullString
//	@optional      the last field of a record may be missing when read, and then is zero
//	@range LO HI   an int or long outside is an error when read, and never appears in the generated tests
//
// The code is straight: no reflection, no any, no closures. A vector's count is checked against the fewest bytes that its
// elements take, and no more memory than the rest of the input has bytes is allocated ahead of the elements.
//
// A record called 2 words long, GetAcl, is GetACL in Go: id, acl and ttl are initialisms. Each module is a file of its own,
// zdata.go for org.example.data; a test with round trips of all records stands in zrecords_test.go and calls checkRecord
// and a filler, which the package supplies (see package proto). Output depends on the schema alone.
//
// The package serves this project and makes no promise to others.
package jutegen
