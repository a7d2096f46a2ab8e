package recipes

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestMultiLockMixed(t *testing.T) { // A6: mutexes, read and write sides, permits
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		parts := func(c *client.Client, mutex string) *MultiLock {
			return NewMultiLock(NewMutex(c, mutex).Part(), NewRWMutex(c, "/rw").RPart(), NewSemaphore(c, "/sem", 5).Part(2))
		}
		first, second := lockAll(t, parts(a, "/m1")), lockAll(t, parts(b, "/m2"))
		for i, l := range first.Leases() {
			if l.State() != Held || l.Token() != first.Token() || l.Shared() != (i > 0) {
				t.Errorf("part %d: %v, %v, shared %v", i, l.State(), l.Token(), l.Shared())
			}
			if _, st, err := srv.Get(l.Node()); err != nil || st.Czxid != first.Token().Zxid {
				t.Errorf("part %d: token %v of a znode made by %d: %v", i, l.Token(), st.Czxid, err)
			}
		}
		if second.Token().Compare(first.Token()) <= 0 {
			t.Errorf("token %v after %v", second.Token(), first.Token())
		}
		third := queuedAll(t.Context(), parts(a, "/m3")) // one permit is left
		writer := queuedAll(t.Context(), NewMultiLock(NewRWMutex(b, "/rw").Part()))
		one := must(NewSemaphore(b, "/other", 5).TryAcquire(t.Context(), 1))
		release(t, one)
		if third.over() || writer.over() {
			t.Fatal("granted with one permit, or to a writer beside readers")
		}
		releaseAll(t, first)
		releaseAll(t, third.granted(t))
		synctest.Wait()
		if writer.over() {
			t.Fatal("a writer beside a reader")
		}
		releaseAll(t, second)
		releaseAll(t, writer.granted(t))
		nothingLeft(t, srv)
	})
}

func TestMultiTryLock(t *testing.T) {
	for held := range 3 {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			a, b := dial(t, srv), dialTo(t, srv, "two:2181")
			defer a.Close()
			defer b.Close()
			paths := []string{"/a", "/b", "/c"}
			m := mutexes(b, paths...)
			releaseAll(t, must(m.TryLock(t.Context())))
			l := lock(t, NewMutex(a, paths[held]))
			if ml, err := m.TryLock(t.Context()); ml != nil || !errors.Is(err, ErrNotAcquired) {
				t.Errorf("%v", err)
			}
			if n := srv.Snapshot().Watches.Total(); n != 0 {
				t.Errorf("%d watches", n)
			}
			for i, p := range paths {
				if i != held {
					release(t, must(NewMutex(a, p).TryLock(t.Context())))
				}
			}
			release(t, l)
			releaseAll(t, must(m.TryLock(t.Context())))
			nothingLeft(t, srv)
		})
	}
}

func TestMultiLeaseGuards(t *testing.T) { // A9
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		must(srv.Create("/data", nil, proto.ModePersistent))
		m := NewMultiLock(NewMutex(c, "/a").Part(), NewRWMutex(c, "/b").RPart(), NewSemaphore(c, "/c", 3).Part(1))
		var old []client.Op
		for lost := range 3 {
			ml := lockAll(t, m)
			write := func(guards []client.Op) error {
				_, err := c.Multi(t.Context(), append(guards, client.SetOp("/data", []byte("x"), client.AnyVersion))...)
				return err
			}
			if n := len(ml.Guards()); n != 3 {
				t.Fatalf("%d guards", n)
			}
			if err := write(ml.Guards()); err != nil {
				t.Errorf("guards of a good hold: %v", err)
			}
			if old != nil {
				if err := write(old); !errors.Is(err, client.ErrNoNode) {
					t.Errorf("guards of an old hold: %v", err)
				}
			}
			if err := srv.Delete(ml.Leases()[lost].Node()); err != nil {
				t.Fatal(err)
			}
			if err := write(ml.Guards()); !errors.Is(err, client.ErrNoNode) {
				t.Errorf("part %d is gone, and the guards say %v", lost, err)
			}
			if err := ml.Release(t.Context()); !errors.Is(err, ErrLost) || !errors.Is(err, ErrNodeGone) {
				t.Errorf("part %d is gone, and Release says %v", lost, err)
			}
			old = ml.Guards()
		}
		nothingLeft(t, srv)
	})
}
