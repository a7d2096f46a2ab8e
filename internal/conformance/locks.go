package conformance

import (
	"context"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/recipes"
)

func lockEntries() []entry {
	return []entry{
		{"C154", "tokens rise with every grant, whoever gets it", nil, tokensRise},
		{"C148 F88", "50 waiters: own and two watches ahead, and one release wakes two of them", nil, oneWakesOne},
		{"C148 wchp", "the server has the waiters' watches on their own znode and the two ahead, and no others", []Ability{Watches}, watchesOfWaiters},
		{"C150 F86", "foreign names in the lock's znode are ignored, or waited for by rule", nil, foreignNames},
		{"C147 F78", "a lock call that ends by its context leaves nothing, whether waiting, queued or cut", nil, cancelledLock},
		{"C158 F82", "the lock's znode is deleted by an operator: the guard refuses, the release says so", nil, deletedByOperator},
		{"C159 F90", "the lock's path is removed by an operator, between attempts and while held: it is made again", nil, removedParent},
		{"C159 sweep", "the lock's path is a container that the server removes between attempts: it is made again", []Ability{Sweep}, sweptParent},
		{"P8 container", "a container goes when its last child has gone", []Ability{Sweep}, sweptContainer},
	}
}

// lockDir is the mutex's path. It is made as a persistent znode, so that no container is swept away under an entry.
const lockDir = "/lock"

// lockPath makes the mutex's path.
func (e *env) lockPath(c *client.Client) {
	e.Helper()
	_, _, err := c.Create(e.ctx, lockDir, nil, client.ModePersistent, nil)
	e.must(err)
}

// lock acquires the mutex.
func (e *env) lock(c *client.Client) *recipes.Lease {
	e.Helper()
	l, err := recipes.NewMutex(c, lockDir).Lock(e.ctx)
	e.must(err)
	return l
}

// wanting is a call of Lock in its own goroutine.
type wanting struct {
	lease *recipes.Lease
	err   error
	done  chan struct{}
}

func (e *env) goLock(ctx context.Context, c *client.Client, opts ...recipes.Option) *wanting {
	w := &wanting{done: make(chan struct{})}
	// One call of Lock; owned by the entry, which waits for it; ends with ctx at the latest.
	go func() {
		defer close(w.done)
		w.lease, w.err = recipes.NewMutex(c, lockDir, opts...).Lock(ctx)
	}()
	return w
}

// over reports whether the call has returned.
func (w *wanting) over() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// granted waits for the lease.
func (e *env) granted(w *wanting) *recipes.Lease {
	e.Helper()
	e.wait(w.done, "the lock")
	e.must(w.err)
	return w.lease
}

// waits waits until the call behind tp has set the watches of a waiter: on its own znode and the one ahead.
func (e *env) waits(tp *tap) {
	e.Helper()
	tp.await(e, 2, func(f *frame) bool { return replied(proto.OpGetData)(f) && f.code == 0 })
}

// remains waits until the mutex's path has n children.
func (e *env) remains(c *client.Client, n int) {
	e.Helper()
	for {
		list, w, err := c.ChildrenWatch(e.ctx, lockDir)
		e.must(err)
		if len(list.Names) == n {
			w.Close()
			return
		}
		e.event(w)
	}
}

func tokensRise(e *env) {
	a, _ := e.client()
	b, _ := e.client()
	e.lockPath(a)
	var last recipes.Token
	for i := range 20 {
		c := []*client.Client{a, b}[i%2]
		l := e.lock(c)
		if l.Token().Compare(last) <= 0 {
			e.Fatalf("token %v after %v", l.Token(), last)
		}
		last = l.Token()
		if i%4 == 0 { // hand it over to a waiter as well
			w := e.goLock(e.ctx, c)
			e.must(l.Release(e.ctx))
			l = e.granted(w)
			if l.Token().Compare(last) <= 0 {
				e.Fatalf("token %v after %v", l.Token(), last)
			}
			last = l.Token()
		}
		e.must(l.Release(e.ctx))
	}
	e.remains(a, 0)
}

func oneWakesOne(e *env) {
	const n = 50
	holder, _ := e.client()
	e.lockPath(holder)
	l := e.lock(holder)
	taps := make([]*tap, n)
	clients := make([]*client.Client, n)
	waiters := make([]*wanting, n)
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	for i := range n { // one after another, so that the order is known
		clients[i], taps[i] = e.client()
		waiters[i] = e.goLock(ctx, clients[i])
		want := min(3, 2+i) // its own znode, the one ahead, and if there is one the one before that
		taps[i].await(e, want, func(f *frame) bool { return replied(proto.OpGetData)(f) && f.code == 0 })
		armed := taps[i].frames(func(f *frame) bool { return f.out && f.op == proto.OpGetData && f.body[len(f.body)-1] == 1 })
		paths := map[string]bool{}
		for _, f := range armed {
			paths[f.path] = true
		}
		if len(armed) != want || len(paths) != want {
			e.Errorf("waiter %d has %d watches on %d paths, want %d", i, len(armed), len(paths), want)
		}
	}
	for i := range 3 {
		e.must(l.Release(e.ctx))
		l = e.granted(waiters[i])
		woken := 0
		for k := i + 1; k < n; k++ { // an event would come before the reply to a sync
			e.must(clients[k].Sync(e.ctx, "/"))
			woken += len(taps[k].frames(anEvent))
			if waiters[k].over() {
				e.Errorf("waiter %d has the lock too, or failed: %v", k, waiters[k].err)
			}
		}
		equal(e, "events at other waiters", woken, 1) // the next but one, which looks ahead
	}
	e.must(l.Release(e.ctx))
	cancel()
	for _, w := range waiters[3:] {
		e.wait(w.done, "the other waiters")
		if w.err == nil { // was granted before it was cancelled
			e.must(w.lease.Release(e.ctx))
		}
	}
	e.remains(holder, 0)
}

func watchesOfWaiters(e *env) {
	holder, _ := e.client()
	e.lockPath(holder)
	l := e.lock(holder)
	ahead := []string{l.Node()} // the nearest last
	want := map[string]int{}
	var waiters []*wanting
	for i := range 4 {
		c, tp := e.client()
		waiters = append(waiters, e.goLock(e.ctx, c))
		tp.await(e, min(3, 2+i), func(f *frame) bool { return replied(proto.OpGetData)(f) && f.code == 0 })
		own := tp.frames(replied(proto.OpCreate2))[0]
		var made proto.Create2Response
		(&raw{e: e}).decode(reply{body: own.body}, &made)
		for _, path := range ahead[max(0, len(ahead)-2):] {
			want[e.root+path]++
		}
		want[made.Path]++
		ahead = append(ahead, made.Path[len(e.root):])
	}
	watches, err := e.tg.Watches(e.ctx)
	e.must(err)
	got := map[string]int{}
	for path, sessions := range watches {
		if len(path) > len(e.root) && path[:len(e.root)] == e.root {
			got[path] = len(sessions)
		}
	}
	equal(e, "watches by path", got, want)
	for _, w := range waiters {
		e.must(l.Release(e.ctx))
		l = e.granted(w)
	}
	e.must(l.Release(e.ctx))
}
