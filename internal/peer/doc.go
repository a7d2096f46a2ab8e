// Package peer is a server that answers every common request with a canned reply, as fast as it can and without allocating,
// so that what is measured against it is the client alone: its time, its allocations (testing.AllocsPerRun counts those of
// the whole process), its requests and its bursts.
//
// It is no double of ZooKeeper; that is zktest. It keeps no tree: every path exists, has the data and the children
// that Options describe. It remembers one thing, for the sake of locks: the nodes of sequential creates, per connection. They
// are listed among the children of their parent until they are deleted, a numbered path that is neither one of them nor one
// of the fixed children does not exist, and a watch left on one of them by exists or getData fires once when it is
// deleted by a delete of its own. Nodes of other connections are not seen, so connections do not contend.
//
//	s := peer.New(peer.Options{Behind: 1000})
//	defer s.Close()
//	addr, err := s.Listen()
//
// Each connection is served by one goroutine, which ends with the connection, at the latest by Close.
package peer
