package recipes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// TestSemaphoreChaos lets several clients contend for permits while connections break, replies are lost, members are cut off or
// stall, sessions expire and, with FromZnode, the number changes. At no time may more be held than there are; in the end
// everybody can have all permits, and nothing is left.
func TestSemaphoreChaos(t *testing.T) { // C157, F95, F97; conformance 3.2, 3.6 layer a
	for name, tc := range map[string]struct {
		permits int
		opts    []Option
	}{
		"fixed": {semChaosPermits, nil}, "without own watch": {semChaosPermits, []Option{NoOwnWatch()}},
		"always list": {semChaosPermits, []Option{AlwaysList()}}, "from znode": {FromZnode, nil},
		"in a line": {semChaosPermits * semChaosLine, nil}, "in a line, without own watch": {semChaosPermits * semChaosLine, []Option{NoOwnWatch()}},
		"Curator's": {semChaosPermits, []Option{CuratorSemaphore()}},
	} {
		for seed := range uint64(6) {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					ch := &semChaos{t: t, srv: srv, rng: rand.New(rand.NewPCG(seed, 157)), stop: make(chan struct{}), held: map[*Lease]int{},
						expired: map[int64]bool{}, most: semChaosPermits, each: 1}
					if tc.permits > nearestPermits {
						ch.each = semChaosLine
					}
					ch.fromZnode, ch.curator = tc.permits == FromZnode, name == "Curator's"
					ch.run(func(c *client.Client) *Semaphore { return NewSemaphore(c, "/lock", tc.permits, tc.opts...) })
				})
			})
		}
	}
}

const (
	semChaosPermits = 3
	semChaosLine    = 20 // how many permits stand for one where waiters stand in a line
)

// semChaos is one run.
type semChaos struct {
	t         *testing.T
	srv       *zktest.Server
	rng       *rand.Rand // of the goroutine that makes the faults
	fromZnode bool
	curator   bool
	each      int // so many permits stand for one
	sems      []*Semaphore
	heal      []func()
	stop      chan struct{}

	mu      sync.Mutex     // guards what follows
	held    map[*Lease]int // the permits of those that are granted and not known to have ended
	expired map[int64]bool // sessions that were ended behind their clients' backs
	most    int            // the largest number since the znode's was last the same for a while: no more can be held
	grants  int
}

func (ch *semChaos) run(newSem func(*client.Client) *Semaphore) {
	must(ch.srv.Create("/lock", []byte(strconv.Itoa(semChaosPermits)), proto.ModePersistent))
	var workers sync.WaitGroup
	for i := range 5 {
		c := dialTo(ch.t, ch.srv, chaosMembers[i%len(chaosMembers)], client.Rand(func() uint64 { return uint64(i) }))
		defer c.Close()
		s := newSem(c)
		ch.sems = append(ch.sems, s)
		for range 2 {
			rng := rand.New(rand.NewPCG(ch.rng.Uint64(), uint64(i)))
			workers.Go(func() { ch.work(s, rng) })
		}
	}
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); {
		<-time.After(time.Duration(ch.rng.ExpFloat64() * float64(2*time.Second)))
		ch.fault()
	}
	for _, f := range ch.heal {
		f()
	}
	close(ch.stop)
	workers.Wait()
	ch.checkEnd()
}

// work acquires, holds and releases until the run is over.
func (ch *semChaos) work(s *Semaphore, rng *rand.Rand) {
	for {
		select {
		case <-ch.stop:
			return
		case <-time.After(time.Duration(rng.IntN(int(time.Second)))):
		}
		n, f := 1, s.Acquire
		if !ch.curator {
			n += rng.IntN(2)
		}
		if rng.IntN(5) == 0 {
			f = s.TryAcquire
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.ExpFloat64()*float64(20*time.Second)))
		l, err := f(ctx, n*ch.each)
		switch {
		case err == nil:
			ch.granted(l, n)
			select {
			case <-l.Done():
			case <-time.After(time.Duration(rng.IntN(int(3 * time.Second)))):
			}
			ch.release(l, rng)
		case errors.Is(err, ErrNotAcquired), ctx.Err() != nil && errors.Is(err, ctx.Err()):
		default:
			ch.t.Errorf("%v", err)
		}
		cancel()
	}
}

// granted looks whether more is held than there is.
func (ch *semChaos) granted(l *Lease, n int) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.grants++
	ch.held[l] = n
	sum := 0
	for o, n := range ch.held {
		if o.State() == Lost || ch.expired[o.gen.SessionID()] {
			delete(ch.held, o)
		} else {
			sum += n
		}
	}
	if sum > ch.most {
		ch.t.Errorf("%d permits of %d are held", sum, ch.most)
	}
}

func (ch *semChaos) release(l *Lease, rng *rand.Rand) {
	ch.mu.Lock()
	delete(ch.held, l)
	ch.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(int(5*time.Second))))
	defer cancel()
	if err := l.Release(ctx); err != nil && !errors.Is(err, ErrReleasePending) && !errors.Is(err, ErrLost) {
		ch.t.Errorf("Release: %v", err)
	}
}

// fault makes one thing go wrong, and arranges for its end.
func (ch *semChaos) fault() {
	m := ch.srv.Member(chaosMembers[ch.rng.IntN(len(chaosMembers))])
	ops := []proto.Op{proto.OpCreate2, proto.OpDelete, proto.OpGetChildren2, proto.OpGetData}
	if ch.each > 1 {
		ops = append(ops, proto.OpSetData, proto.OpSetData)
	}
	match := zktest.Match{Op: ops[ch.rng.IntN(len(ops))], Member: m.Addr(), Skip: ch.rng.IntN(2)}
	switch ch.rng.IntN(10) {
	case 0:
		m.DropConnections()
	case 1:
		ch.later(ch.srv.CloseAfter(match).Remove)
	case 2:
		ch.later(ch.srv.CloseBefore(match).Remove)
	case 3:
		ch.later(ch.srv.Hold(match).Release)
	case 4:
		ch.later(ch.srv.HoldReply(match).Release)
	case 5:
		m.CutFromLeader(true)
		ch.later(func() { m.CutFromLeader(false) })
	case 6:
		m.Refuse(zktest.RefuseClose)
		m.DropConnections()
		ch.later(func() { m.Refuse(zktest.Accept) })
	case 7:
		m.Stall(true)
		ch.later(func() { m.Stall(false) })
	case 8:
		id := ch.sems[ch.rng.IntN(len(ch.sems))].b.c.SessionID()
		ch.mu.Lock()
		ch.expired[id] = true
		ch.mu.Unlock()
		ch.srv.ExpireSession(id)
	case 9:
		ch.change()
	}
}

func (ch *semChaos) later(f func()) {
	var once sync.Once
	timer := time.AfterFunc(time.Duration(ch.rng.ExpFloat64()*float64(timeout)), func() { once.Do(f) })
	ch.heal = append(ch.heal, func() { timer.Stop(); once.Do(f) })
}

// change sets another number. What was held before may go on, so no less counts from then on.
func (ch *semChaos) change() {
	if !ch.fromZnode {
		return
	}
	ch.mu.Lock()
	defer ch.mu.Unlock()
	n := 1 + ch.rng.IntN(5)
	ch.most = max(ch.most, n)
	must(0, ch.srv.Set("/lock", []byte(strconv.Itoa(n))))
}

// checkEnd checks that everybody can have all permits, and that nothing is left.
func (ch *semChaos) checkEnd() {
	if ch.fromZnode {
		must(0, ch.srv.Set("/lock", []byte(strconv.Itoa(semChaosPermits))))
	}
	n := semChaosPermits
	if ch.curator {
		n = 1
	}
	for i, s := range ch.sems {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		l, err := s.Acquire(ctx, n*ch.each)
		if err == nil {
			err = l.Release(ctx)
		}
		cancel()
		if err != nil {
			ch.t.Errorf("client %d after the end: %v; children %v", i, err, ch.srv.Children("/lock"))
		}
	}
	<-time.After(time.Minute)
	left := slices.DeleteFunc(ch.srv.Children("/lock"), func(name string) bool { return name == "locks" || name == "leases" })
	for _, dir := range []string{"/lock/locks", "/lock/leases"} {
		left = append(left, ch.srv.Children(dir)...)
	}
	if len(left) > 0 || ch.grants < 20 {
		ch.t.Errorf("%d grants, left behind: %v", ch.grants, left)
	}
	for i, s := range ch.sems {
		if n := s.b.c.CleanupsPending(); n > 0 {
			ch.t.Errorf("client %d: %d clean-ups pending", i, n)
		}
	}
	ch.srv.DropConnections() // restores the watches that clients keep; those that the server alone has are gone
	<-time.After(time.Minute)
	for _, w := range ch.srv.Watches() {
		ch.t.Errorf("watch left: %+v", w)
	}
}
