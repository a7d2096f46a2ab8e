package recipes

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// TestLeadOneAtATime: functions of several candidates run one at a time, and only while their candidate leads.
func TestLeadOneAtATime(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		var running, runs atomic.Int32
		var all sync.WaitGroup
		for i := range 6 {
			c := dialTo(t, srv, chaosMembers[i%3])
			defer c.Close()
			e := NewElection(c, "/el", []byte{byte('a' + i)})
			all.Go(func() {
				for range 3 {
					err := e.Lead(t.Context(), func(ctx context.Context, l *Leadership) error {
						if running.Add(1) != 1 || l.State() != Held || ctx.Err() != nil {
							t.Errorf("%d lead; %v, %v", running.Load(), l.State(), ctx.Err())
						}
						if p := must(e.Leader(t.Context())); string(p.Data) != string([]byte{byte('a' + i)}) || p.Node != l.Node() {
							t.Errorf("candidate %d leads, observed is %+v", i, p)
						}
						<-time.After(time.Second)
						runs.Add(1)
						running.Add(-1)
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if runs.Load() != 18 {
			t.Errorf("%d runs", runs.Load())
		}
		nothingLeft(t, srv)
	})
}

var errLead = errors.New("f's error")

// TestLeadEnds: what ends f's context, with which cause, and what Lead returns.
func TestLeadEnds(t *testing.T) {
	type key struct{}
	for name, tc := range map[string]struct {
		opts   []Option
		end    func(srv *zktest.Server, c *client.Client, l *Leadership, cancel context.CancelCauseFunc)
		result error // f's
		cause  error // of f's context; nil: it has not ended before f
		want   []error
		not    []error
	}{
		"f returns": {nil, nil, nil, nil, nil, nil},
		"f fails":   {nil, nil, errLead, nil, []error{errLead}, []error{ErrLost}},
		"f resigns": {nil, func(_ *zktest.Server, _ *client.Client, l *Leadership, _ context.CancelCauseFunc) {
			_ = l.ReleasePipelined()
		}, nil, ErrReleased, nil, nil},
		"session expires": {nil, func(srv *zktest.Server, c *client.Client, _ *Leadership, _ context.CancelCauseFunc) {
			srv.ExpireSession(c.SessionID())
		}, errLead, ErrSessionExpired, []error{errLead, ErrLost, ErrSessionExpired}, nil},
		"client is closed": {nil, func(_ *zktest.Server, c *client.Client, _ *Leadership, _ context.CancelCauseFunc) { _ = c.Close() }, nil, ErrClosed, []error{ErrLost, ErrClosed}, nil},
		"deadline": {nil, func(srv *zktest.Server, _ *client.Client, _ *Leadership, _ context.CancelCauseFunc) {
			<-time.After(5 * timeout) // the lease clock and that of the session are apart by now
			srv.Refuse(zktest.RefuseDial)
			srv.DropConnections()
			time.AfterFunc(2*timeout, func() { srv.Refuse(zktest.Accept) })
		}, nil, ErrDeadline, []error{ErrLost, ErrDeadline}, nil},
		"connection, with Strict": {[]Option{Strict()}, func(srv *zktest.Server, _ *client.Client, _ *Leadership, _ context.CancelCauseFunc) {
			srv.DropConnections()
		}, nil, ErrDisconnected, []error{ErrLost, ErrDisconnected}, nil},
		"too long, with MaxHold": {[]Option{MaxHold(time.Minute)}, func(*zktest.Server, *client.Client, *Leadership, context.CancelCauseFunc) {}, nil, ErrMaxHold, []error{ErrLost, ErrMaxHold}, nil},
		"znode, with WatchOwnNode": {[]Option{WatchOwnNode()}, func(srv *zktest.Server, _ *client.Client, l *Leadership, _ context.CancelCauseFunc) {
			_ = srv.Delete(l.Node())
		}, nil, ErrNodeGone, []error{ErrLost, ErrNodeGone}, nil},
		"ctx": {nil, func(_ *zktest.Server, _ *client.Client, _ *Leadership, cancel context.CancelCauseFunc) {
			cancel(errLead)
		}, nil, errLead, nil, nil},
		"ctx, and f says so": {nil, func(_ *zktest.Server, _ *client.Client, _ *Leadership, cancel context.CancelCauseFunc) { cancel(nil) }, context.Canceled, context.Canceled, []error{context.Canceled}, []error{ErrLost}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c, other := dial(t, srv), dialTo(t, srv, "two:2181")
				defer c.Close()
				defer other.Close()
				ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
				defer cancel(nil)
				var inner context.Context
				var next *candidate
				err := NewElection(c, "/el", nil, tc.opts...).Lead(ctx, func(ctx context.Context, l *Leadership) error {
					inner = ctx
					if ctx.Value(key{}) != "value" || ctx.Err() != nil || l.State() != Held {
						t.Errorf("%v, %v, %v", ctx.Value(key{}), ctx.Err(), l.State())
					}
					next = campaign(t.Context(), NewElection(other, "/el", nil))
					if tc.end == nil {
						return tc.result
					}
					tc.end(srv, c, l, cancel)
					select {
					case <-ctx.Done():
					case <-time.After(time.Hour):
						t.Error("f's context has not ended")
					}
					if !errors.Is(context.Cause(ctx), tc.cause) || ctx.Err() == nil {
						t.Errorf("cause %v", context.Cause(ctx))
					}
					return tc.result
				})
				if (err == nil) != (len(tc.want) == 0 && !errors.Is(err, ErrNotHeld)) {
					t.Errorf("%v", err)
				}
				for _, want := range tc.want {
					if !errors.Is(err, want) {
						t.Errorf("%v, want %v", err, want)
					}
				}
				for _, not := range tc.not {
					if errors.Is(err, not) {
						t.Errorf("%v", err)
					}
				}
				if inner.Err() == nil {
					t.Error("f's context goes on")
				}
				resign(t, next.leads(t))
				<-time.After(2 * timeout)
				nothingLeft(t, srv)
			})
		})
	}
}

// TestLeadDuringAnOutage: when ctx ends while no server answers, Lead returns within the grace; the clean-up goes on by itself.
func TestLeadDuringAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		ctx, cancel := context.WithCancel(t.Context())
		var ended time.Time
		err := NewElection(c, "/el", nil).Lead(ctx, func(ctx context.Context, _ *Leadership) error {
			srv.Refuse(zktest.RefuseClose)
			srv.DropConnections()
			time.AfterFunc(time.Hour, func() { srv.Refuse(zktest.Accept) })
			synctest.Wait()
			cancel()
			<-ctx.Done()
			ended = time.Now()
			return nil
		})
		if d := time.Since(ended); d > CleanupGrace || !errors.Is(err, ErrReleasePending) {
			t.Errorf("after %v: %v", d, err)
		}
		srv.Refuse(zktest.Accept)
		<-time.After(time.Minute)
		nothingLeft(t, srv)
	})
}

func TestLeadFails(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		l := must(NewElection(a, "/el", nil).Campaign(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := NewElection(b, "/el", nil).Lead(ctx, func(context.Context, *Leadership) error {
			t.Error("led")
			return nil
		})
		var e *Error
		if !errors.As(err, &e) || e.Op != "campaign" || e.Path != "/el" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		resign(t, l)
		nothingLeft(t, srv)
	})
}

// TestLeadIsLeftOtherwise: f panics, or ends its goroutine: the next one leads without waiting for the session.
func TestLeadIsLeftOtherwise(t *testing.T) { // K60
	for name, leave := range map[string]func(){"panic": func() { panic("f") }, "Goexit": runtime.Goexit} {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			a, b := dial(t, srv), dialTo(t, srv, "two:2181")
			defer a.Close()
			defer b.Close()
			e := NewElection(a, "/el", nil)
			var caught any
			var inner context.Context
			done := make(chan struct{})
			var next *candidate
			go func() {
				defer close(done)
				defer func() { caught = recover() }()
				_ = e.Lead(t.Context(), func(ctx context.Context, _ *Leadership) error {
					inner = ctx
					next = campaign(t.Context(), NewElection(b, "/el", nil))
					leave()
					return nil
				})
			}()
			<-done
			synctest.Wait()
			if (caught == "f") != (name == "panic") || inner.Err() == nil || !next.over() {
				t.Errorf("%s: %v, %v, the next leads: %v", name, caught, inner.Err(), next.over())
			}
			resign(t, next.leads(t))
			resign(t, must(e.TryCampaign(t.Context()))) // the same candidate may do so again
			nothingLeft(t, srv)
		})
	}
}
