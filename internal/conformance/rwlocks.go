package conformance

import (
	"context"
	"strings"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/recipes"
)

func rwEntries() []entry {
	return []entry{
		{"C156", "readers together, writers alone, both in the order in which they came; no upgrade", nil, readersAndWriters},
		{"C156 downgrade", "a writer becomes a reader in one transaction: readers get in, a writer that waits does not", nil, downgrade},
		{"C156 D3", "Curator's downgrade in two steps lets no waiting writer in", nil, curatorDowngrade},
		{"C156 lost", "the reply to a downgrade is lost: the hold goes on as a reader's, and nothing is left", nil, lostDowngrade},
	}
}

// acquiring is a method such as RWMutex.RLock.
type acquiring func(context.Context) (*recipes.Lease, error)

// goAcquire calls f in its own goroutine.
func (e *env) goAcquire(f acquiring) *wanting {
	w := &wanting{done: make(chan struct{})}
	// One call; owned by the entry, which waits for it; ends with the entry's context at the latest.
	go func() {
		defer close(w.done)
		w.lease, w.err = f(e.ctx)
	}()
	return w
}

// queued calls f, which will have to wait, and returns when it does: when its watches are set.
func (e *env) queued(tp *tap, f acquiring) *wanting {
	e.Helper()
	armed := func(f *frame) bool { return replied(proto.OpGetData)(f) && f.code == 0 }
	before := len(tp.frames(armed))
	w := e.goAcquire(f)
	tp.await(e, before+2, armed)
	equal(e, "the lock is waited for", w.over(), false)
	return w
}

func (e *env) rw() (*recipes.RWMutex, *client.Client, *tap) {
	c, tp := e.client()
	return recipes.NewRWMutex(c, lockDir), c, tp
}

func (e *env) acquired(f acquiring) *recipes.Lease {
	e.Helper()
	l, err := f(e.ctx)
	e.must(err)
	return l
}

func readersAndWriters(e *env) {
	one, c, tp1 := e.rw()
	two, _, tp2 := e.rw()
	three, _, tp3 := e.rw()
	e.lockPath(c)
	r1, r2 := e.acquired(one.RLock), e.acquired(two.RLock)
	_, err := one.TryLock(e.ctx)
	e.fails("trylock beside readers", err, recipes.ErrNotAcquired)
	_, err = one.Lock(r1.Context())
	e.fails("a reader that wants to write", err, recipes.ErrUpgrade)
	w := e.queued(tp3, three.Lock)
	late := e.queued(tp1, one.RLock)
	_, err = two.TryRLock(e.ctx)
	e.fails("tryrlock behind a writer that waits", err, recipes.ErrNotAcquired)
	e.must(r1.Release(e.ctx))
	last := e.queued(tp2, two.Lock)
	equal(e, "the writer waits for all readers", w.over(), false)
	e.must(r2.Release(e.ctx))
	l := e.granted(w)
	equal(e, "the reader waits for the writer", late.over(), false)
	e.must(l.Release(e.ctx))
	l = e.granted(late)
	equal(e, "the last writer waits for the reader", last.over(), false)
	e.must(l.Release(e.ctx))
	e.must(e.granted(last).Release(e.ctx))
	e.remains(c, 0)
}

func downgrade(e *env) {
	one, c, _ := e.rw()
	two, _, tp2 := e.rw()
	three, _, tp3 := e.rw()
	e.lockPath(c)
	l := e.acquired(one.Lock)
	reader := e.queued(tp2, two.RLock)
	writer := e.queued(tp3, three.Lock)
	old := l.Node()
	e.must(l.Downgrade(e.ctx))
	e.lists(tp3, 2) // what it lost was a writer, so it looks who is there now
	number := old[strings.LastIndex(old, "__WRIT__")+len("__WRIT__"):]
	if !l.Shared() || !strings.HasSuffix(l.Node(), "-__READ__"+number) {
		e.Errorf("%s became %s", old, l.Node())
	}
	stat, _, err := c.Exists(e.ctx, l.Node())
	e.must(err)
	equal(e, "token", l.Token(), recipes.Token{Zxid: stat.Czxid})
	beside := e.granted(reader)
	_, err = c.Multi(e.ctx, l.Guard(), client.SetOp("/", nil, client.AnyVersion))
	e.must(err)
	e.must(beside.Release(e.ctx))
	equal(e, "the writer waits for both readers", writer.over(), false)
	e.fails("once more", l.Downgrade(e.ctx), recipes.ErrNotWriter)
	e.must(l.Release(e.ctx))
	e.must(e.granted(writer).Release(e.ctx))
	e.remains(c, 0)
}

// lists waits until the client behind tp has read the queue n times.
func (e *env) lists(tp *tap, n int) {
	e.Helper()
	tp.await(e, n, replied(proto.OpGetChildren2))
}

func curatorDowngrade(e *env) {
	rw, c, _ := e.rw()
	two, _, tp := e.rw()
	other := e.raw()
	e.lockPath(c)
	l := e.acquired(rw.Lock)
	writer := e.queued(tp, two.Lock)
	number := l.Node()[strings.LastIndex(l.Node(), "__WRIT__")+len("__WRIT__"):]
	reader := lockDir + "/_c_ffffffff-ffff-ffff-ffff-ffffffffffff-__READ__" + number
	_, _, err := c.Create(e.ctx, reader, nil, client.ModeEphemeral, nil)
	e.must(err)
	other.delete(e.path(l.Node()))
	e.lists(tp, 2)
	equal(e, "the writer waits for the reader in the old place", writer.over(), false)
	e.fails("release", l.Release(e.ctx), recipes.ErrNodeGone)
	e.must(c.Delete(e.ctx, reader, client.AnyVersion))
	e.must(e.granted(writer).Release(e.ctx))
	e.remains(c, 0)
}

func lostDowngrade(e *env) {
	rw, c, tp := e.rw()
	other, _ := e.client()
	e.lockPath(c)
	l := e.acquired(rw.Lock)
	tp.on(replied(proto.OpMulti), drop|cut)
	e.must(l.Downgrade(e.ctx))
	equal(e, "shared", l.Shared(), true)
	e.must(e.acquired(recipes.NewRWMutex(other, lockDir).TryRLock).Release(e.ctx))
	e.must(l.Release(e.ctx))
	e.remains(c, 0)
}
