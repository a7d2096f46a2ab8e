package integration

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// outcome is a class of calls, as a caller sees them.
type outcome int

const (
	ok outcome = iota
	refused
	notSent
	unknownRead  // a read that was sent and not answered
	unknownWrite // a write that may have been applied
	outcomes
)

// counts is the number of calls by outcome.
type counts [outcomes]int

// classify tells the class of a result by nothing but what the client says of its errors.
func classify(t *testing.T, err error, write bool) outcome {
	var e *client.Error
	maybe, safe := client.MaybeApplied(err), client.SafeToRetry(err)
	switch {
	case err == nil:
		return ok
	case !errors.As(err, &e) || maybe && safe || maybe && !write:
		t.Errorf("maybe applied %v, safe to retry %v, write %v: %v", maybe, safe, write, err)
	case safe:
		return notSent
	case maybe:
		return unknownWrite
	case e.Outcome == client.OutcomeUnknown && !write:
		return unknownRead
	case e.Outcome == client.OutcomeRejected:
		return refused
	default:
		t.Errorf("neither sent nor not, and no answer of a server: %v, outcome %v", err, e.Outcome)
	}
	return unknownWrite
}

// pace is how often each caller calls, if it is answered.
const pace = 5 * time.Millisecond

// load is several callers of one client.
type load struct {
	t       *testing.T
	c       *client.Client
	dir     string
	gap     gap
	regs    []*register
	workers []*worker
	flooded *worker            // the callers of a flood together; nil without one
	made    map[string]outcome // of the creator's paths; its own until finish
	stop    chan struct{}
	once    sync.Once // closes stop
	wg      sync.WaitGroup
}

// worker is one caller.
type worker struct {
	name  string
	begun atomic.Int64
	ended [outcomes]atomic.Int64
}

func (w *worker) note(o outcome) { w.ended[o].Add(1) }

// gap is the longest time between two successes.
type gap struct {
	mu      sync.Mutex // guards what follows; a leaf
	last    time.Time
	longest time.Duration
}

func (g *gap) success() {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if !g.last.IsZero() {
		g.longest = max(g.longest, now.Sub(g.last))
	}
	g.last = now
}

// prepareLoad makes the znodes.
func prepareLoad(t *testing.T, c *client.Client, dir string) *load {
	t.Helper()
	l := &load{t: t, c: c, dir: dir, made: make(map[string]outcome), stop: make(chan struct{})}
	for _, path := range []string{dir, dir + "/made", dir + "/guarded", dir + "/flood"} {
		if _, _, err := c.Create(patient(t), path, nil, client.ModePersistent, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b", "pipelined"} {
		l.regs = append(l.regs, l.register(name))
	}
	return l
}

// register makes a znode that one caller writes.
func (l *load) register(name string) *register {
	l.t.Helper()
	path := l.dir + "/" + name
	_, st, err := l.c.Create(patient(l.t), path, []byte("first"), client.ModePersistent, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	return newRegister(path, st)
}

// start lets the callers begin: writers of unique values, makers of unique znodes, readers, and one who is always refused.
func (l *load) start() {
	l.t.Cleanup(func() { // for a test that has failed; its context has ended, and with it all calls
		l.halt()
		l.wg.Wait()
	})
	for i, reg := range l.regs[:2] {
		l.caller("set "+strconv.Itoa(i), true, l.setter(reg))
	}
	l.caller("create", true, l.creator())
	l.caller("refused set", true, func(ctx context.Context) error {
		_, err := l.c.Set(ctx, l.dir+"/guarded", []byte("never"), 1<<30)
		if err == nil {
			l.t.Error("a set with a wrong version succeeded")
		}
		return err
	})
	for i := range 3 {
		l.caller("get "+strconv.Itoa(i), false, l.getter(i))
	}
	l.caller("exists", false, l.exister())
	l.pipeline(l.regs[2])
}

// caller makes calls, one after the other, until the load stops. Some are in a hurry, others wait through any fault.
func (l *load) caller(name string, write bool, call func(ctx context.Context) error) {
	w := &worker{name: name}
	l.workers = append(l.workers, w)
	rng := rand.New(rand.NewPCG(uint64(len(l.workers)), 1))
	// Caller; owned by l; ends when the load stops and its last call has returned.
	l.wg.Go(func() {
		every := time.NewTicker(pace)
		defer every.Stop()
		for {
			select {
			case <-l.stop:
				return
			case <-every.C:
			}
			w.begun.Add(1)
			ctx, cancel := context.WithTimeout(l.t.Context(), hurry(rng))
			o := classify(l.t, call(ctx), write)
			if w.note(o); o == ok {
				l.gap.success()
			}
			cancel()
		}
	})
}

// hurry returns how long a call may take.
func hurry(rng *rand.Rand) time.Duration {
	if rng.IntN(2) == 0 {
		return patience
	}
	return 50*time.Millisecond + time.Duration(rng.IntN(1000))*time.Millisecond
}

// served is how many successful calls of every caller show that it is being served.
const served = 20

// advance waits until every caller has succeeded some more times.
func (l *load) advance(t *testing.T) {
	t.Helper()
	for _, w := range l.workers {
		o := ok
		if w.name == "refused set" {
			o = refused
		}
		want := w.ended[o].Load() + served
		until(t, w.name+" to be served", func() bool { return w.ended[o].Load() >= want })
	}
}

// finish stops the callers, waits for them, and checks that every call has returned once.
func (l *load) finish(t *testing.T) {
	t.Helper()
	l.halt()
	all := make(chan struct{})
	// Waits for the callers; ends with them, or stays for the report of a test that has failed by then.
	go func() {
		l.wg.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-time.After(2 * patience):
		t.Fatal("a call does not return")
	}
	for _, w := range l.all() {
		var ended int64
		for o := range w.ended {
			ended += w.ended[o].Load()
		}
		if begun := w.begun.Load(); begun != ended {
			t.Errorf("%s: %d calls begun, %d returned", w.name, begun, ended)
		}
	}
}

// halt lets nobody begin another call.
func (l *load) halt() { l.once.Do(func() { close(l.stop) }) }

// all is every caller.
func (l *load) all() []*worker {
	if l.flooded == nil {
		return l.workers
	}
	return append(l.workers[:len(l.workers):len(l.workers)], l.flooded)
}

// counts adds up the callers' outcomes.
func (l *load) counts() (sum counts) {
	for _, w := range l.all() {
		for o := range w.ended {
			sum[o] += int(w.ended[o].Load())
		}
	}
	return sum
}

// verify compares what the callers were told with what there is, and returns how many writes of unknown outcome were applied.
func (l *load) verify(t *testing.T, c *client.Client) (applied int) {
	t.Helper()
	if err := c.Sync(patient(t), l.dir); err != nil {
		t.Fatal(err)
	}
	for _, reg := range l.regs {
		applied += reg.verify(t, c)
	}
	if st, _, err := c.Exists(patient(t), l.dir+"/guarded"); err != nil || st.Version != 0 {
		t.Errorf("after refused writes: %+v, %v", st, err)
	}
	if l.flooded != nil {
		applied += l.verifyFlood(t, c)
	}
	names, _, err := c.Children(patient(t), l.dir+"/made")
	if err != nil {
		t.Fatal(err)
	}
	there := make(map[string]bool)
	for _, name := range names {
		there[name] = true
		if o, called := l.made[name]; !called || o != ok && o != unknownWrite {
			t.Errorf("%s is there, the outcome of its create was %d (called: %v)", name, o, called)
		}
	}
	for name, o := range l.made {
		switch {
		case o == ok && !there[name]:
			t.Errorf("%s was created, and is not there", name)
		case o == unknownWrite && there[name]:
			applied++
		}
	}
	return applied
}
