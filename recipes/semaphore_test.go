package recipes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// take is Acquire of n permits.
func take(s *Semaphore, n int) acquire {
	return func(ctx context.Context) (*Lease, error) { return s.Acquire(ctx, n) }
}

func tryTake(s *Semaphore, n int) acquire {
	return func(ctx context.Context) (*Lease, error) { return s.TryAcquire(ctx, n) }
}

// semPair returns two semaphores of one path in sessions of their own, and what closes them.
func semPair(t *testing.T, srv *zktest.Server, permits int, opts ...Option) (a, b *Semaphore, closeAll func()) {
	t.Helper()
	ca, cb := dial(t, srv), dialTo(t, srv, "two:2181")
	a, b = NewSemaphore(ca, "/lock", permits, opts...), NewSemaphore(cb, "/lock", permits, opts...)
	return a, b, func() { _ = ca.Close(); _ = cb.Close() }
}

func busy(t *testing.T, what string, f acquire) {
	t.Helper()
	if l, err := f(t.Context()); l != nil || !errors.Is(err, ErrNotAcquired) {
		t.Errorf("%s: %v", what, err)
	}
}

func TestSemaphore(t *testing.T) { // C157
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := semPair(t, srv, 3)
		defer closeAll()
		name := regexp.MustCompile(`^/lock/_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-n3-w1-[0-9]{10}$`)
		var held []*Lease
		tokens := map[Token]bool{}
		for i := range 3 {
			l := get(t, take([]*Semaphore{a, b}[i%2], 1))
			if !l.Shared() || l.State() != Held || tokens[l.Token()] || !name.MatchString(l.Node()) {
				t.Errorf("%s: shared %v, %v, token %v", l.Node(), l.Shared(), l.State(), l.Token())
			}
			tokens[l.Token()] = true
			held = append(held, l)
		}
		busy(t, "all taken", tryTake(a, 1))
		if n := kids(srv); n != 3 {
			t.Errorf("%d znodes after TryAcquire", n)
		}
		first, second := queued(t.Context(), take(b, 1)), queued(t.Context(), take(a, 1))
		waits(t, "first", first)
		release(t, held[2])
		l := granted(t, "first", first)
		waits(t, "second", second)
		release(t, held[0])
		release(t, granted(t, "second", second))
		release(t, held[1])
		release(t, l)
		release(t, get(t, tryTake(a, 3)))
		leftBehind(t, srv)
	})
}

// All or nothing, and first come first served: a heavy head keeps lighter ones behind it waiting.
func TestSemaphoreWeights(t *testing.T) { // A5
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := semPair(t, srv, 5)
		defer closeAll()
		two, one := get(t, take(a, 2)), get(t, take(b, 1))
		heavy := queued(t.Context(), take(b, 4)) // of which 2 are free
		light := queued(t.Context(), take(a, 1))
		waits(t, "light behind heavy", light)
		busy(t, "TryAcquire behind heavy", tryTake(a, 1))
		release(t, one)
		waits(t, "heavy, 3 of 4 are free", heavy)
		waits(t, "light behind heavy", light)
		release(t, two)
		h := granted(t, "heavy", heavy)
		l := granted(t, "light", light)
		busy(t, "all taken", tryTake(a, 1))
		release(t, h)
		busy(t, "4 free", tryTake(b, 5))
		release(t, get(t, tryTake(b, 4)))
		release(t, l)
		release(t, get(t, take(b, 5)))

		// A heavy one that gives up lets those behind it in.
		two = get(t, take(a, 2))
		ctx, cancel := context.WithCancel(t.Context())
		heavy = queued(ctx, take(b, 5))
		light = queued(t.Context(), take(a, 3))
		waits(t, "light behind heavy", light)
		cancel()
		await(t, "heavy", heavy)
		wantErr(t, heavy.err, context.Canceled)
		release(t, granted(t, "light", light))
		release(t, two)
		leftBehind(t, srv)
	})
}

// A semaphore with one permit is a mutex: alone, with tokens in order, look-ahead, and the same flights and requests.
func TestSemaphoreOfOne(t *testing.T) { // A5
	run := func(f func(*client.Client) acquire) (flights []int, requests int64) {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			var ws []*waiter
			for range 5 {
				c := dial(t, srv)
				defer c.Close()
				ws = append(ws, queued(t.Context(), f(c)))
			}
			before := srv.Snapshot().Requests
			for i, w := range ws[1:] {
				waits(t, fmt.Sprint("number ", i+1), w)
				l := granted(t, fmt.Sprint("number ", i), ws[i])
				if l.Shared() {
					t.Error("shared")
				}
				flights = append(flights, srv.Flights(synctest.Wait, func() { release(t, l); <-w.done }))
				if next := granted(t, fmt.Sprint("number ", i+1), w); next.Token().Compare(l.Token()) <= 0 {
					t.Errorf("token %v after %v", next.Token(), l.Token())
				}
			}
			requests = srv.Snapshot().Requests - before
			release(t, ws[4].lease)
			leftBehind(t, srv)
		})
		return flights, requests
	}
	flights, requests := run(func(c *client.Client) acquire { return take(NewSemaphore(c, "/lock", 1), 1) })
	wantFlights, wantRequests := run(func(c *client.Client) acquire { return NewMutex(c, "/lock").Lock })
	if !slices.Equal(flights, wantFlights) || requests != wantRequests {
		t.Errorf("%v flights with %d requests, a mutex %v with %d", flights, requests, wantFlights, wantRequests)
	}
	if flights[3] != 1 {
		t.Errorf("%d flights to hand over to the last one", flights[3])
	}
}

// semQueue is a semaphore as it should be: whoever wants permits, in order.
type semQueue []*semEntry

type semEntry struct {
	w      *waiter
	weight int
	cancel context.CancelFunc
}

// holds says whether those up to i fit: then i has its permits.
func (q semQueue) holds(i, permits int) bool {
	sum := 0
	for _, e := range q[:i+1] {
		sum += e.weight
	}
	return sum <= permits
}

// TestSemaphoreQueue compares with that at every step, while contenders on several clients come, go and give up: nobody gets
// in too early, nobody waits for longer than he has to, and what is held is never more than there is.
func TestSemaphoreQueue(t *testing.T) { // C157, A10 rule 14
	for name, opts := range map[string][]Option{
		"plain": nil, "without look-ahead": {NoLookAhead()}, "always list": {AlwaysList()}, "without own watch": {NoOwnWatch()},
	} {
		for _, permits := range []int{1, 2, 3, 5} {
			for seed := range uint64(3) {
				t.Run(fmt.Sprint(name, " ", permits, " ", seed), func(t *testing.T) {
					bubble(t, func(t *testing.T, srv *zktest.Server) {
						semQueueRun(t, srv, permits, opts, rand.New(rand.NewPCG(seed, uint64(permits))))
					})
				})
			}
		}
	}
}

func semQueueRun(t *testing.T, srv *zktest.Server, permits int, opts []Option, rng *rand.Rand) {
	var sems []*Semaphore
	for range 4 {
		c := dial(t, srv)
		defer c.Close()
		sems = append(sems, NewSemaphore(c, "/lock", permits, opts...))
	}
	var q semQueue
	for step := 0; step < 150 || len(q) > 0; step++ {
		i := 0
		if len(q) > 0 {
			i = rng.IntN(len(q))
		}
		switch {
		case step < 150 && (len(q) < permits+2 || rng.IntN(3) == 0):
			q = append(q, semJoin(t, sems[rng.IntN(len(sems))], 1+rng.IntN(permits)*rng.IntN(2)))
		case !q.holds(i, permits) && step < 150 && rng.IntN(3) > 0: // most are patient
		case !q.holds(i, permits):
			q[i].cancel()
			q = append(q[:i], q[i+1:]...)
		default:
			release(t, q[i].w.lease)
			q[i].cancel()
			q = append(q[:i], q[i+1:]...)
		}
		synctest.Wait()
		q.check(t, step, permits)
	}
	leftBehind(t, srv)
}

func (q semQueue) check(t *testing.T, step, permits int) {
	t.Helper()
	for i, e := range q {
		if e.w.over() != q.holds(i, permits) || e.w.err != nil {
			t.Fatalf("step %d: number %d of %d, weight %d of %d: over %v, want %v: %v", step, i, len(q), e.weight, permits,
				e.w.over(), q.holds(i, permits), e.w.err)
		}
	}
}

func semJoin(t *testing.T, s *Semaphore, weight int) *semEntry {
	ctx, cancel := context.WithCancel(t.Context())
	return &semEntry{w: queued(ctx, take(s, weight)), weight: weight, cancel: cancel}
}

// What cannot be acquired is refused without a word to the server.
func TestSemaphoreBounds(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		s, z := NewSemaphore(c, "/lock", 3), NewSemaphore(c, "/lock", FromZnode)
		before := srv.Snapshot().Requests
		for _, tc := range []struct {
			s *Semaphore
			n int
		}{{s, 0}, {s, -1}, {s, 4}, {s, MaxPermits + 1}, {z, 0}, {z, -1}, {z, MaxPermits + 1}} {
			for op, f := range map[string]acquire{"acquire": take(tc.s, tc.n), "tryacquire": tryTake(tc.s, tc.n)} {
				l, err := f(t.Context())
				var e *Error
				if l != nil || !errors.Is(err, ErrCapacity) || !errors.As(err, &e) || e.Op != op || e.Path != "/lock" {
					t.Errorf("%s(%d): %v", op, tc.n, err)
				}
			}
		}
		for _, n := range []int{0, -1, MaxPermits + 1} {
			wantErr(t, z.SetPermits(t.Context(), n), ErrCapacity)
		}
		if n := srv.Snapshot().Requests - before; n != 0 {
			t.Errorf("%d requests", n)
		}
		most := NewSemaphore(c, "/lock", MaxPermits)
		release(t, get(t, take(most, MaxPermits)))
		leftBehind(t, srv)
	})
}

func TestSemaphoreBadArguments(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		var none *Semaphore
		for name, s := range map[string]*Semaphore{
			"nil": none, "zero": {}, "client": NewSemaphore(nil, "/lock", 2), "path": NewSemaphore(c, "no/slash", 2),
			"option": NewSemaphore(c, "/lock", 2, nil), "negative": NewSemaphore(c, "/lock", -1), "too many": NewSemaphore(c, "/lock", MaxPermits+1),
			"LocalQueue": NewSemaphore(c, "/lock", 2, LocalQueue()), "HandOver": NewSemaphore(c, "/lock", 2, HandOver(2, time.Second)),
			"KazooNames": NewSemaphore(c, "/lock", 2, KazooNames()), "GoZookeeperNames": NewSemaphore(c, "/lock", 2, GoZookeeperNames()),
			"CountForeign": NewSemaphore(c, "/lock", 2, CountForeign()), "LatchNames": NewSemaphore(c, "/lock", 2, LatchNames()),
			"Curator FromZnode":  NewSemaphore(c, "/lock", FromZnode, CuratorSemaphore()),
			"Curator LocalQueue": NewSemaphore(c, "/lock", 2, CuratorSemaphore(), LocalQueue()),
			"Curator and kazoo":  NewSemaphore(c, "/lock", 2, CuratorSemaphore(), KazooNames()),
			"guarded":            NewSemaphore(c, "/lock", 2, GuardedHandover()),
			"data":               NewSemaphore(c, "/lock", 2, Revocable(nil), Data(nil)),
		} {
			var e *Error
			for _, f := range []acquire{take(s, 1), tryTake(s, 1)} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // in which no wait for ever would show
				l, err := f(ctx)
				cancel()
				if l != nil || !errors.As(err, &e) || e.Op == "" || e.Error() == "" {
					t.Errorf("%s: %v", name, err)
				}
			}
			if _, err := s.Participants(t.Context()); !errors.As(err, &e) {
				t.Errorf("%s: Participants: %v", name, err)
			}
			if err := s.SetPermits(t.Context(), 2); !errors.As(err, &e) {
				t.Errorf("%s: SetPermits: %v", name, err)
			}
			_ = s.Path()
		}
		s := NewSemaphore(c, "/lock", 2)
		var nothing context.Context
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for op, f := range map[string]acquire{"acquire": take(s, 1), "tryacquire": tryTake(s, 1)} {
			_, err := f(nothing)
			wantErr(t, err, client.ErrNilContext)
			_, err = f(over)
			wantErr(t, err, context.Canceled)
			var e *Error
			if !errors.As(err, &e) || e.Op != op {
				t.Errorf("%v, want %s", err, op)
			}
		}
		if srv.Exists("/lock") || s.Path() != "/lock" || none.Path() != "" {
			t.Errorf("path %q, %q", s.Path(), none.Path())
		}
	})
}
