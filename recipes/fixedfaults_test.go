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

// losses are the two ways to lose a reply.
var losses = map[string]func(*zktest.Server, zktest.Match) *zktest.Rule{
	"executed": (*zktest.Server).CloseAfter, "not executed": (*zktest.Server).CloseBefore,
}

// fixedHeld checks that l has the znode and the newest write of the counter.
func fixedHeld(t *testing.T, srv *zktest.Server, l *Lease) {
	t.Helper()
	_, node, err := srv.Get(l.Node())
	_, counter, missing := srv.Get(l.Node() + counterSuffix)
	if err != nil || missing != nil || node.Czxid != l.Token().Zxid || counter.Mzxid != l.Token().Zxid {
		t.Errorf("token %v, znode of %d, counter of %d: %v %v", l.Token(), node.Czxid, counter.Mzxid, err, missing)
	}
}

// fixedFree checks that nothing of the lock is left but the counter.
func fixedFree(t *testing.T, srv *zktest.Server, clients ...*client.Client) {
	t.Helper()
	synctest.Wait()
	if srv.Exists("/lock") {
		t.Error("left behind")
	}
	for _, c := range clients {
		if n := c.CleanupsPending(); n != 0 {
			t.Errorf("%d clean-ups pending", n)
		}
	}
}

func TestFixedLostAcquire(t *testing.T) { // C146, I12: the mark in the counter tells what has become of the transaction
	for name, lose := range losses {
		for _, times := range []int{1, 3} {
			for _, missing := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %d times, counter missing: %v", name, times, missing), func(t *testing.T) {
					bubble(t, func(t *testing.T, srv *zktest.Server) {
						c := dial(t, srv)
						defer c.Close()
						m := NewFixedMutex(c, "/lock")
						skip := 1 // the first transaction finds the counter missing
						if !missing {
							release(t, lock(t, m))
							skip = 0
						}
						lose(srv, zktest.Match{Op: proto.OpMulti, Skip: skip, Times: times})
						l := lock(t, m)
						fixedHeld(t, srv, l)
						if _, err := c.Multi(t.Context(), l.Guards()...); err != nil {
							t.Errorf("guards: %v", err)
						}
						release(t, l)
						fixedFree(t, srv, c)
						release(t, lock(t, m))
					})
				})
			}
		}
	}
}

func TestFixedLostLook(t *testing.T) { // at each of its requests, when waiting and when in doubt
	for _, doubt := range []bool{false, true} {
		for skip := range 3 {
			for name, lose := range losses {
				t.Run(fmt.Sprintf("%s, in doubt: %v, read %d", name, doubt, skip), func(t *testing.T) {
					bubble(t, func(t *testing.T, srv *zktest.Server) {
						a, b := dial(t, srv), dialTo(t, srv, "two:2181")
						defer a.Close()
						defer b.Close()
						l := lock(t, NewFixedMutex(a, "/lock"))
						mine := zktest.Match{Op: proto.OpMulti, Session: b.SessionID()}
						if doubt {
							srv.CloseBefore(mine)
						}
						mine.Op, mine.Skip = proto.OpGetData, skip
						rule := lose(srv, mine)
						w := goLock(t.Context(), NewFixedMutex(b, "/lock"))
						for range 3 {
							<-time.After(time.Second)
							must(0, srv.Set("/lock", nil)) // makes the waiter look again
						}
						if w.over() || rule.Hits() != 1 {
							t.Fatalf("over: %v %v, hits: %d", w.over(), w.err, rule.Hits())
						}
						release(t, l)
						<-w.done
						if w.err != nil {
							t.Fatal(w.err)
						}
						fixedHeld(t, srv, w.lease)
						release(t, w.lease)
						fixedFree(t, srv, a, b)
						if n := srv.Snapshot().Watches.Data; n != 0 {
							t.Errorf("%d watches left", n)
						}
					})
				})
			}
		}
	}
}

func TestFixedLostRelease(t *testing.T) { // A10 rule 11, F80: repeated until it is known what has become of it
	for name, lose := range losses {
		for _, lookToo := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, the look as well: %v", name, lookToo), func(t *testing.T) {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					c := dial(t, srv)
					defer c.Close()
					m := NewFixedMutex(c, "/lock")
					l := lock(t, m)
					lose(srv, zktest.Match{Op: proto.OpMulti})
					if lookToo {
						srv.CloseBefore(zktest.Match{Op: proto.OpSync})
						srv.CloseAfter(zktest.Match{Op: proto.OpExists})
					}
					release(t, l)
					fixedFree(t, srv, c)
					if err := l.Release(t.Context()); !errors.Is(err, ErrNotHeld) {
						t.Errorf("twice: %v", err)
					}
				})
			})
		}
	}
}

// TestFixedReleaseSparesOthers: between a release whose reply is lost and its repetition somebody else makes a znode at the path.
func TestFixedReleaseSparesOthers(t *testing.T) {
	for name, take := range map[string]func(t *testing.T, c *client.Client){
		"a plain create": func(t *testing.T, c *client.Client) {
			must2(c.Create(t.Context(), "/lock", nil, client.ModeEphemeral, nil))
		},
		"a create and a write": func(t *testing.T, c *client.Client) {
			must2(c.Create(t.Context(), "/lock", nil, client.ModeEphemeral, nil))
			must(c.Set(t.Context(), "/lock", []byte("theirs"), 0))
		},
		"a FixedMutex": func(t *testing.T, c *client.Client) { lock(t, NewFixedMutex(c, "/lock")) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := dial(t, srv), dialTo(t, srv, "two:2181")
				defer a.Close()
				defer b.Close()
				l := lock(t, NewFixedMutex(a, "/lock"))
				lost := srv.CloseAfter(zktest.Match{Op: proto.OpMulti})
				srv.Member("one:2181").Refuse(zktest.RefuseClose)
				done := make(chan error)
				go func() { done <- l.Release(t.Context()) }()
				<-lost.Hit()
				synctest.Wait()
				take(t, b)
				srv.Member("one:2181").Refuse(zktest.Accept)
				if err := <-done; err != nil {
					t.Error(err)
				}
				synctest.Wait()
				if _, st, err := srv.Get("/lock"); err != nil || st.EphemeralOwner != b.SessionID() || a.CleanupsPending() != 0 {
					t.Errorf("%+v %v", st, err)
				}
			})
		})
	}
}

// TestFixedOperator: what an operator does to the znodes of a hold does not keep the release from doing its work, nor make it
// delete what is not its.
func TestFixedOperator(t *testing.T) { // A32
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		m := NewFixedMutex(a, "/lock")
		for name, do := range map[string]func(){
			"writes the znode":    func() { must(0, srv.Set("/lock", nil)) },
			"writes the counter":  func() { must(0, srv.Set("/lock-counter", nil)) },
			"deletes the counter": func() { must(0, srv.Delete("/lock-counter")) },
			"all of it":           func() { must(0, srv.Set("/lock", nil)); must(0, srv.Delete("/lock-counter")) },
		} {
			l := lock(t, m)
			do()
			if err := l.Release(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			fixedFree(t, srv, a)
		}
		l := lock(t, m)
		must(0, srv.Delete("/lock"))
		if err := l.Release(t.Context()); !errors.Is(err, ErrLost) || !errors.Is(err, ErrNodeGone) {
			t.Errorf("znode deleted: %v", err)
		}
		for name, take := range map[string]func() (release func()){
			"a plain create": func() func() {
				must2(b.Create(t.Context(), "/lock", nil, client.ModeEphemeral, nil))
				return func() { must(0, b.Delete(t.Context(), "/lock", -1)) }
			},
			"a FixedMutex": func() func() {
				l := lock(t, NewFixedMutex(b, "/lock"))
				return func() { release(t, l) }
			},
			"the same client": func() func() {
				l := lock(t, NewFixedMutex(a, "/lock"))
				return func() { release(t, l) }
			},
		} {
			l := lock(t, m)
			must(0, srv.Delete("/lock"))
			done := take()
			if err := l.Release(t.Context()); !errors.Is(err, ErrLost) || !errors.Is(err, ErrNodeGone) {
				t.Errorf("%s: %v", name, err)
			}
			if !srv.Exists("/lock") {
				t.Errorf("%s: its znode was deleted", name)
			}
			done()
		}
	})
}

func TestFixedReleasePendingAndRefused(t *testing.T) { // design: Release; F80, K49
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewFixedMutex(c, "/lock")
		l := lock(t, m)
		dead, cancel := context.WithCancel(t.Context())
		cancel()
		held := srv.Hold(zktest.Match{Op: proto.OpMulti})
		if err := l.Release(dead); !errors.Is(err, ErrReleasePending) || !errors.Is(err, context.Canceled) {
			t.Errorf("dead context: %v", err)
		}
		held.Release()
		if err := l.Release(t.Context()); err != nil {
			t.Errorf("waiting on: %v", err)
		}
		l = lock(t, m)
		srv.Fail(zktest.Match{Op: proto.OpMulti, Times: 2}, proto.ErrNoAuth)
		for range 2 {
			if err := l.Release(t.Context()); !errors.Is(err, ErrRefused) || !errors.Is(err, client.ErrNoAuth) {
				t.Errorf("%v", err)
			}
		}
		if !srv.Exists("/lock") {
			t.Error("deleted though that was refused")
		}
		if err := l.Release(t.Context()); err != nil {
			t.Errorf("tried again: %v", err)
		}
		fixedFree(t, srv, c)
		l = lock(t, m)
		srv.Fail(zktest.Match{Op: proto.OpMulti}, proto.ErrThrottled)
		release(t, l)
		fixedFree(t, srv, c)
	})
}

func TestFixedExpiryWhileWaiting(t *testing.T) { // again in the next session, with a new mark; D7, F77
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		final := dial(t, srv, client.FinalExpiry())
		defer final.Close()
		l := lock(t, NewFixedMutex(a, "/lock"))
		w, last := goLock(t.Context(), NewFixedMutex(b, "/lock")), goLock(t.Context(), NewFixedMutex(final, "/lock"))
		synctest.Wait()
		srv.ExpireSession(b.SessionID())
		srv.ExpireSession(final.SessionID())
		<-last.done
		if !errors.Is(last.err, ErrSessionExpired) {
			t.Errorf("%v", last.err)
		}
		<-time.After(time.Second)
		if w.over() {
			t.Fatalf("over: %v", w.err)
		}
		release(t, l)
		<-w.done
		if w.err != nil {
			t.Fatal(w.err)
		}
		release(t, w.lease)
	})
}

// TestFixedExpiryInDoubt: a transaction of the session before does not count in the next one.
func TestFixedExpiryInDoubt(t *testing.T) { // A10 rule 10
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewFixedMutex(c, "/lock")
		release(t, lock(t, m))
		old := c.SessionID()
		srv.CloseAfter(zktest.Match{Op: proto.OpMulti})
		srv.Member("one:2181").Refuse(zktest.RefuseClose)
		w := goLock(t.Context(), m)
		synctest.Wait()
		srv.ExpireSession(old)
		srv.Member("one:2181").Refuse(zktest.Accept)
		<-w.done
		if w.err != nil {
			t.Fatal(w.err)
		}
		fixedHeld(t, srv, w.lease)
		if _, st, _ := srv.Get("/lock"); st.EphemeralOwner == old {
			t.Error("the znode is that of the session before")
		}
		release(t, w.lease)
		fixedFree(t, srv, c)
	})
}

// TestFixedWaiterIsOnTheLeaseClock: while it waits the session proves to itself that the leader knows it, and not any longer.
func TestFixedWaiterIsOnTheLeaseClock(t *testing.T) { // design: lease clock
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		l := lock(t, NewFixedMutex(a, "/lock"))
		w := goLock(t.Context(), NewFixedMutex(b, "/lock"))
		proofs := srv.On(zktest.Match{Op: proto.OpSync, Session: b.SessionID(), Times: -1}, zktest.Verdict{})
		<-time.After(timeout)
		if n := proofs.Hits(); n < 3 {
			t.Errorf("%d proofs in a session timeout", n)
		}
		release(t, l)
		<-w.done
		release(t, w.lease)
		before := proofs.Hits()
		<-time.After(timeout)
		if n := proofs.Hits() - before; n > 1 {
			t.Errorf("%d proofs when nobody waits", n)
		}
	})
}
