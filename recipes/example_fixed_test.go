package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// A lock with which clients are excluded that create a znode, or wait until it is gone.
func ExampleFixedMutex_Lock() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	lease, err := recipes.NewFixedMutex(c, "/locks/import").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, _, err = c.Create(ctx, "/locks/import", nil, client.ModeEphemeral, nil) // as such a client does
	fmt.Println("it is taken:", errors.Is(err, client.ErrNodeExists))
	if err := lease.Release(ctx); err != nil {
		log.Fatal(err)
	}
	_, _, err = c.Create(ctx, "/locks/import", nil, client.ModeEphemeral, nil)
	fmt.Println("and now it has that one:", err == nil)
	_, err = recipes.NewFixedMutex(c, "/locks/import").TryLock(ctx)
	fmt.Println("so nobody else gets it:", errors.Is(err, recipes.ErrNotAcquired))
	// Output:
	// it is taken: true
	// and now it has that one: true
	// so nobody else gets it: true
}

// With all guards of a lease a multi fails as well if the lock's znode is gone, or that of a client without a counter is there.
func ExampleLease_Guards() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	lease, err := recipes.NewFixedMutex(c, "/import").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	write := func() error {
		_, err := c.Multi(ctx, append(lease.Guards(), client.CreateOp("/result", nil, client.ModePersistent, nil))...)
		return err
	}
	if err := c.Delete(ctx, "/import", client.AnyVersion); err != nil { // somebody takes the lock away
		log.Fatal(err)
	}
	fmt.Println("refused:", errors.Is(write(), client.ErrNoNode))
	// Output:
	// refused: true
}
