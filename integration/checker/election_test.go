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
		return released(l.l.ReleasePipelined(), false)
	}
	return released(l.l.Resign(ctx), true)
}
