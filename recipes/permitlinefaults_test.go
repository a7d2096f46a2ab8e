package recipes

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// TestPermitLineLostWrite: the write that tells the next one to look is lost, carried out or not, or put off. It is told all the same.
func TestPermitLineLostWrite(t *testing.T) { // Q24
	for name, fault := range map[string]func(*zktest.Server, zktest.Match){
		"carried out":      func(srv *zktest.Server, m zktest.Match) { srv.CloseAfter(m) },
		"not carried out":  func(srv *zktest.Server, m zktest.Match) { srv.CloseBefore(m) },
		"lost three times": func(srv *zktest.Server, m zktest.Match) { m.Times = 3; srv.CloseBefore(m) },
		"throttled":        func(srv *zktest.Server, m zktest.Match) { srv.Fail(m, proto.ErrThrottled) },
		"throttled, closed": func(srv *zktest.Server, m zktest.Match) {
			srv.Fail(m, proto.ErrThrottled)
			m.Skip = 1
			srv.CloseBefore(m)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				held, ws, cs, _ := lineOf(t, srv, 2)
				fault(srv, zktest.Match{Op: proto.OpSetData, Session: cs[0].SessionID()})
				release(t, held[1])
				first := granted(t, "the first", ws[0])
				<-time.After(10 * time.Second)
				waits(t, "the second", ws[1])
				release(t, held[0])
				second := granted(t, "the second", ws[1])
				for _, l := range []*Lease{first, second, held[2]} {
					release(t, l)
				}
				nothingLeft(t, srv)
			})
		})
	}
}

// TestPermitLineWrittenBeforeTheWatch: the one ahead is granted, and writes its znode, before the watch on that is set.
func TestPermitLineWrittenBeforeTheWatch(t *testing.T) { // Q23
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		held, ws, cs, _ := lineOf(t, srv, 1)
		s := NewSemaphore(dialTo(t, srv, "two:2181"), "/lock", linePermits)
		defer s.b.c.Close()
		h := srv.Hold(zktest.Match{Op: proto.OpGetData, Session: s.b.c.SessionID()})
		w := queued(t.Context(), take(s, lineThird)) // has read the queue, in which nobody ahead of it at the head may hold
		release(t, held[0])
		first := granted(t, "the first", ws[0])
		if _, st, err := srv.Get(ownNodeUnder(t, srv, cs[0], "/lock")); err != nil || st.Version != 1 {
			t.Fatalf("version %d: %v", st.Version, err)
		}
		h.Release()
		waits(t, "the second", w)
		release(t, held[2])
		for _, l := range []*Lease{first, granted(t, "the second", w), held[1]} {
			release(t, l)
		}
		nothingLeft(t, srv)
	})
}

// TestPermitLineGrantedAtOnceBeforeAnother: one is granted by its first list, which it gets late. Who came behind it in the meantime has seen it
// wait.
func TestPermitLineGrantedAtOnceBeforeAnother(t *testing.T) { // Q21
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		held, _, _, _ := lineOf(t, srv, 0)
		a, b := NewSemaphore(dial(t, srv), "/lock", linePermits), NewSemaphore(dialTo(t, srv, "two:2181"), "/lock", linePermits)
		defer a.b.c.Close()
		defer b.b.c.Close()
		h := srv.Hold(zktest.Match{Op: proto.OpGetChildren2, Session: a.b.c.SessionID()})
		wa := queued(t.Context(), take(a, lineThird))
		wb := queued(t.Context(), take(b, lineThird))
		release(t, held[0])
		h.Release()
		first := granted(t, "the first", wa)
		waits(t, "the second", wb)
		release(t, held[1])
		for _, l := range []*Lease{first, granted(t, "the second", wb), held[2]} {
			release(t, l)
		}
		nothingLeft(t, srv)
	})
}

// TestPermitLineRevoke: the write does not undo a request for the permits that came before it.
func TestPermitLineRevoke(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		held, ws, cs, _ := lineOf(t, srv, 2, Revocable(nil))
		if err := Revoke(t.Context(), cs[1], ownNodeUnder(t, srv, cs[0], "/lock")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		release(t, held[1])
		<-ws[0].done
		synctest.Wait()
		if ws[0].lease.State() != Lost { // it is told now that it has them
			t.Error("the request was undone")
		}
		_ = ws[0].lease.Release(t.Context())
		release(t, granted(t, "the second", ws[1]))
		release(t, held[0])
		release(t, held[2])
		nothingLeft(t, srv)
	})
}

// TestPermitLineMultiLock: a MultiLock stands at the head of the line for permits, but waits for another lock. Who stands behind it is not kept
// from what it may have.
func TestPermitLineMultiLock(t *testing.T) { // Q13, Q25
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		held, _, _, _ := lineOf(t, srv, 0)
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		mutex := lock(t, NewMutex(b, "/a"))
		m := queuedAll(t.Context(), NewMultiLock(NewMutex(a, "/a").Part(), NewSemaphore(a, "/lock", linePermits).Part(lineThird)))
		next, last := queued(t.Context(), take(NewSemaphore(b, "/lock", linePermits), lineThird)), queued(t.Context(), take(NewSemaphore(b, "/lock", linePermits), lineThird))
		release(t, held[0])
		waits(t, "the one behind it", next) // the MultiLock's turn
		release(t, held[2])
		first := granted(t, "the one behind it", next)
		release(t, held[1])
		second := granted(t, "the last", last)
		if m.over() {
			t.Fatalf("over: %v", m.err)
		}
		release(t, mutex)
		releaseAll(t, m.granted(t))
		release(t, first)
		release(t, second)
		nothingLeft(t, srv)
	})
}

// TestPermitLineWakesAll: clients come, leave, lose their connections and sessions. Whenever all is quiet, whoever may hold does.
func TestPermitLineWakesAll(t *testing.T) { // A5: no lost wake-up
	for seed := range uint64(20) {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			rng := rand.New(rand.NewPCG(seed, 16))
			eyes := NewSemaphore(dialTo(t, srv, "observer:2181"), "/lock", linePermits)
			defer eyes.b.c.Close()
			var sems []*Semaphore
			for i := range 4 {
				c := dialTo(t, srv, chaosMembers[i%3])
				defer c.Close()
				sems = append(sems, NewSemaphore(c, "/lock", linePermits))
			}
			type claimant struct {
				*waiter
				cancel context.CancelFunc
			}
			var all []claimant
			for step := range 60 {
				switch i := rng.IntN(10); {
				case i < 4 || len(all) == 0:
					ctx, cancel := context.WithCancel(t.Context())
					w := &waiter{done: make(chan struct{})}
					s, n := sems[rng.IntN(4)], lineThird*(1+rng.IntN(2))
					go func() { w.lease, w.err = s.Acquire(ctx, n); close(w.done) }()
					all = append(all, claimant{w, cancel})
				case i < 7:
					k := rng.IntN(len(all))
					all[k].cancel()
					if <-time.After(2 * time.Second); all[k].over() && all[k].lease != nil {
						_ = all[k].lease.ReleasePipelined()
					}
					all = append(all[:k], all[k+1:]...)
				case i < 8:
					srv.Member(chaosMembers[rng.IntN(3)]).DropConnections()
				case i < 9:
					ops := []proto.Op{proto.OpSetData, proto.OpSetData, proto.OpGetChildren2, proto.OpGetData, proto.OpCreate2}
					lose := []func(zktest.Match) *zktest.Rule{srv.CloseAfter, srv.CloseBefore}[rng.IntN(2)]
					lose(zktest.Match{Op: ops[rng.IntN(len(ops))], Session: sems[rng.IntN(4)].b.c.SessionID(), Skip: rng.IntN(3)})
				default:
					srv.ExpireSession(sems[rng.IntN(4)].b.c.SessionID())
				}
				if rng.IntN(2) == 0 {
					continue // the next thing happens at once
				}
				<-time.After(time.Minute)
				may, holds := 0, 0
				for _, p := range must(eyes.Participants(t.Context())) {
					if p.Holds {
						may++
					}
				}
				for _, w := range all {
					if w.over() && w.err == nil && w.lease.State() != Lost {
						holds++
					}
				}
				if may != holds {
					t.Fatalf("seed %d, step %d: %d hold, %d may: %v", seed, step, holds, may, srv.Children("/lock"))
				}
			}
			for _, w := range all {
				w.cancel()
				if <-w.done; w.lease != nil {
					_ = w.lease.ReleasePipelined()
				}
			}
			<-time.After(time.Minute)
			if names := srv.Children("/lock"); len(names) > 0 {
				t.Errorf("seed %d: left behind: %v", seed, names)
			}
		})
	}
}

// Where nobody may write, nobody could be told, and permits that are free would stay so.
func TestPermitLineNeedsToWrite(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		without := []client.ACL{{Perms: client.PermAll &^ client.PermWrite, ID: client.ID{Scheme: "world", ID: "anyone"}}}
		for name, tc := range map[string]struct {
			s  *Semaphore
			ok bool
		}{
			"in a line":  {NewSemaphore(c, "/a", nearestPermits+1, ACL(without)), false},
			"of Curator": {NewSemaphore(c, "/b", nearestPermits+1, ACL(without), CuratorSemaphore()), true},
			"few":        {NewSemaphore(c, "/c", nearestPermits, ACL(without)), true},
			"with": {NewSemaphore(c, "/d", nearestPermits+1, ACL(append(without, client.ACL{Perms: client.PermWrite,
				ID: client.ID{Scheme: "digest", ID: "a:b"}}))), true},
		} {
			l, err := tc.s.Acquire(t.Context(), 1)
			if ok := err == nil; ok != tc.ok {
				t.Errorf("%s: %v", name, err)
			}
			_, err = NewMultiLock(tc.s.Part(1)).Lock(t.Context())
			if name == "in a line" && err == nil {
				t.Error("as a part: no error")
			}
			_ = l.Release(t.Context())
		}
	})
}
