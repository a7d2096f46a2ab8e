package zktest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/recipes"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// The double in a test of a user's own code: a client connects to it, and a fault is ordered.
func ExampleServer_Dial() {
	ctx := context.Background()
	srv := zktest.New()
	defer func() { _ = srv.Close() }() // it always returns nil
	c, err := client.Connect(ctx, "zk1:2181,zk2:2181", client.Dialer(srv.Dial))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = c.Close() }()
	lease, err := recipes.NewMutex(c, "/locks/orders").Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("contenders:", len(srv.Children("/locks/orders")))
	// The reply to the next write is lost with its connection: was it applied?
	srv.CloseAfter(zktest.Match{Op: proto.OpSetData})
	_, err = c.Set(ctx, "/locks", []byte("x"), client.AnyVersion)
	fmt.Println("perhaps applied:", client.MaybeApplied(err))
	// The session expires, and the holder is told.
	srv.ExpireSession(c.SessionID())
	<-lease.Done()
	fmt.Println("lost by expiry:", errors.Is(context.Cause(lease.Context()), recipes.ErrSessionExpired))
	// Output:
	// contenders: 1
	// perhaps applied: true
	// lost by expiry: true
}
