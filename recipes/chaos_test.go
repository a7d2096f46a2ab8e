package recipes

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

var (
	chaosSeed  = flag.Uint64("chaos.seed", 1, "first seed of the chaos test")
	chaosSeeds = flag.Int("chaos.seeds", chaosRuns, "number of seeds of the chaos test")
)

// TestChaos lets several clients with several goroutines each contend for one lock, while connections break, members are cut
// off, commits are late, sessions expire and an operator deletes and changes znodes. At no time may two leases be good,
// unless both are readers' or the operator took the znode of one away; and in the end nothing may be left. Some runs are
// about a mutex, in all its forms on one path, of these some with plain names, the others about a read-write lock.
func TestChaos(t *testing.T) { // conformance 3.2, 3.6 layer a; C146, C147, C152, C154
	for i := range *chaosSeeds {
		seed := *chaosSeed + uint64(i)
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d: run with -chaos.seed=%d -chaos.seeds=1, perhaps several times", seed, seed)
				}
			}()
			newChaos(t, seed).run()
		})
	}
}

var chaosMembers = []string{"one:2181", "two:2181", "three:2181"}

// chaos is one run.
type chaos struct {
	t       *testing.T
	seed    uint64
	rng     *rand.Rand // of the goroutine that makes the faults
	srv     *zktest.Server
	rw      bool // the lock of this run is a read-write lock
	plain   bool // it has plain names
	clients []*chaosClient
	heal    []func() // what ends the faults that are on
	cuts    atomic.Int64

	stop    chan struct{}
	workers sync.WaitGroup

	mu      sync.Mutex          // guards what follows
	leases  map[*Lease]struct{} // granted and not known to have ended
	newest  Token
	grants  int
	taken   map[string]bool // znodes that the operator deleted from their holder, by attempt
	deleted map[string]bool // znodes that the operator deleted, by attempt
	expired map[int64]bool  // sessions that the operator ended
	shared  map[*Lease]bool // readers, and writers that are turning into readers
	counts  map[string]int  // what happened
}

type chaosClient struct {
	c      *client.Client
	m      chaosLock
	closed bool // guarded by chaos.mu
}

// chaosLock is one lock object, of whatever recipe.
type chaosLock interface {
	acquire(ctx context.Context, try bool, rng *rand.Rand) (chaosLease, error)
}

// chaosLease is what its holder has to release.
type chaosLease interface {
	Release(context.Context) error
	ReleasePipelined() error
	base() *Lease
}

func (l *Lease) base() *Lease { return l }

func (e *Reentry) base() *Lease { return e.l }

func (m *Mutex) acquire(ctx context.Context, try bool, _ *rand.Rand) (chaosLease, error) {
	f := m.Lock
	if try {
		f = m.TryLock
	}
	return f(ctx)
}

func (rw *RWMutex) acquire(ctx context.Context, try bool, rng *rand.Rand) (chaosLease, error) {
	fs := []func(context.Context) (*Lease, error){rw.Lock, rw.RLock, rw.TryLock, rw.TryRLock}
	i := rng.IntN(2)
	if try {
		i += 2
	}
	return fs[i](ctx)
}

func (r *Reentrant) acquire(ctx context.Context, try bool, rng *rand.Rand) (chaosLease, error) {
	f := r.Lock
	if try {
		f = r.TryLock
	}
	inside, l, err := f(ctx)
	for err == nil && rng.IntN(2) == 0 {
		var more *Reentry
		if _, more, err = r.Lock(inside); err == nil {
			err = more.Release(ctx)
		}
		if errors.Is(err, ErrLost) || inside.Err() != nil {
			err = nil // that is for the last level to say
		}
	}
	return l, err
}

func newChaos(t *testing.T, seed uint64) *chaos {
	return &chaos{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 1)), srv: zktest.New(), stop: make(chan struct{}),
		leases: map[*Lease]struct{}{}, taken: map[string]bool{}, deleted: map[string]bool{}, expired: map[int64]bool{},
		shared: map[*Lease]bool{}, counts: map[string]int{}, rw: seed%3 == 2, plain: seed%6 == 1}
}

func (ch *chaos) run() {
	defer ch.srv.Close()
	for i := range 3 + ch.rng.IntN(4) {
		ch.connect(i)
	}
	until := time.Now().Add(time.Duration(1+ch.rng.IntN(4)) * time.Minute)
	pause := time.Duration(1+ch.rng.IntN(5)) * time.Second // between faults, on average
	for time.Now().Before(until) {
		<-time.After(time.Duration(ch.rng.ExpFloat64() * float64(pause)))
		ch.fault()
	}
	close(ch.stop)
	for _, f := range ch.heal {
		f()
	}
	ch.within(ch.workers.Wait, "the workers")
	ch.checkEnd()
	for _, cc := range ch.clients {
		ch.within(func() { _ = cc.c.Close() }, "Close")
	}
	if ch.grants == 0 {
		ch.t.Errorf("nobody was granted anything")
	}
}

// within runs f, and fails when it takes longer than all there is to wait for.
func (ch *chaos) within(f func(), what string) {
	done := make(chan struct{})
	go func() { f(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Hour):
		ch.t.Fatalf("%s: not over after an hour", what)
	}
}

// connect adds a client with its workers.
func (ch *chaos) connect(i int) {
	first := chaosMembers[i%len(chaosMembers)]
	servers := first
	if ch.rng.IntN(2) == 0 {
		servers += "," + chaosMembers[(i+1)%len(chaosMembers)]
	}
	c := dialTo(ch.t, ch.srv, servers, client.Rand(func() uint64 { return ch.seed + uint64(i) }))
	cc := &chaosClient{c: c, m: ch.newLock(c)}
	ch.clients = append(ch.clients, cc)
	for w := range 1 + ch.rng.IntN(3) {
		rng := rand.New(rand.NewPCG(ch.seed, uint64(100*i+w)))
		ch.workers.Go(func() { ch.work(cc, rng) })
	}
}

// newLock makes a lock object with some options.
func (ch *chaos) newLock(c *client.Client) chaosLock {
	var opts []Option
	pick := func(some ...Option) {
		for _, o := range some {
			if ch.rng.IntN(6) == 0 {
				opts = append(opts, o)
			}
		}
	}
	pick(Strict(), AlwaysList(), WatchOwnNode(), MaxHold(2*time.Second), NoLookAhead())
	if ch.plain {
		opts = append(opts, PlainNames(chaosStem))
	} else {
		pick(Revocable(nil))
	}
	if ch.rw {
		return NewRWMutex(c, "/lock", opts...)
	}
	switch ch.rng.IntN(5) {
	case 0:
		opts = append(opts, LocalQueue())
	case 1:
		opts = append(opts, HandOver(2+ch.rng.IntN(5), time.Duration(1+ch.rng.IntN(10))*time.Second))
		pick(GuardedHandover(), GuardedHandover(), GuardedHandover())
	}
	if ch.rng.IntN(4) == 0 {
		return NewReentrant(c, "/lock", opts...)
	}
	return NewMutex(c, "/lock", opts...)
}

// work acquires and releases until the run is over or its client is closed.
func (ch *chaos) work(cc *chaosClient, rng *rand.Rand) {
	for {
		select {
		case <-ch.stop:
			return
		case <-time.After(time.Duration(rng.IntN(3) * rng.IntN(int(time.Second)))):
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.ExpFloat64()*float64(20*time.Second)))
		l, err := ch.acquire(ctx, cc, rng)
		cancel()
		if err == nil {
			ch.hold(l, rng)
		}
		if ch.isClosed(cc) {
			return
		}
	}
}

func (ch *chaos) isClosed(cc *chaosClient) bool {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	return cc.closed
}

func (ch *chaos) acquire(ctx context.Context, cc *chaosClient, rng *rand.Rand) (chaosLease, error) {
	try := rng.IntN(5) == 0
	l, err := cc.m.acquire(ctx, try, rng)
	if err == nil {
		ch.granted(l.base())
		return l, nil
	}
	switch {
	case ch.isClosed(cc) && errors.Is(err, ErrClosed):
	case try && errors.Is(err, ErrNotAcquired):
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		end, _ := ctx.Deadline()
		if late := time.Since(end); late > CleanupGrace {
			ch.t.Errorf("Lock returned %v after the end of its context", late)
		}
	default:
		ch.t.Errorf("Lock: %v", err)
	}
	return nil, err
}

// granted looks whether anybody else believes to hold the lock.
func (ch *chaos) granted(l *Lease) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	shared := l.Shared()
	for o := range ch.leases {
		if o.State() == Lost {
			delete(ch.leases, o)
		} else if l.State() != Lost && !(shared && ch.shared[o]) && !ch.excused(o) && !ch.excused(l) {
			ch.t.Errorf("%s granted with token %v, while %s (%v, %v) is %v", l.Node(), l.Token(), o.Node(), o.Token(),
				o.gen.LeaseLeft(), o.State())
		}
	}
	if l.State() == Lost {
		return // it came to its end on the way
	}
	if l.Token().Compare(ch.newest) <= 0 && !shared && !ch.excused(l) {
		ch.t.Errorf("token %v after %v", l.Token(), ch.newest)
	}
	if !shared || l.Token().Compare(ch.newest) > 0 {
		ch.newest = l.Token()
	}
	ch.leases[l], ch.shared[l] = struct{}{}, shared
	ch.grants++
	if l.Token().Hand > 0 {
		ch.counts["handed over"]++
	}
}

// chaosStem is what plain names begin with.
const chaosStem = "lock-"

// attempt is what the names of the znodes of one attempt have in common: a writer that becomes a reader has two, and may not
// know yet which of them it has. Plain names have nothing in common, but are given out once.
func attempt(node string) string {
	if !strings.HasPrefix(node, "/lock/"+guidStart) {
		return node
	}
	return node[:len("/lock/")+len(guidStart)+guidLen]
}

// excused says whether the operator ended a hold behind its holder's back.
func (ch *chaos) excused(l *Lease) bool {
	return ch.taken[attempt(l.Node())] || ch.expired[l.gen.SessionID()]
}

// hold keeps a lease for a time and releases it in one of the ways.
func (ch *chaos) hold(held chaosLease, rng *rand.Rand) {
	l := held.base()
	ch.stay(l, rng)
	if ch.rw && !l.Shared() && rng.IntN(2) == 0 {
		ch.downgrade(l, rng)
		ch.stay(l, rng)
	}
	if rng.IntN(4) == 0 {
		ch.checkRelease(l, held.ReleasePipelined(), false)
		return
	}
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(3)*rng.IntN(int(10*time.Second))))
		err := held.Release(ctx)
		cancel()
		ch.checkRelease(l, err, true)
		if !errors.Is(err, ErrReleasePending) || rng.IntN(2) == 0 {
			return
		}
	}
}

// stay lets time pass, as long as the lease is good.
func (ch *chaos) stay(l *Lease, rng *rand.Rand) {
	d := time.Duration(rng.IntN(2) * rng.IntN(int(3*time.Second)))
	if rng.IntN(10) == 0 {
		d = time.Duration(rng.IntN(int(4 * timeout))) // long enough for a deadline
	}
	select {
	case <-l.Context().Done():
	case <-time.After(d):
	}
}

// downgrade tries to make a writer a reader.
func (ch *chaos) downgrade(l *Lease, rng *rand.Rand) {
	ch.mu.Lock()
	ch.shared[l] = true // it may be one before that is known here
	ch.mu.Unlock()
	for range 1 + rng.IntN(2) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(int(10*time.Second))))
		err := l.Downgrade(ctx)
		late := ctx.Err()
		cancel()
		switch {
		case err == nil:
			ch.mu.Lock()
			ch.counts["downgraded"]++
			ch.mu.Unlock()
			return
		case errors.Is(err, ErrLost) || errors.Is(err, ErrNotHeld): // released by MaxHold
			return
		case late != nil && errors.Is(err, late), l.State() == Lost:
		default:
			ch.t.Errorf("Downgrade: %v", err)
		}
	}
}

func (ch *chaos) checkRelease(l *Lease, err error, waited bool) {
	if l.State() != Lost || l.Context().Err() == nil {
		ch.t.Errorf("%s is %v after its release", l.Node(), l.State())
	}
	ch.mu.Lock()
	delete(ch.leases, l)
	gone := ch.deleted[attempt(l.Node())] || ch.expired[l.gen.SessionID()]
	ch.mu.Unlock()
	switch {
	case err == nil && waited && !l.wasHanded() && ch.srv.Exists(l.Node()):
		ch.t.Errorf("%s is there after its release", l.Node())
	case errors.Is(err, ErrNodeGone) && !gone:
		ch.t.Errorf("%s was gone, and nobody deleted it: %v", l.Node(), err)
	case err != nil && !errors.Is(err, ErrLost) && !errors.Is(err, ErrReleasePending):
		ch.t.Errorf("Release: %v", err)
	}
}

// checkEnd checks that everything works again, and that nothing is left behind.
func (ch *chaos) checkEnd() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for i, cc := range ch.clients {
		if cc.closed {
			continue
		}
		held, err := cc.m.acquire(ctx, false, ch.rng)
		if err == nil {
			ch.granted(held.base())
			err = held.Release(ctx)
			ch.checkRelease(held.base(), nil, err == nil)
		}
		if err != nil {
			ch.t.Errorf("client %d after the end: %v; children %v", i, err, ch.srv.Children("/lock"))
		}
	}
	<-time.After(time.Minute) // sessions of clients that were closed without an answer expire
	if left := ch.srv.Children("/lock"); len(left) > 0 {
		ch.t.Errorf("left behind: %v; sessions %+v", left, ch.srv.Sessions())
	}
	for i, cc := range ch.clients {
		if n := cc.c.CleanupsPending(); n > 0 {
			ch.t.Errorf("client %d: %d clean-ups pending", i, n)
		}
	}
	for _, w := range ch.srv.Watches() {
		ch.t.Errorf("watch left: %+v", w)
	}
	ch.checkIdle()
}

// checkIdle checks that nobody proves anything to himself any more, and that no client keeps a watch.
func (ch *chaos) checkIdle() {
	before := ch.srv.Snapshot()
	ch.srv.DropConnections()
	<-time.After(time.Minute)
	after := ch.srv.Snapshot()
	var extra []string
	for op, n := range after.ByOp {
		if n != before.ByOp[op] && op != proto.OpPing {
			extra = append(extra, fmt.Sprint(n-before.ByOp[op], " ", op))
		}
	}
	if len(extra) > 0 {
		ch.t.Errorf("idle clients sent: %s", strings.Join(extra, ", "))
	}
}
