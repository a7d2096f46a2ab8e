//go:build race

package client_test

// raceDetector says that the race detector is on: it allocates, and makes a sync.Pool forget at random.
const raceDetector = true
