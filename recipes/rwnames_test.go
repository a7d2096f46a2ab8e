package recipes

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestRWNames(t *testing.T) { // locks.md 2.2: Curator's, with the root as a path, a chroot, and views
	name := regexp.MustCompile(`^_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-__(READ|WRIT)__[0-9]{10}$`)
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		must(srv.Create("/app", nil, proto.ModePersistent))
		must(srv.Create("/app/team", nil, proto.ModePersistent))
		whole, inside := dial(t, srv), dialTo(t, srv, "one:2181/app")
		defer whole.Close()
		defer inside.Close()
		view := must(inside.View("/team"))
		for _, path := range []string{"/", "/deep/er"} {
			full := "/app/team"
			if path != "/" {
				full += path
			}
			rw, outer := NewRWMutex(view, path), NewRWMutex(whole, full)
			w := get(t, rw.Lock)
			behind := queued(t.Context(), outer.RLock)
			waits(t, full, behind)
			for _, kid := range srv.Children(full) {
				if !name.MatchString(kid) && path != "/" {
					t.Errorf("%s", kid)
				}
			}
			old := w.Node()
			if err := w.Downgrade(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !srv.Exists("/app/team"+w.Node()) || srv.Exists("/app/team"+old) {
				t.Errorf("%s after %s: %v", w.Node(), old, srv.Children(full))
			}
			r := granted(t, full, behind)
			if _, err := NewRWMutex(inside, full[len("/app"):]).TryLock(t.Context()); !errors.Is(err, ErrNotAcquired) {
				t.Errorf("through the other chroot: %v", err)
			}
			_, err := rw.Lock(w.Context())
			if !errors.Is(err, ErrUpgrade) {
				t.Errorf("the same lock in a view: %v", err)
			}
			release(t, r)
			release(t, w)
			if rw.Path() != path {
				t.Errorf("path %q", rw.Path())
			}
		}
	})
}

func TestRWBadArguments(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		var none *RWMutex
		for name, rw := range map[string]*RWMutex{
			"nil": none, "zero": {}, "client": NewRWMutex(nil, "/lock"), "path": NewRWMutex(c, "no/slash"),
			"zero client": NewRWMutex(&client.Client{}, "/lock"), "option": NewRWMutex(c, "/lock", nil), "acl": NewRWMutex(c, "/lock", ACL(nil)),
			"LocalQueue": NewRWMutex(c, "/lock", LocalQueue()), "HandOver": NewRWMutex(c, "/lock", HandOver(2, time.Second)),
			"guarded": NewRWMutex(c, "/lock", HandOver(2, time.Second), GuardedHandover()), "data": NewRWMutex(c, "/lock", Revocable(nil), Data(nil)),
		} {
			for _, f := range []acquire{rw.Lock, rw.TryLock, rw.RLock, rw.TryRLock} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // in which no wait for ever would show
				l, err := f(ctx)
				cancel()
				var e *Error
				if l != nil || !errors.As(err, &e) || e.Op == "" || e.Error() == "" {
					t.Errorf("%s: %v", name, err)
				}
			}
			if _, err := rw.Participants(t.Context()); err == nil {
				t.Errorf("%s: Participants", name)
			}
			_ = rw.Path()
		}
		rw := NewRWMutex(c, "/lock")
		var nothing context.Context
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for op, f := range map[string]acquire{"lock": rw.Lock, "trylock": rw.TryLock, "rlock": rw.RLock, "tryrlock": rw.TryRLock} {
			_, err := f(nothing)
			var e *Error
			if !errors.Is(err, client.ErrNilContext) || !errors.As(err, &e) || e.Op != op {
				t.Errorf("%s of a nil context: %v", op, err)
			}
			if _, err = f(over); !errors.Is(err, context.Canceled) {
				t.Errorf("%s of a dead context: %v", op, err)
			}
		}
		if n := srv.Snapshot().ByOp[proto.OpCreate2]; n != 0 {
			t.Errorf("%d creates", n)
		}
	})
}

func TestRWForeignChildren(t *testing.T) { // C150, D8, F86, F92, K24
	const uuid = "_c_01234567-89ab-cdef-0123-456789abcdef-"
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := rwPair(t, srv)
		defer closeAll()
		must(srv.Create("/lock", nil, proto.ModePersistent))
		for _, name := range []string{
			"config", "!", uuid + "lock-0000000000", "lock-0000000001", // of a mutex
			"0123456789abcdef__lock__0000000000", "0123456789abcdef__rlock__0000000000", // kazoo's
			uuid + "__WRIT__", uuid + "__WRIT__x", uuid + "__WRIT__12345678901", uuid + "__WRIT__9999999999", uuid + "__READ__-", uuid + "__WRIT__0000000000-",
			uuid + "__WRIT__0000000999", uuid + "__READ__0000000999", // later ones
			uuid + "__WRIT__2147483647", // in another half of the circle of numbers: later
		} {
			must(srv.Create("/lock/"+name, nil, proto.ModePersistent))
		}
		w := get(t, a.TryLock)
		release(t, w)
		r := get(t, a.TryRLock)
		release(t, r)
		remove := func(name string) { must(0, srv.Delete("/lock/"+name)) }
		for _, tc := range []struct {
			name   string
			reader bool // waits for it
			writer bool
		}{
			{uuid + "__WRIT__0000000000", true, true},
			{uuid + "__READ__0000000000", false, true},
			{"__WRIT__0000000001", true, true}, // without a GUID
			{"__READ__0000000001", false, true},
			{uuid + "__WRIT__-000000005", true, true}, // from before the counter's wrap
			{uuid + "__READ__-000000005", false, true},
			{"__READ__-" + uuid + "__WRIT__0000000002", true, true}, // the last marker counts
		} {
			must(srv.Create("/lock/"+tc.name, nil, proto.ModePersistent))
			for i, want := range []bool{tc.reader, tc.writer} {
				f := []acquire{b.RLock, b.Lock}[i]
				got := queued(t.Context(), f)
				if got.over() == want {
					t.Errorf("%s: %s waits: %v, want %v", tc.name, []string{"reader", "writer"}[i], !got.over(), want)
				}
				if !got.over() {
					remove(tc.name)
				}
				release(t, granted(t, tc.name, got))
				if want {
					must(srv.Create("/lock/"+tc.name, nil, proto.ModePersistent))
				}
			}
			remove(tc.name)
		}
	})
}

// F92: a reader, a writer behind it, and then a second reader of the first one's client. The writer waits for the first alone, and
// the second for the writer, so they all get through, in that order.
func TestRWSecondReaderOfTheSameClient(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := rwPair(t, srv)
		defer closeAll()
		first := get(t, a.RLock)
		w := queued(t.Context(), b.Lock)
		second := queued(t.Context(), a.RLock)
		last := queued(t.Context(), b.Lock)
		waits(t, "the second reader", second)
		release(t, first)
		wl := granted(t, "the writer", w)
		waits(t, "the second reader", second)
		release(t, wl)
		l := granted(t, "the second reader, with a writer behind it", second)
		waits(t, "the last writer", last)
		release(t, l)
		release(t, granted(t, "the last writer", last))
	})
}

func TestRWSequenceEnd(t *testing.T) { // D1, F85
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		rw := NewRWMutex(c, "/lock")
		for _, f := range []acquire{rw.Lock, rw.RLock} {
			release(t, get(t, f))
			srv.SetCounter("/lock", highWater)
			if _, err := f(t.Context()); !errors.Is(err, ErrSequenceEnd) {
				t.Errorf("%v", err)
			}
			leftBehind(t, srv)
			must(0, srv.Delete("/lock"))
		}
	})
}

func TestRWLostCreate(t *testing.T) { // C146, F74, I12
	for name, fault := range map[string]func(*zktest.Server, zktest.Match) *zktest.Rule{
		"executed": (*zktest.Server).CloseAfter, "not executed": (*zktest.Server).CloseBefore,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b, closeAll := rwPair(t, srv)
				defer closeAll()
				first := get(t, a.RLock)
				lose := zktest.Match{Op: proto.OpCreate2, Member: "two:2181"}
				fault(srv, lose)
				second := get(t, b.RLock) // shares with the first, and with what it may have left of itself
				fault(srv, lose)
				w := queued(t.Context(), b.Lock)
				<-time.After(2 * time.Second)
				waits(t, "the writer", w)
				late := queued(t.Context(), a.RLock)
				waits(t, "a reader behind the writer", late)
				if n := kids(srv); n != 4 {
					t.Errorf("%d znodes, want 4: %v", n, srv.Children("/lock"))
				}
				for _, l := range []*Lease{first, second} {
					if _, st, err := srv.Get(l.Node()); err != nil || st.Czxid != l.Token().Zxid || !l.Shared() {
						t.Errorf("token %v of a znode created at %d: %v", l.Token(), st.Czxid, err)
					}
					release(t, l)
				}
				wl := granted(t, "the writer", w)
				if err := wl.Downgrade(t.Context()); err != nil {
					t.Fatal(err)
				}
				release(t, granted(t, "the reader behind the writer", late))
				release(t, wl)
				leftBehind(t, srv)
			})
		})
	}
}

func TestRWParticipants(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := rwPair(t, srv, Data([]byte("me")))
		defer closeAll()
		w := get(t, a.Lock)
		r1, w2, r2 := queued(t.Context(), b.RLock), queued(t.Context(), b.Lock), queued(t.Context(), a.RLock)
		check := func(want string) {
			t.Helper()
			ps, err := b.Participants(t.Context())
			var got []string
			for _, p := range ps {
				s := "W"
				if p.Shared {
					s = "R"
				}
				if p.Holds {
					s += "+"
				}
				if string(p.Data) != "me" || p.Session == 0 {
					t.Errorf("%+v", p)
				}
				got = append(got, s)
			}
			if s := strings.Join(got, " "); s != want || err != nil {
				t.Errorf("%s, want %s: %v", s, want, err)
			}
		}
		check("W+ R W R")
		if err := w.Downgrade(t.Context()); err != nil {
			t.Fatal(err)
		}
		check("R+ R+ W R")
		ps := must(b.Participants(t.Context()))
		if ps[0].Node != w.Node() || ps[0].Token != w.Token() {
			t.Errorf("%+v, want %s, %v", ps[0], w.Node(), w.Token())
		}
		release(t, w)
		release(t, granted(t, "reader", r1))
		check("W+ R")
		release(t, granted(t, "writer", w2))
		release(t, granted(t, "reader", r2))
	})
}
