package recipes

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestParsePlain(t *testing.T) { // K19, K22, D8, F86
	for name, want := range map[string]int64{
		"n_0000000007": 7, "n_2147483647": math.MaxInt32, "n_-2147483648": math.MinInt32, "n_-000000005": -5,
		"n_": none, "n_-": none, "n_x": none, "n_1x": none, "n_12345678901": none, "n_2147483648": none, "n_--00000001": none,
		"n_n_0000000001": none, "xn_0000000001": none, "N_0000000001": none, "n0000000001": none, "0000000001": none, "": none,
		"_c_01234567-89ab-cdef-0123-456789abcdef-n_0000000001": none,
	} {
		seq, ok := parsePlain([]byte(name), "n_")
		if ok != (want != none) || ok && int64(seq) != want {
			t.Errorf("%q: %d %v", name, seq, ok)
		}
	}
}

func TestUnmarked(t *testing.T) {
	const id = " id=01234567-89ab-cdef-0123-456789abcdef"
	for data, want := range map[string]string{
		id: "", "me" + id: "me", "me" + id + id: "me" + id, "": "", "me": "me", "me" + id + "x": "me" + id + "x",
		id[1:]:                     id[1:],
		"me" + strings.ToUpper(id): "me" + strings.ToUpper(id), "me id=" + strings.Repeat("0", guidLen): "me id=" + strings.Repeat("0", guidLen),
		"me" + strings.Replace(id, "0", "-", 1): "me" + strings.Replace(id, "0", "-", 1),
	} {
		if got := string(unmarked([]byte(data))); got != want {
			t.Errorf("%q: %q, want %q", data, got, want)
		}
	}
	if got := unmarked([]byte("me" + id)); cap(got) != 2 {
		t.Errorf("the caller's slice reaches into the mark: %d", cap(got))
	}
}

// plainForms are the two forms of hand-written clients, by what is on the wire.
var plainForms = map[string]*regexp.Regexp{
	"lock-": regexp.MustCompile(`^/lock/lock-[0-9]{10}$`), "n_": regexp.MustCompile(`^/lock/n_[0-9]{10}$`),
}

func TestPlainNames(t *testing.T) { // locks.md A4, A8
	data := regexp.MustCompile(`^host=.* pid=[0-9]+ session=0x[0-9a-f]+ id=[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	for prefix, name := range plainForms {
		t.Run(prefix, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := dial(t, srv), dial(t, srv)
				defer a.Close()
				defer b.Close()
				m := NewMutex(a, "/lock", PlainNames(prefix))
				var l *Lease
				flights(t, srv, "path missing", 2, func() { l = lock(t, m) })
				if got, _, _ := srv.Get(l.Node()); !name.MatchString(l.Node()) || !data.Match(got) {
					t.Errorf("%s: %q", l.Node(), got)
				}
				busy(t, "another", NewMutex(b, "/lock", PlainNames(prefix)).TryLock)
				w := queued(t.Context(), NewMutex(b, "/lock", PlainNames(prefix), Data([]byte("me"))).Lock)
				waits(t, "another", w)
				ps := must(m.Participants(t.Context()))
				if len(ps) != 2 || !ps[0].Holds || ps[1].Holds || ps[0].Node != l.Node() || ps[1].Session != b.SessionID() {
					t.Errorf("%+v", ps)
				}
				if text := string(ps[0].Data); !strings.Contains(text, "session=") || strings.Contains(text, markStart) || string(ps[1].Data) != "me" {
					t.Errorf("%q, %q", text, ps[1].Data)
				}
				if got, _, _ := srv.Get(ps[1].Node); !strings.HasPrefix(string(got), "me id=") {
					t.Errorf("%q", got)
				}
				flights(t, srv, "release to the waiter", 1, func() { release(t, l); <-w.done })
				l = granted(t, "another", w)
				r := goEnter(t.Context(), NewReentrant(a, "/lock", PlainNames(prefix)))
				waits(t, "a re-entrant one", &r.waiter)
				release(t, l)
				<-r.done
				leave(t, r.entry)
				before := srv.Snapshot().Requests
				flights(t, srv, "free", 1, func() { l = lock(t, m) })
				flights(t, srv, "release", 1, func() { release(t, l) })
				if n := srv.Snapshot().Requests - before; n != 3 {
					t.Errorf("%d requests, want 3", n)
				}
				l = lock(t, m)
				first := marked(t, srv, l.Node())
				release(t, l)
				l = lock(t, m) // through the same contender, as a rule
				if second := marked(t, srv, l.Node()); string(second) == string(first) {
					t.Errorf("two attempts with one mark: %q", second)
				}
				release(t, l)
				leftBehind(t, srv)
				if n := srv.Sweep(); n != 0 { // hand-written clients do not expect the path to vanish
					t.Errorf("%d containers swept", n)
				}
			})
		})
	}
}

// What begins and ends as it should counts, whoever made it; nothing else does, and nothing makes it fail.
func TestPlainNamesCount(t *testing.T) { // D8, F86, C150
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		must(srv.Create("/lock", nil, proto.ModePersistent))
		m, n := NewMutex(c, "/lock", PlainNames("lock-")), NewMutex(c, "/lock", PlainNames("n_"))
		for prefix, want := range map[string][2]bool{ // whether m and n wait for it
			"lock-": {true, false}, "n_": {false, true},
			"": {}, "-": {}, "lock": {}, "Lock-": {}, "lock-x": {}, "a-lock-": {}, "lock-lock-": {}, "xn_": {}, "n_n_": {}, "n__": {}, "x-1-": {},
			"_c_01234567-89ab-cdef-0123-456789abcdef-lock-": {}, kazooGUID + "__lock__": {},
		} {
			remove := made(t, srv, prefix)
			for i, m := range []*Mutex{m, n} {
				l, err := m.TryLock(t.Context())
				if errors.Is(err, ErrNotAcquired) != want[i] || err != nil && !want[i] {
					t.Errorf("%q: %v", prefix, err)
				}
				if err == nil {
					release(t, l)
				}
			}
			var w *waiter
			if want[0] {
				w = queued(t.Context(), m.Lock)
				waits(t, prefix, w)
			}
			remove()
			if w != nil {
				release(t, granted(t, prefix, w))
			}
		}
		leftBehind(t, srv)
	})
}

// The order is that of the numbers, across the wrap.
func TestPlainNamesOrder(t *testing.T) { // D1, C151, F85
	for prefix := range plainForms {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			c := dial(t, srv)
			defer c.Close()
			must(srv.Create("/lock", nil, proto.ModePersistent))
			m := NewMutex(c, "/lock", PlainNames(prefix))
			for suffix, ahead := range map[string]bool{
				"0000000000": true, "-000000005": true, "-000000001": true, // before the wrap
				"1000000000": false, "2147483647": false, "-2147483648": false, // later ones
				"9999999999": false, "": false, "-": false, "1x": false, // none at all
			} {
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
			srv.SetCounter("/lock", highWater-1)
			release(t, lock(t, m))
			if _, err := m.Lock(t.Context()); !errors.Is(err, ErrSequenceEnd) {
				t.Errorf("%v", err)
			}
			leftBehind(t, srv)
		})
	}
}

func TestPlainNamesOptions(t *testing.T) { // locks.md A4
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		for name, opts := range map[string][]Option{
			"empty": {PlainNames("")}, "slash": {PlainNames("a/b-")}, "slash at the end": {PlainNames("a/")}, "digit": {PlainNames("n0")},
			"minus": {PlainNames("-")}, "two": {PlainNames("lock--")}, "zero byte": {PlainNames("n\x00_")},
			"control": {PlainNames("n\x01_")}, "kazoo": {PlainNames("n_"), KazooNames()},
			"kazoo first": {KazooNames(), PlainNames("n_")}, "go-zookeeper": {PlainNames("n_"), GoZookeeperNames()},
			"go-zookeeper first": {GoZookeeperNames(), PlainNames("n_")}, "foreign": {PlainNames("n_"), CountForeign()},
			"foreign first": {CountForeign(), PlainNames("n_")}, "semaphore": {PlainNames("n_"), CuratorSemaphore()},
			"revocable": {PlainNames("n_"), Revocable(nil)}, "latch": {PlainNames("n_"), LatchNames()},
		} {
			if _, err := NewMutex(c, "/lock", opts...).TryLock(t.Context()); err == nil || errors.Is(err, ErrNotAcquired) {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := NewElection(c, "/lock", nil, opts...).TryCampaign(t.Context()); err == nil || errors.Is(err, ErrNotAcquired) {
				t.Errorf("election, %s: %v", name, err)
			}
		}
		if _, err := NewRWMutex(c, "/lock", PlainNames("n_")).TryLock(t.Context()); err == nil {
			t.Error("RWMutex")
		}
		if _, err := NewSemaphore(c, "/lock", 1, PlainNames("n_")).TryAcquire(t.Context(), 1); err == nil {
			t.Error("Semaphore")
		}
		if srv.Exists("/lock") {
			t.Errorf("made: %v", srv.Children("/lock"))
		}
		for _, prefix := range []string{"a", "-a", "1-", "_c_", ".", "..", "é", "lock-1-"} {
			release(t, lock(t, NewMutex(c, "/lock", PlainNames(prefix))))
		}
	})
}

// With the same names a hold is the same lock; with others it is another, and the parts of a MultiLock may have it.
func TestPlainNamesIdentity(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		l := lock(t, NewMutex(c, "/lock", PlainNames("lock-")))
		if _, err := NewMutex(c, "/lock", PlainNames("lock-")).Lock(l.Context()); !errors.Is(err, ErrNested) {
			t.Errorf("the same: %v", err)
		}
		for _, opts := range [][]Option{{PlainNames("n_")}, {KazooNames()}} {
			o, err := NewMutex(c, "/lock", opts...).Lock(l.Context())
			if err != nil {
				t.Fatal(err)
			}
			release(t, o)
		}
		release(t, l)
	})
}

// Local queues and hand-overs do with plain names what they do with others; the mark survives the write of a guarded one.
func TestPlainNamesHandOver(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock", PlainNames("n_"), HandOver(3, time.Minute), GuardedHandover())
		l := lock(t, m)
		w := queued(t.Context(), m.Lock)
		before, _, _ := srv.Get(l.Node())
		release(t, l)
		next := granted(t, "the heir", w)
		after, st, err := srv.Get(next.Node())
		if err != nil || next.Node() != l.Node() || st.Version != 1 || string(after) != string(before) {
			t.Errorf("%s after %s, version %d, %q after %q: %v", next.Node(), l.Node(), st.Version, after, before, err)
		}
		release(t, next)
		leftBehind(t, srv)
	})
}

// Candidates, with those who take the lock as a mutex; who observes is not shown the mark.
func TestPlainNamesElection(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		e, f := NewElection(a, "/lock", []byte("a:1"), PlainNames("n_")), NewElection(b, "/lock", nil, PlainNames("n_"))
		o := observe(t, f)
		o.sees("")
		must(srv.Create("/lock", nil, proto.ModePersistent))
		made(t, srv, "other-") // is no candidate
		lead := must(e.TryCampaign(t.Context()))
		o.sees("a:1")
		if !plainForms["n_"].MatchString(lead.Node()) {
			t.Error(lead.Node())
		}
		busy(t, "a mutex", NewMutex(b, "/lock", PlainNames("n_")).TryLock)
		if _, err := f.TryCampaign(t.Context()); !errors.Is(err, ErrNotAcquired) {
			t.Errorf("%v", err)
		}
		if p, err := f.Leader(t.Context()); err != nil || string(p.Data) != "a:1" || p.Node != lead.Node() {
			t.Errorf("%+v, %v", p, err)
		}
		must(0, lead.Resign(t.Context()))
		o.sees("")
		must(0, must(f.Campaign(t.Context())).Resign(t.Context()))
		must(0, must(e.Campaign(t.Context())).Resign(t.Context()))
		o.ends(srv)
	})
}

func TestPlainNamesChroot(t *testing.T) { // K8, K15
	for _, path := range []string{"/", "/a/b"} {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			must(srv.Create("/app", nil, proto.ModePersistent))
			c := dialTo(t, srv, "one:2181/app")
			defer c.Close()
			m := NewMutex(c, path, PlainNames("n_"))
			l := lock(t, m)
			if !srv.Exists("/app" + l.Node()) {
				t.Errorf("no znode at %s below the chroot", l.Node())
			}
			if _, err := c.Multi(t.Context(), l.Guard()); err != nil {
				t.Errorf("guard: %v", err)
			}
			release(t, l)
			srv.CloseAfter(zktest.Match{Op: proto.OpCreate2})
			l = lock(t, m)
			if n := plainKids(srv, proto.JoinChroot("/app", path)); n != 1 {
				t.Errorf("%d own znodes", n)
			}
			if _, st, err := srv.Get("/app" + l.Node()); err != nil || st.Czxid != l.Token().Zxid {
				t.Errorf("token %v of a znode created at %d: %v", l.Token(), st.Czxid, err)
			}
			release(t, l)
			lostCreate(srv, false)
			w := queued(t.Context(), m.Lock)
			srv.Refuse(zktest.Accept)
			await(t, "the waiter", w)
			release(t, w.lease)
			if n := plainKids(srv, proto.JoinChroot("/app", path)); n != 0 {
				t.Errorf("%d left", n)
			}
		})
	}
}

// plainKids counts the znodes below dir that contend with the prefix n_.
func plainKids(srv *zktest.Server, dir string) (n int) {
	for _, name := range srv.Children(dir) {
		if _, ok := parsePlain([]byte(name), "n_"); ok {
			n++
		}
	}
	return n
}
