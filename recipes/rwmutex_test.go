package recipes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/zktest"
)

// acquire is one of the methods that acquire a lock.
type acquire func(context.Context) (*Lease, error)

// get acquires, and fails when that takes longer than an hour of virtual time.
func get(t *testing.T, f acquire) *Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	l, err := f(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// queued starts f and returns when it has got the lock or waits for it.
func queued(ctx context.Context, f acquire) *waiter {
	w := &waiter{done: make(chan struct{})}
	go func() {
		w.lease, w.err = f(ctx)
		close(w.done)
	}()
	synctest.Wait()
	return w
}

// granted fails unless w has got the lock.
func granted(t *testing.T, what string, w *waiter) *Lease {
	t.Helper()
	synctest.Wait()
	if !w.over() || w.err != nil {
		t.Fatalf("%s: over %v, %v", what, w.over(), w.err)
	}
	return w.lease
}

// await waits until w is over, and fails when that takes longer than an hour of virtual time.
func await(t *testing.T, what string, w *waiter) {
	t.Helper()
	select {
	case <-w.done:
	case <-time.After(time.Hour):
		t.Fatalf("%s: not over after an hour", what)
	}
}

// waits fails unless w waits.
func waits(t *testing.T, what string, w *waiter) {
	t.Helper()
	synctest.Wait()
	if w.over() {
		t.Fatalf("%s does not wait: %v", what, w.err)
	}
}

// rwPair returns two locks of one path in sessions of their own, and what closes them.
func rwPair(t *testing.T, srv *zktest.Server, opts ...Option) (a, b *RWMutex, closeAll func()) {
	t.Helper()
	ca, cb := dial(t, srv), dialTo(t, srv, "two:2181")
	return NewRWMutex(ca, "/lock", opts...), NewRWMutex(cb, "/lock", opts...), func() { _ = ca.Close(); _ = cb.Close() }
}

func leftBehind(t *testing.T, srv *zktest.Server) {
	t.Helper()
	synctest.Wait()
	if left := srv.Children("/lock"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestRWReadersTogetherWriterAlone(t *testing.T) { // C156
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := rwPair(t, srv)
		defer closeAll()
		var readers []*Lease
		tokens := map[Token]bool{}
		for i := range 6 {
			l := get(t, []*RWMutex{a, b}[i%2].RLock)
			if !l.Shared() || l.State() != Held || tokens[l.Token()] {
				t.Errorf("reader: shared %v, %v, token %v", l.Shared(), l.State(), l.Token())
			}
			tokens[l.Token()] = true
			readers = append(readers, l)
		}
		readers = append(readers, get(t, b.TryRLock))
		w := queued(t.Context(), a.Lock)
		before := srv.Children("/lock")
		for name, try := range map[string]acquire{"TryLock": b.TryLock, "TryRLock behind a waiting writer": b.TryRLock} {
			if l, err := try(t.Context()); l != nil || !errors.Is(err, ErrNotAcquired) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if after := srv.Children("/lock"); len(after) != len(before) {
			t.Errorf("left behind: %v, before %v", after, before)
		}
		late := queued(t.Context(), b.RLock)
		for _, l := range readers {
			waits(t, "the writer", w)
			waits(t, "the reader behind it", late)
			release(t, l)
		}
		wl := granted(t, "the writer", w)
		if wl.Shared() {
			t.Error("a writer that shares")
		}
		waits(t, "the reader behind the writer", late)
		if _, err := b.TryRLock(t.Context()); !errors.Is(err, ErrNotAcquired) {
			t.Errorf("TryRLock behind a writer that holds: %v", err)
		}
		release(t, wl)
		release(t, granted(t, "the reader behind the writer", late))
		release(t, get(t, a.TryLock))
		leftBehind(t, srv)
	})
}

// queue is a read-write lock as it should be: whoever wants it, in order.
type rwQueue []*rwEntry

type rwEntry struct {
	w      *waiter
	shared bool
	cancel context.CancelFunc
}

// holds says who of the queue has the lock: a reader without a writer ahead, a writer without anybody.
func (q rwQueue) holds(i int) bool {
	for _, e := range q[:i] {
		if !e.shared || !q[i].shared {
			return false
		}
	}
	return true
}

// TestRWQueue compares with that at every step, while contenders on several clients come, go, give up and downgrade: first
// come first served in both directions, so nobody starves, and nobody waits for less than he has to.
func TestRWQueue(t *testing.T) { // C156, F92, K24, K27
	for name, opts := range map[string][]Option{
		"look-ahead": nil, "without": {NoLookAhead()}, "always list": {AlwaysList()}, "without own watch": {NoOwnWatch()},
	} {
		for seed := range uint64(6) {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				bubble(t, func(t *testing.T, srv *zktest.Server) { rwQueueRun(t, srv, opts, rand.New(rand.NewPCG(seed, 7))) })
			})
		}
	}
}

func rwQueueRun(t *testing.T, srv *zktest.Server, opts []Option, rng *rand.Rand) {
	var locks []*RWMutex
	for range 4 {
		c := dial(t, srv)
		defer c.Close()
		locks = append(locks, NewRWMutex(c, "/lock", opts...))
	}
	var q rwQueue
	for step := 0; step < 200 || len(q) > 0; step++ {
		i := 0
		if len(q) > 0 {
			i = rng.IntN(len(q))
		}
		switch {
		case step < 200 && (len(q) < 4 || rng.IntN(3) == 0):
			q = append(q, rwJoin(t, locks[rng.IntN(len(locks))], rng.IntN(3) > 0))
		case !q.holds(i) && step < 200 && rng.IntN(3) > 0: // most are patient
		case !q.holds(i):
			q[i].cancel()
			q = append(q[:i], q[i+1:]...)
		case !q[i].shared && rng.IntN(2) == 0:
			if err := q[i].w.lease.Downgrade(t.Context()); err != nil {
				t.Fatal(err)
			}
			q[i].shared = true
		default:
			release(t, q[i].w.lease)
			q[i].cancel()
			q = append(q[:i], q[i+1:]...)
		}
		synctest.Wait()
		for i, e := range q {
			if e.w.over() != q.holds(i) || e.w.err != nil {
				t.Fatalf("step %d: number %d of %d, shared %v: over %v, want %v: %v", step, i, len(q), e.shared, e.w.over(), q.holds(i), e.w.err)
			}
		}
	}
	leftBehind(t, srv)
}

func rwJoin(t *testing.T, rw *RWMutex, shared bool) *rwEntry {
	ctx, cancel := context.WithCancel(t.Context())
	f := rw.Lock
	if shared {
		f = rw.RLock
	}
	return &rwEntry{queued(ctx, f), shared, cancel}
}

func TestRWNestingIsRefused(t *testing.T) { // C156: upgrade refused
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		rw, same, other := NewRWMutex(c, "/lock"), NewRWMutex(c, "/lock"), NewRWMutex(c, "/other")
		before := context.WithValue(t.Context(), key{}, "before")
		read := get(t, func(context.Context) (*Lease, error) { return rw.RLock(before) })
		check := func(what string, f acquire, ctx context.Context, want error) {
			t.Helper()
			ctx, cancel := context.WithTimeout(ctx, time.Hour) // in which a wait for ever would not show
			defer cancel()
			l, err := f(ctx)
			var e *Error
			if l != nil || !errors.Is(err, want) || !errors.As(err, &e) || e.Path != "/lock" {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		nested := context.WithValue(read.Context(), key{}, "inside")
		for _, m := range []*RWMutex{rw, same} {
			check("Lock inside RLock", m.Lock, nested, ErrUpgrade)
			check("TryLock inside RLock", m.TryLock, nested, ErrUpgrade)
			check("RLock inside RLock", m.RLock, nested, ErrNested)
			check("TryRLock inside RLock", m.TryRLock, nested, ErrNested)
		}
		if n := len(srv.Children("/lock")); n != 1 {
			t.Errorf("%d children: a refusal asks nobody", n)
		}
		release(t, get(t, func(context.Context) (*Lease, error) { return rw.RLock(before) })) // from before the lock: another reader
		inner, err := other.Lock(nested)                                                      // another lock
		if err != nil {
			t.Fatal(err)
		}
		check("Lock inside RLock, through another lock", rw.Lock, inner.Context(), ErrUpgrade)
		release(t, inner)
		release(t, read)
		check("after the release", rw.Lock, nested, ErrReleased)
		write := get(t, rw.Lock)
		check("Lock inside Lock", rw.Lock, write.Context(), ErrNested)
		check("TryRLock inside Lock", rw.TryRLock, write.Context(), ErrNested)
		if err := write.Downgrade(t.Context()); err != nil {
			t.Fatal(err)
		}
		check("Lock inside a downgraded one", rw.Lock, write.Context(), ErrUpgrade)
		detached := context.WithoutCancel(write.Context())
		release(t, write)
		release(t, get(t, func(context.Context) (*Lease, error) { return rw.Lock(detached) })) // carries what is over
	})
}
