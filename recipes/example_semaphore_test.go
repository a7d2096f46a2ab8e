package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/lockkeeper/lockkeeper/recipes"
)

// Ten connections to a database, of which a report takes four and a query one. Whoever wants more than are free waits, and those
// behind wait as well, so that the report gets its turn.
func ExampleSemaphore() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	connections := recipes.NewSemaphore(c, "/limits/database", 10)
	report, err := connections.Acquire(ctx, 4) // all four or none
	if err != nil {
		log.Fatal(err)
	}
	other, err := connections.TryAcquire(ctx, 4)
	if err != nil {
		log.Fatal(err)
	}
	_, err = connections.TryAcquire(ctx, 4)
	fmt.Println("a third report:", errors.Is(err, recipes.ErrNotAcquired))
	query, err := connections.TryAcquire(ctx, 1)
	fmt.Println("a query:", err)
	for _, lease := range []*recipes.Lease{report, other, query} {
		_ = lease.Release(ctx)
	}
	_, err = connections.Acquire(ctx, 11)
	fmt.Println(err)
	// Another program that takes the limit for another one is told, as long as somebody is there.
	report, _ = connections.Acquire(ctx, 4)
	_, err = recipes.NewSemaphore(c, "/limits/database", 20).Acquire(ctx, 1)
	fmt.Println("disagree:", errors.Is(err, recipes.ErrCapacity))
	fmt.Println(report.Release(ctx))
	// Output:
	// a third report: true
	// a query: <nil>
	// zk: acquire /limits/database: 11 permits: 1 to 10 are possible
	// disagree: true
	// <nil>
}

// The limit is in the znode, so that it can be changed while programs are running. A lower one takes nothing from those who hold.
func ExampleSemaphore_SetPermits() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	limit := recipes.NewSemaphore(c, "/limits/downloads", recipes.FromZnode)
	_, err := limit.TryAcquire(ctx, 1)
	fmt.Println("nobody has said how many:", errors.Is(err, recipes.ErrCapacity))
	if err := limit.SetPermits(ctx, 1); err != nil {
		log.Fatal(err)
	}
	first, err := limit.Acquire(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	_, err = limit.TryAcquire(ctx, 1)
	fmt.Println("one is taken:", errors.Is(err, recipes.ErrNotAcquired))
	if err := limit.SetPermits(ctx, 2); err != nil { // wakes whoever waits
		log.Fatal(err)
	}
	second, err := limit.Acquire(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	if err := limit.SetPermits(ctx, 1); err != nil {
		log.Fatal(err)
	}
	fmt.Println("both are held:", first.State() == recipes.Held && second.State() == recipes.Held)
	_ = first.Release(ctx)
	fmt.Println(second.Release(ctx))
	// Output:
	// nobody has said how many: true
	// one is taken: true
	// both are held: true
	// <nil>
}
