package recipes

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/zktest"
)

// A release that comes while another one of the same lease decides to hand the znode over is answered: there is no deletion
// that it could wait for.
func TestHandOverReleasedTwiceAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMutex(c, "/lock", HandOver(1000, time.Hour))
		for _, waits := range []bool{true, false} {
			for range 1000 {
				l := lock(t, m)
				var w *waiter
				if waits {
					w = queueUp(t.Context(), m, 1)[0]
				}
				var wg sync.WaitGroup
				var mu sync.Mutex
				confirmed := 0
				for range 8 {
					wg.Go(func() {
						<-l.Done() // once the first one has begun
						ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
						defer cancel()
						err := l.Release(ctx)
						mu.Lock()
						defer mu.Unlock()
						if err == nil {
							confirmed++
						} else {
							wantErr(t, err, ErrNotHeld)
						}
					})
				}
				synctest.Wait()
				if err := l.ReleasePipelined(); err != nil {
					t.Error(err)
				}
				wg.Wait()
				if confirmed != 1 {
					t.Fatalf("confirmed %d times", confirmed)
				}
				if waits {
					release(t, w.waitFor(t))
				} else if n := kids(srv); n != 0 {
					t.Fatalf("confirmed with %d znodes left", n)
				}
			}
		}
	})
}

// A holder that was asked before its grant may release while the grant is still being finished.
func TestRevokedReleasesAtOnce(t *testing.T) {
	for name, opts := range map[string][]Option{"own znode": nil, "hand-over": {HandOver(9, time.Hour)}, "max hold": {HandOver(9, time.Hour), MaxHold(time.Minute)}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := dial(t, srv), dial(t, srv)
				defer a.Close()
				defer b.Close()
				for range 30 {
					done := make(chan error, 1)
					m := NewMutex(a, "/lock", append(opts, Revocable(func(l *Lease) { done <- l.Release(context.Background()) }))...)
					theirs := lock(t, NewMutex(b, "/lock"))
					w := goLock(t.Context(), m)
					synctest.Wait()
					revoke(t, b, ownNode(t, srv, a))
					release(t, theirs)
					l := w.waitFor(t)
					if err := <-done; err != nil {
						t.Error(err)
					}
					wantErr(t, l.Release(t.Context()), ErrNotHeld)
					release(t, lock(t, m)) // the turn was passed on
					if n := kids(srv); n != 0 {
						t.Fatalf("%d znodes left behind", n)
					}
				}
			})
		})
	}
}
