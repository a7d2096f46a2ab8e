package load

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/hist"
)

// errorPause keeps a worker whose operations fail at once from doing nothing but fail.
const errorPause = 10 * time.Millisecond

// worker is one goroutine of the load. All but done is its own while it runs, and the runner's afterwards.
type worker struct {
	r       *runner
	id      int
	call    Call     // of all workloads but Lock
	locker  Locker   // of Lock
	checker *Checker // of the lock
	timer   *time.Timer

	latency hist.Histogram // of what succeeded in the window: calls, or acquires
	pair    hist.Histogram // acquire and release together
	counted int64          // operations in the window
	errors  map[string]int64
	first   error

	done atomic.Int64 // operations so far; publishes progress, nothing else
}

// loop is the closed loop; it ends when the run does, or when the run has no rounds left.
func (w *worker) loop(ctx context.Context) {
	w.timer = time.NewTimer(time.Hour)
	defer w.timer.Stop()
	for {
		proceed, counts := w.r.claim(ctx)
		if !proceed {
			return
		}
		var n int
		var took, pair time.Duration
		var err error
		if w.locker != nil {
			n = 1
			took, pair, err = w.lock(ctx)
		} else {
			begin := time.Now()
			n, err = w.call(ctx)
			took = time.Since(begin)
		}
		if !counts {
			w.r.warmed()
			counts = w.r.measuring()
		}
		switch {
		case err != nil && !w.fail(ctx, err, counts):
			return
		case err == nil:
			w.done.Add(int64(n))
			if counts {
				w.count(n, took, pair)
			}
		}
	}
}

// count enters a success in the window.
func (w *worker) count(n int, took, pair time.Duration) {
	w.counted += int64(n)
	w.latency.Record(took)
	if w.locker != nil {
		w.pair.Record(pair)
	}
}

// lock takes the lock, holds it and releases it. took is the time of the acquire, pair that of acquire and release.
func (w *worker) lock(ctx context.Context) (took, pair time.Duration, err error) {
	begin := time.Now()
	token, err := w.locker.Lock(ctx)
	if err != nil {
		return 0, 0, err
	}
	took = time.Since(begin)
	w.checker.Enter(w.id, token)
	if hold := w.r.cfg.Hold; hold > 0 {
		w.hold(ctx, hold, w.locker.Lost())
	}
	w.checker.Leave(w.id)
	begin = time.Now()
	err = w.locker.Unlock(ctx)
	return took, took + time.Since(begin), err
}

// hold waits, but not longer than the lock is held and the run lasts.
func (w *worker) hold(ctx context.Context, d time.Duration, lost <-chan struct{}) {
	w.timer.Reset(d)
	select {
	case <-w.timer.C:
	case <-lost:
	case <-ctx.Done():
	}
}

// fail notes an error and says whether to go on. Errors of operations that the end of the run has cut off are none.
func (w *worker) fail(ctx context.Context, err error, counts bool) bool {
	if ctx.Err() != nil {
		return false
	}
	if w.first == nil {
		w.first = err
	}
	if counts {
		w.errors[w.r.cfg.Driver.ErrorKind(err)]++
	}
	w.hold(ctx, errorPause, nil)
	return true
}
