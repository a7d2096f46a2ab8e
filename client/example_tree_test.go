package client_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// example calls f with a client of an empty server.
func example(f func(ctx context.Context, c *client.Client), opts ...client.Option) {
	srv, inMemory := server()
	defer srv.Close()
	ctx := context.Background()
	c, err := client.Connect(ctx, "zk", append(opts, inMemory)...)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	f(ctx, c)
}

func ExampleClient_CreateAll() {
	example(func(ctx context.Context, c *client.Client) {
		path, _, err := c.CreateAll(ctx, "/services/web/members", nil, client.ModePersistent, nil)
		fmt.Println(path, err)
		// Output: /services/web/members <nil>
	})
}

func ExampleClient_CreateOrSet() {
	example(func(ctx context.Context, c *client.Client) {
		for _, data := range []string{"one", "two"} {
			stat, created, err := c.CreateOrSet(ctx, "/config", []byte(data), nil)
			fmt.Println(created, stat.Version, err)
		}
		// Output:
		// true 0 <nil>
		// false 1 <nil>
	})
}

func ExampleClient_DeleteAll() {
	example(func(ctx context.Context, c *client.Client) {
		_, _, err := c.CreateAll(ctx, "/services/web/members", nil, client.ModePersistent, nil)
		fmt.Println(err)
		fmt.Println(c.DeleteAll(ctx, "/services"))
		fmt.Println(c.DeleteAll(ctx, "/"))
		// Output:
		// <nil>
		// <nil>
		// zk: deleteAll /: not to be deleted as a whole
	})
}

func ExampleClient_Walk() {
	example(func(ctx context.Context, c *client.Client) {
		for _, path := range []string{"/services/web/a", "/services/web/b", "/services/mail/a"} {
			if _, _, err := c.CreateAll(ctx, path, nil, client.ModePersistent, nil); err != nil {
				fmt.Println(err)
			}
		}
		for n, err := range c.Walk(ctx, "/services") {
			if err != nil {
				fmt.Println(err)
				break
			}
			fmt.Println(n.Path, n.Stat.NumChildren)
		}
		// Output:
		// /services 2
		// /services/mail 1
		// /services/mail/a 0
		// /services/web 2
		// /services/web/a 0
		// /services/web/b 0
	})
}

// A create that is found again when its reply is lost.
func ExampleClient_CreateProtected() {
	example(func(ctx context.Context, c *client.Client) {
		path, _, err := c.CreateProtected(ctx, "/member-", nil, client.ModeEphemeralSequential, nil)
		fmt.Println(strings.HasPrefix(path, "/_c_"), strings.HasSuffix(path, "-member-0000000000"), err)
		// Output: true true <nil>
	})
}

// Several parts of a program share a session, each below a chroot of its own.
func ExampleClient_View() {
	example(func(ctx context.Context, c *client.Client) {
		_, _, _ = c.Create(ctx, "/billing", nil, client.ModePersistent, nil)
		billing, err := c.View("/billing")
		if err != nil {
			fmt.Println(err)
			return
		}
		path, _, err := billing.Create(ctx, "/config", nil, client.ModePersistent, nil)
		fmt.Println(path, err)
		_, ok, err := c.Exists(ctx, "/billing/config")
		fmt.Println(ok, err)
		// Output:
		// /config <nil>
		// true <nil>
	})
}

// The names lie in the reply; nothing is copied or allocated.
func ExampleClient_ScanChildren() {
	example(func(ctx context.Context, c *client.Client) {
		for _, path := range []string{"/a", "/a/job-1", "/a/job-2", "/a/other"} {
			_, _, _ = c.Create(ctx, path, nil, client.ModePersistent, nil)
		}
		jobs := 0
		stat, err := c.ScanChildren(ctx, "/a", func(name []byte) bool {
			if strings.HasPrefix(string(name), "job-") {
				jobs++
			}
			return true
		})
		fmt.Println(jobs, stat.NumChildren, err)
		// Output: 2 3 <nil>
	})
}

// All reads are of the same moment, and fail one by one.
func ExampleClient_MultiRead() {
	example(func(ctx context.Context, c *client.Client) {
		_, _, _ = c.Create(ctx, "/a", []byte("data of a"), client.ModePersistent, nil)
		results, err := c.MultiRead(ctx, client.GetOp("/a"), client.ChildrenOp("/a"), client.GetOp("/b"))
		fmt.Println(len(results), err)
		for _, r := range results {
			fmt.Println(r.Path, string(r.Data), r.Children, r.Err)
		}
		// Output:
		// 3 <nil>
		// /a data of a [] <nil>
		// /a  [] <nil>
		// /b  [] no node
	})
}

// The server removes the znode when nothing has changed it for an hour.
func ExampleClient_CreateTTL() {
	example(func(ctx context.Context, c *client.Client) {
		path, _, err := c.CreateTTL(ctx, "/upload", nil, client.ModePersistentTTL, time.Hour, nil)
		fmt.Println(path, err)
		// Output: /upload <nil>
	})
}

// An operation that is younger than the servers need be is sent when the client is told that they know it.
func ExampleMinServer() {
	example(func(ctx context.Context, c *client.Client) {
		ids, err := c.WhoAmI(ctx)
		fmt.Println(len(ids) > 0, err)
		// Output: true <nil>
	}, client.MinServer("3.7"))
}
