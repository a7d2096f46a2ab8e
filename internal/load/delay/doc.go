// Package delay stands between clients and a server and makes the way between them longer: every byte arrives a fixed time
// after it was sent, in both directions. Order is kept and nothing is lost; bandwidth is not limited and delays do not add
// up, so requests that are sent together arrive together.
//
//	p, err := delay.Listen("127.0.0.1:2181", time.Millisecond) // a round trip of 2 ms
//	defer p.Close()
//	// connect to p.Addr()
//
// # Goroutines
//
// Two per direction of a connection: one takes in what is sent and notes the time, the other, the delay line, hands it on
// when it is due. Both end with the connection. One accepts, and one per proxy, the clock, wakes the lines: all have the
// same delay, so what is due next is what came in next. Waiting in one place lets it wait well, since the timers of
// the Go runtime may be a millisecond late when a process is idle. All end by Close.
package delay
