package recipes

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// A release does not wait for a downgrade that is under way, and neither leaves anything behind.
func TestDowngradeWhileReleased(t *testing.T) {
	for name, hold := range map[string]func(*zktest.Server, zktest.Match) *zktest.Held{
		"not executed": (*zktest.Server).Hold, "executed": (*zktest.Server).HoldReply, "committed late": (*zktest.Server).HoldCommit,
	} {
		for _, op := range []proto.Op{proto.OpMulti, proto.OpExists} {
			for _, opts := range [][]Option{nil, {WatchOwnNode()}, {Revocable(nil)}} {
				t.Run(fmt.Sprint(name, " ", op, " ", len(opts)), func(t *testing.T) {
					bubble(t, func(t *testing.T, srv *zktest.Server) {
						a, b, closeAll := rwPair(t, srv, opts...)
						defer closeAll()
						l := get(t, a.Lock)
						w := queued(t.Context(), b.Lock)
						held := hold(srv, zktest.Match{Op: op})
						d := goDowngrade(t.Context(), l)
						if d.over() {
							t.Fatal("not held")
						}
						ctx, cancel := context.WithTimeout(t.Context(), time.Second)
						defer cancel()
						if err := l.Release(ctx); !errors.Is(err, ErrReleasePending) || !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("Release: %v", err)
						}
						if !d.over() || !errors.Is(d.err, ErrNotHeld) || errors.Is(d.err, ErrLost) {
							t.Fatalf("Downgrade: over %v, %v", d.over(), d.err)
						}
						ended(t, l, ErrReleased)
						held.Release()
						release(t, l)
						await(t, "the writer", w)
						release(t, granted(t, "the writer", w))
						leftBehind(t, srv)
						if n := srv.Snapshot().Watches.Data; n != 0 {
							t.Errorf("%d watches left", n)
						}
					})
				})
			}
		}
	}
}

// The release comes at the very moment of the answer, from another goroutine.
func TestDowngradeAndReleaseAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, _, closeAll := rwPair(t, srv, WatchOwnNode())
		defer closeAll()
		for i := range 200 {
			l := get(t, a.Lock)
			held := srv.HoldReply(zktest.Match{Op: proto.OpMulti})
			d := goDowngrade(t.Context(), l)
			go func() {
				for range i % 20 {
					runtime.Gosched()
				}
				_ = l.ReleasePipelined()
			}()
			held.Release()
			await(t, "Downgrade", d)
			if d.err != nil && !errors.Is(d.err, ErrNotHeld) {
				t.Fatal(d.err)
			}
			release(t, l)
			synctest.Wait()
			if n := kids(srv); n != 0 || srv.Snapshot().Watches.Data != 0 {
				t.Fatalf("left behind: %v, watches %v", srv.Children("/lock"), srv.Watches())
			}
		}
	})
}

// The lease ends while the answer is on its way, for a reason that leaves the session alive: whatever the transaction has left,
// the release deletes.
func TestDowngradeWhileTheLeaseEnds(t *testing.T) {
	for name, hold := range map[string]func(*zktest.Server, zktest.Match) *zktest.Held{
		"not executed": (*zktest.Server).Hold, "executed": (*zktest.Server).HoldReply,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b, closeAll := rwPair(t, srv, MaxHold(time.Second))
				defer closeAll()
				l := get(t, a.Lock)
				w := queued(t.Context(), b.Lock)
				held := hold(srv, zktest.Match{Op: proto.OpMulti})
				d := goDowngrade(t.Context(), l)
				await(t, "Downgrade", d)
				if !errors.Is(d.err, ErrLost) || !errors.Is(d.err, ErrMaxHold) {
					t.Errorf("%v", d.err)
				}
				held.Release()
				if err := l.Release(t.Context()); !errors.Is(err, ErrLost) || !errors.Is(err, ErrMaxHold) {
					t.Errorf("Release: %v", err)
				}
				await(t, "the writer", w)
				release(t, granted(t, "the writer", w))
				leftBehind(t, srv)
			})
		})
	}
	// The answer is there, and Downgrade has not looked at it yet.
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, _, closeAll := rwPair(t, srv)
		defer closeAll()
		l := get(t, a.Lock)
		held := srv.HoldReply(zktest.Match{Op: proto.OpMulti})
		d := goDowngrade(t.Context(), l)
		l.mu.Lock() // Downgrade goes no further than to the answer
		held.Release()
		l.end.cause = ErrDeadline
		l.turnTo(Lost)
		l.mu.Unlock()
		await(t, "Downgrade", d)
		if !errors.Is(d.err, ErrLost) || !errors.Is(d.err, ErrDeadline) {
			t.Errorf("%v", d.err)
		}
		if err := l.Release(t.Context()); !errors.Is(err, ErrLost) || !errors.Is(err, ErrDeadline) {
			t.Errorf("Release: %v", err)
		}
		leftBehind(t, srv)
	})
}
