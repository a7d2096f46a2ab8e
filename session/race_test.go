//go:build race

package session

// schedules is how many random schedules a run of the tests tries; the race detector makes each ten times as dear.
const schedules = 150
