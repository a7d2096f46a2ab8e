package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// Reads do not check paths on the server: a wrong one would just not exist (docs/protocol.md section 15).
func TestPathsAreCheckedBeforeSending(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, g := connect(t, srv), connect(t, srv).Group()
		before := srv.Snapshot().Requests
		for _, path := range []string{"", "a", "/a/", "/a//b", "//", "/a/../b", "/.", "/a\x00b", "/\uf000", "/\U0001f512", "/\xff"} {
			for name, call := range operations(c, path) {
				err := call(t.Context())
				var bad *client.PathError
				if !errors.As(err, &bad) || bad.Path != path {
					t.Errorf("%s %q: %v", name, path, err)
					continue
				}
				outcome(t, err, client.OutcomeNotSent, false)
			}
			g.Get(path, nil)
			var bad *client.PathError
			if err := g.Do(t.Context()); !errors.As(err, &bad) {
				t.Errorf("group with %q: %v", path, err)
			}
		}
		equal(t, "requests", srv.Snapshot().Requests, before)
	})
}

// operations returns every operation with a path.
func operations(c *client.Client, path string) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"create": func(ctx context.Context) error {
			_, _, err := c.Create(ctx, path, nil, client.ModePersistent, nil)
			return err
		},
		"createTTL": func(ctx context.Context) error {
			_, _, err := c.CreateTTL(ctx, path, nil, client.ModePersistentTTL, time.Second, nil)
			return err
		},
		"createAll": func(ctx context.Context) error {
			_, _, err := c.CreateAll(ctx, path, nil, client.ModePersistent, nil)
			return err
		},
		"createOrSet": func(ctx context.Context) error { _, _, err := c.CreateOrSet(ctx, path, nil, nil); return err },
		"createProtected": func(ctx context.Context) error {
			_, _, err := c.CreateProtected(ctx, path, nil, client.ModePersistent, nil)
			return err
		},
		"deleteAll": func(ctx context.Context) error { return c.DeleteAll(ctx, path) },
		"walk": func(ctx context.Context) error {
			for _, err := range c.Walk(ctx, path) {
				return err
			}
			return nil
		},
		"scanChildren":         func(ctx context.Context) error { _, err := c.ScanChildren(ctx, path, nil); return err },
		"multiRead":            func(ctx context.Context) error { _, err := c.MultiRead(ctx, client.GetOp(path)); return err },
		"getEphemerals":        func(ctx context.Context) error { _, err := c.GetEphemerals(ctx, path); return err },
		"getAllChildrenNumber": func(ctx context.Context) error { _, err := c.GetAllChildrenNumber(ctx, path); return err },
		"checkWatches": func(ctx context.Context) error {
			_, err := c.CheckWatches(ctx, path, client.WatcherAny)
			return err
		},
		"get":      func(ctx context.Context) error { _, _, err := c.Get(ctx, path); return err },
		"getInto":  func(ctx context.Context) error { _, _, err := c.GetInto(ctx, path, nil); return err },
		"set":      func(ctx context.Context) error { _, err := c.Set(ctx, path, nil, -1); return err },
		"delete":   func(ctx context.Context) error { return c.Delete(ctx, path, -1) },
		"exists":   func(ctx context.Context) error { _, _, err := c.Exists(ctx, path); return err },
		"children": func(ctx context.Context) error { _, _, err := c.Children(ctx, path); return err },
		"getACL":   func(ctx context.Context) error { _, _, err := c.GetACL(ctx, path); return err },
		"setACL":   func(ctx context.Context) error { _, err := c.SetACL(ctx, path, nil, -1); return err },
		"sync":     func(ctx context.Context) error { return c.Sync(ctx, path) },
		"multi":    func(ctx context.Context) error { _, err := c.Multi(ctx, client.CheckOp(path, -1)); return err },
		"getWatch": func(ctx context.Context) error { _, _, err := c.GetWatch(ctx, path); return err },
		"existsWatch": func(ctx context.Context) error {
			_, _, err := c.ExistsWatch(ctx, path)
			return err
		},
		"childrenWatch": func(ctx context.Context) error {
			_, _, err := c.ChildrenWatch(ctx, path)
			return err
		},
	}
}

func TestSequentialCreateMayEndInASlash(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		path, _, err := c.Create(t.Context(), "/", nil, client.ModePersistentSequential, nil)
		must(t, err)
		equal(t, "path", path, "/0000000000")
		_, _, err = c.Create(t.Context(), "/", nil, client.ModePersistent, nil)
		wantErr(t, err, client.ErrNodeExists)
		wantErr(t, c.Delete(t.Context(), "/", -1), client.ErrBadArguments)
	})
}
