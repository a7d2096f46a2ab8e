package client_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// write and read are one request of either kind.
func write(ctx context.Context, c *client.Client) error {
	_, err := c.Set(ctx, "/a", []byte("new"), client.AnyVersion)
	return err
}

func read(ctx context.Context, c *client.Client) error {
	_, _, err := c.Get(ctx, "/a")
	return err
}

// both runs f for a write and a read.
func both(t *testing.T, f func(t *testing.T, srv *zktest.Server, call func(context.Context, *client.Client) error, isWrite bool)) {
	t.Helper()
	for name, call := range map[string]func(context.Context, *client.Client) error{"write": write, "read": read} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				create(t, srv, "/a", "old")
				f(t, srv, call, name == "write")
			})
		})
	}
}

func data(t *testing.T, srv *zktest.Server) string {
	t.Helper()
	b, _, err := srv.Get("/a")
	must(t, err)
	return string(b)
}

func TestContextEndedBefore(t *testing.T) {
	both(t, func(t *testing.T, srv *zktest.Server, call func(context.Context, *client.Client) error, _ bool) {
		c := connect(t, srv)
		before := srv.Snapshot().Requests
		err := call(cancelled(), c)
		wantErr(t, err, context.Canceled)
		outcome(t, err, client.OutcomeNotSent, false)
		equal(t, "requests", srv.Snapshot().Requests, before)
	})
}

func TestContextEndsWhileDisconnected(t *testing.T) {
	both(t, func(t *testing.T, srv *zktest.Server, call func(context.Context, *client.Client) error, _ bool) {
		c := connect(t, srv)
		srv.Refuse(zktest.RefuseDial)
		srv.DropConnections()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := call(ctx, c)
		wantErr(t, err, context.DeadlineExceeded)
		outcome(t, err, client.OutcomeNotSent, false)
		srv.Refuse(zktest.Accept)
		must(t, c.Sync(t.Context(), "/"))
		equal(t, "data", data(t, srv), "old")
	})
}

func TestContextEndsInFlight(t *testing.T) {
	both(t, func(t *testing.T, srv *zktest.Server, call func(context.Context, *client.Client) error, isWrite bool) {
		c := connect(t, srv)
		held := srv.Hold(zktest.Match{Path: "/a"})
		ctx, cancel := context.WithCancel(t.Context())
		result := spawn(func() error { return call(ctx, c) })
		<-held.Hit()
		cancel()
		err := <-result
		wantErr(t, err, context.Canceled)
		outcome(t, err, client.OutcomeUnknown, isWrite)
		held.Release()
		must(t, call(t.Context(), c)) // the late reply disturbs nobody
		equal(t, "connections", srv.Snapshot().Connections, 1)
	})
}

func TestConnectionLostWithTheReply(t *testing.T) {
	both(t, func(t *testing.T, srv *zktest.Server, call func(context.Context, *client.Client) error, isWrite bool) {
		c := connect(t, srv)
		srv.CloseAfter(zktest.Match{Path: "/a"})
		err := call(t.Context(), c)
		wantErr(t, err, client.ErrConnectionLoss)
		outcome(t, err, client.OutcomeUnknown, isWrite)
		if isWrite {
			equal(t, "data", data(t, srv), "new")
		}
		must(t, call(t.Context(), c))
	})
}

func TestConnectionLostWithTheRequest(t *testing.T) {
	both(t, func(t *testing.T, srv *zktest.Server, call func(context.Context, *client.Client) error, isWrite bool) {
		c := connect(t, srv)
		srv.CloseBefore(zktest.Match{Path: "/a"})
		err := call(t.Context(), c)
		wantErr(t, err, client.ErrConnectionLoss)
		outcome(t, err, client.OutcomeUnknown, isWrite) // nobody can know
		equal(t, "data", data(t, srv), "old")
	})
}

func TestServerCodes(t *testing.T) {
	both(t, func(t *testing.T, srv *zktest.Server, call func(context.Context, *client.Client) error, _ bool) {
		c := connect(t, srv)
		for _, code := range []client.Code{client.ErrNoAuth, client.ErrThrottled, client.ErrQuotaExceeded, client.ErrNotReadOnly, -999} {
			srv.Fail(zktest.Match{Path: "/a"}, code)
			err := call(t.Context(), c)
			wantErr(t, err, code)
			outcome(t, err, client.OutcomeRejected, false)
		}
	})
}

func TestFailFast(t *testing.T) {
	both(t, func(t *testing.T, srv *zktest.Server, call func(context.Context, *client.Client) error, _ bool) {
		c := connect(t, srv, client.FailFast())
		srv.Refuse(zktest.RefuseDial)
		srv.DropConnections()
		synctest.Wait()
		err := call(t.Context(), c)
		wantErr(t, err, client.ErrDisconnected)
		outcome(t, err, client.OutcomeNotSent, false)
	})
}

func TestSessionExpiresWhileQueued(t *testing.T) {
	both(t, func(t *testing.T, srv *zktest.Server, call func(context.Context, *client.Client) error, _ bool) {
		c := connect(t, srv)
		srv.Refuse(zktest.RefuseDial)
		srv.DropConnections()
		synctest.Wait()
		err := call(t.Context(), c)
		wantErr(t, err, client.ErrSessionExpired)
		wantErr(t, err, net.ErrClosed)
		outcome(t, err, client.OutcomeNotSent, false)
		srv.Refuse(zktest.Accept)
		must(t, call(t.Context(), c)) // in the next session
	})
}

func TestSessionExpiresInFlight(t *testing.T) {
	both(t, func(t *testing.T, srv *zktest.Server, call func(context.Context, *client.Client) error, isWrite bool) {
		c := connect(t, srv)
		held := srv.Hold(zktest.Match{Path: "/a"})
		defer held.Release()
		result := spawn(func() error { return call(t.Context(), c) })
		<-held.Hit()
		srv.ExpireSession(c.SessionID())
		outcome(t, <-result, client.OutcomeUnknown, isWrite)
	})
}

func TestFinalExpiry(t *testing.T) {
	both(t, func(t *testing.T, srv *zktest.Server, call func(context.Context, *client.Client) error, _ bool) {
		c := connect(t, srv, client.FinalExpiry())
		srv.ExpireSession(c.SessionID())
		for range c.States(t.Context()) {
			continue // until the end
		}
		equal(t, "state", c.State(), client.StateExpired)
		err := call(t.Context(), c)
		wantErr(t, err, client.ErrSessionExpired)
		outcome(t, err, client.OutcomeNotSent, false)
		wantErr(t, c.AddAuth(t.Context(), "digest", []byte("bob:secret")), client.ErrSessionExpired)
	})
}

func TestClosedInFlight(t *testing.T) {
	both(t, func(t *testing.T, srv *zktest.Server, call func(context.Context, *client.Client) error, isWrite bool) {
		c := connect(t, srv)
		held := srv.Hold(zktest.Match{Path: "/a"})
		result := spawn(func() error { return call(t.Context(), c) })
		<-held.Hit()
		wantErr(t, c.Close(), client.ErrCloseUnconfirmed) // what is held holds up closeSession too
		err := <-result
		wantErr(t, err, client.ErrClosed)
		outcome(t, err, client.OutcomeUnknown, isWrite)
		held.Release()
	})
}

func TestReplyOverTheLimit(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv, client.ReceiveLimit(200))
		create(t, srv, "/a", string(make([]byte, 300)))
		err := read(t.Context(), c)
		outcome(t, err, client.OutcomeUnknown, false)
		_, _, err = c.Exists(t.Context(), "/a")
		must(t, err)
		equal(t, "connections", srv.Snapshot().Connections, 1)
	})
}

// frame makes a reply frame of its own for the request that frame answers.
func frame(old []byte, body []byte) []byte {
	b := append(append([]byte(nil), old[:4+proto.ReplyHeaderSize]...), body...)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

func TestReplyThatMakesNoSense(t *testing.T) {
	both(t, func(t *testing.T, srv *zktest.Server, call func(context.Context, *client.Client) error, isWrite bool) {
		c := connect(t, srv)
		srv.Corrupt(zktest.Match{Path: "/a"}, func(b []byte) []byte { return frame(b, []byte{0, 0}) })
		err := call(t.Context(), c)
		var bad *jute.DecodeError
		if !errors.As(err, &bad) {
			t.Errorf("%v", err)
		}
		outcome(t, err, client.OutcomeUnknown, isWrite)
		must(t, call(t.Context(), c))
	})
}

func TestMultiReplyThatMakesNoSense(t *testing.T) {
	for name, results := range map[string][]proto.MultiResult{
		"too few":     {},
		"too many":    {{Op: proto.OpCheck}, {Op: proto.OpCheck}},
		"other type":  {{Op: proto.OpDelete}},
		"error of ok": nil,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := connect(t, srv)
				create(t, srv, "/a", "")
				body := proto.AppendMultiReply(nil, results)
				if results == nil { // an entry of type error that holds no error
					h := proto.MultiHeader{Type: int32(proto.OpError)}
					body = append(jute.AppendInt(h.AppendTo(nil), 0), body...)
				}
				srv.Corrupt(zktest.Match{Op: proto.OpMulti}, func(b []byte) []byte { return frame(b, body) })
				_, err := c.Multi(t.Context(), client.CheckOp("/a", client.AnyVersion))
				var bad *client.ReplyError
				if !errors.As(err, &bad) {
					t.Errorf("%v", err)
				}
				outcome(t, err, client.OutcomeUnknown, true)
			})
		})
	}
}
