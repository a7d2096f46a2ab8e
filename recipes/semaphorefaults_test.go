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

// Contenders that take the semaphore for another one: whoever comes later is told, the others go on.
func TestCapacityMismatch(t *testing.T) { // F97, A5
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := semPair(t, srv, 1)
		defer closeAll()
		l := get(t, take(a, 1))
		w := queued(t.Context(), take(b, 1))
		for _, n := range []int{2, FromZnode} {
			other := NewSemaphore(b.b.c, "/lock", n)
			if n == FromZnode {
				setPermits(t, other, 1)
			}
			for op, f := range map[string]acquire{"acquire": take(other, 1), "tryacquire": tryTake(other, 1)} {
				_, err := f(t.Context())
				var ce *CapacityError
				var e *Error
				if !errors.As(err, &ce) || ce.Ours != n || ce.Theirs != 1 || !srv.Exists(ce.Node) || !errors.Is(err, ErrCapacity) ||
					!errors.As(err, &e) || e.Op != op || e.Path != "/lock" {
					t.Errorf("%s with %d: %v", op, n, err)
				}
			}
			if n := kids(srv); n != 2 || w.over() || l.State() != Held {
				t.Errorf("%d znodes, over %v, %v", n, w.over(), l.State())
			}
		}
		release(t, l)
		l = granted(t, "the waiter", w)
		release(t, l)
		two := get(t, take(NewSemaphore(a.b.c, "/lock", 2), 2)) // alone, it is right
		_, err := a.TryAcquire(t.Context(), 1)
		var ce *CapacityError
		if !errors.As(err, &ce) || ce.Ours != 1 || ce.Theirs != 2 || ce.Node != two.Node() {
			t.Errorf("%v", err)
		}
		release(t, two)
		// A later one of another capacity is nothing to those ahead, even when they look again.
		l = get(t, take(a, 1))
		w = queued(t.Context(), take(b, 1))
		must(srv.CreateFor(a.b.c.SessionID(), "/lock/x-n7-w1-", nil, proto.ModeEphemeralSequential))
		must(0, srv.Set(l.Node(), []byte("touched")))
		srv.DropConnections()
		<-time.After(time.Second)
		waits(t, "the waiter", w)
		release(t, l)
		await(t, "the waiter", w)
		release(t, granted(t, "the waiter", w))
	})
}

// The permits of a session that is gone go to those who wait, when the server says so, and the holder is told.
func TestSemaphoreHolderIsKilled(t *testing.T) { // F97, C157
	for _, permits := range []int{1, 2} {
		t.Run(fmt.Sprint(permits), func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b, closeAll := semPair(t, srv, permits)
				defer closeAll()
				l := get(t, take(a, permits))
				w, second := queued(t.Context(), take(b, 1)), queued(t.Context(), take(b, permits))
				srv.Member("one:2181").Refuse(zktest.RefuseDial)
				srv.Member("one:2181").DropConnections()
				<-time.After(timeout / 2)
				waits(t, "the waiter, while the session lives", w)
				if l.State() != Unsure {
					t.Errorf("%v", l.State())
				}
				await(t, "the waiter", w)
				m := granted(t, "the waiter", w)
				if l.State() != Lost {
					t.Errorf("%v", l.State())
				}
				waits(t, "the second", second)
				release(t, m)
				release(t, granted(t, "the second", second))
				srv.Member("one:2181").Refuse(zktest.Accept)
				<-time.After(timeout)
				wantErr(t, l.Release(t.Context()), ErrLost)
				release(t, get(t, take(a, permits)))
				leftBehind(t, srv)
			})
		})
	}
}

// Each place at which an acquire can be cut or cancelled: no permit disappears.
func TestSemaphoreLeaksNothing(t *testing.T) { // F95, K33, K34, K37, C157
	faults := map[string]func(*zktest.Server, zktest.Match) *zktest.Rule{
		"closed before": (*zktest.Server).CloseBefore, "closed after": (*zktest.Server).CloseAfter,
	}
	for name, fault := range faults {
		for _, op := range []proto.Op{proto.OpCreate2, proto.OpGetChildren2, proto.OpGetData, proto.OpDelete} {
			for _, times := range []int{1, 2} {
				t.Run(fmt.Sprint(op, " ", name, " ", times), func(t *testing.T) {
					bubble(t, func(t *testing.T, srv *zktest.Server) {
						a, b, closeAll := semPair(t, srv, 3)
						defer closeAll()
						l := get(t, take(a, 2))
						r := fault(srv, zktest.Match{Op: op, Member: "two:2181", Times: times})
						w := queued(t.Context(), take(b, 3)) // cut, or has to wait
						<-time.After(timeout)
						waits(t, "the waiter", w)
						busy(t, "TryAcquire behind it", tryTake(b, 1))
						ctx, cancel := context.WithTimeout(t.Context(), time.Second)
						_, err := b.Acquire(ctx, 1)
						cancel()
						wantErr(t, err, context.DeadlineExceeded)
						release(t, l)
						await(t, "the waiter", w)
						release(t, granted(t, "the waiter", w))
						<-time.After(timeout)
						r.Remove()
						leftBehind(t, srv)
						release(t, get(t, tryTake(a, 3)))
						if n := b.b.c.CleanupsPending(); n != 0 {
							t.Errorf("%d clean-ups pending", n)
						}
					})
				})
			}
		}
	}
}

// Cancelled at any moment of the acquire: while its flight is under way, and while it waits for the first or the second of two.
func TestSemaphoreCancelled(t *testing.T) { // F95, K34, H7
	for _, op := range []proto.Op{proto.OpCreate2, proto.OpGetChildren2, proto.OpGetData} {
		t.Run(fmt.Sprint(op), func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b, closeAll := semPair(t, srv, 2)
				defer closeAll()
				l := get(t, take(a, 2))
				h := srv.HoldReply(zktest.Match{Op: op, Member: "two:2181"})
				ctx, cancel := context.WithCancel(t.Context())
				w := queued(ctx, take(b, 2))
				<-h.Hit()
				cancel()
				await(t, "the waiter", w)
				wantErr(t, w.err, context.Canceled, ErrCleanupPending) // the answer is not there within the grace
				h.Release()
				synctest.Wait()
				if n := kids(srv); n != 1 {
					t.Errorf("left behind: %v", srv.Children("/lock"))
				}
				ctx, cancel = context.WithCancel(t.Context())
				w = queued(ctx, take(b, 1))
				cancel()
				await(t, "the waiter", w)
				if n := kids(srv); n != 1 || errors.Is(w.err, ErrCleanupPending) {
					t.Errorf("%v: %v", w.err, srv.Children("/lock"))
				}
				release(t, l)
				release(t, get(t, tryTake(b, 2)))
				leftBehind(t, srv)
			})
		})
	}
}

// The own znode of a waiter is deleted: it starts again at the end, or fails, as the option says, and is never granted without.
func TestSemaphoreOwnNodeGone(t *testing.T) { // K36, A10 rule 2
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := semPair(t, srv, 2)
		defer closeAll()
		c := dial(t, srv)
		defer c.Close()
		l, m := get(t, take(a, 1)), get(t, take(a, 1))
		w := queued(t.Context(), take(NewSemaphore(c, "/lock", 2), 1))
		between := queued(t.Context(), take(b, 2))
		failing := queued(t.Context(), take(NewSemaphore(c, "/lock", 2, FailIfNodeGone()), 1))
		for _, node := range semNodes(srv) {
			if _, st, _ := srv.Get(node); st.EphemeralOwner == c.SessionID() {
				must(0, srv.Delete(node))
			}
		}
		await(t, "the one that does not try again", failing)
		wantErr(t, failing.err, ErrNodeGone)
		release(t, l)
		waits(t, "the one that started again", w)
		release(t, m)
		release(t, granted(t, "the one between", between))
		release(t, granted(t, "the one that started again", w))
		leftBehind(t, srv)
	})
	bubble(t, func(t *testing.T, srv *zktest.Server) { // the watch used up, the znode deleted, and the one ahead gone, all at once
		a, b, closeAll := semPair(t, srv, 2)
		defer closeAll()
		l := get(t, take(a, 2))
		w := queued(t.Context(), take(b, 1))
		own := ownNode(t, srv, b.b.c)
		srv.Member("two:2181").Stall(true)
		must(0, srv.Set(own, []byte("touched")))
		must(0, srv.Delete(own))
		release(t, l)
		l = get(t, take(a, 2))
		srv.Member("two:2181").Stall(false)
		waits(t, "without a znode", w)
		release(t, l)
		release(t, granted(t, "again", w))
		leftBehind(t, srv)
	})
}

// While a waiter is away those it knew go and others come: it forgets what it knew.
func TestSemaphoreReconnectWhileWaiting(t *testing.T) { // A10 rule 4
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := semPair(t, srv, 2)
		defer closeAll()
		l := get(t, take(a, 2))
		w := queued(t.Context(), take(b, 2))
		srv.Member("two:2181").Refuse(zktest.RefuseClose)
		srv.Member("two:2181").DropConnections()
		synctest.Wait()
		must(0, srv.Delete(ownNode(t, srv, b.b.c)))
		release(t, l)
		l = get(t, take(a, 1))
		srv.Member("two:2181").Refuse(zktest.Accept)
		<-time.After(5 * time.Second)
		waits(t, "the waiter", w)
		release(t, l)
		await(t, "the waiter", w)
		release(t, granted(t, "the waiter", w))
		leftBehind(t, srv)
	})
}

// What the options of a lease do, they do for permits.
func TestSemaphoreLeaseOptions(t *testing.T) { // C158
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, other := dial(t, srv), dial(t, srv)
		defer c.Close()
		defer other.Close()
		sem := func(opts ...Option) *Semaphore { return NewSemaphore(c, "/lock", 2, opts...) }
		next := func(what string, l *Lease, cause error) {
			t.Helper()
			m := get(t, take(NewSemaphore(other, "/lock", 2), 2))
			synctest.Wait()
			if !errors.Is(context.Cause(l.Context()), cause) {
				t.Errorf("%s: %v", what, context.Cause(l.Context()))
			}
			release(t, m)
		}
		began := time.Now()
		l := get(t, take(sem(MaxHold(time.Minute)), 2))
		next("MaxHold", l, ErrMaxHold)
		if d := time.Since(began); d != time.Minute {
			t.Errorf("passed on after %v", d)
		}
		l = get(t, take(sem(WatchOwnNode()), 1))
		must(0, srv.Delete(l.Node()))
		next("WatchOwnNode", l, ErrNodeGone)
		l = get(t, take(sem(Revocable(nil)), 1))
		revoke(t, other, l.Node())
		if l.State() != Lost || kids(srv) != 1 {
			t.Errorf("%v, %d znodes", l.State(), kids(srv))
		}
		wantErr(t, l.Release(t.Context()), ErrLost, ErrRevoked)
		next("Revocable", l, ErrRevoked)
		l = get(t, take(sem(Strict()), 1))
		srv.DropConnections()
		<-l.Done()
		wantErr(t, l.Release(t.Context()), ErrLost, ErrDisconnected)
		next("Strict", l, ErrDisconnected)
		l = get(t, take(sem(), 1))
		if _, err := c.Multi(t.Context(), l.Guard()); err != nil {
			t.Errorf("guard: %v", err)
		}
		guard := l.Guard()
		inner, err := sem().Acquire(l.Context(), 1)
		if inner != nil || !errors.Is(err, ErrNested) {
			t.Errorf("nested: %v", err)
		}
		release(t, l)
		_, err = c.Multi(t.Context(), guard)
		wantErr(t, err, client.ErrNoNode)
		l = get(t, take(sem(), 2))
		if err := l.ReleasePipelined(); err != nil {
			t.Error(err)
		}
		next("ReleasePipelined", l, ErrReleased)
		leftBehind(t, srv)
	})
}

func TestSemaphoreSequenceEnd(t *testing.T) { // D1, F85
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		must(srv.Create("/lock", nil, proto.ModePersistent))
		srv.SetCounter("/lock", highWater-1)
		s := NewSemaphore(c, "/lock", 2)
		l := get(t, take(s, 1))
		_, err := s.Acquire(t.Context(), 1)
		wantErr(t, err, ErrSequenceEnd)
		release(t, l)
		leftBehind(t, srv)
	})
}
