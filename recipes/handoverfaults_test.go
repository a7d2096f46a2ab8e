package recipes

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/zktest"
)

// A hold whose connection has gone since its grant is not handed over: what the server has is not certain enough.
func TestHandOverAfterAReconnect(t *testing.T) {
	for name, away := range map[string]bool{"while away": true, "back again": false} {
		for mode, opts := range map[string][]Option{"plain": nil, "guarded": {GuardedHandover()}, "watched": {WatchOwnNode()}} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					a, b := dial(t, srv), dialTo(t, srv, "two:2181")
					defer a.Close()
					defer b.Close()
					m := NewMutex(a, "/lock", append(opts, HandOver(9, time.Hour))...)
					l := lock(t, m)
					ours := queueUp(t.Context(), m, 2)
					other := goLock(t.Context(), NewMutex(b, "/lock"))
					synctest.Wait()
					one := srv.Member("one:2181")
					one.Refuse(zktest.RefuseDial)
					one.DropConnections()
					synctest.Wait()
					if l.State() != Unsure {
						t.Fatalf("%v", l.State())
					}
					if !away {
						one.Refuse(zktest.Accept)
						<-time.After(time.Second)
						if l.State() != Held {
							t.Fatalf("%v", l.State())
						}
					}
					if err := l.ReleasePipelined(); err != nil {
						t.Error(err)
					}
					synctest.Wait()
					if ours[0].over() {
						t.Fatal("handed over although the connection is another")
					}
					one.Refuse(zktest.Accept)
					theirs := other.waitFor(t)
					synctest.Wait()
					if ours[0].over() || kids(srv) != 2 {
						t.Fatalf("two holders: %v; %d znodes, want theirs and our next", ours[0].over(), kids(srv))
					}
					if err := l.Release(t.Context()); err != nil {
						t.Error(err)
					}
					next := notHanded(t, theirs, ours[0])
					release(t, handed(t, next, ours[1])) // from there on it goes as before
					if n := kids(srv); n != 0 || a.CleanupsPending() != 0 {
						t.Errorf("%d znodes left behind", n)
					}
				})
			})
		}
	}
}

func TestHandOverAfterExpiry(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock", HandOver(5, time.Hour))
		l := lock(t, m)
		ws := queueUp(t.Context(), m, 12)
		l = handed(t, l, ws[0])
		srv.ExpireSession(c.SessionID())
		next := ws[1].waitFor(t)
		wantErr(t, l.Release(t.Context()), ErrLost, ErrSessionExpired)
		if next.gen.Same(l.gen) || next.Token().Hand != 0 || next.Token().Compare(l.Token()) <= 0 {
			t.Errorf("token %v after %v", next.Token(), l.Token())
		}
		for i, w := range ws[2:] {
			if (i+1)%5 == 0 {
				next = notHanded(t, next, w)
			} else {
				next = handed(t, next, w)
			}
		}
		release(t, next)
		if n := kids(srv); n != 0 {
			t.Errorf("%d znodes left behind", n)
		}
	})
}

// The znode is deleted by an operator while it is held. Who watches it loses the hold at once; otherwise only a guarded
// hand-over notices.
func TestHandOverOfADeletedZnode(t *testing.T) {
	for name, tc := range map[string]struct {
		opts []Option
		lost bool // the holder is told
		over bool // the znode is handed over
	}{
		"watched": {[]Option{WatchOwnNode()}, true, false},
		"blind":   {nil, false, true},
		"guarded": {[]Option{GuardedHandover()}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := dial(t, srv)
				defer c.Close()
				m := NewMutex(c, "/lock", append(tc.opts, HandOver(9, time.Hour))...)
				l := handed(t, lock(t, m), queueUp(t.Context(), m, 1)[0]) // the watch moves on with the znode
				w := queueUp(t.Context(), m, 1)[0]
				if err := srv.Delete(l.Node()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if lost := l.State() == Lost; lost != tc.lost || w.over() != tc.lost {
					t.Fatalf("lost: %v, the next has it: %v", lost, w.over())
				}
				err := l.Release(t.Context())
				if tc.lost {
					wantErr(t, err, ErrLost, ErrNodeGone)
				} else if err != nil {
					t.Error(err)
				}
				next := w.waitFor(t)
				if (next.Node() == l.Node()) != tc.over {
					t.Errorf("%s, and then %s", l.Node(), next.Node())
				}
				if err := next.Release(t.Context()); tc.over {
					wantErr(t, err, ErrLost, ErrNodeGone)
				} else if err != nil {
					t.Error(err)
				}
				if n := kids(srv); n != 0 {
					t.Errorf("%d znodes left behind", n)
				}
			})
		})
	}
}

// A client that is closed while many wait for a hand-over fails them all.
func TestHandOverOfAClosedClient(t *testing.T) { // K43
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		m := NewMutex(c, "/lock", HandOver(9, time.Hour))
		l := lock(t, m)
		ws := queueUp(t.Context(), m, 5)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		wantErr(t, l.Release(t.Context()), ErrLost, ErrClosed)
		for _, w := range ws {
			<-w.done
			wantErr(t, w.err, ErrClosed)
		}
	})
}
