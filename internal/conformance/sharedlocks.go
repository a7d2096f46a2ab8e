package conformance

import (
	"context"
	"errors"
	"strings"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/recipes"
)

func sharedLockEntries() []entry {
	return []entry{
		{"C157 F97", "a semaphore gives out no more permits than there are, in order; who disagrees about the number fails", nil, semaphore},
		{"C157 znode", "the number of permits is that of the znode: a higher one wakes, a lower one takes nothing away", nil, semaphoreOfZnode},
		{"C157 curator", "the layout of Curator's semaphore: a mutex while it is decided, one znode per permit", nil, curatorSemaphore},
		{"I11", "several locks as one: all or none, in one transaction, and no deadlock whatever the order", nil, multiLock},
		{"I11 lost", "the reply to the transaction of a multi-lock is lost: the znodes of one are kept, and nothing is left", nil, lostMultiLock},
		{"C154 election", "candidates lead in the order in which they came, and everybody sees who does", nil, election},
	}
}

// permits returns a call of Acquire.
func permits(s *recipes.Semaphore, n int) acquiring {
	return func(ctx context.Context) (*recipes.Lease, error) { return s.Acquire(ctx, n) }
}

func semaphore(e *env) {
	c, _ := e.client()
	d, tp := e.client()
	e.lockPath(c)
	s, other := recipes.NewSemaphore(c, lockDir, 3), recipes.NewSemaphore(d, lockDir, 3)
	l1, l2 := e.acquired(permits(s, 2)), e.acquired(permits(other, 1))
	_, err := s.TryAcquire(e.ctx, 1)
	e.fails("one more", err, recipes.ErrNotAcquired)
	heavy := e.queued(tp, permits(other, 3))
	_, err = s.TryAcquire(e.ctx, 1)
	e.fails("past one who waits", err, recipes.ErrNotAcquired)
	_, err = recipes.NewSemaphore(c, lockDir, 4).Acquire(e.ctx, 1)
	e.fails("another number", err, recipes.ErrCapacity)
	e.must(l2.Release(e.ctx))
	equal(e, "three permits of two", heavy.over(), false)
	e.must(l1.Release(e.ctx))
	e.must(e.granted(heavy).Release(e.ctx))
	e.remains(c, 0)
}

func semaphoreOfZnode(e *env) {
	c, _ := e.client()
	d, tp := e.client()
	s, other := recipes.NewSemaphore(c, lockDir, recipes.FromZnode), recipes.NewSemaphore(d, lockDir, recipes.FromZnode)
	_, err := s.Acquire(e.ctx, 1)
	e.fails("without a znode", err, recipes.ErrCapacity)
	e.must(s.SetPermits(e.ctx, 1))
	l := e.acquired(permits(s, 1))
	waiting := e.queued(tp, permits(other, 1))
	e.must(s.SetPermits(e.ctx, 2))
	l2 := e.granted(waiting)
	e.must(s.SetPermits(e.ctx, 1))
	_, err = s.TryAcquire(e.ctx, 1)
	e.fails("more are out than there are", err, recipes.ErrNotAcquired)
	equal(e, "states", []recipes.State{l.State(), l2.State()}, []recipes.State{recipes.Held, recipes.Held})
	e.must(l.Release(e.ctx))
	e.must(l2.Release(e.ctx))
	e.must(e.acquired(permits(s, 1)).Release(e.ctx))
	e.remains(c, 0)
}

func curatorSemaphore(e *env) {
	c, _ := e.client()
	d, tp := e.client()
	s := recipes.NewSemaphore(c, lockDir, 2, recipes.CuratorSemaphore())
	other := recipes.NewSemaphore(d, lockDir, 2, recipes.CuratorSemaphore())
	l1, l2 := e.acquired(permits(s, 1)), e.acquired(permits(s, 1))
	if !strings.HasPrefix(l1.Node(), lockDir+"/leases/_c_") || !strings.Contains(l1.Node(), "-lease-") {
		e.Errorf("znode %s", l1.Node())
	}
	_, err := other.TryAcquire(e.ctx, 1)
	e.fails("a third one", err, recipes.ErrNotAcquired)
	waiting := e.queued(tp, permits(other, 1))
	e.must(l1.Release(e.ctx))
	l3 := e.granted(waiting)
	e.must(l2.Release(e.ctx))
	e.must(l3.Release(e.ctx))
	e.empty(c, lockDir+"/locks", lockDir+"/leases")
}

// empty waits until the znodes have no children, or are not there.
func (e *env) empty(c *client.Client, paths ...string) {
	e.Helper()
	for _, path := range paths {
		e.poll(path+" to be empty", func() bool {
			names, _, err := c.Children(e.ctx, path)
			if !errors.Is(err, client.ErrNoNode) {
				e.must(err)
			}
			return len(names) == 0
		})
	}
}

// multiLock returns the lock of mutexes.
func (e *env) multiLock(c *client.Client, paths ...string) *recipes.MultiLock {
	var parts []recipes.Part
	for _, p := range paths {
		parts = append(parts, recipes.NewMutex(c, p).Part())
	}
	return recipes.NewMultiLock(parts...)
}

func multiLock(e *env) {
	c, _ := e.client()
	d, _ := e.client()
	one, two := e.multiLock(c, "/x", "/y", "/z"), e.multiLock(d, "/z", "/y", "/x")
	l, err := one.Lock(e.ctx)
	e.must(err)
	_, err = two.TryLock(e.ctx)
	e.fails("while they are held", err, recipes.ErrNotAcquired)
	_, err = c.Multi(e.ctx, append(l.Guards(), client.SetOp("/", nil, client.AnyVersion))...)
	e.must(err)
	for _, part := range l.Leases() {
		stat, ok, err := c.Exists(e.ctx, part.Node())
		e.must(err)
		equal(e, "token", []any{ok, stat.Czxid}, []any{true, l.Token().Zxid})
	}
	e.must(l.Release(e.ctx))
	// Many at once, in either order: each gets there.
	done := make([]<-chan error, 20)
	for i := range done {
		m := []*recipes.MultiLock{one, two}[i%2]
		done[i] = e.spawn(func() error {
			l, err := m.Lock(e.ctx)
			if err != nil {
				return err
			}
			return l.Release(e.ctx)
		})
	}
	for _, d := range done {
		e.must(e.result(d))
	}
}

func lostMultiLock(e *env) {
	for _, match := range []func(*frame) bool{sent(proto.OpMulti), replied(proto.OpMulti), replied(proto.OpGetChildren2)} {
		c, tp := e.client()
		m := e.multiLock(c, "/x", "/y")
		l, err := m.Lock(e.ctx)
		e.must(err)
		e.must(l.Release(e.ctx))
		tp.on(match, drop|cut)
		l, err = m.Lock(e.ctx)
		e.must(err)
		for _, part := range l.Leases() {
			stat, ok, err := c.Exists(e.ctx, part.Node())
			e.must(err)
			equal(e, "token", []any{ok, stat.Czxid}, []any{true, l.Token().Zxid})
		}
		e.must(l.Release(e.ctx))
		e.empty(c, "/x", "/y")
		e.must(c.Close())
	}
}

func election(e *env) {
	c, _ := e.client()
	d, tp := e.client()
	one, two := recipes.NewElection(c, lockDir, []byte("one")), recipes.NewElection(d, lockDir, []byte("two"))
	_, err := one.Leader(e.ctx)
	e.fails("nobody", err, recipes.ErrNoLeader)
	seen := make(chan string, 10)
	observing, stop := context.WithCancel(e.ctx)
	defer stop()
	observer := e.spawn(func() error {
		for p, err := range one.Observe(observing) {
			if err != nil {
				return nil // it was stopped
			}
			seen <- string(p.Data)
		}
		return nil
	})
	expect := func(want string) {
		e.Helper()
		select {
		case got := <-seen:
			equal(e, "leader", got, want)
		case <-e.ctx.Done():
			e.Fatalf("%q was not seen to lead", want)
		}
	}
	expect("")
	first, err := one.Campaign(e.ctx)
	e.must(err)
	expect("one")
	standby := e.queued(tp, func(ctx context.Context) (*recipes.Lease, error) {
		l, err := two.Campaign(ctx)
		if err != nil {
			return nil, err
		}
		return l.Lease, nil
	})
	e.must(first.Resign(e.ctx))
	second := e.granted(standby)
	expect("two")
	if second.Token().Compare(first.Token()) <= 0 {
		e.Errorf("token %v after %v", second.Token(), first.Token())
	}
	e.must(second.Release(e.ctx))
	expect("")
	stop()
	e.must(e.result(observer))
}
