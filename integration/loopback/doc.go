// Package loopback lends TCP ports of 127.0.0.1 that stay free for the borrower: a server that is killed and started again,
// or a proxy that refuses connections for a while, comes back on the port it had.
//
// On Linux the port is held by a socket that is bound and does not listen. A server that sets SO_REUSEADDR, as Java's and
// Go's listeners do, can bind the port beside it; the kernel gives it to nobody else, and while no server listens a
// connection to it is refused. Elsewhere the port is only chosen by the kernel and can be lost; see ErrTaken in zkserver.
package loopback
