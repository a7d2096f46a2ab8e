package recipes

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// Whatever an acquire ends with, neither lease nor mutex is left.
func TestCuratorSemaphoreExits(t *testing.T) { // K33, K34, K37, F95
	for name, end := range map[string]func(t *testing.T, srv *zktest.Server, s *Semaphore) error{
		"cancelled": func(t *testing.T, srv *zktest.Server, s *Semaphore) error {
			ctx, cancel := context.WithCancel(t.Context())
			w := queued(ctx, take(s, 1))
			wantKids(t, srv, "waits", 1, 2)
			cancel()
			await(t, "cancelled", w)
			wantErr(t, w.err, context.Canceled)
			return w.err
		},
		"timed out behind the mutex": func(t *testing.T, srv *zktest.Server, s *Semaphore) error {
			ctx, cancel := context.WithCancel(t.Context())
			w := queued(ctx, take(s, 1))
			short, stop := context.WithTimeout(t.Context(), time.Second)
			_, err := s.Acquire(short, 1)
			stop()
			wantErr(t, err, context.DeadlineExceeded)
			wantKids(t, srv, "one waits", 1, 2)
			cancel()
			await(t, "cancelled", w)
			return err
		},
		"refused": func(t *testing.T, srv *zktest.Server, s *Semaphore) error {
			srv.Fail(zktest.Match{Op: proto.OpCreate2, Under: "/lock/leases"}, proto.ErrNoAuth)
			_, err := s.Acquire(t.Context(), 1)
			return err
		},
		"the list is refused": func(t *testing.T, srv *zktest.Server, s *Semaphore) error {
			srv.Fail(zktest.Match{Op: proto.OpGetChildren2, Path: "/lock/leases"}, proto.ErrNoAuth)
			_, err := s.Acquire(t.Context(), 1)
			return err
		},
		"not acquired": func(t *testing.T, srv *zktest.Server, s *Semaphore) error {
			_, err := s.TryAcquire(t.Context(), 1)
			wantErr(t, err, ErrNotAcquired)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b, closeAll := semPair(t, srv, 1, CuratorSemaphore())
				defer closeAll()
				l := get(t, take(a, 1))
				err := end(t, srv, b)
				var e *Error
				if !errors.As(err, &e) || e.Op == "" {
					t.Errorf("%v", err)
				}
				wantKids(t, srv, "after the end", 0, 1)
				release(t, l)
				release(t, get(t, tryTake(a, 1)))
				wantKids(t, srv, "the end", 0, 0)
			})
		})
	}
}

// Connections lost at each request of an acquire.
func TestCuratorSemaphoreCuts(t *testing.T) { // K33, F95
	for name, fault := range map[string]func(*zktest.Server, zktest.Match) *zktest.Rule{
		"closed before": (*zktest.Server).CloseBefore, "closed after": (*zktest.Server).CloseAfter,
	} {
		for _, under := range []string{"/lock/locks", "/lock/leases"} {
			for _, op := range []proto.Op{proto.OpCreate2, proto.OpGetChildren2, proto.OpGetData, proto.OpDelete} {
				t.Run(fmt.Sprint(name, " ", op, under), func(t *testing.T) {
					bubble(t, func(t *testing.T, srv *zktest.Server) {
						a, b, closeAll := semPair(t, srv, 1, CuratorSemaphore())
						defer closeAll()
						l := get(t, take(a, 1))
						r := fault(srv, zktest.Match{Op: op, Under: under, Member: "two:2181"})
						w := queued(t.Context(), take(b, 1))
						<-time.After(2 * time.Second)
						waits(t, "the waiter", w)
						wantKids(t, srv, "one waits", 1, 2)
						release(t, l)
						await(t, "the waiter", w)
						release(t, granted(t, "the waiter", w))
						<-time.After(timeout)
						r.Remove()
						wantKids(t, srv, "the end", 0, 0)
					})
				})
			}
		}
	}
}

// The session of one that decides ends: it needs the mutex again, or it would wait for the next one to decide, and that for it.
func TestCuratorSemaphoreExpiryWhileDeciding(t *testing.T) { // K36, D7
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := semPair(t, srv, 1, CuratorSemaphore())
		defer closeAll()
		c := dial(t, srv)
		defer c.Close()
		l := get(t, take(a, 1))
		first := queued(t.Context(), take(b, 1))
		second := queued(t.Context(), take(NewSemaphore(c, "/lock", 1, CuratorSemaphore()), 1))
		wantKids(t, srv, "one decides", 2, 2)
		srv.ExpireSession(b.b.c.SessionID())
		<-time.After(time.Second)
		wantKids(t, srv, "the other decides", 2, 2)
		release(t, l)
		await(t, "the second", second)
		l = granted(t, "the second", second)
		waits(t, "the first, which is last now", first)
		release(t, l)
		await(t, "the first", first)
		release(t, granted(t, "the first", first))
		wantKids(t, srv, "the end", 0, 0)
	})
	bubble(t, func(t *testing.T, srv *zktest.Server) { // of one that waits for the mutex, and of a holder
		a, b, closeAll := semPair(t, srv, 1, CuratorSemaphore())
		defer closeAll()
		l := get(t, take(a, 1))
		first := queued(t.Context(), take(a, 1))
		second := queued(t.Context(), take(b, 1))
		failing := queued(t.Context(), take(NewSemaphore(b.b.c, "/lock", 1, CuratorSemaphore(), FailIfNodeGone()), 1))
		srv.ExpireSession(b.b.c.SessionID())
		await(t, "the one that does not try again", failing)
		if !errors.Is(failing.err, ErrSessionExpired) && !errors.Is(failing.err, ErrNodeGone) {
			t.Errorf("%v", failing.err)
		}
		<-time.After(time.Second)
		srv.ExpireSession(a.b.c.SessionID())
		<-l.Done()
		await(t, "the second", second)
		release(t, granted(t, "the second", second))
		await(t, "the first", first)
		release(t, granted(t, "the first", first))
		wantErr(t, l.Release(t.Context()), ErrLost, ErrSessionExpired)
		wantKids(t, srv, "the end", 0, 0)
	})
}
