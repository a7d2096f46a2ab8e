// Package conformance is one suite of tests for a client and its server together, which runs on package zktest and on real
// servers alike. What both are expected to do is written once, after docs/protocol.md and docs/conformance.md; where the two
// answer differently, zktest is wrong.
//
//	results := conformance.Run(t, provider)
//
// An entry is a subtest that carries the numbers of what it shows: C and F of docs/conformance.md and docs/field-cases.md, E
// for packets of docs/protocol.md section 23, G for its guarantees in section 20, P for any other of its sections. At the end
// Run prints a table of all entries. One that a target cannot run is skipped, and the table says why.
//
// # How entries work
//
// Each entry has a znode of its own, the chroot of its clients, which is removed at its end. Some entries use the library's
// client, others speak bytes themselves (raw), where the client would not send what has to be tried.
//
// Faults need no help from the server: a tap stands between each client and its server, in this process. It sees every
// frame in both directions, keeps a log of them, and can cut, hold, drop and change what passes. That is how a reply is lost
// right after the execution of its request, on a real server as on zktest.
//
// Nothing sleeps and no duration is asserted. Entries wait for conditions, with a bound that means failure. On zktest with
// connections in memory each entry runs in virtual time.
package conformance
