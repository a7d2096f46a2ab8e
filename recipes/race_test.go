//go:build race

package recipes

// chaosRuns is how many seeds of the chaos test a run of the tests tries; the race detector makes each ten times as dear.
const chaosRuns = 20

// underRace says whether the race detector is on.
const underRace = true
