//go:build !race

package session

// schedules is how many random schedules a run of the tests tries.
const schedules = 1000
