package checker

import (
	"context"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// electionLock is a recipes.Election: a mutex whose holder leads.
type electionLock struct {
	e *recipes.Election
	traits
}

func newElection(c *client.Client, path string, tr traits, opts []recipes.Option) electionLock {
	return electionLock{recipes.NewElection(c, path, []byte("candidate"), opts...), tr}
}

func (l electionLock) acquire(ctx context.Context, h how) (hold, Result, error) {
	f := l.e.Campaign
	if h.try {
		f = l.e.TryCampaign
	}
	leadership, err := f(ctx)
	if err != nil {
		result, err := refusal(ctx, h, err)
		return nil, result, err
	}
	return leaderHold{leaseHold{leadership.Lease, l.traits}, leadership}, OK, nil
}

// leaderHold is a leadership.
type leaderHold struct {
	leaseHold
	l *recipes.Leadership
}

func (l leaderHold) release(ctx context.Context, wait bool) (Result, bool, error) {
	if !wait {
		return l.released(l.l.ReleasePipelined(), false)
	}
	return l.released(l.l.Resign(ctx), true)
}

// lead leads as long as f runs.
func (l electionLock) lead(ctx context.Context, f func(hold)) (Result, error) {
	ran := false
	err := l.e.Lead(ctx, func(inside context.Context, leadership *recipes.Leadership) error {
		ran = true
		f(insideHold{leaderHold{leaseHold{leadership.Lease, l.traits}, leadership}, inside})
		return nil
	})
	if !ran {
		return refusal(ctx, how{}, err)
	}
	result, _, err := released(err, true)
	return result, err
}

// insideHold is a leadership as the function given to Lead has it: what it is told of its end is its context.
type insideHold struct {
	leaderHold
	inside context.Context
}

func (l insideHold) done() <-chan struct{} { return l.inside.Done() }

// lead leads with a function, and notes its beginning as the grant and its end as the beginning of the release.
func (w *worker) lead(ctx context.Context, p int, l leader) {
	op := Op{Client: w.row, Path: w.paths[p], Kind: Lock, Hold: w.h.NewHold(), Call: w.h.Now()}
	var k *kept
	end := Op{Client: w.row, Path: op.Path, Kind: Unlock, Hold: op.Hold}
	result, err := l.lead(ctx, func(got hold) {
		op.Result, op.Return = OK, w.h.Now()
		w.count("leaderships of a function")
		k = w.granted(op, p, got)
		w.keep(k)
		end.Call = w.h.Now()
		k.mu.Lock()
		k.belief.EndAt(end.Call)
		k.mu.Unlock()
	})
	if k == nil {
		op.Result = result
		w.refused(op, err)
		return
	}
	if err != nil {
		w.violate(Strange, op.Path, err.Error())
	}
	<-k.seen
	end.Result = result
	w.h.Add(end)
	w.tooLate(k)
}
