package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestDetachAndAttach(t *testing.T) { // C80: ephemerals stay, in another client object
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.New()
		defer srv.Close()
		ctx := t.Context()
		c, err := client.Connect(ctx, "one:2181", client.Dialer(srv.Dial))
		must(t, err)
		id := c.SessionID()
		_, _, err = c.Create(ctx, "/e", nil, client.ModeEphemeral, nil)
		must(t, err)
		ticket, err := c.Detach()
		must(t, err)
		if text := fmt.Sprintf("%v %+v %#v", ticket, ticket, ticket); strings.Contains(text, fmt.Sprint([]byte(ticket.Passwd))) {
			t.Errorf("the password is printed: %s", text)
		}
		if !errors.Is(context.Cause(c.Context()), client.ErrClosed) {
			t.Errorf("%v", context.Cause(c.Context()))
		}
		if !srv.Exists("/e") {
			t.Error("the session was closed")
		}
		c2, err := client.Connect(ctx, "one:2181", client.Dialer(srv.Dial), client.Attach(ticket))
		must(t, err)
		equal(t, "session id", c2.SessionID(), id)
		must(t, c2.Close())
		if srv.Exists("/e") {
			t.Error("the ephemeral znode outlives its session")
		}
		_, err = client.Connect(ctx, "one:2181", client.Dialer(srv.Dial), client.Attach(ticket), client.FinalExpiry())
		if !errors.Is(err, client.ErrSessionExpired) {
			t.Errorf("attach to a session that is over: %v", err)
		}
	})
}

func TestShutdownWaitsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.New()
		defer srv.Close()
		c, err := client.Connect(t.Context(), "one:2181", client.Dialer(srv.Dial))
		must(t, err)
		must(t, c.Shutdown(t.Context()))
		var none *client.Client
		for _, err := range []error{none.Shutdown(t.Context()), none.SetServers("a"), c.SetServers("a,b/chroot"), c.SetServers("")} {
			if err == nil {
				t.Error("no error")
			}
		}
		if _, err := none.Detach(); !errors.Is(err, client.ErrZeroValue) {
			t.Errorf("%v", err)
		}
		if !errors.Is(context.Cause(none.Context()), client.ErrZeroValue) {
			t.Error("context of a nil client")
		}
	})
}

func TestSetServersWhileRunning(t *testing.T) { // C86
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.New()
		defer srv.Close()
		c, err := client.Connect(t.Context(), "one:2181", client.Dialer(srv.Dial))
		must(t, err)
		id := c.SessionID()
		must(t, c.SetServers("two:2181"))
		<-time.After(time.Second)
		_, _, err = c.Exists(t.Context(), "/")
		must(t, err)
		equal(t, "session id", c.SessionID(), id)
		for _, s := range srv.Sessions() {
			equal(t, "member", s.Member, "two:2181")
		}
		must(t, c.Close())
	})
}

func TestRefusalLoopIsReported(t *testing.T) { // C75, F21, C161
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.New()
		defer srv.Close()
		var log bytes.Buffer
		c, err := client.Connect(t.Context(), "one:2181", client.Dialer(srv.Dial), client.SessionTimeout(40*time.Second),
			client.Backoff(10*time.Millisecond, time.Second), client.Auth("digest", []byte("user:verysecret")),
			client.Logger(slog.New(slog.NewTextHandler(&log, nil))))
		must(t, err)
		_, _, err = c.Create(t.Context(), "/a", nil, client.ModePersistent, nil)
		must(t, err)
		srv.SetZxid(1) // restored from an older copy
		srv.DropConnections()
		<-time.After(30 * time.Second)
		wantErr(t, c.Close(), client.ErrCloseUnconfirmed)
		text := log.String()
		if !strings.Contains(text, "lastZxidSeen") {
			t.Errorf("not reported:\n%s", text)
		}
		if !strings.Contains(text, "connected=") || !strings.Contains(text, "replies=") {
			t.Errorf("the end of a connection does not say how long it was, or what it carried:\n%s", text)
		}
		if strings.Contains(text, "verysecret") {
			t.Error("the log has a password") // C162
		}
		if n := strings.Count(text, "\n"); n > 100 {
			t.Errorf("%d lines", n)
		}
	})
}

func TestTracerIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.New()
		defer srv.Close()
		var states []client.State
		c, err := client.Connect(t.Context(), "one:2181", client.Dialer(srv.Dial),
			client.Tracer(client.Trace{State: func(ch client.Change) { states = append(states, ch.State) }}))
		must(t, err)
		must(t, c.Close())
		equal(t, "states", states, []client.State{client.StateConnecting, client.StateConnected, client.StateClosed})
	})
}
