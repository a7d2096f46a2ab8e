package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

func TestErrorText(t *testing.T) {
	path := client.ValidatePath("/a\n")
	for want, err := range map[string]error{
		"zk: set /a/b: no node": &client.Error{Op: "set", Path: "/a/b", Err: client.ErrNoNode},
		"zk: multi: op 1 (check /l): bad version": &client.Error{Op: "multi",
			Err: &client.MultiError{Index: 1, Op: "check", Path: "/l", Err: client.ErrBadVersion}},
		"zk: get: path \"/a\\n\": forbidden character at byte 2":    &client.Error{Op: "get", Path: "/a\n", Err: path},
		"op 0 (set): path \"/a\\n\": forbidden character at byte 2": &client.MultiError{Op: "set", Path: "/a\n", Err: path},
		"zk: get /a: code -999":                                     &client.Error{Op: "get", Path: "/a", Err: client.Code(-999)},
		"zk: close":                                                 &client.Error{Op: "close"},
		"option TLS: nil configuration":                             &client.OptionError{Option: "TLS", Reason: "nil configuration"},
		"EOF":                                                       &client.ConnectError{Cause: io.EOF},
		"EOF (zk:1: no node)": &client.ConnectError{Cause: io.EOF,
			Servers: &client.ServersError{Servers: []*client.ServerError{{Server: "zk:1", Err: client.ErrNoNode}}}},
		"reply does not fit the request: why": &client.ReplyError{Reason: "why"},
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}

func TestErrorsAreFoundInChains(t *testing.T) {
	err := fmt.Errorf("orders: %w", &client.Error{Op: "multi", Err: &client.MultiError{Err: client.ErrNoNode}})
	wantErr(t, err, client.ErrNoNode)
	if errors.Is(err, client.ErrNodeExists) {
		t.Error("matches another code")
	}
	var e *client.Error
	if !errors.As(err, &e) || e.Op != "multi" {
		t.Errorf("%v", e)
	}
	var code client.Code
	if !errors.As(err, &code) || code != client.ErrNoNode {
		t.Errorf("%v", code)
	}
	both := &client.ConnectError{Cause: context.Canceled, Servers: &client.ServersError{
		Servers: []*client.ServerError{{Server: "zk:1", Err: io.EOF}}}}
	wantErr(t, both, context.Canceled)
	wantErr(t, both, io.EOF)
}

func TestMaybeAppliedAndSafeToRetry(t *testing.T) {
	notSent := &client.Error{Op: "set", Err: context.Canceled, Outcome: client.OutcomeNotSent}
	rejected := &client.Error{Op: "set", Err: client.ErrNoNode, Outcome: client.OutcomeRejected}
	readLost := &client.Error{Op: "get", Err: client.ErrConnectionLoss, Outcome: client.OutcomeUnknown}
	for name, tc := range map[string]struct {
		err  error
		safe bool
	}{
		"nil":      {nil, false},
		"foreign":  {io.EOF, false},
		"not sent": {notSent, true},
		"wrapped":  {fmt.Errorf("x: %w", notSent), true},
		"rejected": {rejected, false},
		"read":     {readLost, false},
		"joined":   {errors.Join(io.EOF, notSent), true},
		"mixed":    {errors.Join(notSent, rejected), false},
		"code":     {client.ErrNoNode, false},
	} {
		if client.SafeToRetry(tc.err) != tc.safe || client.MaybeApplied(tc.err) {
			t.Errorf("%s: %v, %v", name, client.SafeToRetry(tc.err), client.MaybeApplied(tc.err))
		}
	}
}

// Nothing panics, everything says why.
func TestNilAndZeroValues(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]*client.Client{"nil": nil, "zero": {}} {
		for op, call := range operations(c, "/a") {
			err := call(ctx)
			if !errors.Is(err, client.ErrZeroValue) || client.MaybeApplied(err) {
				t.Errorf("%s client, %s: %v", name, op, err)
			}
		}
		wantErr(t, c.Close(), client.ErrZeroValue)
		wantErr(t, c.AddAuth(ctx, "digest", nil), client.ErrZeroValue)
		wantErr(t, c.Group().Do(ctx), client.ErrZeroValue)
		equal(t, "state", c.State(), client.StateClosed)
		for range c.States(ctx) {
			t.Error("a state")
		}
		equal(t, "session", c.SessionID(), 0)
		equal(t, "timeout", c.SessionTimeout(), 0)
		equal(t, "counters", c.Counters(), client.Counters{})
		equal(t, "cleanups", c.CleanupsPending(), 0)
		equal(t, "chroot", c.Chroot(), "")
		equal(t, "ACL", len(c.DefaultACL()), 0)
		equal(t, "path", c.FullPath("/a"), "/a")
		equal(t, "generation", c.Generation(), client.Generation{})
		_, _, err := c.GetInto(ctx, "/a", []byte("buf"))
		wantErr(t, err, client.ErrZeroValue)
		c.GuardOp("/a", 0)
	}
}

func TestZeroGroupAndHandles(t *testing.T) {
	ctx := t.Context()
	for _, g := range []*client.Group{nil, {}} {
		for name, err := range results(g) {
			if !errors.Is(err, client.ErrZeroValue) {
				t.Errorf("%s: %v", name, err)
			}
		}
		wantErr(t, g.Do(ctx), client.ErrZeroValue)
		wantErr(t, g.Submit(ctx, client.NewQueue(), 0), client.ErrZeroValue)
		g.Reclaim(new(client.Cleanup))
	}
	_, _, err := client.GetCall{}.Data()
	wantErr(t, err, client.ErrZeroValue)
	equal(t, "owner", client.GetCall{}.Owner(), 0)
	equal(t, "connection", client.GetCall{}.Conn(), 0)
	equal(t, "zxid", client.DeleteCall{}.Zxid(), 0)
}

// results adds one request of each kind to g and returns what their handles say.
func results(g *client.Group) map[string]error {
	_, _, exists := g.Exists("/a").Stat()
	_, _, get := g.Get("/a", nil).Data()
	_, getStat := g.Get("/a", nil).Stat()
	_, set := g.Set("/a", nil, -1).Stat()
	_, _, create := g.Create("/a", nil, client.ModePersistent, nil).Path()
	_, _, children := g.Children("/a").Names()
	_, scan := g.Children("/a").Scan()
	_, _, getACL := g.GetACL("/a").ACL()
	_, setACL := g.SetACL("/a", nil, -1).Stat()
	_, multi := g.Multi(client.CheckOp("/a", -1)).Results()
	_, armed := g.GetArmed("/a", new(client.OneShot)).Stat()
	return map[string]error{"exists": exists, "get": get, "get stat": getStat, "set": set, "create": create, "children": children,
		"scan": scan, "getACL": getACL, "setACL": setACL, "multi": multi, "armed": armed,
		"delete": g.Delete("/a", -1).Err(), "sync": g.Sync("/a").Err()}
}

func TestZeroWatch(t *testing.T) {
	for _, w := range []*client.Watch{nil, {}} {
		w.Close()
		<-w.Done()
		wantErr(t, w.Event().Err, client.ErrZeroValue)
		_, err := w.Wait(t.Context())
		wantErr(t, err, client.ErrZeroValue)
	}
}

func TestZeroGeneration(t *testing.T) {
	var gn client.Generation
	equal(t, "number", gn.Number(), 0)
	equal(t, "session", gn.SessionID(), 0)
	equal(t, "timeout", gn.Timeout(), 0)
	wantErr(t, gn.Err(), client.ErrZeroValue)
	<-gn.Ended()
	wantErr(t, gn.Group().Do(t.Context()), client.ErrZeroValue)
	wantErr(t, gn.Hold(new(client.Hold), 1), client.ErrZeroValue)
	equal(t, "unheld", gn.Unhold(new(client.Hold)), false)
	gn.Contend(1)
	equal(t, "deadline", gn.LeaseDeadline(), time.Time{})
	equal(t, "left", gn.LeaseLeft(), 0)
	equal(t, "deletes", gn.Delete(new(client.Cleanup), "/a", nil), false)
	equal(t, "deletes", gn.DeleteMatching(new(client.Cleanup), "/a", "x"), false)
	gn.Unwatch(new(client.OneShot))
}

func TestNilContext(t *testing.T) {
	var none context.Context
	_, err := client.Connect(none, "zk")
	wantErr(t, err, client.ErrNilContext)
	c, err := client.Lazy("zk", client.Dialer(func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	must(t, err)
	defer c.Close()
	for op, call := range operations(c, "/a") {
		if err := call(none); !errors.Is(err, client.ErrNilContext) || !client.SafeToRetry(err) {
			t.Errorf("%s: %v", op, err)
		}
	}
	wantErr(t, c.AddAuth(none, "digest", nil), client.ErrNilContext)
	g := c.Group()
	g.Exists("/a")
	wantErr(t, g.Do(none), client.ErrNilContext)
	g.Exists("/a")
	wantErr(t, g.Submit(none, client.NewQueue(), 0), client.ErrNilContext)
	for range c.States(none) {
		t.Error("a state")
	}
}
