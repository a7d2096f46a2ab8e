//go:build !race

package recipes

// chaosRuns is how many seeds of the chaos test a run of the tests tries.
const chaosRuns = 150

const underRace = false
