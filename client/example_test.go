package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func ExampleClient_States() {
	srv, inMemory := server()
	defer srv.Close()
	ctx := context.Background()
	c, err := client.Connect(ctx, "zk", inMemory)
	if err != nil {
		fmt.Println(err)
		return
	}
	for change := range c.States(ctx) {
		fmt.Println(change.State)
		if change.State.Connected() {
			_ = c.Close() // ends the stream
		}
	}
	// Output:
	// connected
	// closed
}

func ExampleClient_Children() {
	srv, inMemory := server()
	defer srv.Close()
	for _, path := range []string{"/members", "/members/b", "/members/a"} {
		_, _ = srv.Create(path, nil, client.ModePersistent)
	}
	ctx := context.Background()
	c, err := client.Connect(ctx, "zk", inMemory)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	names, stat, err := c.Children(ctx, "/members")
	slices.Sort(names) // servers send them in any order
	fmt.Println(names, stat.NumChildren, err)
	// Output: [a b] 2 <nil>
}

// An identity is presented again on every connection.
func ExampleClient_AddAuth() {
	srv, inMemory := server()
	defer srv.Close()
	ctx := context.Background()
	c, err := client.Connect(ctx, "zk", inMemory)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	if err := c.AddAuth(ctx, "digest", []byte("bob:secret")); err != nil {
		fmt.Println(err)
		return
	}
	_, _, err = c.Create(ctx, "/private", nil, client.ModePersistent, client.CreatorACL(client.PermAll))
	fmt.Println(err)
	acl, _, err := c.GetACL(ctx, "/private")
	fmt.Println(acl[0].ID.Scheme, acl[0].ID.ID, err)
	// Output:
	// <nil>
	// digest bob:fyVmFCwVbTJYrznoSu1koqYEYF0= <nil>
}

// server is what the examples connect to in place of an ensemble: a double in memory.
func server() (*zktest.Server, client.Option) {
	srv := zktest.New()
	return srv, client.Dialer(srv.Dial)
}

func ExampleConnect() {
	srv, inMemory := server()
	defer srv.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) // bounds the connecting, nothing else
	defer cancel()
	c, err := client.Connect(ctx, "zk1:2181,zk2:2181,zk3:2181", client.SessionTimeout(10*time.Second), inMemory)
	if err != nil {
		fmt.Println(err) // says, per server, why
		return
	}
	defer c.Close()
	fmt.Println(c.State(), c.SessionTimeout())
	// Output: connected 10s
}

func ExampleLazy() {
	srv, inMemory := server()
	defer srv.Close()

	c, err := client.Lazy("zk1:2181,zk2:2181/app", inMemory) // does not wait for a server
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	_, ok, err := c.Exists(context.Background(), "/") // this does
	fmt.Println(c.Chroot(), ok, err)
	// Output: /app false <nil>
}

func ExampleClient_Get() {
	srv, inMemory := server()
	defer srv.Close()
	ctx := context.Background()
	c, err := client.Connect(ctx, "zk", inMemory)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	data, stat, err := c.Get(ctx, "/config")
	if errors.Is(err, client.ErrNoNode) {
		data = []byte("first")
		_, stat, err = c.Create(ctx, "/config", data, client.ModePersistent, nil)
	}
	fmt.Printf("%s, version %d, %v\n", data, stat.Version, err)
	// Output: first, version 0, <nil>
}

// A change that must not overwrite somebody else's is made with the version that was read.
func ExampleClient_Set() {
	srv, inMemory := server()
	defer srv.Close()
	_, _ = srv.Create("/counter", []byte{1}, client.ModePersistent)
	ctx := context.Background()
	c, err := client.Connect(ctx, "zk", inMemory)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	for {
		data, stat, err := c.Get(ctx, "/counter")
		if err != nil {
			fmt.Println(err)
			return
		}
		stat, err = c.Set(ctx, "/counter", []byte{data[0] + 1}, stat.Version)
		if errors.Is(err, client.ErrBadVersion) {
			continue // somebody else was faster
		}
		fmt.Println("version", stat.Version, err)
		return
	}
	// Output: version 1 <nil>
}

func ExampleClient_GetWatch() {
	srv, inMemory := server()
	defer srv.Close()
	_, _ = srv.Create("/config", []byte("old"), client.ModePersistent)
	ctx := context.Background()
	c, err := client.Connect(ctx, "zk", inMemory)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	for {
		node, watch, err := c.GetWatch(ctx, "/config")
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("the configuration is %s\n", node.Data)
		if string(node.Data) == "new" {
			watch.Close() // nobody waits for the next change
			return
		}
		_ = srv.Set("/config", []byte("new")) // somebody changes it
		ev, err := watch.Wait(ctx)
		fmt.Println(ev.Type, err)
	}
	// Output:
	// the configuration is old
	// node data changed <nil>
	// the configuration is new
}

func ExampleClient_Multi() {
	srv, inMemory := server()
	defer srv.Close()
	_, _ = srv.Create("/orders", nil, client.ModePersistent)
	ctx := context.Background()
	c, err := client.Connect(ctx, "zk", inMemory)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	results, err := c.Multi(ctx,
		client.CheckOp("/orders", 0),
		client.CreateOp("/orders/o-", []byte("tea"), client.ModePersistentSequential, nil),
		client.SetOp("/orders", []byte("one order"), 0))
	fmt.Println(results[1].Path, results[2].Stat.Version, err)

	_, err = c.Multi(ctx, client.CheckOp("/orders", 0), client.DeleteOp(results[1].Path, client.AnyVersion))
	fmt.Println(err)
	var failed *client.MultiError
	fmt.Println(errors.As(err, &failed) && failed.Index == 0, errors.Is(err, client.ErrBadVersion))
	// Output:
	// /orders/o-0000000000 1 <nil>
	// zk: multi: op 0 (check /orders): bad version
	// true true
}

// Several requests take one round trip.
func ExampleGroup() {
	srv, inMemory := server()
	defer srv.Close()
	_, _ = srv.Create("/a", []byte("data of a"), client.ModePersistent)
	_, _ = srv.Create("/a/b", nil, client.ModePersistent)
	ctx := context.Background()
	c, err := client.Connect(ctx, "zk", inMemory)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	g := c.Group() // can be used again and again
	exists, get, children := g.Exists("/x"), g.Get("/a", nil), g.Children("/a")
	if err := g.Do(ctx); err != nil {
		fmt.Println(err)
		return
	}
	_, ok, _ := exists.Stat()
	data, _, _ := get.Data()
	names, _, _ := children.Names()
	fmt.Println(ok, string(data), names)
	// Output: false data of a [b]
}
