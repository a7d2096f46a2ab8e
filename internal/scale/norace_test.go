//go:build !race

package scale

// bytesPerRead is what a read of 100,000 bytes into the caller's memory may allocate at most.
const bytesPerRead = 0
