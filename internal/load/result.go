package load

import (
	"errors"
	"fmt"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/hist"
)

// Result is what a run has measured.
type Result struct {
	cfg Config

	Window     time.Duration // the length of what was measured
	Operations int64         // completed in the window
	Latency    hist.Histogram
	Pair       hist.Histogram // Lock: acquire and release together, without the hold; Latency is then the acquire alone
	Counters   Counters       // written in the window
	Allocs     uint64         // by the whole process, in the window
	Bytes      uint64         // allocated by the whole process, in the window
	Errors     map[string]int64
	FirstError error   // also one of the warm-up
	Fairness   float64 // Jain's index over the goroutines

	Holds          int64 // seen by the checkers, warm-up included
	Violations     int64
	FirstViolation string

	Interrupted bool
	Stuck       bool // the client did not let go of its calls; there are no figures
}

// The reasons why a run has failed, for errors.Is.
var (
	ErrInterrupted  = errors.New("interrupted")
	ErrNoOperation  = errors.New("no operation was completed")
	ErrViolation    = errors.New("the lock had two holders")
	ErrStuck        = errors.New("the client did not return from its calls after its sessions were closed")
	errWindowClosed = errors.New("the warm-up was not over, so nothing was measured")
)

// Failure says why the run has failed, nil if it has not.
func (r *Result) Failure() error {
	switch {
	case r.Violations > 0:
		return fmt.Errorf("%w: %d violations, the first: %s", ErrViolation, r.Violations, r.FirstViolation)
	case r.Interrupted && r.Stuck:
		return fmt.Errorf("%w: %w", ErrInterrupted, ErrStuck)
	case r.Interrupted && !r.Measured():
		return fmt.Errorf("%w: %w", ErrInterrupted, errWindowClosed)
	case r.Interrupted:
		return ErrInterrupted
	case r.Stuck:
		return ErrStuck
	case r.Operations == 0 && r.FirstError != nil:
		return fmt.Errorf("%w: %w", ErrNoOperation, r.FirstError)
	case r.Operations == 0:
		return ErrNoOperation
	}
	return nil
}

// collect adds up what the workers have measured. They have ended.
func (r *runner) collect() *Result {
	res := &Result{cfg: *r.cfg, Errors: make(map[string]int64), Fairness: 1}
	for _, c := range r.checkers {
		holds, violations, first := c.Result()
		res.Holds += holds
		res.Violations += violations
		if res.FirstViolation == "" {
			res.FirstViolation = first
		}
	}
	shares := make([]int64, len(r.workers))
	for i, w := range r.workers {
		shares[i] = w.counted
		res.Operations += w.counted
		res.Latency.Merge(&w.latency)
		res.Pair.Merge(&w.pair)
		for kind, n := range w.errors {
			res.Errors[kind] += n
		}
		if res.FirstError == nil {
			res.FirstError = w.first
		}
	}
	if r.begin.at.IsZero() { // the window was never opened
		return res
	}
	res.Fairness = Fairness(shares)
	res.Window = r.end.at.Sub(r.begin.at)
	res.Counters = r.end.counters.minus(r.begin.counters)
	res.Allocs = r.end.mem.Mallocs - r.begin.mem.Mallocs
	res.Bytes = r.end.mem.TotalAlloc - r.begin.mem.TotalAlloc
	return res
}

// Measured reports whether there are figures: the window was opened, and the client let go of its calls.
func (r *Result) Measured() bool { return r.Window > 0 }

// PerSec returns the throughput.
func (r *Result) PerSec() float64 {
	if r.Window <= 0 {
		return 0
	}
	return float64(r.Operations) / r.Window.Seconds()
}

// PerOp divides what was counted in the window by the operations.
func (r *Result) PerOp(n uint64) float64 {
	if r.Operations == 0 {
		return 0
	}
	return float64(n) / float64(r.Operations)
}

// ErrorCount returns the number of operations that failed in the window.
func (r *Result) ErrorCount() (sum int64) {
	for _, n := range r.Errors {
		sum += n
	}
	return sum
}
