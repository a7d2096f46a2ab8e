package recipes

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/zktest"
)

// Whoever gives up leaves the line, wherever it stands, and nobody behind it is the worse for it.
func TestLocalQueueCancel(t *testing.T) { // K40: cancellation is the attempt's, not the object's
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		m := NewMutex(a, "/lock", LocalQueue())
		theirs := lock(t, NewMutex(b, "/lock"))
		var cancels []context.CancelFunc
		var waiters []*waiter
		for range 7 {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cancels = append(cancels, cancel)
			waiters = append(waiters, queueUp(ctx, m, 1)...)
		}
		gone := func(i int) {
			t.Helper()
			cancels[i]()
			<-waiters[i].done
			wantErr(t, waiters[i].err, context.Canceled)
			synctest.Wait()
			if n := kids(srv); n != 2 {
				t.Errorf("%d znodes, want the holder's and one of ours", n)
			}
		}
		gone(3) // in the middle of the line
		gone(4) // and the one behind it
		gone(6) // the last
		gone(1) // the first that has not got the turn
		gone(0) // the one that has, and contends
		again := queueUp(t.Context(), m, 1)[0]
		release(t, theirs)
		for _, w := range []*waiter{waiters[2], waiters[5], again} {
			l := w.waitFor(t)
			synctest.Wait()
			if n := kids(srv); n != 1 {
				t.Errorf("%d znodes", n)
			}
			release(t, l)
		}
		if n := kids(srv); n != 0 {
			t.Errorf("%d znodes left behind", n)
		}
		release(t, lock(t, m))
	})
}

// endsAtTheTurn is a context that ends when it is waited for, right after the function has given the waiter its turn.
type endsAtTheTurn struct {
	context.Context
	give func()
	once sync.Once
	done chan struct{}
}

func (c *endsAtTheTurn) Done() <-chan struct{} {
	c.once.Do(func() {
		c.give()
		close(c.done)
	})
	return c.done
}

func (c *endsAtTheTurn) Err() error {
	select {
	case <-c.done:
		return context.Canceled
	default:
		return nil
	}
}

// The turn comes at the very moment at which its waiter gives up: either way it is not lost.
func TestLocalQueueCancelledAtTheTurn(t *testing.T) {
	for name, opt := range map[string]Option{"queue": LocalQueue(), "hand-over": HandOver(1000, time.Hour)} {
		for _, waits := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", another waits: ", waits), func(t *testing.T) {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					c := dial(t, srv)
					defer c.Close()
					m := NewMutex(c, "/lock", opt)
					got := map[bool]int{}
					for range 50 {
						l := lock(t, m)
						var second *waiter
						ctx := &endsAtTheTurn{Context: t.Context(), done: make(chan struct{})}
						ctx.give = func() {
							if waits {
								second = goLock(t.Context(), m)
								for !m.b.line.has(2) {
									runtime.Gosched()
								}
							}
							if err := l.ReleasePipelined(); err != nil {
								t.Error(err)
							}
						}
						first, err := m.Lock(ctx)
						got[err == nil]++
						if err == nil {
							release(t, first)
						} else {
							wantErr(t, err, context.Canceled)
						}
						if waits {
							release(t, second.waitFor(t))
						}
						release(t, lock(t, m))
						if n := kids(srv); n != 0 {
							t.Fatalf("%d znodes left behind", n)
						}
					}
					if got[false] == 0 || (got[true] == 0) != (name == "queue") { // a znode of its own it could not make any more
						t.Errorf("%d had the lock, %d gave up", got[true], got[false])
					}
				})
			})
		}
	}
}

// has says whether n goroutines wait.
func (ln *line) has(n int) bool {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	for p := ln.first; p != nil; p = p.next {
		n--
	}
	return n == 0
}
