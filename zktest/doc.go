// Package zktest is a ZooKeeper in memory that speaks the real protocol, for tests, and for benchmarks of clients.
//
// It behaves as a standalone server 3.8.0 does, in Debian's build, or with Imitate as 3.9.3: sessions with their deadlines,
// ephemeral, sequential, container and TTL znodes, Stat, versions, every kind of watch, multi, ACLs, errors down to the odd
// ones. docs/protocol.md is what it was written from. The same suite that runs on it runs on real servers, and random requests
// are answered by both and compared (internal/conformance). It keeps nothing on disk, and is no server for production.
//
// Apart from Stat, ACL and AuthPacket it decodes requests and encodes replies with its own few lines, and not with the
// records that clients use, so that a mistake there is not made twice and hidden.
//
// # As a double in a test
//
// Any client connects over TCP:
//
//	srv := zktest.New()
//	defer srv.Close()
//	addr, err := srv.Listen()
//
// A client that takes a dial function needs no port, and then its tests can run in virtual time, where an expiry after
// ten seconds takes none:
//
//	synctest.Test(t, func(t *testing.T) {
//		srv := zktest.New() // inside the bubble
//		defer srv.Close()
//		// connect with srv.Dial as the dial function and any address
//		time.Sleep(20 * time.Second)
//		// srv.Sessions() has forgotten who was silent
//	})
//
// The tree can be looked at and changed from outside: Get, Children, Exists, Create, Set, Delete, Sessions, Watches,
// Snapshot. Sweep removes containers and TTL znodes, which nothing does by itself. SetEnsemble gives clients a configuration
// to read and to change.
//
// # Faults
//
// Controls choose requests by a Match and give a Verdict:
//
//	srv.CloseAfter(zktest.Match{Op: proto.OpCreate2, Under: "/locks"}) // the create happens, its reply is lost
//	held := srv.Hold(zktest.Match{Op: proto.OpDelete})                 // not executed before held.Release()
//	<-held.Hit()
//
// HoldCommit is the write that was lost with its connection and takes effect later. On takes any Verdict, OnRequest any function. Others concern sessions (ExpireSession), connections (DropConnections,
// Refuse, Stall, StopReading) or the server's past (SetZxid, SetCounter).
//
// Addresses name members of a pretended ensemble: what is dialled as "zk2:2181" belongs to srv.Member("zk2:2181"), and
// faults can concern one member alone. Member.CutFromLeader is the fault that makes locks unsafe: the member goes on
// answering pings while the rest of the ensemble expires its sessions. Member.ReadOnly makes it one that has noticed and goes on
// with reads; OnHandshake shows what clients ask for.
//
// # Round trips
//
// With Manual, requests wait for Step; Flights counts how many steps a function takes, which under synctest is an exact
// number:
//
//	n := srv.Flights(synctest.Wait, func() { lease, err = m.Lock(ctx) })
//
// # Goroutines
//
// One per listener, ended by Close, and two per connection, ended with it. A client that does not read blocks nobody but
// itself. All methods may be called by several goroutines at once. Stability: what is exported here follows the module's
// versions; the numbers in Counters may change with the implementation.
package zktest
