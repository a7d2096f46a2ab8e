// Package relay accepts TCP connections for somebody else: what happens to the bytes in between, its user says. The delaying proxy of
// the benchmarks and the one that cuts connections are made of it.
//
// Goroutines: one accepts, and each connection has one, which runs what the user gave. All end by Close.
package relay
