package recipes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/zktest"
)

// handed releases l and returns the lease of w, which must have been given l's znode.
func handed(t *testing.T, l *Lease, w *waiter) *Lease {
	t.Helper()
	release(t, l)
	next := w.waitFor(t)
	was, is := l.Token(), next.Token()
	if next.Node() != l.Node() || is.Zxid != was.Zxid || is.Hand != was.Hand+1 || is.Compare(was) <= 0 {
		t.Fatalf("not handed over: %s with token %v after %s with %v", next.Node(), is, l.Node(), was)
	}
	return next
}

// notHanded releases l and returns the lease of w, which must have a znode of its own.
func notHanded(t *testing.T, l *Lease, w *waiter) *Lease {
	t.Helper()
	release(t, l)
	next := w.waitFor(t)
	was, is := l.Token(), next.Token()
	if next.Node() == l.Node() || is.Zxid == was.Zxid || is.Hand != 0 || is.Compare(was) <= 0 {
		t.Fatalf("handed over: %s with token %v after %s with %v", next.Node(), is, l.Node(), was)
	}
	return next
}

// One znode serves as many grants as the option says, for nothing; then whoever waits elsewhere has its turn.
func TestHandOver(t *testing.T) { // I6, A2 item 6, A8
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		const grants = 4
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		m := NewMutex(a, "/lock", HandOver(grants, time.Hour))
		l := lock(t, m)
		ours := queueUp(t.Context(), m, 3*grants-1)
		for round := range 3 {
			other := goLock(t.Context(), NewMutex(b, "/lock"))
			synctest.Wait()
			for _, w := range ours[round*grants : round*grants+grants-1] {
				old := l
				quiet(t, srv, func() { l = handed(t, l, w) })
				wantErr(t, context.Cause(old.Context()), ErrReleased)
				wantErr(t, old.Release(t.Context()), ErrNotHeld)
				wantErr(t, old.ReleasePipelined(), ErrNotHeld)
				if l.State() != Held || kids(srv) != 2 || other.over() {
					t.Fatalf("round %d: %v, %d znodes, the other client has it too: %v", round, l.State(), kids(srv), other.over())
				}
			}
			release(t, l) // the last grant of the znode
			theirs := other.waitFor(t)
			if theirs.Token().Compare(l.Token()) <= 0 {
				t.Errorf("token %v after %v", theirs.Token(), l.Token())
			}
			synctest.Wait()
			if round < 2 && ours[round*grants+grants-1].over() {
				t.Fatal("two holders")
			}
			release(t, theirs)
			if round < 2 {
				next := ours[round*grants+grants-1].waitFor(t)
				if next.Token().Hand != 0 || next.Token().Compare(theirs.Token()) <= 0 {
					t.Errorf("token %v after %v", next.Token(), theirs.Token())
				}
				l = next
			}
		}
		if n := kids(srv); n != 0 {
			t.Errorf("%d znodes left behind", n)
		}
	})
}

// The other bound is time: no grant begins later than that after the first one of the znode.
func TestHandOverForATime(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		m := NewMutex(a, "/lock", HandOver(1000, time.Minute))
		l := lock(t, m)
		<-time.After(59 * time.Second)
		ours := queueUp(t.Context(), m, 4)
		other := goLock(t.Context(), NewMutex(b, "/lock"))
		synctest.Wait()
		l = handed(t, l, ours[0])
		<-time.After(999 * time.Millisecond)
		l = handed(t, l, ours[1])
		<-time.After(time.Millisecond)
		release(t, l)
		theirs := other.waitFor(t)
		<-time.After(10 * time.Minute)
		l = notHanded(t, theirs, ours[2])
		<-time.After(59 * time.Second) // the next znode has a minute of its own, from its grant
		release(t, handed(t, l, ours[3]))
	})
}

// A release that finds nobody waiting deletes the znode, and a handed lease is released without a word and at once, in any form.
func TestHandOverReleases(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock", HandOver(9, time.Hour))
		l := lock(t, m)
		wantFlights(t, srv, 1, func() { release(t, l) })
		if n := kids(srv); n != 0 {
			t.Errorf("%d znodes left behind", n)
		}
		dead, cancel := context.WithCancel(t.Context())
		cancel()
		l = lock(t, m)
		ws := queueUp(t.Context(), m, 2)
		quiet(t, srv, func() {
			if err := l.Release(dead); err != nil { // there is nothing to wait for
				t.Errorf("with a dead context: %v", err)
			}
			wantErr(t, l.Release(dead), ErrNotHeld)
			next := ws[0].waitFor(t)
			if l.State() != Lost || next.State() != Held {
				t.Errorf("%v, and the next %v", l.State(), next.State())
			}
			if err := next.ReleasePipelined(); err != nil {
				t.Error(err)
			}
			wantErr(t, next.ReleasePipelined(), ErrNotHeld)
			if err := next.Release(t.Context()); err != nil { // waits for what is done, once
				t.Error(err)
			}
			wantErr(t, next.Release(t.Context()), ErrNotHeld)
		})
		last := ws[1].waitFor(t)
		if last.Token() != (Token{l.Token().Zxid, 2}) {
			t.Errorf("token %v after %v", last.Token(), l.Token())
		}
		if err := last.ReleasePipelined(); err != nil {
			t.Error(err)
		}
		release(t, last)
	})
}

// Whatever listens to a lease's context has been told of its end when the next lease of the znode begins.
func TestHandOverEndsTheOldContextFirst(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock", HandOver(100, time.Hour))
		old := lock(t, m)
		for range 20 {
			ended := make(chan bool, 1)
			go func() {
				l, err := m.Lock(t.Context())
				ended <- old.Context().Err() != nil
				if err == nil {
					_ = l.Release(t.Context())
				}
			}()
			synctest.Wait()
			release(t, old)
			if !<-ended {
				t.Fatal("two leases of one znode at once")
			}
			old = lock(t, m)
		}
		release(t, old)
	})
}

// Each lease of a znode has the whole time of MaxHold, and that of one before it does not end it.
func TestHandOverMaxHold(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock", HandOver(9, time.Hour), MaxHold(time.Minute))
		l := lock(t, m)
		ws := queueUp(t.Context(), m, 3)
		<-time.After(40 * time.Second)
		l = handed(t, l, ws[0])
		<-time.After(50 * time.Second)
		if l.State() != Held {
			t.Fatalf("ended by the time of the lease before: %v", context.Cause(l.Context()))
		}
		began := time.Now()
		next := ws[1].waitFor(t)
		if d := time.Since(began); d != 10*time.Second || next.Token().Hand != 0 {
			t.Errorf("went on after %v, token %v", d, next.Token())
		}
		wantErr(t, l.Release(t.Context()), ErrLost, ErrMaxHold)
		if ws[2].over() {
			t.Error("two holders")
		}
		release(t, handed(t, next, ws[2]))
	})
}

func TestHandOverTryLock(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock", HandOver(9, time.Hour))
		l := must(m.TryLock(t.Context()))
		w := queueUp(t.Context(), m, 1)[0]
		quiet(t, srv, func() {
			l = handed(t, l, w)
			if _, err := m.TryLock(t.Context()); !errors.Is(err, ErrNotAcquired) {
				t.Errorf("%v", err)
			}
		})
		release(t, l)
		release(t, must(m.TryLock(t.Context())))
	})
}
