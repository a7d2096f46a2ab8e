// Package wirecount counts what passes between clients and servers of ZooKeeper, whoever wrote the clients: requests by
// operation, replies, notifications, watches, bytes.
//
// A Counter looks into the connections of one or more faultproxy.Proxies and changes nothing:
//
//	counter := new(wirecount.Counter)
//	proxy, err := faultproxy.Listen(server, faultproxy.Options{Conn: counter.Conn})
//	before := counter.Tally()
//	// clients that dial proxy.Addr() do something
//	cost := counter.Tally().Minus(before)
//
// A frame is counted before it is sent on: when a client has an answer, that and all that was before it is in the tally.
//
// Frames are cut where their lengths say, and nothing of them is kept but their headers, so a connection must carry the
// protocol in plain (docs/protocol.md sections 2 and 5): after something else, such as TLS or a four-letter word, nothing of
// that connection is counted any more, and Counter.Err says so. Frames still pass.
//
// The package starts no goroutine. A Counter may be used by several goroutines at once; a Tally is a value.
package wirecount
