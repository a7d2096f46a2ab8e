package cache_test

import (
	"context"
	"fmt"

	"github.com/lockkeeper/lockkeeper/cache"
	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// connected returns a client of a server in memory, and what ends both.
func connected(ctx context.Context) (*client.Client, func()) {
	srv := zktest.New()
	cl, err := client.Connect(ctx, "zk", client.Dialer(srv.Dial))
	if err != nil {
		panic(err)
	}
	return cl, func() {
		_ = cl.Close()
		srv.Close()
	}
}

// A configuration value, and everything that it becomes.
func Example_config() {
	ctx := context.Background()
	cl, end := connected(ctx)
	defer end()
	_, stat, _ := cl.Create(ctx, "/config", []byte("debug=off"), client.ModePersistent, nil)

	c, err := cache.Open(ctx, cl, "/config", cache.Depth(0))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for u, err := range c.Updates(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		node, ok := u.New.Root()
		fmt.Println(ok, string(node.Data))
		if string(node.Data) == "debug=on" {
			break
		}
		_, _ = cl.Set(ctx, "/config", []byte("debug=on"), stat.Version)
	}
	// Output:
	// true debug=off
	// true debug=on
}

// A list of services, each of them an ephemeral znode of the process that serves.
func Example_services() {
	ctx := context.Background()
	cl, end := connected(ctx)
	defer end()
	_, _, _ = cl.Create(ctx, "/services", nil, client.ModePersistent, nil)
	_, _, _ = cl.Create(ctx, "/services/one", []byte("10.0.0.1:80"), client.ModeEphemeral, nil)

	c, err := cache.Open(ctx, cl, "/services", cache.Depth(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	_, _, _ = cl.Create(ctx, "/services/two", []byte("10.0.0.2:80"), client.ModeEphemeral, nil)
	if err := c.Sync(ctx); err != nil { // or wait for an Update
		fmt.Println(err)
		return
	}
	for name, node := range c.Snapshot().Children("/services") {
		fmt.Println(name, string(node.Data))
	}
	fmt.Println("current:", c.State().Current)
	// Output:
	// one 10.0.0.1:80
	// two 10.0.0.2:80
	// current: true
}

func ExampleCache_Updates() {
	ctx := context.Background()
	cl, end := connected(ctx)
	defer end()
	_, _, _ = cl.Create(ctx, "/services", nil, client.ModePersistent, nil)
	c, err := cache.Open(ctx, cl, "/services")
	if err != nil {
		fmt.Println(err)
		return
	}
	for u, err := range c.Updates(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for ch := range u.Changes() {
			fmt.Println(ch.Type, ch.Path)
			switch {
			case ch.Type == cache.Added && ch.Path == "/services":
				_, _, _ = cl.Create(ctx, "/services/one", nil, client.ModeEphemeral, nil)
			case ch.Type == cache.Added:
				_ = cl.Delete(ctx, "/services/one", client.AnyVersion)
			case ch.Type == cache.Removed:
				c.Close() // ends the loop
			}
		}
	}
	// Output:
	// added /services
	// added /services/one
	// removed /services/one
	// zk: cache /services: cache closed
}

// Coordination by watching a value: one process waits until another says that it may go on.
func ExampleCache_Wait() {
	ctx := context.Background()
	cl, end := connected(ctx)
	defer end()
	_, _, _ = cl.Create(ctx, "/stage", []byte("preparing"), client.ModePersistent, nil)
	c, err := cache.Open(ctx, cl, "/stage", cache.Depth(0))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	_, _ = cl.Set(ctx, "/stage", []byte("ready"), client.AnyVersion) // somebody else, some time later

	s, err := c.Wait(ctx, func(s *cache.Snapshot) bool {
		node, ok := s.Root()
		return ok && string(node.Data) == "ready"
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	node, _ := s.Root()
	fmt.Println(string(node.Data), "in version", node.Stat.Version)
	// Output: ready in version 1
}
