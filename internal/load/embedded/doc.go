// Package embedded runs the server of a benchmark in a child process, so that what is said about memory and processor
// time concerns the client alone. The child is the same program again, whose main function begins with Divert.
//
// The child prints one line, the servers to connect to, and ends when its standard input does: with its parent, however
// that ends. It ignores interrupt, termination and hangup, which terminals and supervisors send to both: the parent still
// needs it for its clean-up.
package embedded
