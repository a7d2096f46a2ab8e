package client_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// What to do about an error depends on whether the operation may have taken effect.
func ExampleMaybeApplied() {
	srv, inMemory := server()
	defer srv.Close()
	ctx := context.Background()
	c, err := client.Connect(ctx, "zk", inMemory)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	srv.CloseAfter(zktest.Match{Path: "/job"}) // the reply gets lost
	_, _, err = c.Create(ctx, "/job", nil, client.ModePersistent, nil)
	switch {
	case err == nil:
		fmt.Println("done")
	case client.SafeToRetry(err):
		fmt.Println("it was never sent: try again")
	case client.MaybeApplied(err):
		err := c.Sync(ctx, "/job")
		_, ok, _ := c.Exists(ctx, "/job")
		fmt.Println("done after all:", ok, err)
	default:
		fmt.Println("refused:", err)
	}
	// Output: done after all: true <nil>
}

func ExampleError() {
	srv, inMemory := server()
	defer srv.Close()
	ctx := context.Background()
	c, err := client.Connect(ctx, "zk", inMemory)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	err = c.Delete(ctx, "/a/b", client.AnyVersion)
	fmt.Println(err)
	fmt.Println(errors.Is(err, client.ErrNoNode))
	var e *client.Error
	if errors.As(err, &e) {
		fmt.Println(e.Op, e.Path, e.Outcome == client.OutcomeRejected)
	}
	_, _, err = c.Get(ctx, "no/slash")
	fmt.Println(err)
	// Output:
	// zk: delete /a/b: no node
	// true
	// delete /a/b true
	// zk: get: path "no/slash": no slash in front at byte 0
}
