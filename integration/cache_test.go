package integration

import (
	"context"
	"fmt"
	"testing"

	"github.com/lockkeeper/lockkeeper/cache"
	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// untilShown waits until a cache shows what is wanted.
func untilShown(t *testing.T, c *cache.Cache, what string, cond func(*cache.Snapshot) bool) *cache.Snapshot {
	t.Helper()
	s, err := c.Wait(patient(t), cond)
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
	return s
}

func dataIs(path, want string) func(*cache.Snapshot) bool {
	return func(s *cache.Snapshot) bool {
		n, ok := s.Get(path)
		return ok && string(n.Data) == want
	}
}

// sameAsServer holds what a cache shows after a Sync against what its client reads.
func sameAsServer(t *testing.T, cl *client.Client, c *cache.Cache) {
	t.Helper()
	ctx := patient(t)
	if err := c.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	s, n := c.Snapshot(), 0
	var check func(path string)
	check = func(path string) {
		data, st, err := cl.Get(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		n++
		if node, ok := s.Get(path); !ok || string(node.Data) != string(data) || node.Stat != st {
			t.Errorf("%s: %v, %q, %+v, want %q, %+v", path, ok, node.Data, node.Stat, data, st)
		}
		names, _, err := cl.Children(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			check(path + "/" + name)
		}
	}
	check(c.Path())
	if s.Len() != n {
		t.Errorf("the cache has %d znodes, want %d", s.Len(), n)
	}
}

func TestCache(t *testing.T) { // F52
	ens := zkserver.Require(t, zkserver.Options{})
	cl, service := connect(t, ens.ConnectString()), connect(t, ens.ConnectString())
	ctx := patient(t)
	for _, path := range []string{"/cached", "/cached/config", "/cached/services", "/cached/pair"} {
		if _, _, err := cl.Create(ctx, path, []byte("0"), client.ModePersistent, nil); err != nil {
			t.Fatal(err)
		}
	}
	c, err := cache.Open(ctx, cl, "/cached")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	t.Run("services", func(t *testing.T) { cacheServices(t, service, c) })
	t.Run("transactions", func(t *testing.T) { cacheTransactions(t, connect(t, ens.ConnectString()), c) })
	sameAsServer(t, cl, c)
	t.Run("restart", func(t *testing.T) { cacheRestart(t, ens, cl, c) })
	sameAsServer(t, cl, c)
}

// The znodes of a service that ends go with its session.
func cacheServices(t *testing.T, service *client.Client, c *cache.Cache) {
	for i := range 3 {
		if _, _, err := service.Create(patient(t), fmt.Sprint("/cached/services/", i), nil, client.ModeEphemeral, nil); err != nil {
			t.Fatal(err)
		}
	}
	count := func(n int) func(*cache.Snapshot) bool {
		return func(s *cache.Snapshot) bool { return s.ChildCount("/cached/services") == n }
	}
	untilShown(t, c, "the services", count(3))
	if err := service.Close(); err != nil {
		t.Fatal(err)
	}
	untilShown(t, c, "their end", count(0))
}

// What one transaction changes is seen together.
func cacheTransactions(t *testing.T, writer *client.Client, c *cache.Cache) {
	const last = 300
	ctx, cancel := context.WithCancel(patient(t))
	defer cancel()
	wrote := make(chan error, 1)
	// This test's writer; ends when it has written all, or with the test.
	go func() {
		var err error
		for i := 1; i <= last && err == nil; i++ {
			data := []byte(fmt.Sprint(i))
			_, err = writer.Multi(ctx, client.SetOp("/cached/config", data, client.AnyVersion), client.SetOp("/cached/pair", data, client.AnyVersion))
		}
		wrote <- err
	}()
	seen := 0
	for u, err := range c.Updates(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		a, _ := u.New.Get("/cached/config")
		b, _ := u.New.Get("/cached/pair")
		if seen++; string(a.Data) != string(b.Data) && !u.New.Mixed() {
			t.Errorf("a snapshot with %s and %s", a.Data, b.Data)
		}
		if string(b.Data) == fmt.Sprint(last) && string(a.Data) == string(b.Data) {
			break
		}
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	t.Logf("%d updates for %d transactions", seen, last)
}

// A cache is stale while the server is away, stays readable, and is current again when it is back.
func cacheRestart(t *testing.T, ens *zkserver.Ensemble, cl *client.Client, c *cache.Cache) {
	srv, before := ens.Servers()[0], c.Snapshot()
	if err := srv.Stop(patient(t)); err != nil {
		t.Fatal(err)
	}
	for u, err := range c.Updates(patient(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if !u.State.Current {
			break
		}
	}
	if c.Snapshot() != before {
		t.Error("another snapshot while the server is away")
	}
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := cl.Set(patient(t), "/cached/config", []byte("after"), client.AnyVersion); err != nil {
		t.Fatal(err)
	}
	untilShown(t, c, "a change after the restart", dataIs("/cached/config", "after"))
	if err := c.Sync(patient(t)); err != nil {
		t.Fatal(err)
	}
	if !c.State().Current {
		t.Error("not current after the restart")
	}
}
