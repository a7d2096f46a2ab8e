// Package cache keeps a local copy of a znode, or of a znode and everything below it, current by a watch: for configuration,
// for lists of services, and for waiting until a value is what one needs.
//
//	c, err := cache.Open(ctx, cl, "/services")
//	defer c.Close()
//
//	s := c.Snapshot() // costs nothing, and never changes
//	for name, node := range s.Children("/services/search") {
//		use(name, node.Data)
//	}
//
//	for u, err := range c.Updates(ctx) { // first all there is, then what changes
//		for ch := range u.Changes() {
//			fmt.Println(ch.Type, ch.Path)
//		}
//	}
//
//	s, err = c.Wait(ctx, func(s *cache.Snapshot) bool { n, ok := s.Get("/services/ready"); return ok && string(n.Data) == "yes" })
//
// It is no way to write, and no lock: what a Snapshot shows may have changed already. Who decides by it and writes passes the
// Version of what was seen, or checks it in a Multi.
//
// # What a snapshot is
//
// A Snapshot is the subtree as it was at one moment, on the server that the client is connected to. All that one transaction has
// changed is there or nothing of it, each Stat belongs to its data, and no snapshot is older than one before it. This rests on
// the order of the wire: a server sends the events of a transaction before any reply that shows it, and a client's events are
// there before a later reply completes (docs/protocol.md section 11). So when every znode that an event told of has been read,
// and no event has come before the last of these replies, then nothing has changed since each was read. Only then is there a
// new snapshot. It holds for all servers from 3.6 on; where events carry the zxid of their transaction, from 3.9 on, it takes
// fewer reads to know.
//
// The limits:
//
//   - A subtree in which something changes all the time may never be at rest. After the time of the option Patience readers are
//     shown what there is: each znode as it was at its newest read, and so from several moments. Snapshot.Mixed says so. Readers
//     never see such a snapshot before everything has been read once, nor after a gap.
//   - Servers do not tell when an access list changes, and (from 3.8.4 and 3.9.2 on) tell nothing of znodes that the session may
//     not read. Stat.Aversion is that of the newest read; a znode that may not be read is shown with Node.Err, and what happens to
//     it when it, or the number of its parent's children, is read the next time.
//   - A list of children, or data, over the client's ReceiveLimit is not known: Node.ChildrenErr and Node.Err say so.
//   - Without Depth the whole subtree is kept in memory. Replies to at most 256 reads are in memory beside it; how many are
//     made at once follows from how large the replies before were.
//
// # Current or not
//
// While the client is disconnected the last snapshot stays, and State says that it is not current, and since when. After each
// reconnect, and whenever events may be missing, the cache reads again: lists of children and Stats, and only that data whose
// Mzxid has changed. What has changed meanwhile becomes one Update. A session that expires takes the watch with it; the cache
// sets it again in the next session, behind a sync, so that a server that is behind does not take back what was shown.
//
// State compares with the server, not with the leader: a follower that has lost its leader goes on answering. Sync makes the
// server catch up, and waits until the cache shows it; so it also shows a client its own writes.
//
// # Goroutines
//
// A Cache has one goroutine, ended by Close, or by the end of the client. It runs no user code: readers and conditions run in
// the goroutines of those who call.
//
// # Stability
//
// Before version 1 names may still change; each change is in the changelog.
package cache
