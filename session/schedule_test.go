package session

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
)

// scheduleLimit is the receive limit of the schedules' clients.
const scheduleLimit = 512

func TestRandomSchedules(t *testing.T) { // C56, F48: every call completes exactly once, with an outcome that is true
	n, from := schedules, uint64(1)
	if s := *scheduleSeed; s != 0 {
		n, from = 1, s
	}
	if m := *scheduleCount; m != 0 {
		n = m
	}
	for i := range n {
		seed := from + uint64(i)
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d: run with -schedule.seed=%d, perhaps several times", seed, seed)
				}
			}()
			newSchedule(t, seed).run()
		})
	}
}

var (
	scheduleSeed  = flag.Uint64("schedule.seed", 0, "run only this random schedule, or the first of -schedule.count")
	scheduleCount = flag.Int("schedule.count", 0, "number of random schedules")
)

// schedule is one random run.
type schedule struct {
	t    *testing.T
	seed uint64
	rng  *rand.Rand
	srv  *randServer
	k    *Keeper

	wg       sync.WaitGroup // calls under way
	calls    []*scheduledCall
	queue    *Queue
	cleanups []*scheduledCleanup
	holds    []*scheduledHold
	nodes    []*scheduledNode
	streams  []*scheduledStream
	seen     map[*Session]bool
	names    int
	changes  []Change
	followed chan struct{}
}

// scheduledCall is a group and what became of it.
type scheduledCall struct {
	paths   []string
	watches []*countingSink // nil where there is none
	ss      *Session
	g       *Group
	tag     uint32 // of a group that goes to the queue; 0 for one that is waited for
	cancel  context.CancelFunc
	kept    bool
	refused error
	over    bool // set by the caller's goroutine; read when all are over
	items   int
	dropped bool // Unwatch was called
}

type countingSink struct {
	Watch
	mu     sync.Mutex
	events int
	before int // events at the time of Unwatch
}

func (c *countingSink) WatchEvent(*Watch, Event, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events++
}

type scheduledCleanup struct {
	Cleanup
	path string
	mu   sync.Mutex
	told int
}

func (c *scheduledCleanup) CleanupDone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told++
}

type scheduledHold struct {
	Hold
	ss      *Session
	taken   bool // Unhold said that it was on
	mu      sync.Mutex
	lost    int
	strange string
}

func (h *scheduledHold) HoldChanged(s HoldState, cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.lost > 0 && s == Lost: // another state may still come, and means nothing
		h.strange = "lost twice"
	case s == Lost && cause == nil:
		h.strange = "lost without a cause"
	}
	if s == Lost {
		h.lost++
	}
}

type scheduledNode struct {
	NodeWatch
	mu   sync.Mutex
	gone int
}

func newSchedule(t *testing.T, seed uint64) *schedule {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := &schedule{t: t, seed: seed, rng: rng, srv: newRandServer(rand.New(rand.NewPCG(seed, 2))),
		queue: NewQueue(), seen: map[*Session]bool{}, followed: make(chan struct{})}
	cfg := Config{Servers: []string{"one:2181", "two:2181"}, Timeout: testTimeout, ReceiveLimit: scheduleLimit,
		Env:      Env{Dial: s.srv.ln.Dial, Rand: rand.New(rand.NewPCG(seed, 3)).Uint64},
		FailFast: rng.IntN(4) == 0, FinalExpiry: rng.IntN(8) == 0, NoProof: rng.IntN(4) == 0}
	if rng.IntN(2) == 0 {
		cfg.MaxCalls = 1 + rng.IntN(4)
	}
	if rng.IntN(4) == 0 {
		cfg.Credentials = []Credential{{"digest", Secret("a:b")}}
	}
	s.k = open(t, cfg)
	return s
}

func (s *schedule) run() {
	go s.srv.run()
	go func() {
		for c := range s.k.Changes(s.t.Context()) {
			s.changes = append(s.changes, c)
		}
		close(s.followed)
	}()
	s.srv.set(welcome, s.rng.IntN(2) == 0)
	for range 10 + s.rng.IntN(60) {
		s.step()
	}
	s.srv.heal()
	if s.rng.IntN(2) == 0 {
		<-time.After(time.Minute) // everything whose context lives is answered by now
		s.checkQuiet()
	}
	closing := make(chan struct{})
	go func() { _ = s.k.Close(); close(closing) }()
	s.within(closing, "Close")
	done := make(chan struct{})
	go func() { s.wg.Wait(); close(done) }()
	s.within(done, "calls under way")
	s.within(s.followed, "the state stream")
	_ = s.srv.ln.Close()
	s.srv.cut()
	synctest.Wait()
	s.check()
}

// within waits for ch within a time that is longer than all there is to wait for.
func (s *schedule) within(ch <-chan struct{}, what string) {
	select {
	case <-ch:
	case <-time.After(time.Hour):
		s.t.Fatalf("seed %d: %s: not over after an hour", s.seed, what)
	}
}

// step does one thing.
func (s *schedule) step() {
	ss := s.k.Current()
	s.seen[ss] = true
	switch s.rng.IntN(26) {
	case 0, 1, 2, 3, 4:
		s.call(ss, s.rng.IntN(3) == 0)
	case 5, 6, 7, 8:
		s.srv.answer(1 + s.rng.IntN(6))
	case 9:
		s.srv.set(greeting(s.rng.IntN(int(greetings))), s.rng.IntN(2) == 0)
	case 10:
		s.srv.set(welcome, s.rng.IntN(2) == 0)
	case 11:
		s.srv.cut()
	case 12:
		s.srv.fire()
	case 13:
		if len(s.calls) > 0 {
			s.calls[s.rng.IntN(len(s.calls))].cancel()
		}
	case 14:
		s.unwatch()
	case 15:
		c := &scheduledCleanup{path: s.name()}
		c.Owner = c
		ss.Delete(&c.Cleanup, c.path, nil)
		s.cleanups = append(s.cleanups, c)
	case 16:
		s.hold(ss)
	case 17:
		if len(s.holds) > 0 {
			h := s.holds[s.rng.IntN(len(s.holds))]
			h.taken = h.ss.Unhold(&h.Hold) || h.taken
		}
	case 18:
		s.node(ss)
	case 19:
		switch s.rng.IntN(6) {
		case 0:
			s.srv.nonsense()
		case 1:
			s.wg.Go(func() { _ = s.k.Close() })
		}
	case 22, 23:
		s.stream(ss)
	case 20, 21:
		<-time.After(time.Duration(s.rng.Int64N(int64(testTimeout / 2))))
	default:
		synctest.Wait()
	}
}

func (s *schedule) name() string {
	s.names++
	return fmt.Sprint("/", s.names)
}

// call submits a group of one to three requests, some with watches.
func (s *schedule) call(ss *Session, queued bool) {
	c := &scheduledCall{ss: ss, g: NewGroup()}
	for range 1 + s.rng.IntN(3) {
		path := s.name()
		var w *countingSink
		var reg *Watch
		if s.rng.IntN(2) == 0 {
			w = &countingSink{Watch: Watch{Path: path}}
			w.Sink, reg = w, &w.Watch
		}
		switch s.rng.IntN(3) {
		case 0:
			addExists(c.g, path, reg)
		case 1:
			c.g.End((&proto.GetDataRequest{Path: path, Watch: reg != nil}).AppendTo(c.g.Begin(proto.OpGetData)), reg)
		default:
			w = nil
			c.g.End((&proto.SetDataRequest{Path: path, Version: -1}).AppendTo(c.g.Begin(proto.OpSetData)), nil)
		}
		c.paths, c.watches = append(c.paths, path), append(c.watches, w)
	}
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(context.Background())
	if queued {
		c.tag = uint32(len(s.calls) + 1)
		c.g.To(s.queue, c.tag)
	}
	s.calls = append(s.calls, c)
	s.wg.Go(func() {
		if queued {
			c.kept, c.refused = true, ss.Submit(ctx, c.g)
		} else {
			c.kept, c.refused = ss.Do(ctx, c.g)
		}
		c.over = true
	})
}

func (s *schedule) unwatch() {
	if len(s.calls) == 0 {
		return
	}
	c := s.calls[s.rng.IntN(len(s.calls))]
	synctest.Wait() // or an event could be on its way
	for _, w := range c.watches {
		if w != nil && !c.dropped {
			c.ss.Unwatch(&w.Watch)
			w.before = w.events
		}
	}
	c.dropped = true
}

func (s *schedule) hold(ss *Session) {
	h := &scheduledHold{ss: ss}
	h.Holder = h
	ss.mu.Lock()
	no := ss.connNo
	ss.mu.Unlock()
	if ss.Hold(&h.Hold, no) == nil {
		s.holds = append(s.holds, h)
	}
}

func (s *schedule) node(ss *Session) {
	if len(s.nodes) > 0 && s.rng.IntN(2) == 0 {
		s.nodes[s.rng.IntN(len(s.nodes))].Stop()
		return
	}
	n := &scheduledNode{}
	n.Path = s.name()
	n.Gone = func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.gone++
	}
	s.nodes = append(s.nodes, n)
	ss.WatchNode(&n.NodeWatch)
}
