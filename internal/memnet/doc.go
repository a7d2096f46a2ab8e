// Package memnet is a network in memory for tests: connected pairs of net.Conn, and a listener that hands them out.
//
// It differs from net.Pipe in two ways. Writes are buffered, as those to a socket are, so both ends may write at once; the
// buffer can be bounded, and then a writer whose peer does not read blocks, as behind a full socket buffer. And everything
// that blocks waits on a sync.Cond, which is durably blocking in a bubble of testing/synctest, so that virtual time passes
// while a connection is idle.
//
// Errors are those of package net: io.EOF bare, everything else a *net.OpError around os.ErrDeadlineExceeded, net.ErrClosed,
// syscall.EPIPE, syscall.ECONNRESET or syscall.ECONNREFUSED. Reads and writes of an established pair do not allocate once
// the buffers have reached the size the traffic needs.
//
// The package starts no goroutine of its own; a deadline that passes runs one, for an instant, from a timer.
//
//	a, b := memnet.Pipe()
//	go a.Write([]byte("hello"))
//	n, err := b.Read(buf)
package memnet
