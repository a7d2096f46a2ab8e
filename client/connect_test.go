package client_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestConnectTriesAllServers(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		srv.Member("zk1:2181").Refuse(zktest.RefuseDial)
		srv.Member("zk2:2181").Refuse(zktest.RefuseClose)
		c := connectTo(t, srv, "zk1,zk2,zk3")
		equal(t, "state", c.State(), client.StateConnected)
		equal(t, "server", srv.Sessions()[0].Member, "zk3:2181")
		equal(t, "session", c.SessionID(), srv.Sessions()[0].ID)
	})
}

func TestConnectSaysPerServerWhy(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		srv.Member("refuses:2181").Refuse(zktest.RefuseDial)
		srv.Member("closes:2181").Refuse(zktest.RefuseClose)
		srv.Member("hangs:2181").Refuse(zktest.RefuseStall)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		c, err := client.Connect(ctx, "refuses,closes,hangs", client.Dialer(srv.Dial))
		if c != nil {
			t.Error("a client and an error")
		}
		wantErr(t, err, context.DeadlineExceeded)
		wantErr(t, err, syscall.ECONNREFUSED)
		var all *client.ServersError
		if !errors.As(err, &all) || len(all.Servers) != 3 {
			t.Fatalf("%v", err)
		}
		for _, s := range all.Servers {
			if s.Err == nil || !strings.Contains(err.Error(), s.Server) {
				t.Errorf("%s is missing in %v", s.Server, err)
			}
		}
		equal(t, "safe to retry", client.SafeToRetry(err), true)
	})
}

func TestConnectNamesAServerOfWhichNothingIsHeard(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		srv.Member("zk1:2181").Refuse(zktest.RefuseStall)
		srv.Member("zk2:2181").Refuse(zktest.RefuseStall)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := client.Connect(ctx, "zk1,zk2", client.Dialer(srv.Dial))
		wantErr(t, err, context.DeadlineExceeded)
		text := err.Error()
		if !strings.HasPrefix(text, "zk: connect: context deadline exceeded (") || !strings.Contains(text, "zk1:2181: ") || !strings.Contains(text, "zk2:2181: ") {
			t.Error(text)
		}
	})
}

func TestConnectWithADeadContextConnectsToNothing(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		_, err := client.Connect(cancelled(), "zk", client.Dialer(srv.Dial))
		wantErr(t, err, context.Canceled)
		equal(t, "connections", srv.Snapshot().Connections, 0)
	})
}

// Its context bounds connecting only.
func TestConnectContextMayEndLater(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		ctx, cancel := context.WithCancel(t.Context())
		c, err := client.Connect(ctx, "zk", client.Dialer(srv.Dial))
		must(t, err)
		defer c.Close()
		cancel()
		pass(time.Minute)
		equal(t, "state", c.State(), client.StateConnected)
		_, _, err = c.Exists(t.Context(), "/")
		must(t, err)
	})
}

func TestLazy(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		srv.Member("zk:2181").Refuse(zktest.RefuseDial)
		c, err := client.Lazy("zk", client.Dialer(srv.Dial))
		must(t, err)
		defer c.Close()
		equal(t, "state", c.State(), client.StateConnecting)
		equal(t, "session", c.SessionID(), 0)
		result := spawn(func() error { _, _, err := c.Exists(t.Context(), "/"); return err })
		pass(time.Hour) // there is no limit but the caller's
		srv.Refuse(zktest.Accept)
		must(t, <-result)
	})
}

func TestCloseIsIdempotent(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		_, _, err := c.Create(t.Context(), "/e", nil, client.ModeEphemeral, nil)
		must(t, err)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		must(t, c.Close())
		equal(t, "sessions", len(srv.Sessions()), 0)
		equal(t, "the ephemeral exists", srv.Exists("/e"), false)
		_, _, err = c.Get(t.Context(), "/")
		wantErr(t, err, client.ErrClosed)
		wantErr(t, err, net.ErrClosed)
		outcome(t, err, client.OutcomeNotSent, false)
	})
}

func TestCloseWithoutAnAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv, client.CloseBound(3*time.Second))
		srv.Stall(true)
		start := time.Now()
		err := c.Close()
		wantErr(t, err, client.ErrCloseUnconfirmed)
		equal(t, "MaybeApplied", client.MaybeApplied(err), true)
		equal(t, "time", time.Since(start), 3*time.Second)
		wantErr(t, c.Close(), client.ErrCloseUnconfirmed)
		srv.Stall(false)
	})
}

func TestCloseWithoutAConnection(t *testing.T) {
	for name, how := range map[string]zktest.Refusal{
		"refusing": zktest.RefuseDial, "closing": zktest.RefuseClose, "silent": zktest.RefuseStall,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				srv.Member("zk1:2181").Refuse(how)
				srv.Member("zk2:2181").Refuse(how)
				c, err := client.Lazy("zk1,zk2", client.Dialer(srv.Dial))
				must(t, err)
				result := spawn(func() error { _, _, err := c.Get(t.Context(), "/"); return err })
				pass(3 * time.Second)
				start := time.Now()
				must(t, c.Close())
				if d := time.Since(start); d > time.Second {
					t.Errorf("Close took %v", d)
				}
				err = <-result
				wantErr(t, err, client.ErrClosed)
				outcome(t, err, client.OutcomeNotSent, false)
			})
		})
	}
}

// Calls that race with Close end, one way or the other (field case 55).
func TestCallsDuringClose(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				for {
					if _, _, err := c.Exists(t.Context(), "/"); err != nil {
						wantClosed(t, err)
						return
					}
				}
			})
		}
		for range 20 {
			_, _, err := c.Exists(t.Context(), "/")
			must(t, err)
		}
		must(t, c.Close())
		wg.Wait()
	})
}

func wantClosed(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, client.ErrClosed) {
		t.Errorf("%v", err)
	}
}

func TestManyClients(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a", "")
		for range 200 {
			c, err := client.Connect(t.Context(), "zk", client.Dialer(srv.Dial))
			must(t, err)
			_, _, err = c.GetWatch(t.Context(), "/a")
			must(t, err)
			must(t, c.Close())
		}
		synctest.Wait()
		now := srv.Snapshot()
		equal(t, "open connections", now.OpenConnections, 0)
		equal(t, "sessions", now.Sessions, 0)
		equal(t, "watches", now.Watches.Total(), 0)
	})
}
