// Package faultproxy forwards TCP connections and breaks them on command: it cuts, stalls one direction or both, refuses,
// delays, and counts bytes. It stands before a server's client port or between two members of an ensemble.
//
// It knows nothing of what passes. Options.Filter sees every chunk and may change or drop it; a proxy that knows frames is
// a Filter, such as that of package wirecount.
//
// # Faults
//
//	Cut     what is connected now is closed on both sides; new connections pass
//	Stall   bytes, ends of streams and new connections are held back, nothing is closed: a cable that was pulled
//	Refuse  new connections are refused by the kernel; what is connected stays
//	Delay   each chunk arrives later by a fixed time, with unchanged throughput
//	Heal    ends Stall, Refuse and Delay; what was held back arrives
//
// # Goroutines
//
// One acceptor per proxy, and per connection one that dials and two per direction. All end with Close, which waits for them.
package faultproxy
