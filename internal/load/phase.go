package load

import (
	"context"
	"time"
)

// progressEvery is the time between two looks.
const progressEvery = 500 * time.Millisecond

// claim asks for another round. counts says that it belongs to the window whenever it ends; of a run that is bounded by
// time that is decided at its end. In a run that is bounded by numbers the first rounds of the window wait until all of
// the warm-up have ended: what is written and allocated in the window is then that of its rounds and of no others.
func (r *runner) claim(ctx context.Context) (proceed, counts bool) {
	if r.cfg.Ops == 0 {
		return r.phase.Load() != stopped, false
	}
	n := r.rounds.Add(1)
	switch warm := r.cfg.WarmupOps; {
	case n <= warm:
		return true, false
	case n > warm+r.cfg.Ops:
		return false, false
	}
	select {
	case <-r.opened:
		return r.phase.Load() != stopped, true
	case <-ctx.Done():
		return false, false
	}
}

// warmed notes that a round of the warm-up has ended. In a run that is bounded by numbers the last one opens the window.
func (r *runner) warmed() {
	if r.cfg.Ops > 0 && r.warm.Add(1) == r.cfg.WarmupOps {
		r.openWindow()
	}
}

// measuring reports whether what ends now is in the window.
func (r *runner) measuring() bool { return r.cfg.Ops == 0 && r.phase.Load() == measuring }

// openWindow begins the measuring, unless the run has been stopped meanwhile.
func (r *runner) openWindow() {
	begin := r.edge()
	if r.phase.CompareAndSwap(warming, measuring) {
		r.begin = begin
		close(r.opened)
	}
}

// pass returns when the window is over: its time, its rounds, or ctx.
func (r *runner) pass(ctx context.Context, drained <-chan struct{}) {
	var over <-chan time.Time // never, when the run is bounded by numbers
	var total time.Duration
	if r.cfg.Ops == 0 {
		total = r.cfg.Warmup + r.cfg.Duration
	}
	looks := time.NewTicker(progressEvery)
	defer looks.Stop()
	began := time.Now()
	look := r.looker(began, total)
	if total > 0 {
		if !r.warmUp(ctx, looks.C, look) {
			return
		}
		t := time.NewTimer(r.cfg.Duration)
		defer t.Stop()
		over = t.C
	}
	for {
		select {
		case <-drained:
			return
		case <-over:
			return
		case <-ctx.Done():
			return
		case <-looks.C:
			look()
		}
	}
}

// warmUp lets the warm-up pass and opens the window, unless ctx ends before.
func (r *runner) warmUp(ctx context.Context, looks <-chan time.Time, look func()) bool {
	t := time.NewTimer(r.cfg.Warmup)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			r.openWindow()
			return true
		case <-ctx.Done():
			return false
		case <-looks:
			look()
		}
	}
}

// looker returns a function that reports progress, or does nothing when nobody wants to know.
func (r *runner) looker(began time.Time, total time.Duration) func() {
	if r.cfg.Progress == nil {
		return func() {}
	}
	last, before := began, int64(0)
	return func() {
		now, sum := time.Now(), int64(0)
		for _, w := range r.workers {
			sum += w.done.Load()
		}
		r.cfg.Progress(Progress{
			Elapsed: now.Sub(began), Total: total, Operations: sum, PerSec: float64(sum-before) / now.Sub(last).Seconds(),
		})
		last, before = now, sum
	}
}
