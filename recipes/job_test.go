package recipes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestSingletonJob(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dial(t, srv)
		defer a.Close()
		defer b.Close()
		one, two := NewSingletonJob(a, "/jobs/report", Data([]byte("a"))), NewSingletonJob(b, "/jobs/report")
		if one.Path() != "/jobs/report" {
			t.Error(one.Path())
		}
		if _, ok, err := two.Running(t.Context()); ok || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
		end, failure := make(chan struct{}), errors.New("no paper")
		var ran bool
		first := goCall(t.Context(), func(ctx context.Context) (err error) {
			ran, err = one.Run(ctx, func(ctx context.Context, l *Lease) error {
				if l.State() != Held || ctx.Err() != nil {
					t.Error("not held")
				}
				<-end
				return failure
			})
			return err
		})
		synctest.Wait()
		never := func(context.Context, *Lease) error { t.Error("runs twice"); return nil }
		for _, j := range []*SingletonJob{one, two} {
			if ran, err := j.Run(t.Context(), never); ran || err != nil {
				t.Errorf("%v, %v", ran, err)
			}
		}
		if p, ok, err := two.Running(t.Context()); !ok || err != nil || string(p.Data) != "a" || p.Session != a.SessionID() {
			t.Errorf("%v, %v, %v", p, ok, err)
		}
		close(end)
		first.ends(t, failure)
		if !ran {
			t.Error("did not run")
		}
		again, err := two.Run(t.Context(), func(context.Context, *Lease) error { return nil })
		if !again || err != nil || len(srv.Children("/jobs/report")) != 0 {
			t.Errorf("%v, %v, left behind: %v", again, err, srv.Children("/jobs/report"))
		}
	})
}

// The function's context ends with the hold and with the caller's, and a hold that was lost is not reported as a success.
func TestSingletonJobEnds(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		j := NewSingletonJob(c, "/job")
		type key struct{}
		until := func(ctx context.Context, cause *error) *call {
			return goCall(ctx, func(ctx context.Context) error {
				_, err := j.Run(ctx, func(ctx context.Context, _ *Lease) error {
					if ctx.Value(key{}) != "value" {
						t.Error("the values are missing")
					}
					<-ctx.Done()
					*cause = context.Cause(ctx)
					return nil
				})
				return err
			})
		}
		var cause error
		lost := until(context.WithValue(t.Context(), key{}, "value"), &cause)
		synctest.Wait()
		srv.ExpireSession(c.SessionID())
		lost.ends(t, ErrLost)
		if !errors.Is(cause, ErrSessionExpired) {
			t.Error(cause)
		}
		stopped := errors.New("stopped")
		ctx, stop := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
		ended := until(ctx, &cause)
		synctest.Wait()
		stop(stopped)
		ended.ends(t, nil)
		if !errors.Is(cause, stopped) || len(srv.Children("/job")) != 0 {
			t.Errorf("%v, left behind: %v", cause, srv.Children("/job"))
		}
	})
}

// A panic of the function does not keep the next run waiting for the expiry of the session, and neither does a lost reply.
func TestSingletonJobLeavesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		j := NewSingletonJob(c, "/job")
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic is gone")
				}
			}()
			_, _ = j.Run(t.Context(), func(context.Context, *Lease) error { panic("paper jam") })
		}()
		synctest.Wait()
		srv.CloseAfter(zktest.Match{Op: proto.OpCreate2})
		srv.CloseAfter(zktest.Match{Op: proto.OpDelete})
		ran, err := j.Run(t.Context(), func(context.Context, *Lease) error { return nil })
		if !ran || err != nil || len(srv.Children("/job")) != 0 {
			t.Errorf("%v, %v, left behind: %v", ran, err, srv.Children("/job"))
		}
	})
}
