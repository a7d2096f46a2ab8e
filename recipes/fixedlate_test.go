package recipes

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

var uuid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// lateCopy returns a function that does what the first transaction of c from now on would have done, as a server may do that
// the client has left (ZOOKEEPER-4907), with operations ahead of it.
func lateCopy(t *testing.T, srv *zktest.Server, c *client.Client) func(ahead ...client.Op) error {
	var mark []byte // written before the transaction is answered, and read after that
	session := c.SessionID()
	srv.OnRequest(func(r *zktest.Request) zktest.Verdict {
		if m := uuid.Find(r.Body); r.Op == proto.OpMulti && r.SessionID == session && m != nil && mark == nil {
			mark = bytes.Clone(m)
		}
		return zktest.Verdict{}
	})
	return func(ahead ...client.Op) error {
		if mark == nil {
			t.Error("there was no transaction")
		}
		_, err := c.Multi(t.Context(), append(ahead, client.CreateOp("/lock", nil, client.ModeEphemeral, nil), client.SetOp("/lock", nil, 0),
			client.SetOp("/lock-counter", mark, client.AnyVersion))...)
		return err
	}
}

// lostInDoubt makes c wait for the lock with a transaction whose outcome it does not know, and which was not carried out.
func lostInDoubt(ctx context.Context, t *testing.T, srv *zktest.Server, c *client.Client) (*waiter, func(ahead ...client.Op) error) {
	t.Helper()
	carryOut := lateCopy(t, srv, c)
	held := srv.Hold(zktest.Match{Op: proto.OpMulti, Session: c.SessionID()}) // the hook is asked about the next one, which is the same
	w := goLock(ctx, NewFixedMutex(c, "/lock"))
	synctest.Wait()
	if held.Waiting() != 1 {
		t.Fatal("no transaction")
	}
	srv.DropConnections()
	held.Release()
	<-time.After(time.Second)
	return w, carryOut
}

// TestFixedLateAcquire: a transaction that is carried out while its sender waits is adopted.
func TestFixedLateAcquire(t *testing.T) { // A10 rule 10
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		l := lock(t, NewFixedMutex(a, "/lock"))
		w, carryOut := lostInDoubt(t.Context(), t, srv, b)
		if w.over() {
			t.Fatalf("over: %v", w.err)
		}
		before := srv.Snapshot().Requests
		if err := carryOut(client.DeleteOp("/lock", client.AnyVersion)); err != nil {
			t.Fatal(err)
		}
		<-w.done
		if w.err != nil {
			t.Fatal(w.err)
		}
		fixedHeld(t, srv, w.lease)
		if n := srv.Snapshot().Requests - before; n != 4 {
			t.Errorf("%d requests: the copy, and the waiter's transaction with its look are 4", n)
		}
		if err := l.Release(t.Context()); !errors.Is(err, ErrNodeGone) {
			t.Errorf("%v", err)
		}
		release(t, w.lease)
		fixedFree(t, srv, a, b)
	})
}

// TestFixedLateAcquireBehindTheRelease: one that is carried out between the release and its confirmation is taken away as well.
func TestFixedLateAcquireBehindTheRelease(t *testing.T) { // A10 rule 10
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		l := lock(t, NewFixedMutex(a, "/lock"))
		w, carryOut := lostInDoubt(t.Context(), t, srv, b)
		release(t, l)
		<-w.done
		if w.err != nil {
			t.Fatal(w.err)
		}
		if err := carryOut(); !errors.Is(err, client.ErrNodeExists) {
			t.Errorf("%v", err)
		}
		held := srv.HoldReply(zktest.Match{Op: proto.OpMulti, Session: b.SessionID()})
		if err := w.lease.ReleasePipelined(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		copied := make(chan error)
		go func() { copied <- carryOut() }()
		synctest.Wait()
		held.Release()
		if err := <-copied; err != nil {
			t.Error(err)
		}
		release(t, w.lease)
		fixedFree(t, srv, a, b)
	})
}

// TestFixedCancelledInDoubt: the clean-up finds out what became of a transaction whose reply is lost, over reconnects.
func TestFixedCancelledInDoubt(t *testing.T) { // A10 rule 10
	for name, lose := range losses {
		for _, away := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					c := dial(t, srv)
					defer c.Close()
					m := NewFixedMutex(c, "/lock")
					release(t, lock(t, m))
					lost := lose(srv, zktest.Match{Op: proto.OpMulti})
					if away {
						srv.Refuse(zktest.RefuseClose)
					} else {
						srv.Hold(zktest.Match{Op: proto.OpMulti}) // the next one is written, and not answered either
					}
					srv.CloseAfter(zktest.Match{Op: proto.OpSync}) // of the clean-up
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					began := time.Now()
					_, err := m.Lock(ctx)
					if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrCleanupPending) || lost.Hits() != 1 {
						t.Errorf("%v, %d hits", err, lost.Hits())
					}
					if d := time.Since(began); d != time.Second+CleanupGrace {
						t.Errorf("returned after %v", d)
					}
					srv.Refuse(zktest.Accept)
					if !away {
						srv.DropConnections()
					}
					<-time.After(time.Minute) // of which the client waits a part before it dials again
					fixedFree(t, srv, c)
					release(t, lock(t, m))
				})
			})
		}
	}
}

// TestFixedCancelledWithALateCommit: the transaction has reached the leader, and is carried out when its connection is gone.
func TestFixedCancelledWithALateCommit(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewFixedMutex(c, "/lock")
		release(t, lock(t, m))
		held := srv.HoldCommit(zktest.Match{Op: proto.OpMulti})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		time.AfterFunc(500*time.Millisecond, srv.DropConnections)
		if _, err := m.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrCleanupPending) {
			t.Errorf("%v", err)
		}
		held.Release()
		<-time.After(time.Second)
		fixedFree(t, srv, c)
	})
}

// TestFixedCancelledLockLeavesNothing: at every request, when it is answered within the grace, and when not.
func TestFixedCancelledLockLeavesNothing(t *testing.T) { // C147, F78
	for _, op := range []proto.Op{0, proto.OpMulti, proto.OpCreate2, proto.OpGetData} {
		for _, inTime := range []bool{true, false} {
			t.Run(op.String(), func(t *testing.T) {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					a, b := dial(t, srv), dial(t, srv)
					defer a.Close()
					defer b.Close()
					var l *Lease
					if op == 0 || op == proto.OpGetData {
						l = lock(t, NewFixedMutex(a, "/lock"))
					}
					var held *zktest.Held
					if op != 0 {
						held = srv.Hold(zktest.Match{Op: op, Session: b.SessionID()})
					}
					if op != 0 && inTime {
						time.AfterFunc(1500*time.Millisecond, held.Release)
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					began := time.Now()
					_, err := NewFixedMutex(b, "/lock").Lock(ctx)
					if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrCleanupPending) == (inTime || op == 0) {
						t.Errorf("%v", err)
					}
					if d := time.Since(began); d > time.Second+CleanupGrace {
						t.Errorf("returned after %v", d)
					}
					if op != 0 && !inTime {
						held.Release()
						synctest.Wait()
					}
					if l != nil {
						if _, st, err := srv.Get("/lock"); err != nil || st.EphemeralOwner != a.SessionID() {
							t.Errorf("the holder's znode: %v", err)
						}
						release(t, l)
					}
					fixedFree(t, srv, a, b)
					if n := srv.Snapshot().Watches.Data; n != 0 {
						t.Errorf("%d watches left", n)
					}
				})
			})
		}
	}
}

// TestFixedCancelledBeforeTheWrite: what was not written is taken back.
func TestFixedCancelledBeforeTheWrite(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		srv.Refuse(zktest.RefuseClose)
		srv.DropConnections()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := NewFixedMutex(c, "/lock").Lock(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrCleanupPending) {
			t.Errorf("%v", err)
		}
		srv.Refuse(zktest.Accept)
		<-time.After(2 * time.Second)
		fixedFree(t, srv, c)
	})
}

// TestFixedGrantOnAnotherConnection: the hold is refused when its connection is gone by then; a look says whether it stands.
func TestFixedGrantOnAnotherConnection(t *testing.T) { // A40
	for _, gone := range []bool{false, true} {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			c := dial(t, srv)
			defer c.Close()
			tk := NewFixedMutex(c, "/lock").b.taker(false)
			must(0, tk.begin())
			if ours, err := tk.take(t.Context()); !ours || err != nil {
				t.Fatal(ours, err)
			}
			srv.DropConnections()
			<-time.After(time.Second)
			srv.CloseBefore(zktest.Match{Op: proto.OpExists})
			if gone {
				must(0, srv.Delete("/lock"))
			}
			l, err := tk.grant(t.Context())
			if gone {
				if !errors.Is(err, errAgain) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			release(t, l)
			fixedFree(t, srv, c)
		})
	}
}

// TestFixedCounterThatIsAnyVersion: a guard with the version of a counter that has come around to -1 would guard nothing.
func TestFixedCounterThatIsAnyVersion(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		tk := &wrapped{taker: NewFixedMutex(c, "/lock").b.taker(false)}
		tk.of = tk
		l, err := tk.acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if tk.attempts != 2 {
			t.Errorf("%d attempts", tk.attempts)
		}
		if _, err := c.Multi(t.Context(), l.Guards()...); err != nil {
			t.Error(err)
		}
		release(t, l)
		fixedFree(t, srv, c)
	})
}

// wrapped is a taker whose first transaction finds the counter at the end of its numbers.
type wrapped struct {
	*taker
	attempts int
}

func (w *wrapped) attempt(ctx context.Context) (*Lease, error) {
	w.attempts++
	ours, err := w.take(ctx)
	if err != nil || !ours {
		return nil, err
	}
	if w.attempts == 1 {
		w.counted = client.AnyVersion
	}
	return w.own(ctx)
}

// TestFixedOthersOfTheSessionAreNotAdopted: a waiter in doubt takes no other znode of its session for its own.
func TestFixedOthersOfTheSessionAreNotAdopted(t *testing.T) { // A10 rule 10
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		l := lock(t, NewFixedMutex(b, "/lock"))
		w, _ := lostInDoubt(t.Context(), t, srv, b)
		if w.over() {
			t.Fatalf("another goroutine's hold was adopted: %v", w.err)
		}
		release(t, l)
		<-w.done
		if w.err != nil {
			t.Fatal(w.err)
		}
		release(t, w.lease)

		l = lock(t, NewFixedMutex(a, "/lock"))
		w, carryOut := lostInDoubt(t.Context(), t, srv, b)
		held := srv.Hold(zktest.Match{Op: proto.OpMulti, Session: b.SessionID(), Skip: 1}) // the waiter's next one
		if err := carryOut(client.DeleteOp("/lock", client.AnyVersion)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		must(0, srv.Delete("/lock"))
		must(srv.CreateFor(b.SessionID(), "/lock", nil, proto.ModeEphemeral))
		held.Release()
		<-time.After(time.Second)
		if w.over() {
			t.Fatalf("a plain create was adopted: %v", w.err)
		}
		must(0, srv.Delete("/lock"))
		<-w.done
		if w.err != nil {
			t.Fatal(w.err)
		}
		fixedHeld(t, srv, w.lease)
		release(t, w.lease)
		_ = l.ReleasePipelined()
		fixedFree(t, srv, a, b)
	})
}
