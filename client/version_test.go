package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// A server that does not know an operation closes the connection: it is not to be asked (docs/protocol.md section 6).
func TestOperationsWaitForTheirRelease(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		ctx := t.Context()
		for name, op := range map[string]struct {
			since, before string
			call          func(c *client.Client) error
		}{
			"whoAmI":               {"3.7.0", "3.6.9", func(c *client.Client) error { _, err := c.WhoAmI(ctx); return err }},
			"getEphemerals":        {"3.6.0", "3.5.10", func(c *client.Client) error { _, err := c.GetEphemerals(ctx, "/"); return err }},
			"getAllChildrenNumber": {"3.6.0", "3.5", func(c *client.Client) error { _, err := c.GetAllChildrenNumber(ctx, "/"); return err }},
			"multiRead":            {"3.6.0", "3.5", func(c *client.Client) error { _, err := c.MultiRead(ctx, client.GetOp("/")); return err }},
			"createContainer": {"3.5.1", "3.5.0", func(c *client.Client) error {
				_, _, err := c.Create(ctx, "/c", nil, client.ModeContainer, nil)
				return err
			}},
			"createTTL": {"3.5.3", "3.5.2", func(c *client.Client) error {
				_, _, err := c.CreateTTL(ctx, "/t", nil, client.ModePersistentTTL, time.Second, nil)
				return err
			}},
			"createTTL in a multi": {"3.5.3", "3.5.2", func(c *client.Client) error {
				_, err := c.Multi(ctx, client.CreateTTLOp("/t2", nil, client.ModePersistentTTL, time.Second, nil))
				return err
			}},
			"create": {"3.5", "", func(c *client.Client) error {
				_, _, err := c.Create(ctx, "/p", nil, client.ModePersistent, nil)
				return err
			}},
			"checkWatches":          {"3.5", "", func(c *client.Client) error { _, err := c.CheckWatches(ctx, "/", client.WatcherAny); return err }},
			"checkWatches of types": {"3.9", "3.8.9", func(c *client.Client) error { return ask39(c) }},
		} {
			if err := op.call(connect(t, srv, client.MinServer(op.since))); err != nil {
				t.Errorf("%s with %s: %v", name, op.since, err)
			}
			if op.before == "" {
				continue
			}
			c := connect(t, srv, client.MinServer(op.before))
			before := srv.Snapshot().Requests
			err := op.call(c)
			var version *client.VersionError
			if !errors.As(err, &version) {
				t.Errorf("%s with %s: %v", name, op.before, err)
				continue
			}
			outcome(t, err, client.OutcomeNotSent, false)
			equal(t, name+": requests", srv.Snapshot().Requests, before)
			if v, err := c.View("/"); err != nil || !errors.As(op.call(v), &version) {
				t.Errorf("%s through a view", name)
			}
		}
	})
}

// ask39 asks for a type of watches that the server, being of 3.8, may refuse; it is sent all the same.
func ask39(c *client.Client) error {
	_, err := c.CheckWatches(context.Background(), "/", client.WatcherPersistent)
	if errors.Is(err, client.ErrMarshalling) {
		return nil
	}
	return err
}

func TestVersionErrorText(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		_, err := connect(t, srv).WhoAmI(t.Context())
		equal(t, "text", err.Error(), "zk: whoAmI: whoAmI needs servers of 3.7.0 or newer; the client was told 3.6.0 (option MinServer)")
	})
}

func TestMinServersThatAreRefused(t *testing.T) {
	for _, version := range []string{"", "3", "3.4.14", "2.9", "0.0.0", "3.6.x", "3.6.1.2", "v3.6", "3.6-SNAPSHOT", "3.-6", "3.99999"} {
		_, err := client.Lazy("zk", client.MinServer(version))
		var bad *client.OptionError
		if !errors.As(err, &bad) || bad.Option != "MinServer" {
			t.Errorf("%q: %v", version, err)
		}
	}
}
