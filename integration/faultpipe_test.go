package integration

import (
	"context"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// window is how many groups the pipelined caller has under way at most.
const window = 64

// pipelined is a caller that does not wait: groups of a set and an exists behind it. Its results come as items of a queue,
// of which there must be exactly one for each group.
type pipelined struct {
	l     *load
	r     *register
	q     *client.Queue
	slots [window]slot
	free  []uint32
	w     *worker // counts requests
}

type slot struct {
	g      *client.Group
	busy   bool
	value  []byte
	before client.Stat
	set    client.SetCall
	exists client.ExistsCall
}

func (l *load) pipeline(r *register) {
	p := &pipelined{l: l, r: r, q: client.NewQueue(), w: &worker{name: "pipelined"}}
	l.workers = append(l.workers, p.w)
	for i := range p.slots {
		p.slots[i].g = l.c.Group()
		p.free = append(p.free, uint32(i))
	}
	// Caller; owned by l; ends when the load stops and all its groups are complete.
	l.wg.Go(p.run)
}

func (p *pipelined) run() {
	every := time.NewTicker(pace)
	defer every.Stop()
	for {
		select {
		case <-p.l.stop:
			p.drain()
			return
		case <-p.q.Wake():
			p.take()
		case <-every.C:
			if len(p.free) > 0 {
				p.submit(p.l.t)
			}
		}
	}
}

func (p *pipelined) submit(t *testing.T) {
	tag := p.free[len(p.free)-1]
	s := &p.slots[tag]
	s.value, s.before = p.r.next(), p.r.seen()
	s.set = s.g.Set(p.r.path, s.value, client.AnyVersion)
	s.exists = s.g.Exists(p.r.path)
	p.w.begun.Add(2)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // for room only
	defer cancel()
	if err := s.g.Submit(ctx, p.q, tag); err != nil {
		p.settle(t, s)
		return
	}
	p.free = p.free[:len(p.free)-1]
	s.busy = true
}

// take handles what is in the queue.
func (p *pipelined) take() {
	for it, more := p.q.TryNext(); more; it, more = p.q.TryNext() {
		p.item(it)
	}
}

func (p *pipelined) item(it client.Item) {
	s := &p.slots[it.Tag]
	if it.Kind != client.ItemReply || !s.busy {
		p.l.t.Errorf("a group completed that was not under way: %+v", it)
		return
	}
	s.busy = false
	p.free = append(p.free, it.Tag)
	p.settle(p.l.t, s)
}

// settle notes the results of a group.
func (p *pipelined) settle(t *testing.T, s *slot) {
	st, err := s.set.Stat()
	o := classify(t, err, true)
	p.r.written(t, s.value, s.before, st, o)
	p.w.note(o)
	behind, _, err := s.exists.Stat()
	if o = classify(t, err, false); o == ok {
		p.r.shown(t, nil, st, behind) // st is zero if the set has failed
	}
	p.w.note(o)
}

// drain waits for the groups that are under way.
func (p *pipelined) drain() {
	ctx, cancel := context.WithTimeout(p.l.t.Context(), patience)
	defer cancel()
	for len(p.free) < window {
		it, err := p.q.Next(ctx)
		if err != nil {
			p.l.t.Errorf("%d groups never complete", window-len(p.free))
			return
		}
		p.item(it)
	}
	if it, more := p.q.TryNext(); more {
		p.l.t.Errorf("a group completed twice: %+v", it)
	}
}
