package recipes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func downgrade(t *testing.T, l *Lease) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if err := l.Downgrade(ctx); err != nil {
		t.Fatal(err)
	}
}

// goDowngrade starts a Downgrade and returns when it waits for an answer, or is over.
func goDowngrade(ctx context.Context, l *Lease) *waiter {
	return queued(ctx, func(ctx context.Context) (*Lease, error) { return l, l.Downgrade(ctx) })
}

// readerOf is the znode that a writer's is exchanged for.
func readerOf(node string) string { return strings.Replace(node, writeMark, readMark, 1) }

// downgraded fails unless l, which had the znode old, is a reader's hold, and the only one of its attempt.
func downgraded(t *testing.T, srv *zktest.Server, l *Lease, old string) {
	t.Helper()
	if l.State() != Held || l.Context().Err() != nil || !l.Shared() || l.Node() != readerOf(old) {
		t.Fatalf("%v, %v, shared %v, %s", l.State(), l.Context().Err(), l.Shared(), l.Node())
	}
	if _, st, err := srv.Get(l.Node()); err != nil || st.Czxid != l.Token().Zxid || st.EphemeralOwner != l.gen.SessionID() {
		t.Errorf("token %v, znode created at %d by %x: %v", l.Token(), st.Czxid, st.EphemeralOwner, err)
	}
	if srv.Exists(old) {
		t.Errorf("%s is there still", old)
	}
	if _, err := l.b.c.Multi(t.Context(), l.Guard()); err != nil {
		t.Errorf("guard: %v", err)
	}
}

// ended fails unless l has ended for this reason.
func ended(t *testing.T, l *Lease, want error) {
	t.Helper()
	if cause := context.Cause(l.Context()); !errors.Is(cause, want) || l.State() != Lost {
		t.Errorf("%v, %v, want %v", l.State(), cause, want)
	}
}

func TestDowngrade(t *testing.T) { // C156
	for _, v := range []zktest.Version{zktest.Version380, zktest.Version393} {
		t.Run(v.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := zktest.New(zktest.Imitate(v))
				defer srv.Close()
				a, b, closeAll := rwPair(t, srv)
				defer closeAll()
				ctx := context.WithValue(t.Context(), key{}, "v")
				l := get(t, func(context.Context) (*Lease, error) { return a.Lock(ctx) })
				held, old, token, guard := l.Context(), l.Node(), l.Token(), l.Guard()
				data, _, _ := srv.Get(old)
				var states []State
				over := make(chan struct{})
				go func() { states = slices.Collect(l.States(t.Context())); close(over) }()
				before := srv.Snapshot()
				flights(t, srv, "Downgrade", 1, func() { downgrade(t, l) })
				if n := srv.Snapshot().Requests - before.Requests; n != 2 {
					t.Errorf("%d requests, want 2", n)
				}
				downgraded(t, srv, l, old)
				if l.Context() != held || held.Value(key{}) != "v" || l.Token().Compare(token) <= 0 {
					t.Errorf("another context, or token %v after %v", l.Token(), token)
				}
				if now, _, _ := srv.Get(l.Node()); string(now) != string(data) || len(data) == 0 {
					t.Errorf("data %q, before %q", now, data)
				}
				if _, err := a.base().c.Multi(t.Context(), guard); !errors.Is(err, client.ErrNoNode) {
					t.Errorf("the writer's guard: %v", err)
				}
				if err := l.Downgrade(t.Context()); !errors.Is(err, ErrNotWriter) {
					t.Errorf("twice: %v", err)
				}
				r := get(t, b.RLock)
				w := queued(t.Context(), b.Lock)
				waits(t, "a writer", w)
				release(t, r)
				waits(t, "a writer", w)
				<-time.After(5 * timeout)
				waits(t, "a writer, long after", w)
				flights(t, srv, "release", 1, func() { release(t, l); <-w.done })
				ended(t, l, ErrReleased)
				if err := l.Downgrade(t.Context()); !errors.Is(err, ErrNotHeld) {
					t.Errorf("after the release: %v", err)
				}
				release(t, granted(t, "the writer", w))
				<-over
				if !slices.Equal(states, []State{Held, Lost}) {
					t.Errorf("states %v", states)
				}
				leftBehind(t, srv)
			})
		})
	}
}

func TestDowngradeRefused(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		rw := NewRWMutex(c, "/lock")
		check := func(what string, l *Lease, ctx context.Context, want ...error) {
			t.Helper()
			err := l.Downgrade(ctx)
			var e *Error
			if !errors.As(err, &e) || e.Op != "downgrade" || l != nil && l.b != nil && e.Path != l.b.dir {
				t.Fatalf("%s: %v", what, err)
			}
			for _, w := range want {
				if !errors.Is(err, w) {
					t.Errorf("%s: %v, want %v", what, err, w)
				}
			}
		}
		var nothing context.Context
		check("nil", nil, t.Context(), ErrNotHeld)
		check("zero", &Lease{}, t.Context(), ErrNotHeld)
		check("zero, no context", &Lease{}, nothing, ErrNotHeld)
		l := get(t, rw.Lock)
		check("no context", l, nothing, client.ErrNilContext)
		dead, cancel := context.WithCancel(t.Context())
		cancel()
		before := srv.Snapshot().Requests
		check("dead context", l, dead, context.Canceled)
		if n := srv.Snapshot().Requests - before; n != 0 || l.Shared() || l.State() != Held {
			t.Errorf("%d requests, shared %v, %v", n, l.Shared(), l.State())
		}
		flights(t, srv, "release after that", 1, func() { release(t, l) }) // nothing is unknown
		check("released", l, t.Context(), ErrNotHeld)
		l = get(t, rw.RLock)
		check("reader", l, t.Context(), ErrNotWriter)
		release(t, l)
		check("released reader", l, t.Context(), ErrNotHeld)
		l = get(t, NewMutex(c, "/mutex").Lock)
		check("mutex", l, t.Context(), ErrNotWriter)
		release(t, l)
		_, level, err := NewReentrant(c, "/mutex").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check("re-entrant", level.l, t.Context(), ErrNotWriter)
		must(0, level.Release(t.Context()))
		l = get(t, rw.Lock)
		srv.ExpireSession(c.SessionID())
		<-l.Done()
		check("expired", l, t.Context(), ErrLost, ErrSessionExpired)
		l = get(t, NewRWMutex(c, "/lock", MaxHold(time.Minute)).Lock)
		<-l.Done()
		check("held for too long", l, t.Context(), ErrLost, ErrMaxHold)
		leftBehind(t, srv)
	})
}

// A refusal by the server leaves things as they are.
func TestDowngradeRefusedByTheServer(t *testing.T) {
	for name, tc := range map[string]struct {
		op   proto.Op
		code proto.Code
	}{"transaction": {proto.OpMulti, proto.ErrNoAuth}, "look": {proto.OpExists, proto.ErrNoAuth}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b, closeAll := rwPair(t, srv)
				defer closeAll()
				l := get(t, a.Lock)
				old := l.Node()
				srv.Fail(zktest.Match{Op: tc.op}, tc.code)
				if err := l.Downgrade(t.Context()); !errors.Is(err, client.ErrNoAuth) || errors.Is(err, ErrLost) {
					t.Errorf("%v", err)
				}
				if l.State() != Held || l.Shared() || l.Node() != old {
					t.Errorf("%v, shared %v", l.State(), l.Shared())
				}
				w := queued(t.Context(), b.Lock)
				waits(t, "a writer", w)
				downgrade(t, l) // now it can
				downgraded(t, srv, l, old)
				waits(t, "a writer", w)
				release(t, l)
				release(t, granted(t, "the writer", w))
				leftBehind(t, srv)
			})
		})
	}
}

func TestDowngradeTwiceAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, _, closeAll := rwPair(t, srv)
		defer closeAll()
		l := get(t, a.Lock)
		old := l.Node()
		held := srv.Hold(zktest.Match{Op: proto.OpMulti})
		first := goDowngrade(t.Context(), l)
		if err := l.Downgrade(t.Context()); !errors.Is(err, ErrDowngrading) {
			t.Errorf("second: %v", err)
		}
		held.Release()
		granted(t, "first", first)
		downgraded(t, srv, l, old)
		release(t, l)
		leftBehind(t, srv)
	})
}

func TestDowngradeInAChroot(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dialTo(t, srv, "one:2181/app")
		defer c.Close()
		must(srv.Create("/app", nil, proto.ModePersistent))
		for _, path := range []string{"/", "/lock"} {
			l := get(t, NewRWMutex(c, path, WatchOwnNode()).Lock)
			old := l.Node()
			downgrade(t, l)
			synctest.Wait()
			if l.State() != Held || l.Node() != readerOf(old) || !srv.Exists("/app"+l.Node()) || srv.Exists("/app"+old) {
				t.Errorf("%s: %v, %s after %s", path, l.State(), l.Node(), old)
			}
			release(t, l)
			if srv.Exists("/app" + readerOf(old)) {
				t.Errorf("%s: left behind", path)
			}
		}
	})
}
