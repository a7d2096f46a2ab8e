package recipes

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// TestMultiLockChaos: clients take random sets of locks, in random order, of mutexes, both sides of read-write locks and permits,
// some of them one lock alone, while multis are lost, sessions expire, and an operator deletes znodes. Most of them wait without
// a deadline, so a deadlock would be there at the end. At no time may a path have more holders than it allows.
func TestMultiLockChaos(t *testing.T) { // A6, A10 rule 16, G1 to G8
	multiLockChaos(t, false)
}

// TestOrderedMultiLockChaos: the same with Ordered, beside clients that take the locks one by one in the order of their paths and hold
// some while they wait for others.
func TestOrderedMultiLockChaos(t *testing.T) { // A10 rule 16, G20 to G22
	multiLockChaos(t, true)
}

func multiLockChaos(t *testing.T, ordered bool) {
	grants := 0
	for i := range 1 + *chaosSeeds/3 {
		seed := *chaosSeed + uint64(i)
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d: run with -chaos.seed=%d -chaos.seeds=1, perhaps several times", seed, seed)
				}
			}()
			ch := newMultiChaos(t, seed)
			ch.ordered = ordered
			grants += ch.run()
		})
		if t.Failed() {
			return
		}
	}
	if grants < 100 {
		t.Errorf("%d grants", grants)
	}
}

// multiChaos is one run.
type multiChaos struct {
	t       *testing.T
	seed    uint64
	rng     *rand.Rand // of the goroutine that makes the faults
	srv     *zktest.Server
	cs      []*client.Client
	stop    chan struct{}
	ordered bool

	mu      sync.Mutex // guards what follows
	held    map[*Lease]struct{}
	newest  map[string]Token // of the exclusive holds of a path
	excused map[string]bool  // znodes, by attempt, that the operator deleted
	expired map[int64]bool   // sessions that the operator ended
	grants  int
}

// The locks: what kind each is, by the first letter, n for a mutex with plain names, and permits.
var multiChaosPaths = []string{"/m/1", "/m/2", "/n", "/rw/1", "/rw/2", "/s"}

const multiChaosPermits = 3

func newMultiChaos(t *testing.T, seed uint64) *multiChaos {
	return &multiChaos{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 2)), srv: zktest.New(), stop: make(chan struct{}),
		held: map[*Lease]struct{}{}, newest: map[string]Token{}, excused: map[string]bool{}, expired: map[int64]bool{}}
}

// part returns a random claim of one of the locks.
func (ch *multiChaos) part(c *client.Client, path string, rng *rand.Rand) Part {
	var opts []Option
	for _, o := range []Option{WatchOwnNode(), AlwaysList(), NoLookAhead(), MaxHold(5 * time.Second)} {
		if rng.IntN(8) == 0 {
			opts = append(opts, o)
		}
	}
	switch {
	case path == "/n":
		return NewMutex(c, path, append(opts, PlainNames("n_"))...).Part()
	case path == "/s":
		return NewSemaphore(c, path, multiChaosPermits, opts...).Part(1 + rng.IntN(multiChaosPermits))
	case !strings.HasPrefix(path, "/rw/"):
		return NewMutex(c, path, opts...).Part()
	case rng.IntN(3) == 0:
		return NewRWMutex(c, path, opts...).Part()
	}
	return NewRWMutex(c, path, opts...).RPart()
}

func (ch *multiChaos) run() int {
	defer ch.srv.Close()
	var workers sync.WaitGroup
	for i := range 3 + ch.rng.IntN(3) {
		c := dialTo(ch.t, ch.srv, chaosMembers[i%3]+","+chaosMembers[(i+1)%3])
		defer c.Close()
		ch.cs = append(ch.cs, c)
		for w := range 2 {
			rng := rand.New(rand.NewPCG(ch.seed, uint64(100*i+w)))
			workers.Go(func() { ch.work(c, rng) })
		}
	}
	for range 40 {
		<-time.After(time.Duration(ch.rng.IntN(int(3 * time.Second))))
		ch.fault()
	}
	close(ch.stop)
	over := make(chan struct{})
	go func() { workers.Wait(); close(over) }()
	select {
	case <-over:
	case <-time.After(time.Hour):
		ch.t.Fatalf("deadlock: %+v", ch.srv.Sessions())
	}
	for _, c := range ch.cs {
		releaseAll(ch.t, lockAll(ch.t, mutexes(c, multiChaosPaths[:2]...)))
		release(ch.t, lock(ch.t, NewMutex(c, "/n", PlainNames("n_"))))
	}
	<-time.After(time.Minute)
	nothingLeft(ch.t, ch.srv)
	for i, c := range ch.cs {
		if n := c.CleanupsPending(); n > 0 {
			ch.t.Errorf("client %d: %d clean-ups pending", i, n)
		}
	}
	return ch.grants
}

// work acquires and releases until the run is over.
func (ch *multiChaos) work(c *client.Client, rng *rand.Rand) {
	for {
		select {
		case <-ch.stop:
			return
		case <-time.After(time.Duration(rng.IntN(int(time.Second)))):
		}
		var parts []Part
		for _, i := range rng.Perm(len(multiChaosPaths))[:1+rng.IntN(4)] {
			parts = append(parts, ch.part(c, multiChaosPaths[i], rng))
		}
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		if rng.IntN(3) == 0 {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(rng.IntN(int(10*time.Second))))
		}
		if ch.ordered && rng.IntN(2) == 0 {
			ch.oneByOne(ctx, parts, rng)
			cancel()
			continue
		}
		m := NewMultiLock(parts...)
		if ch.ordered {
			m = m.Ordered()
		}
		f, try := m.Lock, rng.IntN(6) == 0
		if try {
			f = m.TryLock
		}
		ml, err := f(ctx)
		switch {
		case err == nil:
			ch.granted(ml)
			ch.keep(ml, rng)
		case try && errors.Is(err, ErrNotAcquired), ctx.Err() != nil && errors.Is(err, ctx.Err()):
			if end, ok := ctx.Deadline(); ok && time.Since(end) > CleanupGrace {
				ch.t.Errorf("returned %v after the end of its context", time.Since(end))
			}
		default:
			ch.t.Errorf("Lock: %v", err)
		}
		cancel()
	}
}

// oneByOne takes one lock after the other, in the order of their paths, and keeps those that it has meanwhile.
func (ch *multiChaos) oneByOne(ctx context.Context, parts []Part, rng *rand.Rand) {
	slices.SortFunc(parts, func(a, b Part) int { return strings.Compare(a.b.dir, b.b.dir) })
	var held []*MultiLease
	for _, p := range parts {
		ml, err := NewMultiLock(p).Lock(ctx)
		if err != nil {
			if ctx.Err() == nil {
				ch.t.Errorf("Lock: %v", err)
			}
			break
		}
		ch.granted(ml)
		held = append(held, ml)
	}
	for _, ml := range slices.Backward(held) {
		ch.keep(ml, rng)
	}
}

// keep holds for a while and releases in one of the ways.
func (ch *multiChaos) keep(ml *MultiLease, rng *rand.Rand) {
	d := time.Duration(rng.IntN(int(2 * time.Second)))
	if rng.IntN(12) == 0 {
		d = 2 * timeout
	}
	select {
	case <-ml.Context().Done():
	case <-time.After(d):
	}
	err := ml.ReleasePipelined()
	if rng.IntN(3) > 0 {
		if again := ml.Release(context.Background()); err == nil {
			err = again
		}
		for _, l := range ml.Leases() {
			if ch.srv.Exists(l.Node()) {
				ch.t.Errorf("%s is there after its release", l.Node())
			}
		}
	}
	if err != nil && !errors.Is(err, ErrLost) {
		ch.t.Errorf("Release: %v", err)
	}
	for _, l := range ml.Leases() {
		if l.State() != Lost || l.Context().Err() == nil {
			ch.t.Errorf("%s is %v after its release", l.Node(), l.State())
		}
	}
}

// nodeID is what the names of the znodes of one attempt at one path have in common, or a plain name, which is given out once.
func nodeID(node string) string {
	if !strings.Contains(node, guidStart) {
		return node
	}
	return node[:strings.LastIndexByte(node, '/')+1+len(guidStart)+guidLen]
}

// good says whether a lease is held, as far as its holder can know.
func (ch *multiChaos) good(l *Lease) bool {
	return l.State() != Lost && !ch.excused[nodeID(l.Node())] && !ch.expired[l.gen.SessionID()]
}

// granted looks whether there is room for each part on its path.
func (ch *multiChaos) granted(ml *MultiLease) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.grants++
	for _, l := range ml.Leases() {
		if l.Token() != ml.Token() && !ch.ordered {
			ch.t.Errorf("%v and %v in one", l.Token(), ml.Token())
		}
		sum := l.claim.weight
		for o := range ch.held {
			if o.State() == Lost {
				delete(ch.held, o)
			} else if o.b.dir == l.b.dir && l.claim.waitsFor(o.claim) && ch.good(o) && ch.good(l) {
				if sum += o.claim.weight; sum > l.claim.capacity {
					ch.t.Errorf("%s granted beside %s", l.Node(), o.Node())
				}
			}
		}
		if exclusive := !l.Shared(); exclusive && ch.good(l) {
			if l.Token().Compare(ch.newest[l.b.dir]) <= 0 {
				ch.t.Errorf("%s: token %v after %v", l.Node(), l.Token(), ch.newest[l.b.dir])
			}
			ch.newest[l.b.dir] = l.Token()
		}
		ch.held[l] = struct{}{}
	}
}

// fault makes one thing go wrong.
func (ch *multiChaos) fault() {
	ops := []proto.Op{proto.OpMulti, proto.OpMulti, proto.OpMulti, proto.OpDelete, proto.OpGetChildren2, proto.OpGetData}
	match := zktest.Match{Op: ops[ch.rng.IntN(len(ops))], Skip: ch.rng.IntN(3)}
	c := ch.cs[ch.rng.IntN(len(ch.cs))]
	later := func(end func()) { time.AfterFunc(time.Duration(ch.rng.IntN(int(5*time.Second))), end) }
	switch ch.rng.IntN(9) {
	case 0, 1:
		later(ch.srv.CloseAfter(match).Remove)
	case 2:
		later(ch.srv.CloseBefore(match).Remove)
	case 3:
		later(ch.srv.HoldReply(match).Release)
	case 4:
		ch.srv.Member(chaosMembers[ch.rng.IntN(3)]).DropConnections()
	case 5:
		ch.mu.Lock()
		ch.expired[c.SessionID()] = true
		ch.mu.Unlock()
		ch.srv.ExpireSession(c.SessionID())
	case 6, 7:
		ch.operator()
	case 8:
		ch.srv.Sweep()
	}
}

// operator deletes a znode. A holder cannot know that, so its hold does not count any more; one that waits must notice.
func (ch *multiChaos) operator() {
	dir := multiChaosPaths[ch.rng.IntN(len(multiChaosPaths))]
	names := ch.srv.Children(dir)
	if len(names) == 0 {
		return
	}
	node := dir + "/" + names[ch.rng.IntN(len(names))]
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.srv.Delete(node) == nil {
		ch.excused[nodeID(node)] = true
	}
}
