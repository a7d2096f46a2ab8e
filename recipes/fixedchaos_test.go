package recipes

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// TestFixedChaos lets clients with all kinds of options want one FixedMutex while everything goes wrong: there is one holder at a time, each
// with a higher token, and in the end nothing is left but the counter.
func TestFixedChaos(t *testing.T) { // A3, A9, C154
	seeds := uint64(60)
	if testing.Short() {
		seeds = 8
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			ch := &fixedChaos{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 5)), srv: zktest.New(), stop: make(chan struct{}),
				held: map[*Lease]struct{}{}, expired: map[int64]bool{}, deleted: map[int64]bool{}}
			defer ch.srv.Close()
			ch.run()
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
		if t.Failed() {
			return
		}
	}
}

type fixedChaos struct {
	t     *testing.T
	seed  uint64
	rng   *rand.Rand // of the faults
	srv   *zktest.Server
	locks []*FixedMutex
	heal  []func()
	stop  chan struct{}

	mu      sync.Mutex          // guards what follows
	held    map[*Lease]struct{} // granted and not known to have ended
	expired map[int64]bool      // sessions that were ended behind their clients' backs
	deleted map[int64]bool      // znodes that an operator deleted, by czxid
	newest  Token
	grants  int
}

func (ch *fixedChaos) run() {
	var workers sync.WaitGroup
	for i := range 5 {
		c := dialTo(ch.t, ch.srv, chaosMembers[i%3]+","+chaosMembers[(i+1)%3], client.Rand(func() uint64 { return uint64(i) }))
		defer c.Close()
		var opts []Option
		for _, o := range []Option{LocalQueue(), Strict(), WatchOwnNode(), MaxHold(2 * time.Second), Revocable(nil)} {
			if ch.rng.IntN(4) == 0 {
				opts = append(opts, o)
			}
		}
		m := NewFixedMutex(c, "/locks/one", opts...)
		ch.locks = append(ch.locks, m)
		for range 2 {
			rng := rand.New(rand.NewPCG(ch.rng.Uint64(), uint64(i)))
			workers.Go(func() { ch.work(m, rng) })
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
func (ch *fixedChaos) work(m *FixedMutex, rng *rand.Rand) {
	for {
		select {
		case <-ch.stop:
			return
		case <-time.After(time.Duration(rng.IntN(int(time.Second)))):
		}
		f := m.Lock
		if rng.IntN(4) == 0 {
			f = m.TryLock
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.ExpFloat64()*float64(20*time.Second)))
		l, err := f(ctx)
		end, _ := ctx.Deadline()
		switch late := time.Since(end); {
		case err == nil:
			ch.granted(l)
			select {
			case <-l.Done():
			case <-time.After(time.Duration(rng.IntN(int(3 * time.Second)))):
			}
			ch.release(l, rng)
		case errors.Is(err, ErrNotAcquired), ctx.Err() != nil && errors.Is(err, ctx.Err()) && late <= CleanupGrace:
		default:
			ch.t.Errorf("%v, %v after its end", err, late)
		}
		cancel()
	}
}

// excused says whether a hold was ended behind its holder's back. The caller holds mu.
func (ch *fixedChaos) excused(l *Lease) bool {
	return ch.expired[l.gen.SessionID()] || ch.deleted[l.Token().Zxid]
}

// granted looks whether somebody else has the lock.
func (ch *fixedChaos) granted(l *Lease) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.grants++
	for o := range ch.held {
		if o.State() == Lost {
			delete(ch.held, o)
		} else if l.State() != Lost && !ch.excused(o) && !ch.excused(l) {
			ch.t.Errorf("granted with %v beside %v", l.Token(), o.Token())
		}
	}
	if l.Token().Compare(ch.newest) <= 0 && !ch.excused(l) {
		ch.t.Errorf("token %v after %v", l.Token(), ch.newest)
	}
	ch.newest = l.Token()
	ch.held[l] = struct{}{}
}

func (ch *fixedChaos) release(l *Lease, rng *rand.Rand) {
	ch.mu.Lock()
	delete(ch.held, l)
	ch.mu.Unlock()
	if rng.IntN(4) == 0 {
		_ = l.ReleasePipelined()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(int(5*time.Second))))
	defer cancel()
	err := l.Release(ctx)
	if err != nil && !errors.Is(err, ErrReleasePending) && !errors.Is(err, ErrLost) {
		ch.t.Errorf("Release: %v", err)
	}
	if _, st, there := ch.srv.Get("/locks/one"); err == nil && there == nil && st.Czxid == l.Token().Zxid {
		ch.t.Error("there after its release")
	}
}

// fault makes one thing go wrong, and arranges for its end.
func (ch *fixedChaos) fault() {
	m := ch.srv.Member(chaosMembers[ch.rng.IntN(len(chaosMembers))])
	ops := []proto.Op{proto.OpMulti, proto.OpMulti, proto.OpMulti, proto.OpGetData, proto.OpExists, proto.OpSync}
	match := zktest.Match{Op: ops[ch.rng.IntN(len(ops))], Member: m.Addr(), Skip: ch.rng.IntN(2), Times: 1 + ch.rng.IntN(2)}
	switch ch.rng.IntN(14) {
	case 0:
		m.DropConnections()
	case 1, 2, 3:
		ch.later(ch.srv.CloseAfter(match).Remove)
	case 4:
		ch.later(ch.srv.CloseBefore(match).Remove)
	case 5:
		ch.later(ch.srv.Hold(match).Release)
	case 6:
		ch.later(ch.srv.HoldReply(match).Release)
	case 7:
		m.CutFromLeader(true)
		ch.later(func() { m.CutFromLeader(false) })
	case 8:
		m.Refuse(zktest.RefuseClose)
		m.DropConnections()
		ch.later(func() { m.Refuse(zktest.Accept) })
	case 9:
		m.Stall(true)
		ch.later(func() { m.Stall(false) })
	case 10:
		id := ch.locks[ch.rng.IntN(len(ch.locks))].b.c.SessionID()
		ch.mu.Lock()
		ch.expired[id] = true
		ch.mu.Unlock()
		ch.srv.ExpireSession(id)
	case 11:
		ch.operator()
	case 12: // carried out late, perhaps by a member that its client has left (ZOOKEEPER-4907)
		match.Op = proto.OpMulti
		ch.later(ch.srv.HoldCommit(match).Release)
	case 13:
		_ = ch.srv.Set("/locks/one", []byte(revokeText)) // it may not be there
	}
}

// operator deletes the znode.
func (ch *fixedChaos) operator() {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	_, st, err := ch.srv.Get("/locks/one")
	if err == nil && ch.srv.Delete("/locks/one") == nil {
		ch.deleted[st.Czxid] = true
	}
}

func (ch *fixedChaos) later(f func()) {
	var once sync.Once
	timer := time.AfterFunc(time.Duration(ch.rng.ExpFloat64()*float64(timeout)), func() { once.Do(f) })
	ch.heal = append(ch.heal, func() { timer.Stop(); once.Do(f) })
}

// checkEnd checks that everybody can have the lock, and that nothing is left.
func (ch *fixedChaos) checkEnd() {
	for i, m := range ch.locks {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		l, err := m.Lock(ctx)
		if err == nil {
			ch.granted(l)
			err = l.Release(ctx)
		}
		cancel()
		if err != nil {
			ch.t.Errorf("client %d after the end: %v", i, err)
		}
	}
	<-time.After(time.Minute)
	if left := ch.srv.Children("/locks"); len(left) != 1 || ch.grants < 5 {
		ch.t.Errorf("%d grants, left behind: %v", ch.grants, left)
	}
	for i, m := range ch.locks {
		if n := m.b.c.CleanupsPending(); n > 0 {
			ch.t.Errorf("client %d: %d clean-ups pending", i, n)
		}
	}
	ch.srv.DropConnections() // restores the watches that clients keep; those that the server alone has are gone
	<-time.After(time.Minute)
	for _, w := range ch.srv.Watches() {
		ch.t.Errorf("watch left: %+v", w)
	}
}
