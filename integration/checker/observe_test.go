package checker

import (
	"context"
	"fmt"
	"sync"

	"github.com/lockkeeper/lockkeeper/recipes"
)

// observer follows the leaders of one election, and is no candidate.
type observer struct {
	*run
	p, client, row int
	stop           context.CancelFunc

	mu   sync.Mutex // guards last
	last string     // znode of the leader that it was told of last, "" if there was none
}

// view has some clients follow the elections.
func (r *run) view() {
	rng := r.rand(ofSetup + 600)
	for p, s := range r.sites {
		if s.kind != elections && s.kind != latches {
			continue
		}
		var opts []recipes.Option
		if s.kind == latches {
			opts = append(opts, recipes.LatchNames())
		}
		n := rng.IntN(3)
		if r.each {
			n = max(n, 1)
		}
		for range n {
			ctx, cancel := context.WithCancel(context.Background())
			o := &observer{run: r, p: p, client: rng.IntN(len(r.clients)), row: int(r.rows.Add(1)) - 1, stop: cancel, last: "not looked yet"}
			r.views = append(r.views, o)
			e := recipes.NewElection(r.clients[o.client], s.path, nil, opts...)
			// Observer; owned by the run, which waits for it; ends when it is stopped.
			r.viewing.Go(func() { o.follow(ctx, e) })
		}
	}
}

// follow notes each leader that it is told of as who leads at some moment since it was told of the one before.
func (o *observer) follow(ctx context.Context, e *recipes.Election) {
	since := o.h.Now()
	for p, err := range e.Observe(ctx) {
		if err != nil {
			if ctx.Err() == nil {
				o.violate(Strange, o.paths[o.p], "observer: "+err.Error())
			}
			return
		}
		op := Op{Client: o.row, Path: o.paths[o.p], Kind: Holders, Write: true, Result: OK, Call: since}
		if p.Node != "" {
			op.Nodes = []Node{{p.Node, p.Token.Zxid, p.Session}}
		}
		o.h.Add(op)
		o.run.mu.Lock()
		o.grants["leaders seen by observers"]++
		o.run.mu.Unlock()
		o.mu.Lock()
		o.last = p.Node
		o.mu.Unlock()
		since = o.h.Now()
	}
}

func (o *observer) sees() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

// viewed ends the observers, when nobody leads any more: that is what they must have been told.
func (r *run) viewed() {
	for _, o := range r.views {
		for o.sees() != "" && r.late.Err() == nil {
			pass(r.timeout / 40)
		}
		if node := o.sees(); node != "" {
			r.violate(Liveness, r.paths[o.p], fmt.Sprintf("observer of client %d sees %s for ever", o.client, node))
		}
		o.stop()
	}
	r.viewing.Wait()
}
