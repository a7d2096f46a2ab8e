package client_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestGroupWithErrors(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		create(t, srv, "/a", "")
		g := c.Group()
		ok, missing, version := g.Get("/a", nil), g.Get("/x", nil), g.Set("/a", nil, 5)
		multi := g.Multi(client.CheckOp("/a", 5))
		last := g.Set("/a", []byte("new"), 0)
		err := g.Do(t.Context())
		wantErr(t, err, client.ErrNoNode) // the first one
		equal(t, "text", err.Error(), "zk: get /x: no node")
		must(t, ok.Err())
		wantErr(t, missing.Err(), client.ErrNoNode)
		_, err = version.Stat()
		wantErr(t, err, client.ErrBadVersion)
		_, err = multi.Results()
		wantErr(t, err, client.ErrBadVersion)
		_, err = last.Stat()
		must(t, err)

		g.Exists("/a")
		g.Multi(client.CheckOp("/a", 5))
		err = g.Do(t.Context())
		wantErr(t, err, client.ErrBadVersion) // the entries of a multi count as well
		var multiErr *client.MultiError
		equal(t, "a MultiError", errors.As(err, &multiErr), true)
	})
}

func TestGroupHandlesGoStale(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		create(t, srv, "/a", "a")
		create(t, srv, "/b", "b")
		g := c.Group()
		a := g.Get("/a", nil)
		_, _, err := a.Data()
		wantErr(t, err, client.ErrNotDone)
		must(t, g.Do(ctx))
		b := g.Get("/b", nil)
		_, _, err = a.Data()
		wantErr(t, err, client.ErrStaleCall)
		must(t, g.Do(ctx))
		_, _, err = a.Data()
		wantErr(t, err, client.ErrStaleCall)
		data, _, err := b.Data()
		must(t, err)
		equal(t, "data", string(data), "b")
		equal(t, "owner", a.Owner(), 0)
	})
}

func TestGroupThatCannotBeSent(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv, client.SendLimit(200)), t.Context()
		create(t, srv, "/a", "")
		before := srv.Snapshot().Requests
		g := c.Group()

		first, bad, large := g.Set("/a", nil, 0), g.Get("a", nil), g.Set("/a", make([]byte, 200), 0)
		err := g.Do(ctx)
		wantErr(t, err, client.ErrGroupRefused)
		outcome(t, err, client.OutcomeNotSent, false)
		_, err = first.Stat()
		wantErr(t, err, client.ErrGroupRefused)
		var path *client.PathError
		if !errors.As(bad.Err(), &path) {
			t.Errorf("bad path: %v", bad.Err())
		}
		_, err = large.Stat()
		var tooLarge *client.RequestTooLargeError
		if !errors.As(err, &tooLarge) || tooLarge.Limit != 200 || tooLarge.Size <= 200 {
			t.Errorf("large request: %v", err)
		}
		outcome(t, err, client.OutcomeNotSent, false)
		equal(t, "requests", srv.Snapshot().Requests, before)

		g.Exists("/a") // the group is as good as new
		g.Exists("/a")
		g.Exists("/a")
		must(t, g.Do(ctx))
		must(t, c.Group().Do(ctx))
		must(t, c.Group().Do(cancelled())) // an empty group asks nobody
	})
}

func TestGroupCancelledInFlightIsUsedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		create(t, srv, "/a", "old")
		g := c.Group()
		g.Exists("/a")
		must(t, g.Do(t.Context()))
		for range 3 {
			held := srv.Hold(zktest.Match{Path: "/a", Skip: 1})
			ctx, cancel := context.WithCancel(t.Context())
			exists, set := g.Exists("/a"), g.Set("/a", []byte("new"), client.AnyVersion)
			multi := g.Multi(client.CheckOp("/a", client.AnyVersion))
			result := spawn(func() error { return g.Do(ctx) })
			<-held.Hit()
			cancel()
			err := <-result
			wantErr(t, err, context.Canceled)
			outcome(t, err, client.OutcomeUnknown, false) // the first one is a read
			_, _, err = exists.Stat()
			wantErr(t, err, context.Canceled)
			_, err = set.Stat()
			outcome(t, err, client.OutcomeUnknown, true)
			_, err = multi.Results()
			outcome(t, err, client.OutcomeUnknown, true)

			get := g.Get("/a", nil) // while the late replies are still on their way
			_, err = set.Stat()
			wantErr(t, err, client.ErrStaleCall)
			held.Release()
			must(t, g.Do(t.Context()))
			data, _, err := get.Data()
			must(t, err)
			equal(t, "data", string(data), "new")
		}
	})
}

func TestGroupWhoseConnectionIsLost(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		create(t, srv, "/a", "")
		srv.CloseAfter(zktest.Match{Path: "/b"})
		g := c.Group()
		a, b, last := g.Exists("/a"), g.Set("/b", nil, 0), g.Set("/a", nil, 0)
		err := g.Do(t.Context())
		wantErr(t, err, client.ErrConnectionLoss)
		_, _, errA := a.Stat()
		_, errB := b.Stat()
		_, errLast := last.Stat()
		if errA != nil {
			outcome(t, errA, client.OutcomeUnknown, false) // its reply may have been lost with the connection
		}
		outcome(t, errB, client.OutcomeUnknown, true)
		outcome(t, errLast, client.OutcomeUnknown, true)
	})
}
