package recipes

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// aheadOf says whether the first znode of a client under dir is ahead of that of another.
func aheadOf(t *testing.T, srv *zktest.Server, dir string, c, than *client.Client) bool {
	t.Helper()
	number := func(c *client.Client) int32 {
		seq, _, ok := one(exclusive).parse([]byte(ownNodeUnder(t, srv, c, dir)))
		if !ok {
			t.Fatal("no number under " + dir)
		}
		return seq
	}
	return older(number(c), number(than))
}

// TestOrderedBesideOneByOne: another client has /a, and takes /b while it has it. A MultiLock that keeps its places waits for it on the
// one path and keeps it waiting on the other; nothing is under way that could change that. An Ordered one gives way.
func TestOrderedBesideOneByOne(t *testing.T) { // A10 rule 16, G10, G20
	for _, ordered := range []bool{false, true} {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			a, b := dial(t, srv), dialTo(t, srv, "two:2181")
			defer a.Close()
			defer b.Close()
			m := mutexes(a, "/b", "/a")
			if ordered {
				m = m.Ordered()
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			first := lock(t, NewMutex(b, "/a"))
			w := queuedAll(ctx, m)
			second := queued(ctx, NewMutex(b, "/b").Lock)
			if w.over() {
				t.Fatalf("granted beside another: %v", w.err)
			}
			if !ordered { // who waits for whom is a circle, and everybody sleeps
				if second.over() || !aheadOf(t, srv, "/a", b, a) || !aheadOf(t, srv, "/b", a, b) {
					t.Error("no deadlock, so this test shows nothing")
				}
				cancel()
				<-w.done
				<-second.done
				release(t, first)
				nothingLeft(t, srv)
				return
			}
			if !second.over() {
				t.Fatal("deadlock")
			}
			release(t, second.lease)
			if w.over() {
				t.Fatal("granted beside another")
			}
			release(t, first)
			ml := w.granted(t)
			if l := ml.Leases(); !strings.HasPrefix(l[0].Node(), "/b/") || !strings.HasPrefix(l[1].Node(), "/a/") {
				t.Errorf("not in the order of the parts: %s, %s", l[0].Node(), l[1].Node())
			}
			releaseAll(t, ml)
			nothingLeft(t, srv)
		})
	}
}

// TestOrderedBesideAnAtomicOne: what the documentation says must not be done.
func TestOrderedBesideAnAtomicOne(t *testing.T) { // G23, G24
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := dial(t, srv), dialTo(t, srv, "two:2181"), dialTo(t, srv, "three:2181")
		defer a.Close()
		defer b.Close()
		defer c.Close()
		ctx, cancel := context.WithCancel(t.Context())
		holder := lockAll(t, mutexes(c, "/a", "/b"))
		ordered := queuedAll(ctx, mutexes(a, "/a", "/b").Ordered()) // waits on /a, and has no place on /b
		atomic := queuedAll(ctx, mutexes(b, "/a", "/b"))
		releaseAll(t, holder)
		synctest.Wait()
		if ordered.over() || atomic.over() || !aheadOf(t, srv, "/a", a, b) || !aheadOf(t, srv, "/b", b, a) {
			t.Error("no deadlock, so it need not be forbidden")
		}
		cancel()
		<-ordered.done
		<-atomic.done
		nothingLeft(t, srv)
	})
}

// TestOrderedPlaces: which places it has at each stage, and what the stages cost.
func TestOrderedPlaces(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		m := mutexes(a, "/d", "/b", "/a", "/c").Ordered()
		var ml *MultiLease
		flights(t, srv, "parents missing", 2, func() { ml = lockAll(t, m) })
		flights(t, srv, "release", 1, func() { releaseAll(t, ml) })
		flights(t, srv, "free", 1, func() { ml = lockAll(t, m) })
		releaseAll(t, ml)
		places := func(stage string, want ...string) {
			t.Helper()
			synctest.Wait()
			var have []string
			for _, dir := range []string{"/a", "/b", "/c", "/d"} {
				for _, name := range srv.Children(dir) {
					if _, st, err := srv.Get(child(dir, []byte(name))); err == nil && st.EphemeralOwner == a.SessionID() {
						have = append(have, dir)
					}
				}
			}
			if strings.Join(have, " ") != strings.Join(want, " ") {
				t.Errorf("%s: places on %v, want %v", stage, have, want)
			}
		}
		lb, ld := lock(t, NewMutex(b, "/b")), lock(t, NewMutex(b, "/d"))
		w := queuedAll(t.Context(), m)
		places("waits for /b", "/a", "/b")
		if _, err := NewMutex(b, "/a").TryLock(t.Context()); !errors.Is(err, ErrNotAcquired) {
			t.Errorf("/a is not held: %v", err)
		}
		release(t, must(NewMutex(b, "/c").TryLock(t.Context())))
		lc := lock(t, NewMutex(b, "/c"))
		release(t, lb)
		places("waits for /c", "/a", "/b", "/c")
		release(t, lc)
		places("waits for /d", "/a", "/b", "/c", "/d")
		flights(t, srv, "the last one's release", 1, func() { release(t, ld); <-w.done })
		releaseAll(t, w.granted(t))

		// What is left is asked for in one flight.
		la := lock(t, NewMutex(b, "/a"))
		w = queuedAll(t.Context(), m)
		places("waits for /a", "/a")
		flights(t, srv, "the first one's release, and the rest", 2, func() { release(t, la); <-w.done })
		releaseAll(t, w.granted(t))
		nothingLeft(t, srv)
	})
}

func TestOrderedTryLock(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		m := mutexes(a, "/a", "/b").Ordered()
		for _, path := range []string{"/a", "/b"} {
			l := lock(t, NewMutex(b, path))
			if _, err := m.TryLock(t.Context()); !errors.Is(err, ErrNotAcquired) {
				t.Errorf("%v", err)
			}
			release(t, l)
			nothingLeft(t, srv)
		}
		releaseAll(t, must(m.TryLock(t.Context())))
	})
}

func TestOrderedRefuses(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		for name, m := range map[string]*MultiLock{"nil": nil, "zero": {}, "no parts": NewMultiLock(), "zero part": NewMultiLock(Part{})} {
			if _, err := m.Ordered().Lock(t.Context()); !errors.Is(err, client.ErrZeroValue) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := NewMultiLock(NewMutex(c, "/x").Part(), NewMutex(c, "/x").Part()).Ordered().Lock(t.Context()); !errors.Is(err, ErrDuplicate) {
			t.Errorf("%v", err)
		}
		m := mutexes(c, "/x", "/y")
		if m.Ordered().Ordered().order == nil || m.order != nil {
			t.Error("Ordered changes the MultiLock it is called on")
		}
	})
}

// TestOrderedOnOnePath: locks of two kinds share a path; every client has them in the same order, in whatever order the parts come.
func TestOrderedOnOnePath(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		mutex, permits, rw := NewMutex(c, "/x").Part(), NewSemaphore(c, "/x", 2).Part(1), NewRWMutex(c, "/x").RPart()
		var first []string
		for _, parts := range [][]Part{{mutex, permits, rw}, {rw, permits, mutex}, {permits, mutex, rw}} {
			m := NewMultiLock(parts...).Ordered()
			var order []string
			for i := range parts {
				p := m.parts[m.sorted(i)]
				order = append(order, p.b.names(p.want.kind))
			}
			if first == nil {
				first = order
			}
			if strings.Join(order, " ") != strings.Join(first, " ") {
				t.Errorf("%v and %v", order, first)
			}
		}
	})
}

// TestOrderedTokens: the znodes are of several transactions. Each lease has the token of its own, and the guards hold.
func TestOrderedTokens(t *testing.T) { // A9
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		must(srv.Create("/data", nil, client.ModePersistent))
		m := mutexes(a, "/b", "/a").Ordered()
		held := lock(t, NewMutex(b, "/a"))
		w := queuedAll(t.Context(), m)
		between := lock(t, NewMutex(b, "/b")) // a later token than that of the znode at /a
		release(t, held)
		synctest.Wait()
		release(t, between)
		ml := w.granted(t)
		lb, la := ml.Leases()[0], ml.Leases()[1]
		if ml.Token() != lb.Token() || lb.Token().Compare(between.Token()) <= 0 || la.Token().Compare(between.Token()) >= 0 {
			t.Errorf("tokens %v of /b, %v of /a, %v of the whole, after %v of /b", lb.Token(), la.Token(), ml.Token(), between.Token())
		}
		for _, l := range ml.Leases() {
			if _, st, err := srv.Get(l.Node()); err != nil || st.Czxid != l.Token().Zxid {
				t.Errorf("%s: token %v, made by %d: %v", l.Node(), l.Token(), st.Czxid, err)
			}
		}
		write := func() error {
			_, err := a.Multi(t.Context(), append(ml.Guards(), client.SetOp("/data", nil, client.AnyVersion))...)
			return err
		}
		if err := write(); err != nil {
			t.Errorf("guards: %v", err)
		}
		if err := srv.Delete(la.Node()); err != nil {
			t.Fatal(err)
		}
		if err := write(); !errors.Is(err, client.ErrNoNode) {
			t.Errorf("a part is gone, and the guards say %v", err)
		}
		if synctest.Wait(); ml.State() != Lost { // it was watched while the other was waited for
			t.Error("a part is gone, and nobody is told")
		}
		if err := ml.Release(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("%v", err)
		}
		nothingLeft(t, srv)
	})
}

// TestOrderedMixed: read sides and permits give way, and are waited for, as mutexes are.
func TestOrderedMixed(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		if err := NewSemaphore(b, "/n", FromZnode).SetPermits(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		m := NewMultiLock(NewSemaphore(a, "/s", 3).Part(2), NewRWMutex(a, "/rw").RPart(), NewMutex(a, "/m").Part(),
			NewSemaphore(a, "/n", FromZnode).Part(2)).Ordered()
		write := must(NewRWMutex(b, "/rw").Lock(t.Context()))
		permits := must(NewSemaphore(b, "/s", 3).Acquire(t.Context(), 2))
		number := must(NewSemaphore(b, "/n", FromZnode).Acquire(t.Context(), 1))
		w := queuedAll(t.Context(), m) // has /m and waits on /n
		more := must(NewSemaphore(b, "/s", 3).TryAcquire(t.Context(), 1))
		if err := NewSemaphore(b, "/n", FromZnode).SetPermits(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // now it waits on /rw
		if names := srv.Children("/rw"); len(names) != 2 || len(srv.Children("/s")) != 2 {
			t.Errorf("%v, %v", names, srv.Children("/s"))
		}
		release(t, write)
		synctest.Wait() // now on /s
		release(t, more)
		synctest.Wait()
		if w.over() {
			t.Fatal("granted with one permit")
		}
		release(t, permits)
		releaseAll(t, w.granted(t))
		release(t, number)
		synctest.Wait()
		for _, dir := range []string{"/m", "/n", "/rw", "/s"} {
			if names := srv.Children(dir); len(names) > 0 {
				t.Errorf("%s: %v", dir, names)
			}
		}
	})
}

// TestOrderedMany: several of both sorts, for a time. Whoever does not come through waits for ever.
func TestOrderedMany(t *testing.T) { // G21, G22
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		paths := []string{"/a", "/b", "/c"}
		done := make(chan int)
		started := 0
		for i, set := range [][]int{{0, 1}, {2, 1}, {2, 0}, {1, 0, 2}} {
			c := dialTo(t, srv, chaosMembers[i%3])
			defer c.Close()
			started++
			go func() {
				defer func() { done <- i }()
				var names []string
				for _, p := range set {
					names = append(names, paths[p])
				}
				for range 20 {
					releaseAll(t, lockAll(t, mutexes(c, names...).Ordered()))
				}
			}()
			started++
			go func() {
				defer func() { done <- i }()
				for range 20 {
					var held []*Lease
					for p, path := range paths {
						if p != i%3 {
							held = append(held, lock(t, NewMutex(c, path)))
							<-time.After(time.Millisecond)
						}
					}
					for _, l := range held {
						release(t, l)
					}
				}
			}()
		}
		for range started {
			<-done
		}
		nothingLeft(t, srv)
	})
}
