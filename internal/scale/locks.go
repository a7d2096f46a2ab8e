package scale

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/internal/load"
	"github.com/lockkeeper/lockkeeper/internal/peer"
)

// warmPart is the part of a window that the load runs before it.
const warmPart = 3

// countedOps is how many operations a run has at least whose requests and allocations are counted, beside countedRounds of each
// goroutine: such a run begins and ends between two operations, one that is bounded by time in the middle of them. It is warm after
// warmOps, and warmRounds of each goroutine.
const (
	countedOps, countedRounds = 200, 5
	warmOps, warmRounds       = 20, 3
)

// A window is doubled until each goroutine has had leastShare operations on average: the first are not like the others. But it grows
// no longer than to longestWindow.
const (
	leastShare    = 2
	longestWindow = 10 * time.Second
)

// load makes a run of the lock workload, which must not fail, for what is timed.
func (r *runner) load(ctx context.Context, cfg load.Config) (rep load.Report, err error) {
	if r.Ops > 0 {
		cfg.Ops, cfg.WarmupOps = int64(r.Ops), 1
		return report(ctx, &cfg)
	}
	for window := r.Window; ; window *= 2 {
		cfg.Duration, cfg.Warmup = window, window/warmPart
		rep, err = report(ctx, &cfg)
		few := errors.Is(err, load.ErrNoOperation) || err == nil && rep.Operations < int64(leastShare*cfg.Sessions*cfg.Goroutines)
		if !few || window >= longestWindow {
			return rep, err
		}
	}
}

// count makes a run of the lock workload for what is counted, which must not fail.
func (r *runner) count(ctx context.Context, cfg load.Config) (load.Report, error) {
	cfg.Ops = int64(countedRounds*cfg.Goroutines + countedOps)
	if r.Ops > 0 {
		cfg.Ops = int64(r.Ops)
	}
	cfg.WarmupOps = int64(warmRounds*cfg.Goroutines + warmOps)
	return report(ctx, &cfg)
}

func report(ctx context.Context, cfg *load.Config) (load.Report, error) {
	cfg.Workload = load.Lock
	res, err := load.Run(ctx, cfg)
	if res != nil {
		err = errors.Join(res.Failure(), err)
	}
	if err != nil {
		return load.Report{}, err
	}
	return res.Report(), nil
}

// perOp is the time of one operation of a run whose operations follow one another.
func perOp(rep load.Report) (micros float64) { return 1e6 / rep.OpsPerSec }

// contenders takes one lock again and again while x others stand behind it, which never get it. On the peer that is the cost
// of the client; on the server the others are the znodes of another session.
func contenders(ctx context.Context, r *runner, s subject, x int) ([]float64, error) {
	p := peer.New(peer.Options{Behind: x})
	defer p.Close()
	addr, err := p.Listen()
	if err != nil {
		return nil, err
	}
	one := load.Config{Driver: s.driver, Servers: addr, Bare: true, Sessions: 1, Goroutines: 1, Locks: 1}
	alone, err := r.load(ctx, one)
	if err != nil {
		return nil, err
	}
	counted, err := r.count(ctx, one)
	if err != nil {
		return nil, err
	}
	q := &queue{servers: r.site.Addr, n: x}
	one.Servers, one.Bare, one.Planted = r.site.Addr, false, q.line
	served, err := r.load(ctx, one)
	if err = errors.Join(err, q.close()); err != nil {
		return nil, err
	}
	return []float64{perOp(alone), counted.RequestsPerOp, counted.AllocsPerOp, counted.BytesPerOp, perOp(served)}, nil
}

// queue is a session whose znodes stand behind every contender of a lock.
type queue struct {
	servers string
	n       int
	c       *client.Client // nil until line
}

// firstBehind is the sequence number of the first of them: no contender that comes has a greater one.
const firstBehind = 2_000_000_000

// batch is how many requests go into one group.
const batch = 200

// line makes the znodes, named as those of Curator's contenders, which both clients count as such.
func (q *queue) line(ctx context.Context, t *load.Tree) (err error) {
	if q.c, err = client.Connect(ctx, q.servers); err != nil {
		return err
	}
	names := make([]string, q.n)
	for i := range names {
		names[i] = fmt.Sprintf("%s/_c_%08x-0000-4000-8000-000000000000-lock-%d", t.Paths[0], i, firstBehind+i)
	}
	for chunk := range slices.Chunk(names, batch) {
		g := q.c.Group()
		for _, name := range chunk {
			g.Create(name, nil, client.ModeEphemeral, nil)
		}
		if err := g.Do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// close ends the session, if there is one.
func (q *queue) close() error {
	if q.c == nil {
		return nil
	}
	return q.c.Close()
}

// locks takes x locks at once in one session.
func locks(ctx context.Context, r *runner, s subject, x int) ([]float64, error) {
	cfg := load.Config{Driver: s.driver, Servers: r.site.Addr, Sessions: 1, Goroutines: x, Locks: x}
	rep, err := r.load(ctx, cfg)
	if err != nil {
		return nil, err
	}
	counted, err := r.count(ctx, cfg)
	return []float64{rep.OpsPerSec, counted.BytesPerOp}, err
}

// sessions opens x sessions and looks what they occupy, and then takes a lock in each of as many.
func sessions(ctx context.Context, r *runner, s subject, x int) ([]float64, error) {
	before := occupied()
	open, err := openAll(ctx, s.driver, r.site.Addr, x)
	if err != nil {
		return nil, err
	}
	each := occupied().since(before).all() / float64(x)
	closeAll(open)
	rep, err := r.load(ctx, load.Config{Driver: s.driver, Servers: r.site.Addr, Sessions: x, Goroutines: 1, Locks: x})
	return []float64{rep.OpsPerSec, each}, err
}
