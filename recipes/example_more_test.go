package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// A function that takes the lock may be called by one that has it: the hold is in the context.
func ExampleReentrant() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	lock := recipes.NewReentrant(c, "/locks/account")

	deposit := func(ctx context.Context, amount int) error {
		ctx, level, err := lock.Lock(ctx)
		if err != nil {
			return err
		}
		fmt.Println("deposit", amount, "at depth", level.Depth())
		return level.Release(ctx)
	}
	transfer := func(ctx context.Context) error {
		ctx, level, err := lock.Lock(ctx)
		if err != nil {
			return err
		}
		fmt.Println("transfer at depth", level.Depth())
		if err := deposit(ctx, 7); err != nil { // ctx, not the one from before the Lock: that would wait for ever
			return err
		}
		return level.Release(ctx)
	}
	fmt.Println(deposit(ctx, 1))
	fmt.Println(transfer(ctx))
	// Output:
	// deposit 1 at depth 1
	// <nil>
	// transfer at depth 1
	// deposit 7 at depth 2
	// <nil>
}

// An Owner is for code that cannot pass a context.
func ExampleOwner() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	lock := recipes.NewReentrant(c, "/locks/account")
	var session, other recipes.Owner
	first, err := lock.LockAs(ctx, &session)
	if err != nil {
		log.Fatal(err)
	}
	second, err := lock.LockAs(ctx, &session)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("depth:", second.Depth())
	_, err = lock.TryLockAs(ctx, &other)
	fmt.Println("another owner:", errors.Is(err, recipes.ErrNotAcquired))
	fmt.Println(first.Release(ctx), second.Release(ctx)) // in any order
	fmt.Println("once too often:", errors.Is(second.Release(ctx), recipes.ErrNotHeld))
	// Output:
	// depth: 2
	// another owner: true
	// <nil> <nil>
	// once too often: true
}

// Goroutines of one process pass the lock on among themselves, without a word to the server, for a while.
func ExampleHandOver() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	// Ten holders in turn, or as many as begin within 50 ms; then other processes have their turn.
	m := recipes.NewMutex(c, "/locks/orders", recipes.HandOver(10, 50*time.Millisecond))
	total := 0
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			lease, err := m.Lock(ctx)
			if err != nil {
				log.Fatal(err)
			}
			total += i
			if err := lease.Release(ctx); err != nil {
				log.Fatal(err)
			}
		})
	}
	wg.Wait()
	fmt.Println(total)
	// Output:
	// 4950
}

// A holder that is revocable is asked for the lock, and gives it up when it suits.
func ExampleRevocable() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	asked := make(chan struct{})
	m := recipes.NewMutex(c, "/locks/batch", recipes.Revocable(func(*recipes.Lease) { close(asked) }))
	lease, err := m.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := recipes.Revoke(ctx, c, lease.Node()); err != nil { // usually elsewhere, of one of Participants
		log.Fatal(err)
	}
	<-asked
	fmt.Println("asked, and still held:", lease.State() == recipes.Held)
	fmt.Println(lease.Release(ctx))
	// Output:
	// asked, and still held: true
	// <nil>
}

// Without a function the lease of whoever is asked ends, and its work with it.
func ExampleRevoke() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	m := recipes.NewMutex(c, "/locks/batch", recipes.Revocable(nil))
	lease, err := m.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	participants, err := m.Participants(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := recipes.Revoke(ctx, c, participants[0].Node); err != nil {
		log.Fatal(err)
	}
	<-lease.Done()
	fmt.Println(context.Cause(lease.Context()))
	// Nobody else has the lock until the work has stopped and released it.
	fmt.Println("lost:", errors.Is(lease.Release(ctx), recipes.ErrLost))
	err = recipes.Revoke(ctx, c, participants[0].Node)
	fmt.Println("gone:", errors.Is(err, client.ErrNoNode))
	// Output:
	// revoked: somebody asked for the lock
	// lost: true
	// gone: true
}

// Participants shows who holds a lock and who waits for it.
func ExampleRWMutex_Participants() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	rw := func(name string) *recipes.RWMutex {
		return recipes.NewRWMutex(c, "/locks/table", recipes.Data([]byte(name)))
	}
	read, err := rw("report").RLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // ends with its lock, below
		defer close(done)
		write, err := rw("import").Lock(ctx)
		if err != nil {
			log.Fatal(err)
		}
		_ = write.Release(ctx)
	}()
	all := rw("")
	participants, err := all.Participants(ctx)
	for err == nil && len(participants) < 2 { // until the writer has lined up
		participants, err = all.Participants(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range participants {
		fmt.Printf("%s: shared %v, holds %v\n", p.Data, p.Shared, p.Holds)
	}
	_ = read.Release(ctx)
	<-done
	// Output:
	// report: shared true, holds true
	// import: shared false, holds false
}
