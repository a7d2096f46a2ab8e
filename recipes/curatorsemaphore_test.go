package recipes

import (
	"errors"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// curatorKids returns the names of the znodes of the mutex and of the leases.
func curatorKids(srv *zktest.Server) (locks, leases []string) {
	synctest.Wait()
	return srv.Children("/lock/locks"), srv.Children("/lock/leases")
}

// wantKids checks how many there are of each.
func wantKids(t *testing.T, srv *zktest.Server, what string, locks, leases int) {
	t.Helper()
	if a, b := curatorKids(srv); len(a) != locks || len(b) != leases {
		t.Errorf("%s: locks %v, leases %v", what, a, b)
	}
}

// The layout is that of InterProcessSemaphoreV2, and the mutex is held until the lease is decided, no longer.
func TestCuratorSemaphore(t *testing.T) { // locks.md 2.3, 2.9
	const uuid = `^_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-`
	lockName, leaseName := regexp.MustCompile(uuid+`lock-[0-9]{10}$`), regexp.MustCompile(uuid+`lease-[0-9]{10}$`)
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := semPair(t, srv, 2, CuratorSemaphore(), Data([]byte("me")))
		defer closeAll()
		l, m := get(t, take(a, 1)), get(t, take(b, 1))
		wantKids(t, srv, "two held", 0, 2)
		if kids := srv.Children("/lock"); !slices.Equal(kids, []string{"leases", "locks"}) {
			t.Errorf("%v", kids)
		}
		if data, st, err := srv.Get(l.Node()); string(data) != "me" || st.EphemeralOwner != a.b.c.SessionID() || st.Czxid != l.Token().Zxid {
			t.Errorf("%q, %+v: %v", data, st, err)
		}
		if !l.Shared() || a.Path() != "/lock" {
			t.Errorf("shared %v, path %s", l.Shared(), a.Path())
		}
		busy(t, "all taken", tryTake(b, 1))
		wantKids(t, srv, "after TryAcquire", 0, 2)
		first, second := queued(t.Context(), take(b, 1)), queued(t.Context(), take(a, 1))
		wantKids(t, srv, "two wait", 2, 3) // one for its lease, with the mutex, and one for the mutex
		locks, leases := curatorKids(srv)
		for _, name := range locks {
			if !lockName.MatchString(name) {
				t.Error(name)
			}
		}
		for _, name := range leases {
			if !leaseName.MatchString(name) {
				t.Error(name)
			}
		}
		busy(t, "somebody is deciding", tryTake(b, 1))
		release(t, l)
		l = granted(t, "first", first)
		waits(t, "second", second)
		wantKids(t, srv, "one waits, with the mutex", 1, 3)
		release(t, m)
		m = granted(t, "second", second)
		release(t, l)
		release(t, m)
		wantKids(t, srv, "the end", 0, 0)
		_, err := a.Acquire(t.Context(), 2)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("two at a time: %v", err)
		}
		if err := a.SetPermits(t.Context(), 3); err == nil {
			t.Error("SetPermits")
		}
		if data, _, _ := srv.Get("/lock/leases"); len(data) != 0 {
			t.Errorf("%q", data)
		}
	})
}

// What an acquire costs: two flights, and the release of the mutex, which nobody waits for.
func TestCuratorSemaphoreFlights(t *testing.T) { // A8
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := semPair(t, srv, 2, CuratorSemaphore())
		defer closeAll()
		var l, m *Lease
		flights(t, srv, "paths missing", 2+2+1, func() { l = get(t, take(a, 1)) })
		before := srv.Snapshot().Requests
		flights(t, srv, "free", 2+1, func() { m = get(t, take(b, 1)) })
		if n := srv.Snapshot().Requests - before; n != 5 {
			t.Errorf("%d requests, want two creates, two lists, a delete", n)
		}
		w := queued(t.Context(), take(b, 1))
		flights(t, srv, "to the waiter, and the release of the mutex", 1+1, func() { release(t, l); <-w.done })
		flights(t, srv, "release", 1, func() { release(t, m) })
		release(t, granted(t, "the waiter", w))
	})
}

// Every child of leases counts, whatever its name and number.
func TestCuratorSemaphoreCountsEveryChild(t *testing.T) { // locks.md 2.3
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := semPair(t, srv, 3, CuratorSemaphore())
		defer closeAll()
		release(t, get(t, take(a, 1))) // the paths exist
		names := []string{"config", "_c_01234567-89ab-cdef-0123-456789abcdef-lease-0000000999"}
		for _, name := range names {
			must(srv.Create("/lock/leases/"+name, nil, proto.ModePersistent))
		}
		l := get(t, take(a, 1))
		for _, name := range names {
			busy(t, "all taken", tryTake(b, 1))
			w := queued(t.Context(), take(b, 1))
			waits(t, name, w)
			must(0, srv.Delete("/lock/leases/"+name))
			release(t, granted(t, name, w))
			must(srv.Create("/lock/leases/"+name, nil, proto.ModePersistent))
		}
		release(t, l)
		ps, err := a.Participants(t.Context())
		if err != nil || len(ps) != 2 || !ps[0].Shared || !ps[0].Holds || ps[0].Permits != 1 {
			t.Errorf("%+v: %v", ps, err)
		}
	})
}

// The one-permit form, which a Mutex without the option on the same path does not exclude.
func TestCuratorSemaphoreMutex(t *testing.T) { // A4, 2.3
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		m, r := NewMutex(a, "/lock", CuratorSemaphore()), NewReentrant(b, "/lock", CuratorSemaphore())
		plain := NewMutex(b, "/lock")
		one := NewSemaphore(b, "/lock", 1, CuratorSemaphore())
		if m.Path() != "/lock" || r.Path() != "/lock" || NewMutex(a, "/", CuratorSemaphore()).Path() != "/" {
			t.Errorf("paths %s, %s", m.Path(), r.Path())
		}
		l := lock(t, m)
		busy(t, "the same as a Semaphore", tryTake(one, 1))
		if _, _, err := r.TryLock(t.Context()); !errors.Is(err, ErrNotAcquired) {
			t.Errorf("the same as a Reentrant: %v", err)
		}
		release(t, get(t, plain.TryLock)) // documented
		w := goEnter(t.Context(), r)
		synctest.Wait()
		old := l.Token()
		wantKids(t, srv, "one holds, one waits", 1, 2)
		release(t, l)
		<-w.done
		if w.err != nil || w.entry.Token().Compare(old) <= 0 {
			t.Fatalf("%v, token %v after %v", w.err, w.entry.Token(), old)
		}
		inside, again, err := r.Lock(w.ctx)
		if err != nil || again.Depth() != 2 {
			t.Errorf("%v", err)
		}
		_, err = one.Acquire(inside, 1)
		wantErr(t, err, ErrNested)
		leave(t, again)
		leave(t, w.entry)
		wantKids(t, srv, "the end", 0, 0)
	})
}

// A hold of the one layout is none of the other: with it, neither is the other refused nor entered.
func TestHoldsOfTwoLayouts(t *testing.T) { // A7: keyed by session, layout and path
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		layouts := map[string][]Option{"default": nil, "CuratorSemaphore": {CuratorSemaphore()}, "KazooNames": {KazooNames()}}
		for outer, first := range layouts {
			for inner, second := range layouts {
				if outer == inner {
					continue
				}
				ctx, e := enter(t.Context(), t, NewReentrant(c, "/lock", first...))
				_, f := enter(ctx, t, NewReentrant(c, "/lock", second...))
				if f.Node() == e.Node() || f.Depth() != 1 || e.Depth() != 1 {
					t.Errorf("%s inside %s: entered the hold of the other", inner, outer)
				}
				leave(t, f)
				leave(t, e)
				o := new(Owner)
				x, y := enterAs(t, NewReentrant(c, "/lock", first...), o), enterAs(t, NewReentrant(c, "/lock", second...), o)
				if x.Node() == y.Node() {
					t.Errorf("%s inside %s, with an owner: entered the hold of the other", inner, outer)
				}
				leave(t, y)
				leave(t, x)
			}
		}
		ctx, e := enter(t.Context(), t, NewReentrant(c, "/lock"))
		_, f := enter(ctx, t, NewReentrant(c, "/lock", GoZookeeperNames())) // the same lock
		if f.Depth() != 2 {
			t.Errorf("depth %d", f.Depth())
		}
		leave(t, f)
		leave(t, e)
	})
}

// The goroutines of one Mutex line up in memory, with the semaphore's layout as well, and may hand the lease over.
func TestCuratorSemaphoreLocalQueue(t *testing.T) { // A2.6
	for name, opt := range map[string]Option{"LocalQueue": LocalQueue(), "HandOver": HandOver(9, time.Hour)} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := dial(t, srv)
				defer c.Close()
				m := NewMutex(c, "/lock", CuratorSemaphore(), opt)
				l := lock(t, m)
				first, second := queued(t.Context(), m.Lock), queued(t.Context(), m.Lock)
				wantKids(t, srv, "two wait in memory", 0, 1)
				if n := m.LocalWaiters(); n != 2 {
					t.Errorf("%d wait", n)
				}
				for _, w := range []*waiter{first, second} {
					node := l.Node()
					release(t, l)
					l = granted(t, "next", w)
					if (l.Node() == node) != (name == "HandOver") {
						t.Errorf("%s after %s", l.Node(), node)
					}
				}
				release(t, l)
				wantKids(t, srv, "the end", 0, 0)
			})
		})
	}
}
