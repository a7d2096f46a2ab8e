package recipes

import (
	"errors"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// Those who wait for the mutex are listed behind the leases, and whoever has it once: with its lease, if that is there.
func TestCuratorSemaphoreParticipants(t *testing.T) { // 2.3
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := semPair(t, srv, 2, CuratorSemaphore(), Data([]byte("me")))
		defer closeAll()
		if got := permitsOf(t, a); got != "" {
			t.Errorf("paths missing: %s", got)
		}
		l, m := get(t, take(a, 1)), get(t, take(b, 1))
		if got := permitsOf(t, b); got != "1* 1*" {
			t.Errorf("nobody waits: %s", got)
		}
		first, second := queued(t.Context(), take(b, 1)), queued(t.Context(), take(a, 1))
		wantKids(t, srv, "two wait", 2, 3)
		if got := permitsOf(t, b); got != "1* 1* 1 1" {
			t.Errorf("two wait: %s", got)
		}
		ps := must(a.Participants(t.Context()))
		inside, outside := ps[2], ps[3]
		if !strings.HasPrefix(inside.Node, "/lock/leases/") || inside.Token.IsZero() || inside.Session != b.b.c.SessionID() {
			t.Errorf("with the mutex: %+v", inside)
		}
		if !strings.HasPrefix(outside.Node, "/lock/locks/") || !outside.Token.IsZero() || outside.Session != a.b.c.SessionID() ||
			!outside.Shared || outside.Created.IsZero() {
			t.Errorf("without the mutex: %+v", outside)
		}
		release(t, l)
		l = granted(t, "first", first)
		if got := permitsOf(t, a); got != "1* 1* 1" {
			t.Errorf("one waits: %s", got)
		}
		release(t, m)
		m = granted(t, "second", second)
		release(t, l)
		held := srv.Hold(zktest.Match{Op: proto.OpCreate2, Under: "/lock/leases"})
		first, second = queued(t.Context(), take(b, 1)), queued(t.Context(), take(a, 1))
		wantKids(t, srv, "one decides, one waits", 2, 1)
		c := dial(t, srv) // the connection of the others is busy
		defer c.Close()
		if got := permitsOf(t, NewSemaphore(c, "/lock", 2, CuratorSemaphore())); got != "1* 1 1" {
			t.Errorf("one decides, one waits: %s", got)
		}
		held.Release()
		release(t, m)
		release(t, granted(t, "first", first))
		release(t, granted(t, "second", second))
	})
}

// Somebody who has the mutex and no lease yet holds nothing, of a semaphore or of its one-permit form.
func TestCuratorSemaphoreDeciding(t *testing.T) { // 2.3
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := semPair(t, srv, 1, CuratorSemaphore(), Data([]byte("me")))
		defer closeAll()
		release(t, get(t, take(a, 1))) // the paths exist
		held := srv.Hold(zktest.Match{Op: proto.OpCreate2, Under: "/lock/leases"})
		w := queued(t.Context(), take(a, 1))
		wantKids(t, srv, "one decides", 1, 0)
		if got := permitsOf(t, b); got != "1" {
			t.Errorf("%s", got)
		}
		job := NewSingletonJob(b.b.c, "/lock", CuratorSemaphore())
		if p, runs, err := job.Running(t.Context()); runs || err != nil {
			t.Errorf("%+v, %v, %v", p, runs, err)
		}
		held.Release()
		l := granted(t, "the one", w)
		ps := must(b.Participants(t.Context()))
		if len(ps) != 1 || !ps[0].Holds || ps[0].Shared {
			t.Errorf("%+v", ps)
		}
		if p, runs, err := job.Running(t.Context()); !runs || err != nil || p.Node != l.Node() {
			t.Errorf("%+v, %v, %v", p, runs, err)
		}
		release(t, l)
	})
}

// Errors name the path that the recipe was made for, not what is below it.
func TestCuratorSemaphoreErrorPath(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := semPair(t, srv, 1, CuratorSemaphore())
		defer closeAll()
		l := get(t, take(a, 1))
		_, tried := b.TryAcquire(t.Context(), 1)
		_, two := b.Acquire(t.Context(), 2)
		_, nested := a.Acquire(l.Context(), 1)
		srv.Fail(zktest.Match{Op: proto.OpGetChildren2, Path: "/lock/leases"}, proto.ErrNoAuth)
		_, listed := b.Participants(t.Context())
		must(0, srv.Delete(l.Node()))
		gone := l.Release(t.Context())
		again := l.Release(t.Context())
		_, whole := NewMultiLock(a.Part(1)).Lock(t.Context())
		for what, err := range map[string]error{"busy": tried, "two": two, "nested": nested, "participants": listed, "lost": gone, "released": again,
			"downgrade": l.Downgrade(t.Context()), "setpermits": a.SetPermits(t.Context(), 2), "multilock": whole} {
			var e *Error
			if !errors.As(err, &e) || e.Path != "/lock" {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, out := NewSemaphore(a.b.c, "/", 1, CuratorSemaphore()).Acquire(t.Context(), 2)
		var e *Error
		if !errors.As(out, &e) || e.Path != "/" {
			t.Errorf("at the root: %v", out)
		}
	})
}
