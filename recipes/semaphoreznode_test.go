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

// zPair is semPair with the number of permits in the znode.
func zPair(t *testing.T, srv *zktest.Server, permits int, opts ...Option) (a, b *Semaphore, closeAll func()) {
	t.Helper()
	a, b, closeAll = semPair(t, srv, FromZnode, opts...)
	setPermits(t, a, permits)
	return a, b, closeAll
}

func setPermits(t *testing.T, s *Semaphore, n int) {
	t.Helper()
	if err := s.SetPermits(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// A higher number wakes those who wait, a lower one takes nothing from those who hold and keeps newcomers waiting.
func TestPermitsFromZnode(t *testing.T) { // A5, K35, F97
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := zPair(t, srv, 1)
		defer closeAll()
		first := get(t, take(a, 1))
		if !first.Shared() {
			t.Error("not shared, but there may be more permits at any time")
		}
		second, third, fourth := queued(t.Context(), take(b, 1)), queued(t.Context(), take(a, 1)), queued(t.Context(), take(b, 1))
		waits(t, "second", second)
		setPermits(t, b, 3)
		release(t, granted(t, "third of 3", third))
		l := granted(t, "second of 3", second)
		m := granted(t, "fourth", fourth)
		setPermits(t, b, 1)
		for _, l := range []*Lease{first, l, m} {
			if l.State() != Held {
				t.Errorf("%v after the number was lowered", l.State())
			}
		}
		late := queued(t.Context(), take(a, 1))
		busy(t, "TryAcquire", tryTake(b, 1))
		for _, l := range []*Lease{l, first, m} {
			waits(t, "the newcomer", late)
			release(t, l)
		}
		release(t, granted(t, "the newcomer", late))
		leftBehind(t, srv)
	})
}

// Whoever wants more than there are waits until there are as many, and those behind wait as well.
func TestMorePermitsThanThereAre(t *testing.T) { // A5, K35
	for name, opts := range map[string][]Option{"plain": nil, "without own watch": {NoOwnWatch()}, "always list": {AlwaysList()}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b, closeAll := zPair(t, srv, 2, opts...)
				defer closeAll()
				heavy := queued(t.Context(), take(a, 5))
				light := queued(t.Context(), take(b, 1))
				busy(t, "TryAcquire of more than there are", tryTake(b, 3))
				for n := 3; n < 5; n++ {
					setPermits(t, b, n)
					waits(t, fmt.Sprint("5 of ", n), heavy)
					waits(t, "the one behind", light)
				}
				before := srv.Snapshot().ByOp
				<-time.After(timeout / 4) // nobody asks while nothing changes
				for op, n := range srv.Snapshot().ByOp {
					if n != before[op] && op != proto.OpPing && op != proto.OpSync { // which keep the lease clock ready
						t.Errorf("%d requests of %v", n-before[op], op)
					}
				}
				setPermits(t, b, 5)
				l := granted(t, "5 of 5", heavy)
				waits(t, "the one behind", light)
				setPermits(t, b, 6)
				release(t, granted(t, "the one behind", light))
				release(t, l)
				leftBehind(t, srv)
			})
		})
	}
}

// Without a number nobody gets anything, and those who wait are told.
func TestBadPermitsInZnode(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := semPair(t, srv, FromZnode)
		defer closeAll()
		refused := func(what, data string, err error) {
			t.Helper()
			var pe *PermitsError
			if !errors.As(err, &pe) || pe.Node != "/lock" || pe.Data != data || !errors.Is(err, ErrCapacity) {
				t.Errorf("%s: %v", what, err)
			}
			if n := kids(srv); n != 0 {
				t.Errorf("%s: left behind: %v", what, srv.Children("/lock"))
			}
		}
		for op, f := range map[string]acquire{"Acquire": take(a, 1), "TryAcquire": tryTake(a, 1)} {
			_, err := f(t.Context())
			refused(op+", path missing", "", err)
			wantErr(t, err, client.ErrNoNode)
		}
		if srv.Exists("/lock") {
			t.Error("made a path without a number")
		}
		must(srv.Create("/lock", nil, proto.ModePersistent))
		for _, data := range []string{"", "0", "-1", "+1", "1 ", "1.0", "x", "0x10", "1048577", "18446744073709551617", "\x00\x00\x00\x05"} {
			must(0, srv.Set("/lock", []byte(data)))
			for op, f := range map[string]acquire{"Acquire": take(a, 1), "TryAcquire": tryTake(a, 1)} {
				_, err := f(t.Context())
				refused(fmt.Sprintf("%s, %q", op, data), data, err)
			}
		}
		for _, data := range []string{"1", "0001", "1048576"} {
			must(0, srv.Set("/lock", []byte(data)))
			release(t, get(t, take(a, 1)))
		}
		setPermits(t, a, 1)
		l := get(t, take(a, 1))
		w := queued(t.Context(), take(b, 1))
		must(0, srv.Set("/lock", []byte("many")))
		await(t, "the waiter", w)
		var pe *PermitsError
		if !errors.As(w.err, &pe) || pe.Data != "many" || kids(srv) != 1 || l.State() != Held {
			t.Errorf("%v; %v, children %v", w.err, l.State(), srv.Children("/lock"))
		}
		release(t, l)
		leftBehind(t, srv)
	})
}

// The number changes while a waiter is away: it looks when it comes back.
func TestPermitsChangeDuringReconnect(t *testing.T) { // K35, K78, A10 rule 4
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := zPair(t, srv, 1)
		defer closeAll()
		l := get(t, take(a, 1))
		w := queued(t.Context(), take(b, 1))
		away := func(f func()) {
			srv.Member("two:2181").Refuse(zktest.RefuseClose)
			srv.Member("two:2181").DropConnections()
			synctest.Wait()
			f()
			srv.Member("two:2181").Refuse(zktest.Accept)
			<-time.After(5 * time.Second)
		}
		away(func() {})
		waits(t, "the waiter", w)
		away(func() { setPermits(t, a, 2) })
		m := granted(t, "the waiter", w)
		late := queued(t.Context(), take(b, 1))
		away(func() { setPermits(t, a, 1); release(t, l) })
		waits(t, "the newcomer", late)
		away(func() { setPermits(t, a, 2); setPermits(t, a, 1) })
		waits(t, "the newcomer", late)
		setPermits(t, a, 2)
		release(t, granted(t, "the newcomer", late))
		release(t, m)
		leftBehind(t, srv)
	})
}

// The number changes between two requests of the flight that reads it.
func TestPermitsChangeDuringAcquire(t *testing.T) { // A5
	for name, op := range map[string]proto.Op{"before the list": proto.OpGetChildren2, "before the number is read": proto.OpGetData} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b, closeAll := zPair(t, srv, 1)
				defer closeAll()
				held := func(during func(), n int) *waiter {
					h := srv.Hold(zktest.Match{Op: op, Path: "/lock", Member: "two:2181"})
					w := queued(t.Context(), take(b, n))
					<-h.Hit()
					during()
					h.Release()
					synctest.Wait()
					return w
				}
				l := get(t, take(a, 1))
				w := held(func() { setPermits(t, a, 2) }, 1)
				release(t, granted(t, "raised", w))
				w = held(func() { setPermits(t, a, 1) }, 1)
				waits(t, "lowered", w)
				setPermits(t, a, 2)
				release(t, granted(t, "raised afterwards", w))
				setPermits(t, a, 3)
				w = held(func() { setPermits(t, a, 1); release(t, l) }, 2) // 2 of 3 with one taken, 2 of 1 with none: never
				waits(t, "lowered, and a permit returned", w)
				setPermits(t, a, 2)
				release(t, granted(t, "raised afterwards", w))
				leftBehind(t, srv)
			})
		})
	}
}

// The number changes while a waiter is reading the queue again.
func TestPermitsChangeDuringList(t *testing.T) { // A5, K35
	for name, op := range map[string]proto.Op{"before the list": proto.OpGetChildren2, "before the number is read": proto.OpGetData} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b, closeAll := zPair(t, srv, 1)
				defer closeAll()
				first, own := get(t, take(a, 1)), queued(t.Context(), take(b, 1))
				w := queued(t.Context(), take(b, 1)) // behind one of its own session, whose end it does not trust
				h := srv.Hold(zktest.Match{Op: op, Path: "/lock", Member: "two:2181"})
				setPermits(t, a, 1) // the same: both look
				<-h.Hit()
				setPermits(t, a, 2)
				h.Release()
				mine := granted(t, "own", own)
				waits(t, "behind", w)
				h = srv.Hold(zktest.Match{Op: op, Path: "/lock", Member: "two:2181"})
				late := queued(t.Context(), func(context.Context) (*Lease, error) { return nil, mine.Release(t.Context()) })
				<-h.Hit()
				setPermits(t, a, 1)
				h.Release()
				await(t, "the release", late)
				waits(t, "behind, with one of one taken", w)
				setPermits(t, a, 2)
				release(t, granted(t, "behind", w))
				release(t, first)
				leftBehind(t, srv)
			})
		})
	}
}

// A create whose reply is lost, with the request for the number behind it: the watch on that is not forgotten.
func TestPermitsWatchedAfterALostCreate(t *testing.T) { // K35, I12
	for name, fault := range map[string]func(*zktest.Server, zktest.Match) *zktest.Rule{
		"executed": (*zktest.Server).CloseAfter, "not executed": (*zktest.Server).CloseBefore,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b, closeAll := zPair(t, srv, 1)
				defer closeAll()
				l := get(t, take(a, 1))
				fault(srv, zktest.Match{Op: proto.OpCreate2, Member: "two:2181"})
				w := queued(t.Context(), take(b, 1))
				<-time.After(2 * time.Second)
				waits(t, "the waiter", w)
				setPermits(t, a, 2)
				release(t, granted(t, "the waiter", w))
				release(t, l)
				leftBehind(t, srv)
			})
		})
	}
}

// One flight and no list more than needed for a change: those who wait look once each.
func TestPermitsChangeWakesEachOnce(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := zPair(t, srv, 1)
		defer closeAll()
		l := get(t, take(a, 1))
		ws := []*waiter{queued(t.Context(), take(b, 1)), queued(t.Context(), take(b, 1)), queued(t.Context(), take(b, 1))}
		before := srv.Snapshot().ByOp[proto.OpGetChildren2]
		setPermits(t, a, 2)
		if n := srv.Snapshot().ByOp[proto.OpGetChildren2] - before; n != 3 {
			t.Errorf("%d lists, want one of each", n)
		}
		for _, w := range ws {
			release(t, granted(t, "next", w))
		}
		release(t, l)
		if n := watchesOf(srv, b.b.c); n > 1 { // one that no event has used up
			t.Errorf("%d watches left", n)
		}
		leftBehind(t, srv)
	})
}

// SetPermits makes the path, at any depth, also when somebody else makes it at the same moment.
func TestSetPermitsMakesThePath(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		s := NewSemaphore(c, "/deep/er/lock", FromZnode)
		setPermits(t, s, 2)
		data, st, err := srv.Get("/deep/er/lock")
		if err != nil || string(data) != "2" || st.EphemeralOwner != 0 {
			t.Errorf("%q, %+v: %v", data, st, err)
		}
		release(t, get(t, take(s, 2)))
		if n := srv.Sweep(); n != 0 {
			t.Errorf("%d containers swept: the number would be lost", n)
		}
		h := srv.Hold(zktest.Match{Op: proto.OpCreate2, Path: "/raced"})
		w := queued(t.Context(), func(ctx context.Context) (*Lease, error) {
			return nil, NewSemaphore(c, "/raced", FromZnode).SetPermits(ctx, 7)
		})
		<-h.Hit()
		must(srv.Create("/raced", []byte("1"), proto.ModePersistent))
		h.Release()
		await(t, "SetPermits", w)
		if data, _, _ := srv.Get("/raced"); w.err != nil || string(data) != "7" {
			t.Errorf("%q: %v", data, w.err)
		}
		srv.Fail(zktest.Match{Op: proto.OpSetData}, proto.ErrNoAuth)
		err = s.SetPermits(t.Context(), 3)
		wantErr(t, err, client.ErrNoAuth)
		var e *Error
		if !errors.As(err, &e) || e.Op != "setpermits" || e.Path != "/deep/er/lock" {
			t.Errorf("%v", err)
		}
	})
}
