//go:build race

package scale

// bytesPerRead is what a read of 100,000 bytes into the caller's memory may allocate at most: with the race detector pools forget
// a quarter of what they are given.
const bytesPerRead = 60_000
