package recipes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// queueUp starts n goroutines that want m, one after another.
func queueUp(ctx context.Context, m *Mutex, n int) []*waiter {
	var ws []*waiter
	for range n {
		ws = append(ws, goLock(ctx, m))
		synctest.Wait()
	}
	return ws
}

// waitFor waits until w has the lock.
func (w *waiter) waitFor(t *testing.T) *Lease {
	t.Helper()
	select {
	case <-w.done:
	case <-time.After(time.Hour): // of virtual time
		t.Fatal("waits for ever")
	}
	if w.err != nil {
		t.Fatal(w.err)
	}
	return w.lease
}

// watchZnodes counts the creations of lock znodes by a session from now on, and the most that were there at once.
func watchZnodes(srv *zktest.Server, session int64) func() (made, most int) {
	var mu sync.Mutex
	made, most := 0, 0
	srv.OnRequest(func(r *zktest.Request) zktest.Verdict {
		n := 0
		for _, s := range srv.Sessions() {
			if s.ID == session {
				n = len(s.Ephemerals)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		most = max(most, n)
		if r.Op == proto.OpCreate2 && r.SessionID == session {
			made++
		}
		return zktest.Verdict{}
	})
	return func() (int, int) {
		mu.Lock()
		defer mu.Unlock()
		return made, most
	}
}

// A hundred goroutines of one lock object cost the server no more than one: each has a znode in its turn, in the order in
// which they came.
func TestLocalQueue(t *testing.T) { // docs/locks.md A2 item 6
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock", LocalQueue())
		l := lock(t, m)
		counts := watchZnodes(srv, c.SessionID())
		waiters := queueUp(t.Context(), m, 100)
		if n := kids(srv); n != 1 {
			t.Fatalf("%d znodes for one holder and 100 that wait, want 1", n)
		}
		seen := map[string]bool{l.Node(): true}
		for i, w := range waiters {
			token := l.Token()
			release(t, l)
			l = w.waitFor(t)
			if seen[l.Node()] || l.Token().Compare(token) <= 0 || l.Token().Hand != 0 {
				t.Fatalf("no znode of its own: %s, token %v after %v", l.Node(), l.Token(), token)
			}
			seen[l.Node()] = true
			if slices.ContainsFunc(waiters[i+1:], (*waiter).over) {
				t.Fatal("not first come first served")
			}
		}
		release(t, l)
		synctest.Wait()
		if made, most := counts(); made != 100 || most != 1 || kids(srv) != 0 {
			t.Errorf("%d znodes made, at most %d at once, %d left; want 100, 1, 0", made, most, kids(srv))
		}
	})
}

// A release goes out together with the create of the next one in line, so that a turn is one flight.
func TestLocalQueueFlights(t *testing.T) { // A8
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock", LocalQueue())
		l := lock(t, m)
		waiters := queueUp(t.Context(), m, 2)
		before := srv.Snapshot().Requests
		wantFlights(t, srv, 1, func() {
			if err := l.ReleasePipelined(); err != nil {
				t.Error(err)
			}
			l = waiters[0].waitFor(t)
		})
		if n := srv.Snapshot().Requests - before; n != 3 {
			t.Errorf("%d requests, want 3: delete, create, list", n)
		}
		wantFlights(t, srv, 1, func() {
			release(t, l)
			l = waiters[1].waitFor(t)
		})
		release(t, l)
	})
}

// To other processes the goroutines of a lock object are one contender, which lines up again after each hold.
func TestLocalQueueIsFairToOthers(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		m := NewMutex(a, "/lock", LocalQueue())
		l := lock(t, m)
		ours := queueUp(t.Context(), m, 3)
		for _, w := range ours {
			other := goLock(t.Context(), NewMutex(b, "/lock"))
			synctest.Wait()
			release(t, l)
			theirs := other.waitFor(t)
			synctest.Wait()
			if w.over() {
				t.Fatal("two holders")
			}
			release(t, theirs)
			l = w.waitFor(t)
		}
		release(t, l)
	})
}

func TestLocalQueueTryLock(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		m := NewMutex(a, "/lock", LocalQueue())
		none := func(what string) {
			t.Helper()
			quiet(t, srv, func() {
				if _, err := m.TryLock(t.Context()); !errors.Is(err, ErrNotAcquired) {
					t.Errorf("%s: %v", what, err)
				}
			})
		}
		l := must(m.TryLock(t.Context()))
		none("held by another goroutine")
		release(t, l)
		theirs := lock(t, NewMutex(b, "/lock"))
		if _, err := m.TryLock(t.Context()); !errors.Is(err, ErrNotAcquired) { // here the server has to be asked
			t.Errorf("held elsewhere: %v", err)
		}
		w := goLock(t.Context(), m)
		synctest.Wait()
		none("wanted by another goroutine")
		release(t, theirs)
		release(t, w.waitFor(t))
		release(t, must(m.TryLock(t.Context())))
	})
}

// Who has the turn keeps it until the line is told that it is over, and a lease that ended before it got the turn does not
// keep it.
func TestLineIsBusy(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock", HandOver(2, time.Hour))
		ln := &m.b.line
		if _, err := ln.enter(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if ln.pass(new(contender)) { // there is nobody to give the znode to
			t.Error("passed to nobody")
		}
		_, err := m.TryLock(t.Context())
		wantErr(t, err, ErrNotAcquired)
		ln.pass(nil)
		release(t, must(m.TryLock(t.Context())))

		if _, err := ln.enter(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		l := must(m.b.contender(one(exclusive), false).acquire(t.Context()))
		w := queueUp(t.Context(), m, 1)[0]
		l.finish(ErrNodeGone)
		l.takeTurn()
		wantErr(t, l.Release(t.Context()), ErrLost, ErrNodeGone)
		release(t, w.waitFor(t))
	})
}

func TestLineOptions(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		for name, m := range map[string]*Mutex{
			"one grant":     NewMutex(c, "/lock", HandOver(1, time.Second)),
			"no time":       NewMutex(c, "/lock", HandOver(2, 0)),
			"only guarded":  NewMutex(c, "/lock", GuardedHandover()),
			"guarded queue": NewMutex(c, "/lock", LocalQueue(), GuardedHandover()),
		} {
			quiet(t, srv, func() {
				if _, err := m.Lock(t.Context()); err == nil {
					t.Errorf("%s: accepted", name)
				}
			})
		}
		for _, opt := range []Option{LocalQueue(), HandOver(2, time.Second)} {
			_, err := NewRWMutex(c, "/lock", opt).Lock(t.Context())
			if err == nil || !strings.Contains(err.Error(), "read-write") {
				t.Errorf("for a read-write lock: %v", err)
			}
		}
	})
}
