package recipes

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// Close with a create in flight: whatever becomes of it, no znode outlives the session.
func TestCloseDuringTheCreate(t *testing.T) { // K16, K43
	for name, fault := range map[string]func(*zktest.Server) func(){
		"not executed": func(s *zktest.Server) func() { return s.Hold(zktest.Match{Op: proto.OpCreate2}).Release },
		"not answered": func(s *zktest.Server) func() { return s.HoldReply(zktest.Match{Op: proto.OpCreate2}).Release },
		"lost":         func(s *zktest.Server) func() { return lostCreate(s, false) },
		"lost, late":   func(s *zktest.Server) func() { return lostCreate(s, true) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := dial(t, srv)
				m := NewMutex(c, "/lock")
				release(t, lock(t, m))
				end := fault(srv)
				w := goLock(t.Context(), m)
				synctest.Wait()
				began := time.Now()
				closed := make(chan error)
				go func() { closed <- c.Close() }()
				synctest.Wait()
				end()
				<-w.done
				wantErr(t, w.err, ErrClosed)
				if d := time.Since(began); d > CleanupGrace {
					t.Errorf("Lock has returned after %v", d)
				}
				<-closed
				<-time.After(2 * timeout) // without a connection the session cannot be closed; it expires
				if n := len(srv.Sessions()); n != 0 || kids(srv) != 0 {
					t.Errorf("%d sessions, znodes %v", n, srv.Children("/lock"))
				}
			})
		})
	}
}

// Whatever ends a Lock behind its create, its znode is gone when it returns, and so are its watches' registrations.
func TestEveryExitRemovesTheNode(t *testing.T) { // K2, K17, K41
	fail := func(op proto.Op, code proto.Code, skip int) func(*zktest.Server, int64) {
		return func(s *zktest.Server, id int64) { s.Fail(zktest.Match{Op: op, Session: id, Skip: skip}, code) }
	}
	for name, tc := range map[string]struct {
		fault func(srv *zktest.Server, id int64)
		try   bool
		want  error
	}{
		"list refused":          {fail(proto.OpGetChildren2, proto.ErrNoAuth, 0), false, client.ErrNoAuth},
		"list refused for load": {fail(proto.OpGetChildren2, proto.ErrThrottled, 0), false, client.ErrThrottled},
		"list refused, try":     {fail(proto.OpGetChildren2, proto.ErrNoAuth, 0), true, client.ErrNoAuth},
		"busy, try":             {func(*zktest.Server, int64) {}, true, ErrNotAcquired},
		"own watch refused":     {fail(proto.OpGetData, proto.ErrThrottled, 0), false, client.ErrThrottled},
		"watch refused":         {fail(proto.OpGetData, proto.ErrNoAuth, 1), false, ErrUnreadable},
		"list refused in the recovery": {func(s *zktest.Server, id int64) {
			s.CloseAfter(zktest.Match{Op: proto.OpCreate2, Session: id})
			s.Fail(zktest.Match{Op: proto.OpGetChildren2, Session: id}, proto.ErrThrottled)
		}, false, client.ErrThrottled},
		"search refused in the recovery": {func(s *zktest.Server, id int64) {
			s.CloseAfter(zktest.Match{Op: proto.OpCreate2, Session: id})
			s.Fail(zktest.Match{Op: proto.OpExists, Session: id}, proto.ErrThrottled)
		}, false, client.ErrThrottled},
		"server turned read-only": {func(s *zktest.Server, id int64) {
			s.Fail(zktest.Match{Op: proto.OpGetData, Session: id}, proto.ErrNotReadOnly)
		}, false, client.ErrNotReadOnly},
		"numbers at their end": {func(s *zktest.Server, _ int64) { s.SetCounter("/lock", highWater) }, false, ErrSequenceEnd},
	} {
		for _, lossy := range []bool{false, true} {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := dial(t, srv), dialTo(t, srv, "two:2181")
				defer a.Close()
				defer b.Close()
				l := lock(t, NewMutex(a, "/lock"))
				tc.fault(srv, b.SessionID())
				if lossy {
					srv.CloseBefore(zktest.Match{Op: proto.OpDelete, Session: b.SessionID(), Times: 2})
				}
				m := NewMutex(b, "/lock")
				f := m.Lock
				if tc.try {
					f = m.TryLock
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				got, err := f(ctx)
				if wantErr(t, err, tc.want); got != nil {
					t.Errorf("%s: a lease with an error", name)
				}
				if errors.Is(err, ErrCleanupPending) { // the deletion was lost twice, with its connection
					if !lossy {
						t.Errorf("%s: %v", name, err)
					}
					<-time.After(timeout / 2)
				}
				if n := kids(srv); n != 1 || b.CleanupsPending() != 0 {
					t.Errorf("%s: %d znodes beside the holder's, %d clean-ups pending", name, n-1, b.CleanupsPending())
				}
				srv.SetCounter("/lock", 100)
				release(t, l)
				release(t, lock(t, m))
			})
		}
	}
}

// On a closed client every lock fails at once, and whoever waits is told.
func TestLocksOfAClosedClient(t *testing.T) { // K43
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		l, rl := lock(t, NewMutex(a, "/lock")), must(NewRWMutex(a, "/rw").Lock(t.Context()))
		m, queue, rw, r := NewMutex(b, "/lock"), NewMutex(b, "/lock", LocalQueue()), NewRWMutex(b, "/rw"), NewReentrant(b, "/lock")
		entry := func(f func(context.Context) (context.Context, *Reentry, error)) func(context.Context) error {
			return func(ctx context.Context) error { _, _, err := f(ctx); return err }
		}
		lease := func(f func(context.Context) (*Lease, error)) func(context.Context) error {
			return func(ctx context.Context) error { _, err := f(ctx); return err }
		}
		waiting := map[string]func(context.Context) error{
			"Mutex": lease(m.Lock), "LocalQueue": lease(queue.Lock), "RWMutex": lease(rw.Lock), "RLock": lease(rw.RLock), "Reentrant": entry(r.Lock),
		}
		errs := make(chan string, 2*len(waiting))
		for name, f := range waiting {
			for range 2 {
				go func() {
					if err := f(t.Context()); !errors.Is(err, ErrClosed) {
						errs <- fmt.Sprint(name, ": ", err)
					} else {
						errs <- ""
					}
				}()
			}
		}
		synctest.Wait()
		began := time.Now()
		_ = b.Close()
		for range cap(errs) {
			if e := <-errs; e != "" {
				t.Error(e)
			}
		}
		waiting["try"], waiting["try, queue"], waiting["try, re-entrant"] = lease(m.TryLock), lease(queue.TryLock), entry(r.TryLock)
		waiting["try, writer"], waiting["try, reader"] = lease(rw.TryLock), lease(rw.TryRLock)
		quiet(t, srv, func() {
			for name, f := range waiting {
				if err := f(context.Background()); !errors.Is(err, ErrClosed) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
		if d := time.Since(began); d != 0 {
			t.Errorf("told after %v", d)
		}
		release(t, l)
		release(t, rl)
	})
}
