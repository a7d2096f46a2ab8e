package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// drainBound is how long workers may take to leave a call after the end, and again after their session was closed.
const drainBound = 5 * time.Second

// Phases of a run.
const (
	warming int32 = iota
	measuring
	stopped
)

// runner is a run under way.
type runner struct {
	cfg      *Config
	paths    []string
	sessions []Session
	checkers []*Checker // one per path, for Lock
	workers  []*worker
	running  sync.WaitGroup // workers

	phase  atomic.Int32 // publishes nothing else
	rounds atomic.Int64 // begun, of a run that is bounded by numbers
	warm   atomic.Int64 // rounds of its warm-up that have ended

	opened     chan struct{} // closed when the window has been opened
	begin, end edge          // of the window; begin is written by whoever opens the window, and read after the workers have ended
}

// edge is what is known at one end of the window.
type edge struct {
	at       time.Time
	mem      runtime.MemStats
	counters Counters
}

// Run puts the load on the servers and returns what was measured. When ctx ends the run ends early, the result says so, and
// what was made on the server is still removed. The error says why there is no result, or what is left on the server; in
// the second case there is a result as well.
func Run(ctx context.Context, cfg *Config) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Bare {
		return runOn(ctx, cfg, treePaths("/perf", cfg.Locks))
	}
	t, err := Plant(ctx, cfg.Servers, cfg.Locks)
	if err != nil {
		return nil, err
	}
	if cfg.Planted != nil {
		if err := cfg.Planted(ctx, t); err != nil {
			return nil, errors.Join(err, t.Remove(ctx))
		}
	}
	res, err := runOn(ctx, cfg, t.Paths)
	return res, errors.Join(err, t.Remove(ctx))
}

// runOn is Run with znodes that exist.
func runOn(ctx context.Context, cfg *Config, paths []string) (*Result, error) {
	r := &runner{cfg: cfg, paths: paths, sessions: make([]Session, cfg.Sessions), opened: make(chan struct{})}
	if err := r.open(ctx); err != nil {
		r.close()
		return nil, err
	}
	if cfg.Settled != nil {
		cfg.Settled()
	}
	return r.run(ctx), nil
}

// open opens all sessions at once and makes the workers.
func (r *runner) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectBound+time.Duration(len(r.sessions))*sessionBound)
	defer cancel()
	errs := make([]error, len(r.sessions))
	var opening sync.WaitGroup
	for i := range r.sessions {
		// opener of one session, owned by open, ends when the session is open or ctx ends.
		opening.Go(func() { r.sessions[i], errs[i] = r.cfg.Driver.Open(ctx, r.cfg.Servers) })
	}
	opening.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("session %d of %d: %w", i+1, len(r.sessions), err)
		}
	}
	r.staff()
	return nil
}

// staff makes the workers and, for Lock, the checkers.
func (r *runner) staff() {
	if r.cfg.Workload == Lock {
		for _, path := range r.paths {
			r.checkers = append(r.checkers, NewChecker(path, r.cfg.Driver.Tokens()))
		}
	}
	for i := range r.cfg.Sessions * r.cfg.Goroutines {
		w := &worker{r: r, id: i, errors: make(map[string]int64)}
		ss, p := r.sessions[i%r.cfg.Sessions], i%r.cfg.Locks
		if r.cfg.Workload == Lock {
			w.locker, w.checker = ss.Locker(r.paths[p], LockOptions{r.cfg.HandOver, r.cfg.Pipelined}), r.checkers[p]
		} else {
			w.call = ss.Call(r.cfg.Workload, r.paths[p])
		}
		r.workers = append(r.workers, w)
	}
}

// run starts the workers, sees them through and collects what they have measured.
func (r *runner) run(ctx context.Context) *Result {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.cfg.Ops > 0 && r.cfg.WarmupOps == 0 && ctx.Err() == nil {
		r.openWindow()
	}
	for _, w := range r.workers {
		// worker, owned by run, ends when the run is stopped or has no rounds left, at the latest when its session is closed.
		r.running.Go(func() { w.loop(inner) })
	}
	drained := make(chan struct{})
	// drain watcher, owned by run, ends with the last worker.
	go func() { r.running.Wait(); close(drained) }()
	r.pass(ctx, drained)
	r.phase.Store(stopped)
	r.end = r.edge()
	cancel()
	if !within(drained, drainBound) {
		r.close() // for clients whose calls know no context
	}
	if !within(drained, drainBound) {
		return &Result{cfg: *r.cfg, Stuck: true, Interrupted: ctx.Err() != nil}
	}
	res := r.collect()
	res.Interrupted = ctx.Err() != nil
	r.close()
	return res
}

// within waits for c to be closed, for a time.
func within(c <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}

// edge looks at everything that is measured by difference.
func (r *runner) edge() edge {
	var e edge
	for _, s := range r.sessions {
		n := s.Counters()
		e.counters.Requests += n.Requests
		e.counters.Flights += n.Flights
	}
	runtime.ReadMemStats(&e.mem)
	e.at = time.Now()
	return e
}

// close closes all sessions that are open, once.
func (r *runner) close() {
	var closing sync.WaitGroup
	for _, s := range r.sessions {
		if s != nil {
			// closer of one session, owned by close, ends when the session is closed.
			closing.Go(func() { _ = s.Close() }) // a session that cannot say goodbye ends by its timeout
		}
	}
	closing.Wait()
	r.sessions = nil
}
