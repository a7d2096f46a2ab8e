package recipes

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestReentryLoss(t *testing.T) { // C155, F94: all levels are lost at once, and every Release says so
	for name, tc := range map[string]struct {
		opts []Option
		end  func(srv *zktest.Server, c *client.Client, e *Reentry)
		want error
	}{
		"expired": {nil, func(s *zktest.Server, c *client.Client, _ *Reentry) { s.ExpireSession(c.SessionID()) }, ErrSessionExpired},
		"deadline": {nil, func(s *zktest.Server, _ *client.Client, e *Reentry) {
			s.Member("one:2181").Refuse(zktest.RefuseDial)
			s.Member("one:2181").DropConnections()
			<-e.Done()
			s.Member("one:2181").Refuse(zktest.Accept)
		}, ErrDeadline},
		"strict":    {[]Option{Strict()}, func(s *zktest.Server, _ *client.Client, _ *Reentry) { s.Member("one:2181").DropConnections() }, ErrDisconnected},
		"node gone": {[]Option{WatchOwnNode()}, func(s *zktest.Server, _ *client.Client, e *Reentry) { _ = s.Delete(e.Node()) }, ErrNodeGone},
		"max hold":  {[]Option{MaxHold(time.Hour)}, func(*zktest.Server, *client.Client, *Reentry) { <-time.After(time.Hour) }, ErrMaxHold},
		"revoked":   {[]Option{Revocable(nil)}, func(s *zktest.Server, _ *client.Client, e *Reentry) { _ = s.Set(e.Node(), []byte(revokeText)) }, ErrRevoked},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c, other := dial(t, srv), dialTo(t, srv, "two:2181")
				defer c.Close()
				defer other.Close()
				r := NewReentrant(c, "/lock", tc.opts...)
				ctx, first := enter(t.Context(), t, r)
				_, second := enter(ctx, t, r)
				_, third := enter(ctx, t, r)
				entries := []*Reentry{second, first, third}
				<-time.After(3 * timeout) // or the deadline and the end of the session would be at the same moment
				tc.end(srv, c, first)
				<-ctx.Done()
				wantErr(t, context.Cause(ctx), tc.want)
				for _, e := range entries {
					if e.State() != Lost {
						t.Errorf("state %v", e.State())
					}
				}
				if _, e, err := r.Lock(ctx); e != nil || !errors.Is(err, tc.want) {
					t.Errorf("lock with the context of a lost hold: %v", err)
				}
				// Whoever comes next has a hold of its own, and waits for the znode of the old one if that is there.
				next := goEnter(context.WithoutCancel(ctx), r)
				synctest.Wait()
				for i, e := range entries {
					err := e.Release(t.Context())
					wantErr(t, err, ErrLost, tc.want)
					if errors.Is(err, context.Canceled) {
						t.Errorf("release %d looks as if its own context had ended: %v", i, err)
					}
					if d := e.Depth(); d != 2-i {
						t.Errorf("depth %d after %d releases", d, i+1)
					}
				}
				for _, e := range entries {
					wantErr(t, e.Release(t.Context()), ErrNotHeld)
				}
				<-next.done
				if next.err != nil {
					t.Fatal(next.err)
				}
				if next.entry.l == first.l || next.entry.Token() == first.Token() || next.entry.Depth() != 1 {
					t.Error("the lost hold was entered")
				}
				leave(t, next.entry)
				if n := kids(srv); n != 0 {
					t.Errorf("%d znodes left behind", n)
				}
			})
		})
	}
}

// The last release is that of the lease: it can stay pending and be waited for, and it can be pipelined.
func TestReentryReleasePending(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		r := NewReentrant(c, "/lock")
		ctx, outer := enter(t.Context(), t, r)
		_, inner := enter(ctx, t, r)
		dead, cancel := context.WithCancel(t.Context())
		cancel()
		held := srv.Hold(zktest.Match{Op: proto.OpDelete})
		if err := outer.Release(dead); err != nil {
			t.Errorf("leaving a level waits for nothing: %v", err)
		}
		wantErr(t, inner.Release(dead), ErrReleasePending, context.Canceled)
		wantErr(t, inner.Release(dead), ErrReleasePending)
		wantErr(t, outer.Release(t.Context()), ErrNotHeld)
		held.Release()
		leave(t, inner)
		wantErr(t, inner.Release(t.Context()), ErrNotHeld)

		ctx, outer = enter(t.Context(), t, r)
		_, inner = enter(ctx, t, r)
		wantFlights(t, srv, 1, func() { // of the second acquire, with the delete of the first
			for _, e := range []*Reentry{inner, outer} {
				if err := e.ReleasePipelined(); err != nil {
					t.Error(err)
				}
				wantErr(t, e.ReleasePipelined(), ErrNotHeld)
			}
			wantErr(t, context.Cause(ctx), ErrReleased)
			_, e := enter(t.Context(), t, r)
			defer func() { inner = e }()
		})
		if err := outer.Release(t.Context()); err != nil {
			t.Errorf("waiting for the pipelined release: %v", err)
		}
		wantErr(t, outer.Release(t.Context()), ErrNotHeld)
		leave(t, inner)
	})
}

// Goroutines that were given the context share the hold: they enter and leave at once, and the last one frees the lock.
func TestReentryConcurrently(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		r := NewReentrant(c, "/lock")
		ctx, outer := enter(t.Context(), t, r)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				for range 20 {
					_, e, err := r.Lock(ctx)
					if err != nil {
						t.Error(err)
						return
					}
					if d := e.Depth(); d < 2 || d > 51 {
						t.Errorf("depth %d", d)
					}
					if err := e.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		quiet(t, srv, wg.Wait)
		if d := outer.Depth(); d != 1 {
			t.Errorf("depth %d, want 1", d)
		}
		// Fifty goroutines leave a level each, all at once with the outer one: one of them is the last.
		levels := []*Reentry{outer}
		for range 50 {
			_, e := enter(ctx, t, r)
			levels = append(levels, e)
		}
		for _, e := range levels {
			wg.Go(func() {
				if err := e.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if outer.Depth() != 0 || kids(srv) != 0 || ctx.Err() == nil {
			t.Errorf("depth %d, %d znodes, %v", outer.Depth(), kids(srv), ctx.Err())
		}
	})
}

func TestReentryHandOver(t *testing.T) { // the znode goes on to another owner of this process
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		r := NewReentrant(c, "/lock", HandOver(9, time.Minute))
		ctx, outer := enter(t.Context(), t, r)
		_, inner := enter(ctx, t, r)
		w := goEnter(t.Context(), r)
		synctest.Wait()
		quiet(t, srv, func() {
			leave(t, outer)
			synctest.Wait()
			if w.over() {
				t.Error("handed over while a level was left")
			}
			leave(t, inner)
			<-w.done
			_, again := enter(w.ctx, t, r)
			leave(t, again)
		})
		wantErr(t, inner.Release(t.Context()), ErrNotHeld)
		if w.err != nil || w.entry.Node() != inner.Node() || w.entry.Token().Hand != 1 || w.entry.Depth() != 1 {
			t.Fatalf("not handed over: %v", w.err)
		}
		leave(t, w.entry)
		if n := kids(srv); n != 0 {
			t.Errorf("%d znodes left behind", n)
		}
	})
}

// The context that Lock returned ends with the hold, and is good for its release all the same.
func TestReentryReleaseWithItsOwnContext(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, twin := dial(t, srv), dial(t, srv)
		defer c.Close()
		defer twin.Close()
		r := NewReentrant(c, "/lock")
		ctx, outer := enter(t.Context(), t, r)
		_, inner := enter(ctx, t, r)
		for _, e := range []*Reentry{inner, outer} {
			if err := e.Release(ctx); err != nil {
				t.Error(err)
			}
		}
		if n := kids(srv); n != 0 {
			t.Errorf("returned before the confirmation: %d znodes", n)
		}
		wantErr(t, outer.Release(ctx), ErrNotHeld)

		// Of what is derived from it the deadline counts, and an end of its own.
		ctx, outer = enter(t.Context(), t, r)
		held := srv.Hold(zktest.Match{Op: proto.OpDelete})
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		began := time.Now()
		wantErr(t, outer.Release(short), ErrReleasePending, context.DeadlineExceeded)
		if d := time.Since(began); d != time.Second {
			t.Errorf("returned after %v", d)
		}
		time.AfterFunc(time.Second, held.Release)
		if err := outer.Release(ctx); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("waiting on, after %v: %v", time.Since(began), err)
		}
		ctx, outer = enter(t.Context(), t, r)
		held = srv.Hold(zktest.Match{Op: proto.OpDelete})
		over, cancel := context.WithCancel(ctx)
		cancel()
		wantErr(t, outer.Release(over), ErrReleasePending, context.Canceled)
		synctest.Wait() // it is this deletion that is held, and not that of the other lock
		other, inOther := enter(t.Context(), t, NewReentrant(twin, "/other"))
		leave(t, inOther)
		wantErr(t, outer.Release(other), ErrReleasePending, ErrReleased) // another hold's end is an end
		given, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		wantErr(t, outer.Release(given), ErrReleasePending, context.Canceled) // so is that of a context that has nothing to do with it
		held.Release()
		if err := outer.Release(ctx); err != nil {
			t.Error(err)
		}

		// A hold that was lost says so, whatever became of its context.
		ctx, outer = enter(t.Context(), t, r)
		srv.ExpireSession(c.SessionID())
		<-ctx.Done()
		wantErr(t, outer.Release(ctx), ErrLost, ErrSessionExpired)
		_, outer = enter(t.Context(), t, r)
		var none context.Context
		wantErr(t, outer.Release(none), client.ErrNilContext, ErrReleasePending)
		release(t, outer.l)
	})
}
