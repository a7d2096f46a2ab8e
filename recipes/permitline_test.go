package recipes

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// Permits for queues in which waiters stand in a line: each claim is for a third, unless a test says otherwise.
const (
	linePermits = 3 * lineThird
	lineThird   = 20
)

// linePair returns two semaphores of one path with so many permits, in sessions of their own, and what closes them.
func linePair(t *testing.T, srv *zktest.Server, opts ...Option) (a, b *Semaphore, closeAll func()) {
	t.Helper()
	return semPair(t, srv, linePermits, opts...)
}

// TestPermitLineWatches: what a waiter costs does not grow with the permits, and a release wakes one waiter, and the next one to look.
func TestPermitLineWatches(t *testing.T) { // A5, I16
	holders, waiters := 1000, 200
	if underRace { // which takes its time
		holders, waiters = 100, 50
	}
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := semPair(t, srv, holders)
		defer closeAll()
		c := NewSemaphore(dialTo(t, srv, "three:2181"), "/lock", holders)
		defer c.b.c.Close()
		var held []*Lease
		for range holders {
			held = append(held, get(t, take(a, 1)))
		}
		var ws []*waiter
		for i := range waiters {
			ws = append(ws, queued(t.Context(), take([]*Semaphore{b, c}[i%2], 1)))
		}
		if n := watchesOf(srv, b.b.c) + watchesOf(srv, c.b.c); n > 2*waiters {
			t.Errorf("%d watches of %d waiters for %d permits", n, waiters, holders)
		}
		if n := watchesOf(srv, a.b.c); n != 0 {
			t.Errorf("%d watches of holders", n)
		}
		for i := range 25 { // holders go in any order
			before := srv.Snapshot()
			release(t, held[(i*37+11)%holders])
			synctest.Wait()
			after := srv.Snapshot()
			for j, w := range ws {
				if w.over() != (j <= i) {
					t.Fatalf("after %d releases waiter %d is over: %v, %v", i+1, j, w.over(), w.err)
				}
			}
			// The one at the head lists, and writes its znode; the next one watches the children, by a list. Each is told once, and the
			// first one's watch on the children of the server may fire once more, as may that of the holder's own znode.
			if n := after.Notifications - before.Notifications; n > 4 {
				t.Errorf("release %d: %d notifications", i, n)
			}
			if n := after.ByOp[proto.OpGetChildren2] - before.ByOp[proto.OpGetChildren2]; n > 2 {
				t.Errorf("release %d: %d lists", i, n)
			}
			if n := after.Requests - before.Requests; n > 6 {
				t.Errorf("release %d: %d requests", i, n)
			}
		}
	})
}

func TestPermitLineFlights(t *testing.T) { // A8
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := linePair(t, srv)
		defer closeAll()
		release(t, get(t, take(a, 1)))
		var all, more *Lease
		before := srv.Snapshot()
		flights(t, srv, "free", 1, func() { all = get(t, take(a, linePermits-1)) })
		flights(t, srv, "free, behind another", 1, func() { more = get(t, take(b, 1)) })
		if n := srv.Snapshot().ByOp[proto.OpSetData] - before.ByOp[proto.OpSetData]; n != 0 {
			t.Errorf("%d writes although nobody waits", n)
		}
		w := queued(t.Context(), take(b, 1))
		flights(t, srv, "release, and a list", 2, func() { release(t, all); <-w.done })
		if n := srv.Snapshot().ByOp[proto.OpSetData] - before.ByOp[proto.OpSetData]; n != 0 {
			t.Errorf("%d writes although nobody is behind", n)
		}
		release(t, granted(t, "the waiter", w))
		release(t, more)
		nothingLeft(t, srv)
	})
}

// lineOf has three holders of a third each and so many waiters for one, each in a session of its own.
func lineOf(t *testing.T, srv *zktest.Server, n int, opts ...Option) (held []*Lease, ws []*waiter, cs []*client.Client, cancels []context.CancelFunc) {
	t.Helper()
	for i := range 3 + n {
		c := dialTo(t, srv, chaosMembers[i%3])
		t.Cleanup(func() { _ = c.Close() })
		s := NewSemaphore(c, "/lock", linePermits, opts...)
		if i < 3 {
			held = append(held, get(t, take(s, lineThird)))
			continue
		}
		ctx, cancel := context.WithCancel(t.Context())
		cs, cancels = append(cs, c), append(cancels, cancel)
		ws = append(ws, queued(ctx, take(s, lineThird)))
	}
	return held, ws, cs, cancels
}

// grantedInOrder releases the holders one after the other, the latest first, and fails unless the waiters get their permits in order, one each time.
func grantedInOrder(t *testing.T, held []*Lease, ws []*waiter) {
	t.Helper()
	for i, w := range ws {
		waits(t, fmt.Sprint("waiter ", i), w)
		release(t, held[len(held)-1])
		held = append([]*Lease{granted(t, fmt.Sprint("waiter ", i), w)}, held[:len(held)-1]...)
	}
	for _, l := range held {
		release(t, l)
	}
}

func TestPermitLineOrder(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		held, ws, _, _ := lineOf(t, srv, 6)
		grantedInOrder(t, held, ws)
		nothingLeft(t, srv)
	})
}

// TestPermitLineLeaver: one of the waiters leaves, at the head, in the middle or at the end. The others go on as they were.
func TestPermitLineLeaver(t *testing.T) {
	for _, own := range [][]Option{nil, {NoOwnWatch()}} {
		for name, leave := range map[string]func(srv *zktest.Server, c *client.Client, cancel context.CancelFunc){
			"cancelled": func(_ *zktest.Server, _ *client.Client, cancel context.CancelFunc) { cancel() },
			"closed":    func(_ *zktest.Server, c *client.Client, _ context.CancelFunc) { _ = c.Close() },
			"expired, and not back": func(srv *zktest.Server, c *client.Client, cancel context.CancelFunc) {
				srv.ExpireSession(c.SessionID())
				cancel()
			},
		} {
			for leaver := range 4 {
				t.Run(fmt.Sprint(name, " ", leaver), func(t *testing.T) {
					bubble(t, func(t *testing.T, srv *zktest.Server) {
						held, ws, cs, cancels := lineOf(t, srv, 4, own...)
						leave(srv, cs[leaver], cancels[leaver])
						<-ws[leaver].done
						<-time.After(time.Second)
						grantedInOrder(t, held, append(append([]*waiter{}, ws[:leaver]...), ws[leaver+1:]...))
						nothingLeft(t, srv)
					})
				})
			}
		}
	}
}
