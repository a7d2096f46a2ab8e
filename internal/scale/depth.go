package scale

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/hist"
	"github.com/lockkeeper/lockkeeper/internal/load"
)

const (
	// depthSessions is how many sessions the contenders have among them: the next holder is in another one than the last.
	depthSessions = 10
	// lookEvery is the pause between two looks whether all contenders are in the queue again, and settleFor the time that the last of
	// them is given to leave its watch.
	lookEvery, settleFor = 200 * time.Microsecond, time.Millisecond
	// lastTurns is how long the contenders may take to have a last turn each, and leaveBound to leave a call after their session was
	// closed.
	lastTurns, leaveBound = time.Minute, 10 * time.Second
)

// depth passes a lock on among x+1 contenders, and measures from the call of the release to the return of the next holder. A holder
// releases only when x others are in the queue. In the end each contender has a last turn, because there are clients whose waiters
// cannot be called back: go-zookeeper's may wait for ever when their session is closed.
func depth(ctx context.Context, r *runner, s subject, x int) (values []float64, err error) {
	t, err := load.Plant(ctx, r.site.Addr, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.Remove(ctx)) }()
	open, err := openAll(ctx, s.driver, r.site.Addr, min(depthSessions, x+1))
	if err != nil {
		return nil, err
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &handovers{r: r, tree: t, contenders: x + 1, cancel: cancel, checker: load.NewChecker(t.Paths[0], s.driver.Tokens())}
	var contending sync.WaitGroup
	for i := range x + 1 {
		l := open[i%len(open)].Locker(t.Paths[0], load.LockOptions{})
		// contender, owned by depth, ends with its last turn or with inner, at the latest when its session is closed.
		contending.Go(func() { h.ended(h.contend(inner, i, l)) })
	}
	gone := make(chan struct{})
	// leave watcher, owned by depth, ends with the last contender.
	go func() { contending.Wait(); close(gone) }()
	select {
	case <-gone:
	case <-inner.Done():
	}
	closeAll(open)
	left := time.NewTimer(leaveBound)
	defer left.Stop()
	select {
	case <-gone:
	case <-left.C:
		return nil, errors.Join(ctx.Err(), load.ErrStuck)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return h.result()
}

// handovers is a queue under measurement.
type handovers struct {
	r          *runner
	tree       *load.Tree
	contenders int
	cancel     context.CancelFunc
	checker    *load.Checker

	mu       sync.Mutex // guards what follows
	began    time.Time  // when the queue was complete for the first time
	released time.Time  // by the last holder; zero before the first release
	took     hist.Histogram
	n        int
	over     bool        // every contender that is granted the lock has its last turn
	late     *time.Timer // bounds those turns; nil before
	failed   error
}

// contend takes the lock and passes it on, until that was its last turn.
func (h *handovers) contend(ctx context.Context, id int, l load.Locker) error {
	for {
		token, err := l.Lock(ctx)
		now := time.Now()
		if err != nil {
			return err
		}
		h.checker.Enter(id, token)
		last := h.granted(now)
		if !last {
			if err := h.complete(ctx); err != nil {
				return err
			}
		}
		h.checker.Leave(id)
		h.release()
		if err := l.Unlock(ctx); err != nil || last {
			return err
		}
	}
}

// granted enters a hand-over that has ended at now, and says whether there are enough of them.
func (h *handovers) granted(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over || h.released.IsZero() {
		return h.over
	}
	h.took.Record(now.Sub(h.released))
	h.n++
	if h.over = h.r.enough(h.n, h.began); h.over {
		h.late = time.AfterFunc(lastTurns, h.cancel)
	}
	return h.over
}

// release begins a hand-over.
func (h *handovers) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = time.Now()
	if h.began.IsZero() {
		h.began = h.released
	}
}

// ended notes the error of a contender, which ends the others. What they return then follows from that.
func (h *handovers) ended(err error) {
	if err == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed == nil {
		h.failed = err
	}
	h.cancel()
}

// complete waits until all contenders have their znodes: as many as the lock has children. It asks in a session of its own.
func (h *handovers) complete(ctx context.Context) error {
	for {
		st, ok, err := h.tree.Client.Exists(ctx, h.tree.Paths[0])
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("the lock's path has vanished")
		}
		pause := lookEvery
		full := int(st.NumChildren) >= h.contenders
		if full {
			pause = settleFor
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		if full {
			return nil
		}
	}
}

// result returns the median. The contenders have ended.
func (h *handovers) result() ([]float64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.late != nil {
		h.late.Stop()
	}
	if h.failed != nil {
		return nil, h.failed
	}
	if _, violations, first := h.checker.Result(); violations > 0 {
		return nil, fmt.Errorf("%w: %d violations, the first: %s", load.ErrViolation, violations, first)
	}
	return []float64{float64(h.took.Quantile(0.5)) / float64(time.Microsecond)}, nil
}
