package client_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// awaitState waits until the client is, or has been, in the state.
func awaitState(t *testing.T, c *client.Client, want client.State) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for change := range c.States(ctx) {
		if change.State == want {
			return
		}
	}
	t.Fatalf("the state never was %v", want)
}

func TestStates(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		type step struct {
			State      client.State
			Generation uint64
		}
		var got []step
		var ids []int64
		done := spawn(func() error {
			for change := range c.States(t.Context()) {
				got = append(got, step{change.State, change.Generation})
				ids = append(ids, change.SessionID)
			}
			return nil
		})
		synctest.Wait()
		srv.Refuse(zktest.RefuseDial)
		srv.DropConnections()
		pass(time.Second)
		srv.Refuse(zktest.Accept)
		pass(5 * time.Second) // longer than any pause between attempts can be by now
		equal(t, "state", c.State(), client.StateConnected)
		srv.Refuse(zktest.RefuseDial)
		srv.DropConnections()
		pass(time.Minute)
		srv.Refuse(zktest.Accept)
		pass(time.Minute)
		must(t, c.Close())
		must(t, <-done)
		equal(t, "states", got, []step{
			{client.StateConnected, 1}, {client.StateDisconnected, 1}, {client.StateConnected, 1}, {client.StateDisconnected, 1},
			{client.StateExpired, 1}, {client.StateConnecting, 2}, {client.StateConnected, 2}, {client.StateClosed, 2}})
		if ids[0] == 0 || ids[3] != ids[0] || ids[5] != 0 || ids[6] == ids[0] || ids[6] == 0 {
			t.Errorf("session ids: %x", ids)
		}
		equal(t, "state", c.State(), client.StateClosed)
	})
}

// Followers neither wait for each other nor miss anything; they end with their context, or when they like.
func TestStateFollowers(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		ctx, cancel := context.WithCancel(t.Context())
		ended := spawn(func() error {
			for range c.States(ctx) {
				continue
			}
			return ctx.Err()
		})
		n := 0
		slow := spawn(func() error {
			for range c.States(t.Context()) {
				if n++; n == 1 {
					pass(time.Hour)
				}
			}
			return nil
		})
		for range c.States(t.Context()) {
			break
		}
		synctest.Wait()
		cancel()
		wantErr(t, <-ended, context.Canceled)
		for range 10 {
			srv.DropConnections()
			pass(time.Minute)
		}
		must(t, c.Close())
		must(t, <-slow)
		equal(t, "changes", n, 1+2*10+1)
	})
}

func TestCounters(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		before := c.Counters()
		for range 5 {
			must(t, c.Sync(t.Context(), "/"))
		}
		now := c.Counters()
		equal(t, "requests", now.Requests-before.Requests, 5)
		equal(t, "replies", now.Replies-before.Replies, 5)
		equal(t, "connections", now.Connections, 1)
		equal(t, "cleanups", c.CleanupsPending(), 0)
	})
}
