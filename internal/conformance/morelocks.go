package conformance

import (
	"context"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

func moreLockEntries() []entry {
	return []entry{
		{"C155 F94", "whoever holds a re-entrant lock can have it again without a znode; every lock wants its release", nil, reentrant},
		{"I6 handover", "a znode that is handed over in the process: tokens rise, and the guard of the holder before is refused", nil, handOver},
		{"I6 queue", "goroutines that line up in memory have one znode at a time, and others get their turn", nil, localQueue},
		{"revoke", "a participant is asked for the lock as Curator asks, and gives it up", nil, revoked},
		{"participants", "the participants are listed in order, with their data, and who of them holds", nil, listed},
	}
}

func reentrant(e *env) {
	c, _ := e.client()
	d, _ := e.client()
	e.lockPath(c)
	r := recipes.NewReentrant(c, lockDir)
	ctx, outer, err := r.Lock(e.ctx)
	e.must(err)
	_, inner, err := r.Lock(ctx)
	e.must(err)
	e.remains(c, 1)
	equal(e, "levels", inner.Depth(), 2)
	_, _, err = r.TryLock(e.ctx) // with a context that does not carry the hold
	e.fails("another owner", err, recipes.ErrNotAcquired)
	e.must(outer.Release(e.ctx))
	_, err = recipes.NewMutex(d, lockDir).TryLock(e.ctx)
	e.fails("a mutex on the same path", err, recipes.ErrNotAcquired)
	e.must(inner.Release(e.ctx))
	e.fails("once more", inner.Release(e.ctx), recipes.ErrNotHeld)
	e.remains(c, 0)

	var o recipes.Owner
	first, err := r.LockAs(e.ctx, &o)
	e.must(err)
	second, err := r.LockAs(e.ctx, &o)
	e.must(err)
	e.must(first.Release(e.ctx))
	e.remains(c, 1)
	e.must(second.Release(e.ctx))
	e.remains(c, 0)
}

func handOver(e *env) {
	c, _ := e.client()
	e.lockPath(c)
	m := recipes.NewMutex(c, lockDir, recipes.HandOver(3, time.Hour), recipes.GuardedHandover())
	l := e.acquired(m.Lock)
	var last *recipes.Lease
	for i := range 3 {
		next := e.goAcquire(m.Lock)
		e.poll("it to wait, in memory", func() bool { return m.LocalWaiters() == 1 })
		e.remains(c, 1)
		last = l
		e.must(last.Release(e.ctx))
		l = e.granted(next)
		if l.Token().Compare(last.Token()) <= 0 {
			e.Errorf("token %v after %v", l.Token(), last.Token())
		}
		equal(e, "the znode is the same", l.Node() == last.Node(), i < 2) // the fourth grant has a new one
		_, err := c.Multi(e.ctx, l.Guard(), client.SetOp("/", nil, client.AnyVersion))
		e.must(err)
		_, err = c.Multi(e.ctx, last.Guard(), client.SetOp("/", nil, client.AnyVersion))
		if i < 2 {
			e.fails("guard of the holder before", err, client.ErrBadVersion)
		} else {
			e.fails("guard of the znode before", err, client.ErrNoNode)
		}
	}
	e.must(l.Release(e.ctx))
	e.remains(c, 0)
}

func localQueue(e *env) {
	c, _ := e.client()
	d, tp := e.client()
	e.lockPath(c)
	m := recipes.NewMutex(c, lockDir, recipes.LocalQueue())
	l := e.acquired(m.Lock)
	_, err := m.TryLock(e.ctx)
	e.fails("trylock beside another goroutine", err, recipes.ErrNotAcquired)
	other := e.queued(tp, recipes.NewMutex(d, lockDir).Lock)
	local := e.goAcquire(m.Lock)
	e.poll("it to wait, in memory", func() bool { return m.LocalWaiters() == 1 })
	e.remains(c, 2) // the local one has no znode
	e.must(l.Release(e.ctx))
	remote := e.granted(other)
	e.remains(c, 2) // now it has
	equal(e, "the local one waits for its turn", local.over(), false)
	e.must(remote.Release(e.ctx))
	e.must(e.granted(local).Release(e.ctx))
	e.remains(c, 0)
}

func revoked(e *env) {
	c, _ := e.client()
	d, _ := e.client()
	e.lockPath(c)
	m := recipes.NewMutex(c, lockDir, recipes.Revocable(nil))
	l := e.acquired(m.Lock)
	data, _, err := c.Get(e.ctx, l.Node())
	e.must(err)
	equal(e, "data of a revocable lock", string(data), "")
	next := e.goAcquire(recipes.NewMutex(d, lockDir).Lock)
	e.must(recipes.Revoke(e.ctx, d, l.Node()))
	e.wait(l.Done(), "the lease to end")
	e.fails("cause", context.Cause(l.Context()), recipes.ErrRevoked)
	equal(e, "the next one waits for the release", next.over(), false)
	e.fails("release", l.Release(e.ctx), recipes.ErrRevoked)
	e.must(e.granted(next).Release(e.ctx))
	e.fails("nobody is there", recipes.Revoke(e.ctx, d, l.Node()), client.ErrNoNode)
	e.remains(c, 0)
}

func listed(e *env) {
	rw, c, _ := e.rw()
	two, d, tp := e.rw()
	e.lockPath(c)
	ps, err := rw.Participants(e.ctx)
	e.must(err)
	equal(e, "participants of a free lock", len(ps), 0)
	r1, r2 := e.acquired(rw.RLock), e.acquired(rw.RLock)
	w := e.queued(tp, two.Lock)
	ps, err = rw.Participants(e.ctx)
	e.must(err)
	if len(ps) != 3 {
		e.Fatalf("%d participants: %+v", len(ps), ps)
	}
	for i, l := range []*recipes.Lease{r1, r2} {
		p := ps[i]
		if p.Node != l.Node() || p.Token != l.Token() || p.Session != c.SessionID() || !p.Holds || !p.Shared || p.Err != nil || len(p.Data) == 0 {
			e.Errorf("reader %d: %+v", i, p)
		}
	}
	if p := ps[2]; p.Holds || p.Shared || p.Session != d.SessionID() {
		e.Errorf("writer: %+v", p)
	}
	e.must(r1.Release(e.ctx))
	e.must(r2.Release(e.ctx))
	l := e.granted(w)
	equal(e, "token", l.Token(), ps[2].Token)
	e.must(l.Release(e.ctx))
}
