package recipes

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// lockAll acquires a MultiLock, and fails when that takes longer than an hour of virtual time.
func lockAll(t *testing.T, m *MultiLock) *MultiLease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	ml, err := m.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return ml
}

func releaseAll(t *testing.T, ml *MultiLease) {
	t.Helper()
	if err := ml.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// multiWaiter is a MultiLock.Lock that runs in its own goroutine.
type multiWaiter struct {
	lease *MultiLease
	err   error
	done  chan struct{}
}

// queuedAll starts m.Lock and returns when it has got the locks or waits for them.
func queuedAll(ctx context.Context, m *MultiLock) *multiWaiter {
	w := goMulti(ctx, m)
	synctest.Wait()
	return w
}

func (w *multiWaiter) over() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// granted waits for the lease, for an hour of virtual time at most.
func (w *multiWaiter) granted(t *testing.T) *MultiLease {
	t.Helper()
	w.ended(t)
	if w.err != nil {
		t.Fatal(w.err)
	}
	return w.lease
}

func (w *multiWaiter) ended(t *testing.T) {
	t.Helper()
	select {
	case <-w.done:
	case <-time.After(time.Hour):
		t.Fatal("not over after an hour")
	}
}

// mutexes returns a MultiLock of mutexes.
func mutexes(c *client.Client, paths ...string) *MultiLock {
	var parts []Part
	for _, p := range paths {
		parts = append(parts, NewMutex(c, p).Part())
	}
	return NewMultiLock(parts...)
}

// nothingLeft fails if any session has a znode, or any watch is set.
func nothingLeft(t *testing.T, srv *zktest.Server) {
	t.Helper()
	synctest.Wait()
	for _, ss := range srv.Sessions() {
		if len(ss.Ephemerals) > 0 {
			t.Errorf("left behind: %v", ss.Ephemerals)
		}
	}
	if ws := srv.Watches(); len(ws) > 0 {
		t.Errorf("watches left: %v", ws)
	}
}

func TestMultiLockFlights(t *testing.T) { // A8: one flight for k free paths, I8: two with missing parents
	for _, dirs := range [][]string{{"/a"}, {"/a", "/b"}, {"/a/b/c", "/a/b/d", "/e", "/f/g", "/a", "/a/b"}} {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			c := dial(t, srv)
			defer c.Close()
			m := mutexes(c, dirs...)
			var ml *MultiLease
			flights(t, srv, fmt.Sprint("parents missing: ", dirs), 2, func() { ml = lockAll(t, m) })
			flights(t, srv, "release", 1, func() { releaseAll(t, ml) })
			before := srv.Snapshot()
			flights(t, srv, "free", 1, func() { ml = lockAll(t, m) })
			flights(t, srv, "release", 1, func() { releaseAll(t, ml) })
			// One multi, and a list and a delete for each path.
			if n := int(srv.Snapshot().Requests - before.Requests); n != 1+2*len(dirs) {
				t.Errorf("%d requests for %d paths", n, len(dirs))
			}
			flights(t, srv, "free, TryLock", 1, func() { ml = must(m.TryLock(t.Context())) })
			flights(t, srv, "release and lock again", 1, func() { _ = ml.ReleasePipelined(); ml = lockAll(t, m) })
			releaseAll(t, ml)
			nothingLeft(t, srv)
		})
	}
}

// TestMultiLockInOppositeOrder: two who lock two paths one after the other, in opposite order, wait for each other for ever;
// two MultiLocks do not, because all znodes of one are ahead of those of the other.
func TestMultiLockInOppositeOrder(t *testing.T) { // A6, I11
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		ctx, cancel := context.WithCancel(t.Context())
		x, y := lock(t, NewMutex(a, "/x")), lock(t, NewMutex(b, "/y"))
		wx, wy := queued(ctx, NewMutex(a, "/y").Lock), queued(ctx, NewMutex(b, "/x").Lock)
		<-time.After(24 * time.Hour)
		if wx.over() || wy.over() {
			t.Error("one by one: no deadlock, so this test shows nothing")
		}
		cancel()
		<-wx.done
		<-wy.done
		release(t, x)
		release(t, y)

		ab, ba := mutexes(a, "/x", "/y"), mutexes(b, "/y", "/x")
		for range 20 {
			first, second := goMulti(t.Context(), ab), goMulti(t.Context(), ba)
			synctest.Wait()
			if first.over() == second.over() {
				t.Fatalf("acquired: %v and %v", first.over(), second.over())
			}
			if second.over() {
				first, second = second, first
			}
			releaseAll(t, first.granted(t))
			synctest.Wait()
			if !second.over() {
				t.Fatal("the other one waits although all is free")
			}
			releaseAll(t, second.granted(t))
		}
		nothingLeft(t, srv)
	})
}

// goMulti starts m.Lock.
func goMulti(ctx context.Context, m *MultiLock) *multiWaiter {
	w := &multiWaiter{done: make(chan struct{})}
	go func() {
		w.lease, w.err = m.Lock(ctx)
		close(w.done)
	}()
	return w
}

// TestMultiLockWaits: on each of the paths alone, whichever part it is, with the event of the last one's release and no flight after it.
func TestMultiLockWaits(t *testing.T) {
	for held := range 3 {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			a, b := dial(t, srv), dialTo(t, srv, "two:2181")
			defer a.Close()
			defer b.Close()
			paths := []string{"/a", "/b", "/c"}
			m := mutexes(b, paths...)
			releaseAll(t, lockAll(t, m))
			l := lock(t, NewMutex(a, paths[held]))
			w := queuedAll(t.Context(), m)
			if w.over() {
				t.Fatal("granted while a part is held")
			}
			for _, p := range paths {
				if _, err := NewMutex(a, p).TryLock(t.Context()); !errors.Is(err, ErrNotAcquired) {
					t.Errorf("%s: %v", p, err)
				}
			}
			flights(t, srv, "release", 1, func() { release(t, l); <-w.done })
			ml := w.granted(t)
			if ml.State() != Held || ml.Context().Err() != nil {
				t.Errorf("%v, %v", ml.State(), ml.Context().Err())
			}
			releaseAll(t, ml)
			nothingLeft(t, srv)
		})
	}
}
