package recipes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// The turn moves on whenever whoever has it cannot use it any more, and not only with a release.
func TestLocalQueueTurnMovesOn(t *testing.T) {
	for name, tc := range map[string]struct {
		opts []Option
		end  func(srv *zktest.Server, c *client.Client, l *Lease)
		want error
	}{
		"expired": {nil, func(s *zktest.Server, c *client.Client, _ *Lease) { s.ExpireSession(c.SessionID()) }, ErrSessionExpired},
		"deadline": {nil, func(s *zktest.Server, _ *client.Client, l *Lease) {
			s.Refuse(zktest.RefuseDial)
			s.DropConnections()
			<-l.Done()
			<-time.After(timeout) // the session ends as well, and with it the znode
			s.Refuse(zktest.Accept)
		}, ErrDeadline},
		"max hold":  {[]Option{MaxHold(time.Hour)}, func(*zktest.Server, *client.Client, *Lease) {}, ErrMaxHold},
		"node gone": {[]Option{WatchOwnNode()}, func(s *zktest.Server, _ *client.Client, l *Lease) { _ = s.Delete(l.Node()) }, ErrNodeGone},
	} {
		for mode, opt := range map[string]Option{"queue": LocalQueue(), "hand-over": HandOver(9, 48*time.Hour)} {
			t.Run(mode+"/"+name, func(t *testing.T) {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					c := dial(t, srv)
					defer c.Close()
					m := NewMutex(c, "/lock", append(tc.opts, opt)...)
					l := lock(t, m)
					waiters := queueUp(t.Context(), m, 2)
					<-time.After(3 * timeout)
					tc.end(srv, c, l)
					next := waiters[0].waitFor(t) // nobody has released l
					wantErr(t, context.Cause(l.Context()), tc.want)
					if next.Node() == l.Node() {
						t.Error("a lost znode was handed over")
					}
					if waiters[1].over() {
						t.Error("two holders")
					}
					wantErr(t, l.Release(t.Context()), ErrLost, tc.want)
					synctest.Wait()
					if waiters[1].over() {
						t.Error("the release of a lost lease has passed on the turn once more")
					}
					release(t, next)
					release(t, waiters[1].waitFor(t))
					release(t, lock(t, m))
					if n := kids(srv); n != 0 {
						t.Errorf("%d znodes left behind", n)
					}
				})
			})
		}
	}
}

// A lease that ends by its deadline while its znode lives on has the next one in line wait behind that znode.
func TestLocalQueueWaitsForTheZnodeOfALostLease(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock", LocalQueue(), Strict())
		l := lock(t, m)
		w := queueUp(t.Context(), m, 1)[0]
		srv.DropConnections()
		<-time.After(time.Second)
		wantErr(t, context.Cause(l.Context()), ErrDisconnected)
		if n := kids(srv); w.over() || n != 2 {
			t.Fatalf("acquired with the znode of the lost lease in front: %v, %d znodes", w.over(), n)
		}
		wantErr(t, l.Release(t.Context()), ErrLost, ErrDisconnected)
		release(t, w.waitFor(t))
	})
}

func TestLocalQueueAcquireFails(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		m := NewMutex(a, "/lock", LocalQueue(), FailIfNodeGone())
		theirs := lock(t, NewMutex(b, "/lock"))
		waiters := queueUp(t.Context(), m, 4)
		refused := srv.Fail(zktest.Match{Op: proto.OpCreate2}, proto.ErrNoAuth)
		if err := srv.Delete(ownNode(t, srv, a)); err != nil {
			t.Fatal(err)
		}
		<-waiters[0].done
		wantErr(t, waiters[0].err, ErrNodeGone)
		<-waiters[1].done // its turn, but it may not have a znode
		wantErr(t, waiters[1].err, client.ErrNoAuth)
		synctest.Wait()
		if n := kids(srv); n != 2 || refused.Hits() != 1 {
			t.Fatalf("%d znodes, want the holder's and that of the third", n)
		}
		release(t, theirs)
		l := waiters[2].waitFor(t)
		srv.ExpireSession(a.SessionID()) // of the holder, and the one behind it begins in the session that has ended, or the next
		<-waiters[3].done
		if waiters[3].err == nil {
			release(t, waiters[3].lease)
		} else {
			wantErr(t, waiters[3].err, ErrSessionExpired)
		}
		wantErr(t, l.Release(t.Context()), ErrLost)
		release(t, lock(t, m))
		if n := kids(srv); n != 0 {
			t.Errorf("%d znodes left behind", n)
		}
	})
}

func TestLocalQueueOfAClosedClient(t *testing.T) { // K43
	for name, released := range map[string]bool{"held": false, "released": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := dial(t, srv)
				m := NewMutex(c, "/lock", LocalQueue())
				l := lock(t, m)
				waiters := queueUp(t.Context(), m, 5)
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
				if released {
					wantErr(t, l.Release(t.Context()), ErrLost, ErrClosed)
				}
				for _, w := range waiters {
					<-w.done
					if w.lease != nil {
						t.Error("acquired through a closed client")
					}
					wantErr(t, w.err, ErrClosed)
				}
				if _, err := m.Lock(t.Context()); !errors.Is(err, ErrClosed) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// Many goroutines, some of which give up, on two clients: never two holders, nothing left behind, everybody comes to an end.
func TestLocalQueueUnderLoad(t *testing.T) {
	for name, opt := range map[string]Option{"queue": LocalQueue(), "hand-over": HandOver(3, time.Second)} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				var mu sync.Mutex
				var log []Token
				inside := 0
				var wg sync.WaitGroup
				for i := range 2 {
					c := dialTo(t, srv, fmt.Sprintf("zk%d:2181", i))
					defer c.Close()
					m := NewMutex(c, "/lock", opt)
					for j := range 20 {
						wg.Go(func() {
							for n := range 5 {
								ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
								if (i+j+n)%4 == 0 {
									ctx, cancel = context.WithTimeout(t.Context(), time.Duration(j*10)*time.Millisecond)
								}
								l, err := m.Lock(ctx)
								cancel()
								if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrCleanupPending) {
									continue
								} else if err != nil {
									t.Error(err)
									return
								}
								mu.Lock()
								log = append(log, l.Token())
								if inside++; inside != 1 {
									t.Error("two holders")
								}
								mu.Unlock()
								<-time.After(10 * time.Millisecond)
								mu.Lock()
								inside--
								mu.Unlock()
								release(t, l)
							}
						})
					}
				}
				wg.Wait()
				if !slices.IsSortedFunc(log, Token.Compare) || len(slices.Compact(slices.Clone(log))) != len(log) {
					t.Errorf("tokens do not rise: %v", log)
				}
				if n := kids(srv); n != 0 {
					t.Errorf("%d znodes left behind", n)
				}
			})
		})
	}
}
