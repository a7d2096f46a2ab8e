package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// Readers share the lock. A writer has it alone, and whoever comes after a writer that waits, waits behind it.
func ExampleRWMutex() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	rw := recipes.NewRWMutex(c, "/locks/catalogue")
	first, err := rw.RLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	second, err := rw.RLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("two readers:", first.Shared() && second.Shared())
	_, err = rw.TryLock(ctx)
	fmt.Println("no writer:", errors.Is(err, recipes.ErrNotAcquired))
	_ = first.Release(ctx)
	_ = second.Release(ctx)
	write, err := rw.TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, err = rw.TryRLock(ctx)
	fmt.Println("a writer, and no reader:", errors.Is(err, recipes.ErrNotAcquired))
	fmt.Println(write.Release(ctx))
	// Output:
	// two readers: true
	// no writer: true
	// a writer, and no reader: true
	// <nil>
}

// A reader cannot become a writer: two that tried would wait for each other. It releases, locks again for writing, and has to
// look again, because somebody else may have written in between.
func ExampleRWMutex_Lock_upgrade() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	rw := recipes.NewRWMutex(c, "/locks/catalogue")
	read, err := rw.RLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, err = rw.Lock(read.Context()) // carries the hold, so this is noticed
	fmt.Println(err)
	_ = read.Release(ctx)
	write, err := rw.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(write.Release(ctx))
	// Output:
	// zk: lock /locks/catalogue: a read lock cannot become a write lock
	// <nil>
}

// Whoever has written, and goes on with what is now there, lets readers in without letting another writer in before.
func ExampleLease_Downgrade() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	if _, _, err := c.Create(ctx, "/catalogue", []byte("old"), client.ModePersistent, nil); err != nil {
		log.Fatal(err)
	}
	rw := recipes.NewRWMutex(c, "/locks/catalogue")
	lease, err := rw.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.Multi(ctx, lease.Guard(), client.SetOp("/catalogue", []byte("new"), client.AnyVersion)); err != nil {
		log.Fatal(err)
	}
	work := lease.Context()
	if err := lease.Downgrade(ctx); err != nil {
		log.Fatal(err) // lost, or the outcome is unknown: it may be called again
	}
	fmt.Println("the same hold, shared:", work == lease.Context() && work.Err() == nil, lease.Shared())
	reader, err := rw.TryRLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	data, _, err := c.Get(ctx, "/catalogue")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("a reader reads %q\n", data)
	_, err = rw.TryLock(ctx)
	fmt.Println("no writer:", errors.Is(err, recipes.ErrNotAcquired))
	_ = reader.Release(ctx)
	fmt.Println(lease.Release(ctx))
	// Output:
	// the same hold, shared: true true
	// a reader reads "new"
	// no writer: true
	// <nil>
}
