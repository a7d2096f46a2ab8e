package recipes

import (
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// The names differ from the default's in the form of the UUID alone, and either excludes the other.
func TestGoZookeeperNames(t *testing.T) { // 2.7, 2.9
	name := regexp.MustCompile(`^/lock/_c_[0-9a-f]{32}-lock-[0-9]{10}$`)
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		m, d := NewMutex(a, "/lock", GoZookeeperNames()), NewMutex(b, "/lock")
		l := lock(t, m)
		if !name.MatchString(l.Node()) {
			t.Error(l.Node())
		}
		busy(t, "the default", d.TryLock)
		w := queued(t.Context(), d.Lock)
		back := queued(t.Context(), m.Lock)
		waits(t, "the default", w)
		flights(t, srv, "release to the default, and a list of the other one, whose session it was (rule 5)", 2, func() { release(t, l); <-w.done })
		waits(t, "go-zookeeper's behind the default", back)
		busy(t, "go-zookeeper's", m.TryLock)
		ps := must(m.Participants(t.Context()))
		if len(ps) != 2 || !ps[0].Holds || ps[1].Holds {
			t.Errorf("%+v", ps)
		}
		release(t, granted(t, "the default", w))
		release(t, granted(t, "go-zookeeper's", back))
		leftBehind(t, srv)
		if n := srv.Sweep(); n != 1 {
			t.Errorf("%d containers swept", n)
		}
	})
}

// foreignPrefixes are what contenders of other clients have before their number.
var foreignPrefixes = []string{
	"_c_01234567-89ab-cdef-0123-456789abcdef-lock-", // Curator
	"_c_0123456789abcdef0123456789abcdef-lock-",     // go-zookeeper
	kazooGUID + "__lock__", kazooGUID + "__rlock__", // kazoo's Lock or WriteLock, and ReadLock
	"x-72057594037927936-", "x--72057594037927936-", // WriteLock in Java, also in a session with a negative id
	"x-0100000000000000-", // and in C
}

// countForeign are locks that count everybody.
var countForeign = map[string][]Option{
	"default": {CountForeign()}, "go-zookeeper's": {CountForeign(), GoZookeeperNames()}, "kazoo's": {CountForeign(), KazooNames()},
	"without look-ahead": {CountForeign(), NoLookAhead()},
}

// Each of them is waited for, by TryLock and Lock, and its end is the grant; the same in second place.
func TestCountForeign(t *testing.T) { // 2.9
	for name, opts := range countForeign {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := dial(t, srv)
				defer c.Close()
				must(srv.Create("/lock", nil, proto.ModePersistent))
				m := NewMutex(c, "/lock", opts...)
				for _, prefix := range foreignPrefixes {
					remove := made(t, srv, prefix)
					busy(t, prefix, m.TryLock)
					w := queued(t.Context(), m.Lock)
					behind := made(t, srv, prefix) // of no concern
					flights(t, srv, prefix, 0, func() { remove(); <-w.done })
					release(t, granted(t, prefix, w))
					behind()
					for _, nearest := range foreignPrefixes {
						first, second := made(t, srv, prefix), made(t, srv, nearest)
						w = queued(t.Context(), m.Lock)
						second()
						waits(t, "the nearest has gone", w)
						first()
						release(t, granted(t, prefix+", "+nearest, w))
						first, second = made(t, srv, prefix), made(t, srv, nearest)
						w = queued(t.Context(), m.Lock)
						first()
						waits(t, "the other has gone", w)
						if name != "without look-ahead" {
							flights(t, srv, prefix, 0, func() { second(); <-w.done })
						} else {
							second()
						}
						release(t, granted(t, prefix+", "+nearest, w))
					}
				}
				leftBehind(t, srv)
			})
		})
	}
}

// The order is that of the numbers, across the wrap, not of the names.
func TestCountForeignOrder(t *testing.T) { // D1, K19, K22
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		must(srv.Create("/lock", nil, proto.ModePersistent))
		m := NewMutex(c, "/lock", CountForeign())
		for suffix, ahead := range map[string]bool{
			"0000000000": true, "-000000005": true, "-000000001": true, // before the wrap
			"1000000000": false, "2147483647": false, "-2147483648": false, // later ones
			"9999999999": false, "": false, "-": false, "1x": false, // none at all
		} {
			for _, prefix := range foreignPrefixes {
				srv.SetCounter("/lock", 100)
				node := must(srv.Create("/lock/"+prefix+suffix, nil, proto.ModePersistent))
				l, err := m.TryLock(t.Context())
				if errors.Is(err, ErrNotAcquired) != ahead || err != nil && !ahead {
					t.Errorf("%s: %v", node, err)
				}
				if err == nil {
					release(t, l)
				}
				must(0, srv.Delete(node))
			}
		}
	})
}

// Participants shows them all, and who holds by the order of the numbers.
func TestCountForeignParticipants(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		must(srv.Create("/lock", nil, proto.ModePersistent))
		m := NewMutex(c, "/lock", CountForeign())
		for i := range foreignPrefixes {
			made(t, srv, foreignPrefixes[len(foreignPrefixes)-1-i])
		}
		made(t, srv, "config")
		if ps := must(m.Participants(t.Context())); nodes(ps) != "* 1 2 3 4 5 6" {
			t.Errorf("%s", nodes(ps))
		}
		if ps := must(NewMutex(c, "/lock").Participants(t.Context())); nodes(ps) != "5* 6" {
			t.Errorf("without the option: %s", nodes(ps))
		}
		if ps := must(NewMutex(c, "/lock", KazooNames()).Participants(t.Context())); nodes(ps) != "4*" {
			t.Errorf("kazoo's Lock: %s", nodes(ps))
		}
	})
}

// Without the option all but names of the same mark are nobody.
func TestForeignIsIgnoredByDefault(t *testing.T) { // C150, D8, F86
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		must(srv.Create("/lock", nil, proto.ModePersistent))
		for i, prefix := range foreignPrefixes {
			remove := made(t, srv, prefix)
			for _, opts := range [][]Option{nil, {GoZookeeperNames()}} {
				l, err := NewMutex(c, "/lock", opts...).TryLock(t.Context())
				if (err != nil) != (i < 2) {
					t.Errorf("%s: %v", prefix, err)
				}
				if err == nil {
					release(t, l)
				}
			}
			remove()
		}
	})
}

// Options that do not go together, or not with the recipe, are refused by every method.
func TestLayoutOptionsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		for i, f := range []acquire{
			NewRWMutex(c, "/lock", GoZookeeperNames()).Lock,
			NewRWMutex(c, "/lock", CountForeign()).RLock,
			NewRWMutex(c, "/lock", CountForeign(), KazooNames()).RLock,
			NewRWMutex(c, "/lock", CuratorSemaphore()).Lock,
			NewRWMutex(c, "/lock", LatchNames()).Lock,
			NewMutex(c, "/lock", LatchNames()).Lock,
			NewMutex(c, "/lock", CuratorSemaphore(), KazooNames()).Lock,
			NewMutex(c, "/lock", CuratorSemaphore(), GoZookeeperNames()).TryLock,
			NewMutex(c, "/lock", CuratorSemaphore(), CountForeign()).Lock,
			take(NewSemaphore(c, "/lock", 2, KazooNames()), 1),
			take(NewSemaphore(c, "/lock", 2, GoZookeeperNames()), 1),
			take(NewSemaphore(c, "/lock", 2, CountForeign()), 1),
			tryTake(NewSemaphore(c, "/lock", 2, LatchNames()), 1),
		} {
			l, err := f(t.Context())
			var e *Error
			if l != nil || !errors.As(err, &e) || e.Err == nil {
				t.Errorf("number %d: %v", i, err)
			}
		}
		for i, err := range []error{
			NewElection(c, "/lock", nil, KazooNames()).b.err, NewElection(c, "/lock", nil, GoZookeeperNames()).b.err,
			NewElection(c, "/lock", nil, CountForeign()).b.err, NewElection(c, "/lock", nil, CuratorSemaphore()).b.err,
		} {
			if err == nil {
				t.Errorf("election %d: accepted", i)
			}
		}
		if srv.Exists("/lock") {
			t.Error("asked the server")
		}
		for i, m := range []*Mutex{
			NewMutex(c, "/lock", KazooNames(), LocalQueue()), NewMutex(c, "/lock", KazooNames(), HandOver(2, time.Second), GuardedHandover()),
			NewMutex(c, "/lock", GoZookeeperNames(), CountForeign(), Revocable(nil)), NewMutex(c, "/lock", CuratorSemaphore(), HandOver(2, time.Second)),
		} {
			if l, err := m.TryLock(t.Context()); err != nil {
				t.Errorf("number %d: %v", i, err)
			} else {
				release(t, l)
			}
		}
	})
}
