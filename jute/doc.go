// Package jute is the encoding of ZooKeeper's records: integers in big endian, strings, buffers and vectors with a length
// in front (docs/protocol.md section 2).
//
// The append functions take a slice and return the longer one; they cannot fail, so a request is encoded without a single
// check. The Reader goes over bytes that arrived: once a read fails, every later one returns zero, and the caller looks at
// Err once at the end. Lengths and counts are checked against the bytes that are left before anything is allocated, so the
// memory a hostile peer can claim stays in proportion to what it sent.
//
//	b := jute.AppendString(nil, "/a")
//	r := jute.NewReader(b)
//	path := r.String()
//	if err := r.Err(); err != nil { ... }
//
// Null and empty are kept apart: a nil buffer against an empty one, NullString for the few strings that may be null.
// Nothing here uses reflection, starts a goroutine or panics. The package is as stable as the encoding: it has not changed
// since ZooKeeper's first release.
package jute
