package client_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockkeeper/lockkeeper/client"
)

// Everything that happens at and below a path, until the loop is left.
func ExampleClient_Watch() {
	srv, inMemory := server()
	defer srv.Close()
	ctx := context.Background()
	c, err := client.Connect(ctx, "zk", inMemory)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	w, err := c.Watch(ctx, "/services", client.Recursive) // the znode need not exist
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()
	_, _, err = c.CreateAll(ctx, "/services/web/1", []byte("10.0.0.1:80"), client.ModeEphemeral, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for ev, err := range w.Events(ctx) {
		switch {
		case err != nil: // closed, session expired, ctx ended
			fmt.Println(err)
		case ev.Type == client.EventGap:
			fmt.Println("something may be missing here: read again")
		default:
			fmt.Println(ev.Type, ev.Path)
		}
		if ev.Path == "/services/web/1" {
			break
		}
	}
	// Output:
	// node created /services
	// node created /services/web
	// node created /services/web/1
}

// Who may do what with a znode.
func ExampleDigestACL() {
	srv, inMemory := server()
	defer srv.Close()
	ctx := context.Background()
	c, err := client.Connect(ctx, "zk", inMemory, client.Auth("digest", []byte("user:password")))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	acl := append(client.DigestACL(client.PermAll, "user", "password"), client.WorldACL(client.PermRead)...)
	if _, _, err := c.Create(ctx, "/a", nil, client.ModePersistent, acl); err != nil {
		fmt.Println(err)
		return
	}
	other, err := client.Connect(ctx, "zk", inMemory)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer other.Close()
	_, err = other.Set(ctx, "/a", nil, client.AnyVersion)
	fmt.Println(errors.Is(err, client.ErrNoAuth))
	// Output: true
}

// The members of an ensemble.
func ExampleClient_GetConfig() {
	srv, inMemory := server()
	defer srv.Close()
	if err := srv.SetEnsemble("server.1=zk1:2888:3888:participant;2181", "server.2=zk2:2888:3888:participant;2181"); err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	c, err := client.Connect(ctx, "zk", inMemory)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	cfg, _, err := c.GetConfig(ctx)
	for _, s := range cfg.Servers {
		fmt.Println(s.ID, s.Host, s.Client)
	}
	fmt.Println(err)
	// Output:
	// 1 zk1 0.0.0.0:2181
	// 2 zk2 0.0.0.0:2181
	// <nil>
}
