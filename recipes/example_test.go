package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// connect returns a client of an ensemble, here one in memory, and what ends both.
func connect(ctx context.Context) (*client.Client, func()) {
	srv := zktest.New()
	c, err := client.Connect(ctx, "zk1:2181", client.Dialer(srv.Dial))
	if err != nil {
		log.Fatal(err)
	}
	return c, func() {
		_ = c.Close()
		_ = srv.Close()
	}
}

func ExampleMutex_Lock() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	m := recipes.NewMutex(c, "/locks/orders")
	lease, err := m.Lock(ctx) // ctx bounds the wait, not the hold
	if err != nil {
		log.Fatal(err)
	}
	// The work stops when the hold is no longer safe.
	work := lease.Context()
	fmt.Println("held:", lease.State() == recipes.Held, "and working:", work.Err() == nil)
	if err := lease.Release(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("the work's context:", context.Cause(work))
	// Output:
	// held: true and working: true
	// the work's context: lease released
}

func ExampleMutex_TryLock() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	first, err := recipes.NewMutex(c, "/locks/job").TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, err = recipes.NewMutex(c, "/locks/job").TryLock(ctx)
	fmt.Println("somebody else has it:", errors.Is(err, recipes.ErrNotAcquired))
	fmt.Println(first.Release(ctx))
	// Output:
	// somebody else has it: true
	// <nil>
}

func ExampleMutex_Lock_timeout() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	held, err := recipes.NewMutex(c, "/locks/orders").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer held.Release(ctx)
	wait, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	_, err = recipes.NewMutex(c, "/locks/orders").Lock(wait)
	fmt.Println(err)
	// Output:
	// zk: lock /locks/orders: context deadline exceeded
}

// A guard makes a write fail if the lock is not ours any more, whatever this process believes.
func ExampleLease_Guard() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	if _, _, err := c.Create(ctx, "/next", []byte("1"), client.ModePersistent, nil); err != nil {
		log.Fatal(err)
	}
	lease, err := recipes.NewMutex(c, "/locks/orders").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.Multi(ctx, lease.Guard(), client.SetOp("/next", []byte("2"), client.AnyVersion))
	fmt.Println("while held:", err)
	_ = lease.Release(ctx)
	_, err = c.Multi(ctx, lease.Guard(), client.SetOp("/next", []byte("3"), client.AnyVersion))
	fmt.Println("afterwards, no node:", errors.Is(err, client.ErrNoNode))
	// Output:
	// while held: <nil>
	// afterwards, no node: true
}

// Whoever receives writes from lock holders can refuse those that come late: tokens rise with every grant.
func ExampleLease_Token() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	m := recipes.NewMutex(c, "/locks/orders")
	var tokens []recipes.Token
	for range 2 {
		lease, err := m.Lock(ctx)
		if err != nil {
			log.Fatal(err)
		}
		tokens = append(tokens, lease.Token())
		_ = lease.Release(ctx)
	}
	fmt.Println("the second is higher:", tokens[1].Compare(tokens[0]) > 0)
	// Output:
	// the second is higher: true
}
