// Package scale measures how the cost of a client grows: with the contenders for a lock, with locks, sessions and watches, with
// the size of data and the depth of a queue. Each is a curve of a few points, measured with every client in turn, with the
// power of x that is nearest to it. It is what -scale of `go run ./bench` and of bench/versus does.
//
//	err := scale.Run(ctx, &scale.Options{What: scale.All, Drivers: drivers, Server: start, Rounds: 5, ...}, os.Stdout)
//
// docs/benchmarks.md says what each curve means and how to read an exponent.
//
// # How it measures
//
// A round goes through all points of a curve and at each point through all clients, each going first in turn, with new sessions
// for each measurement and a garbage collection before it; what is printed are medians over the rounds. Loops are closed: the next
// operation begins when the one before has ended. Memory is what the heap holds after two garbage collections. The restoring of
// watches is seen on the wire, by a proxy that cuts the connection, so no client is believed.
//
// # Goroutines
//
// Those of a measurement end with it, except for those of a client that does not let go of a call after its session was closed,
// which fails the run.
package scale
