package recipes

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// downgradeFaults are what can happen to the connection during a downgrade.
var downgradeFaults = map[string]func(*zktest.Server) *zktest.Rule{
	"before it is executed":   func(srv *zktest.Server) *zktest.Rule { return srv.CloseBefore(zktest.Match{Op: proto.OpMulti}) },
	"before its reply":        func(srv *zktest.Server) *zktest.Rule { return srv.CloseAfter(zktest.Match{Op: proto.OpMulti}) },
	"between the two replies": func(srv *zktest.Server) *zktest.Rule { return srv.CloseBefore(zktest.Match{Op: proto.OpExists}) },
	"before the second reply": func(srv *zktest.Server) *zktest.Rule { return srv.CloseAfter(zktest.Match{Op: proto.OpExists}) },
}

func TestDowngradeFindsOutAfterALostReply(t *testing.T) { // D3: repeated until its outcome is known
	for first, fault := range downgradeFaults {
		for second, more := range downgradeFaults {
			t.Run(first+", then "+second, func(t *testing.T) {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					a, b, closeAll := rwPair(t, srv)
					defer closeAll()
					l := get(t, a.Lock)
					old := l.Node()
					w := queued(t.Context(), b.Lock)
					faults := []*zktest.Rule{fault(srv), more(srv)}
					downgrade(t, l)
					downgraded(t, srv, l, old)
					for _, f := range faults {
						if f.Hits() != 1 {
							t.Errorf("the fault came %d times", f.Hits())
						}
					}
					waits(t, "a writer", w)
					if n := kids(srv); n != 2 {
						t.Errorf("%v", srv.Children("/lock"))
					}
					release(t, l)
					release(t, granted(t, "the writer", w))
					leftBehind(t, srv)
				})
			})
		}
	}
}

// The context ends while it is unknown what became of the transaction: the hold stands, as whatever it is, and both calls that may
// follow find out.
func TestDowngradeContextEndsWhileUnknown(t *testing.T) {
	for name, fault := range downgradeFaults {
		for _, then := range []string{"release", "release, pipelined", "downgrade"} {
			t.Run(name+", then "+then, func(t *testing.T) {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					a, b, closeAll := rwPair(t, srv)
					defer closeAll()
					l := get(t, a.Lock)
					old := l.Node()
					w := queued(t.Context(), b.Lock)
					fault(srv)
					srv.Member("one:2181").Refuse(zktest.RefuseClose)
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					err := l.Downgrade(ctx)
					if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrLost) {
						t.Fatalf("%v", err)
					}
					if l.State() != Unsure || l.Context().Err() != nil || l.Node() != old || l.Shared() {
						t.Fatalf("%v, %v, %s", l.State(), l.Context().Err(), l.Node())
					}
					waits(t, "a writer", w)
					srv.Member("one:2181").Refuse(zktest.Accept)
					switch then {
					case "downgrade":
						downgrade(t, l)
						downgraded(t, srv, l, old)
						waits(t, "a writer", w)
						release(t, l)
					case "release":
						release(t, l)
					default:
						must(0, l.ReleasePipelined())
						await(t, "the writer", w)
					}
					release(t, granted(t, "the writer", w))
					if err := l.Release(t.Context()); err != nil && !errors.Is(err, ErrNotHeld) {
						t.Errorf("%v", err)
					}
					leftBehind(t, srv)
				})
			})
		}
	}
}

// The lease ends, with its session or before it: Downgrade waits for nothing any more, and says so.
func TestDowngradeWhileTheSessionExpires(t *testing.T) {
	unreachable := func(srv *zktest.Server, _ *client.Client) {
		srv.Member("one:2181").Refuse(zktest.RefuseClose)
		srv.Member("one:2181").DropConnections()
	}
	for name, end := range map[string]struct {
		opts  []Option
		f     func(*zktest.Server, *client.Client)
		want  error
		after time.Duration // at most
	}{
		"expired":      {nil, func(srv *zktest.Server, c *client.Client) { srv.ExpireSession(c.SessionID()) }, ErrSessionExpired, time.Second},
		"closed":       {nil, func(_ *zktest.Server, c *client.Client) { go c.Close() }, ErrClosed, timeout},
		"unreachable":  {nil, unreachable, ErrDeadline, timeout},
		"disconnected": {[]Option{Strict()}, unreachable, ErrDisconnected, 0},
	} {
		for _, hold := range []func(*zktest.Server, zktest.Match) *zktest.Held{(*zktest.Server).Hold, (*zktest.Server).HoldReply} {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					a, b, closeAll := rwPair(t, srv, end.opts...)
					defer closeAll()
					l := get(t, a.Lock)
					w := queued(t.Context(), b.Lock)
					<-time.After(3 * timeout) // so that the lease's deadline is not that of the session
					held := hold(srv, zktest.Match{Op: proto.OpMulti})
					d := goDowngrade(t.Context(), l)
					began := time.Now()
					end.f(srv, a.base().c)
					await(t, "Downgrade", d)
					if !errors.Is(d.err, ErrLost) || !errors.Is(d.err, end.want) {
						t.Errorf("%v, want %v", d.err, end.want)
					}
					if late := time.Since(began); late > end.after {
						t.Errorf("after %v", late)
					}
					ended(t, l, end.want)
					held.Release()
					srv.Member("one:2181").Refuse(zktest.Accept)
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					if err := l.Release(ctx); !errors.Is(err, ErrLost) || !errors.Is(err, end.want) {
						t.Errorf("Release: %v", err)
					}
					await(t, "the writer", w)
					release(t, granted(t, "the writer", w))
					leftBehind(t, srv)
				})
			})
		}
	}
}

// blocker is a hold that takes its time to be told of its end.
type blocker chan struct{}

func (b blocker) HoldChanged(s State, _ error) {
	if s == Lost {
		<-b
	}
}

// Between the end of the session and the news of it for the lease, requests are refused already.
func TestDowngradeBeforeTheLeaseIsToldOfTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, _, closeAll := rwPair(t, srv)
		defer closeAll()
		l := get(t, a.Lock)
		gate := make(blocker)
		newer := client.Hold{Holder: gate} // is told first
		must(0, l.gen.Hold(&newer, l.by.contender().conn))
		srv.ExpireSession(l.gen.SessionID())
		<-time.After(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := l.Downgrade(ctx)
		close(gate)
		if !errors.Is(err, ErrLost) || !errors.Is(err, ErrSessionExpired) {
			t.Errorf("%v", err)
		}
		ended(t, l, ErrSessionExpired)
		_ = l.Release(t.Context())
	})
}

// An operator deletes the writer's znode, and somebody else gets the lock: no downgrade gives it back.
func TestDowngradeOfAZnodeThatIsGone(t *testing.T) {
	for _, when := range []string{"before", "at the same time", "after it was executed", "after it was executed, and the reply lost"} {
		t.Run(when, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b, closeAll := rwPair(t, srv)
				defer closeAll()
				l := get(t, a.Lock)
				w := queued(t.Context(), b.Lock)
				match := zktest.Match{Op: proto.OpMulti}
				gone, hold := l.Node(), srv.Hold
				switch when {
				case "before":
					must(0, srv.Delete(gone))
				case "after it was executed":
					match.Op, gone = proto.OpExists, readerOf(gone)
				case "after it was executed, and the reply lost":
					srv.CloseAfter(match)
					match.Op, gone = proto.OpMulti, readerOf(gone)
				}
				held := hold(match)
				d := goDowngrade(t.Context(), l)
				<-held.Hit()
				if when != "before" {
					must(0, srv.Delete(gone))
				}
				held.Release()
				await(t, "Downgrade", d)
				if !errors.Is(d.err, ErrLost) || !errors.Is(d.err, ErrNodeGone) {
					t.Errorf("%v", d.err)
				}
				ended(t, l, ErrNodeGone)
				wl := granted(t, "the writer", w)
				if err := l.Downgrade(t.Context()); !errors.Is(err, ErrLost) || !errors.Is(err, ErrNodeGone) {
					t.Errorf("again: %v", err)
				}
				if n := kids(srv); n != 1 || !srv.Exists(wl.Node()) {
					t.Errorf("%v", srv.Children("/lock"))
				}
				if err := l.Release(t.Context()); !errors.Is(err, ErrLost) || !errors.Is(err, ErrNodeGone) {
					t.Errorf("Release: %v", err)
				}
				release(t, wl)
				leftBehind(t, srv)
			})
		})
	}
}
