package recipes

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

const kazooGUID = "0123456789abcdef0123456789abcdef"

// made puts a znode of another client below the path, with the next number and for as long as remove is not called.
func made(t *testing.T, srv *zktest.Server, prefix string) (remove func()) {
	t.Helper()
	node := must(srv.Create("/lock/"+prefix, nil, proto.ModePersistentSequential))
	return func() { must(0, srv.Delete(node)) }
}

func TestKazooNames(t *testing.T) { // locks.md 2.6, 2.9
	name := regexp.MustCompile(`^/lock/[0-9a-f]{32}__lock__[0-9]{10}$`)
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		m := NewMutex(a, "/lock", KazooNames())
		l := lock(t, m)
		if !name.MatchString(l.Node()) {
			t.Error(l.Node())
		}
		w := queued(t.Context(), NewMutex(b, "/lock", KazooNames()).Lock)
		waits(t, "another", w)
		ps := must(m.Participants(t.Context()))
		if len(ps) != 2 || !ps[0].Holds || ps[1].Holds || ps[0].Node != l.Node() {
			t.Errorf("%+v", ps)
		}
		flights(t, srv, "release", 1, func() { release(t, l); <-w.done })
		l = granted(t, "another", w)
		r := goEnter(t.Context(), NewReentrant(a, "/lock", KazooNames()))
		waits(t, "a re-entrant one", &r.waiter)
		release(t, l)
		<-r.done
		leave(t, r.entry)
		leftBehind(t, srv)
		if n := srv.Sweep(); n != 0 { // kazoo does not expect the path to vanish
			t.Errorf("%d containers swept", n)
		}
	})
}

// A mutex is kazoo's Lock: it waits for the znodes of Lock and WriteLock, not for those of ReadLock, and for nobody else's.
func TestKazooMutexAndOthers(t *testing.T) { // 2.6, K24
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		must(srv.Create("/lock", nil, proto.ModePersistent))
		m := NewMutex(c, "/lock", KazooNames())
		rw := NewRWMutex(c, "/lock", KazooNames())
		for _, tc := range []struct {
			prefix         string
			m, read, write bool // waits for it
		}{
			{kazooGUID + "__lock__", true, true, true},
			{"__lock__", true, true, true},
			{kazooGUID + "__rlock__", false, false, true},
			{"_c_01234567-89ab-cdef-0123-456789abcdef-lock-", false, false, false},
			{"_c_01234567-89ab-cdef-0123-456789abcdef-__WRIT__", false, false, false},
			{"x-123-", false, false, false},
			{"lock__", false, false, false},
			{"config", false, false, false},
		} {
			remove := made(t, srv, tc.prefix)
			for what, f := range map[string]struct {
				acquire, try acquire
				waits        bool
			}{"mutex": {m.Lock, m.TryLock, tc.m}, "reader": {rw.RLock, rw.TryRLock, tc.read}, "writer": {rw.Lock, rw.TryLock, tc.write}} {
				l, err := f.try(t.Context())
				if errors.Is(err, ErrNotAcquired) != f.waits || err != nil && !f.waits {
					t.Errorf("%s and %s: %v", what, tc.prefix, err)
				}
				if err == nil {
					release(t, l)
				}
			}
			var w *waiter
			if tc.m {
				w = queued(t.Context(), m.Lock)
				waits(t, tc.prefix, w)
			}
			remove()
			if w != nil {
				release(t, granted(t, tc.prefix, w))
			}
		}
		leftBehind(t, srv)
	})
}

// A read-write lock with kazoo's names: readers share, and a writer that turns into a reader keeps its place.
func TestKazooRWMutex(t *testing.T) { // 2.6
	read, write := regexp.MustCompile(`^/lock/[0-9a-f]{32}__rlock__[0-9]{10}$`), regexp.MustCompile(`^/lock/[0-9a-f]{32}__lock__[0-9]{10}$`)
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := rwPair(t, srv, KazooNames())
		defer closeAll()
		mutex := NewMutex(b.b.c, "/lock", KazooNames())
		r1, r2 := get(t, a.RLock), get(t, b.RLock)
		w := queued(t.Context(), a.Lock)
		waits(t, "writer", w)
		release(t, r1)
		waits(t, "writer", w)
		release(t, r2)
		wl := granted(t, "writer", w)
		if !read.MatchString(r1.Node()) || !write.MatchString(wl.Node()) {
			t.Errorf("%s, %s", r1.Node(), wl.Node())
		}
		if _, err := mutex.TryLock(t.Context()); !errors.Is(err, ErrNotAcquired) {
			t.Errorf("a mutex, while a writer holds: %v", err)
		}
		late := queued(t.Context(), b.RLock)
		second := queued(t.Context(), a.Lock)
		old := wl.Node()
		if err := wl.Downgrade(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := strings.Replace(old, kazooMark, kazooRead, 1); wl.Node() != want || srv.Exists(old) || !srv.Exists(want) {
			t.Errorf("%s, want %s; %v", wl.Node(), want, srv.Children("/lock"))
		}
		r := granted(t, "the reader behind it", late)
		waits(t, "the second writer", second)
		ps := must(a.Participants(t.Context()))
		if got := nodes(ps); len(ps) != 3 || !ps[0].Shared || !ps[0].Holds || !ps[1].Shared || !ps[1].Holds || ps[2].Shared || ps[2].Holds {
			t.Errorf("%s: %+v", got, ps)
		}
		release(t, wl)
		waits(t, "the second writer", second)
		release(t, r)
		release(t, granted(t, "the second writer", second))
		leftBehind(t, srv)
	})
}

// A create whose reply was lost is found by its 32 digits.
func TestLayoutsLostCreate(t *testing.T) { // I12, C146
	for layout, opt := range map[string]Option{"kazoo": KazooNames(), "go-zookeeper": GoZookeeperNames(), "foreign": CountForeign()} {
		for how, fault := range map[string]func(*zktest.Server, zktest.Match) *zktest.Rule{
			"executed": (*zktest.Server).CloseAfter, "not executed": (*zktest.Server).CloseBefore,
		} {
			t.Run(layout+", "+how, func(t *testing.T) {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					a, b := dial(t, srv), dialTo(t, srv, "two:2181")
					defer a.Close()
					defer b.Close()
					l := lock(t, NewMutex(a, "/lock", opt))
					m := NewMutex(b, "/lock", opt)
					fault(srv, zktest.Match{Op: proto.OpCreate2, Member: "two:2181"})
					w := queued(t.Context(), m.Lock)
					<-time.After(2 * time.Second)
					waits(t, "the waiter", w)
					if n := kids(srv); n != 2 {
						t.Errorf("%v", srv.Children("/lock"))
					}
					release(t, l)
					l = granted(t, "the waiter", w)
					if _, st, err := srv.Get(l.Node()); err != nil || st.Czxid != l.Token().Zxid {
						t.Errorf("token %v of a znode created at %d: %v", l.Token(), st.Czxid, err)
					}
					release(t, l)
					leftBehind(t, srv)
					lostCreate(srv, false) // and the caller does not wait for the outcome
					w = queued(t.Context(), m.Lock)
					if n := kids(srv); n != 1 {
						t.Errorf("%v", srv.Children("/lock"))
					}
					srv.Refuse(zktest.Accept)
					await(t, "the waiter", w)
					release(t, granted(t, "the waiter", w))
					leftBehind(t, srv)
				})
			})
		}
	}
}
