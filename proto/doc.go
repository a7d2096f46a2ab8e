// Package proto holds ZooKeeper's client protocol as data: the records, the numbers with a meaning, the framing of multi,
// the rules for paths, and what must never be sent. It does no I/O and knows no sessions; package conn moves its bytes.
//
// # Records
//
// The records are generated from zookeeper.jute, whose comments are their documentation. Each encodes and decodes, so that
// a client, a server and a fuzzer are equally well served:
//
//	req := proto.GetDataRequest{Path: "/a"}
//	frame = req.AppendTo(frame)
//	...
//	var rep proto.GetDataResponse
//	r := jute.NewReader(body)
//	rep.ReadFrom(&r)
//	if err := r.Err(); err != nil { ... } // a *jute.DecodeError with the offset
//
// AppendTo never fails, and allocates only when dst is too short; Size tells beforehand how long it will be. A nil vector is
// written as an empty one, since servers do not take null; a nil buffer is null and an empty one is not. ReadFrom sets every
// field, whatever the record held before, and takes null vectors as empty; bytes behind the last field stay in the reader.
// Buffers alias the reader's input, strings are copies. After a failure the record's content has no meaning. Decoding takes
// time and memory in proportion to the input.
//
// The readOnly byte at the end of ConnectRequest and ConnectResponse may be missing when read, and then is false. Whether it
// was there shows from Size, which always counts it.
//
// # Numbers
//
// Op, Code, CreateMode, EventType and the others are integers with names. They keep what they do not know: a Code that a
// newer server invents is an error with that number. Records hold the plain integers of the wire, to be converted by
// whoever looks at them.
//
// # What must not be sent
//
// CheckSendable, CheckTTL and CheckMulti refuse requests that servers cannot stand; call them wherever a request is made
// from values that somebody else chose. AppendMulti and ReadFrom of CreateTTLRequest enforce the worst case themselves.
//
// Nothing in the package has state, starts goroutines or panics; values are as safe for concurrent use as plain structs.
// The set of records and constants grows with ZooKeeper; what is there follows the project's versioning.
package proto

//go:generate go run ../jute/jutegen/cmd -import github.com/lockkeeper/lockkeeper/proto zookeeper.jute
