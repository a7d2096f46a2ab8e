package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// A program that does it by hand creates <path>/job-<number> and has the lock if no other child has a lower number. It and ours
// exclude each other.
func ExamplePlainNames() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	lock := recipes.NewMutex(c, "/jobs", recipes.PlainNames("job-"), recipes.Data([]byte("host-7")))
	lease, err := lock.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lease.Node())
	ps, err := lock.Participants(ctx)
	fmt.Printf("%s %v\n", ps[0].Data, err)
	node, _, err := c.Get(ctx, lease.Node())
	fmt.Printf("%.10s... %v\n", node, err) // what tells it from other znodes
	fmt.Println(lease.Release(ctx))

	other, _, err := c.Create(ctx, "/jobs/job-", nil, client.ModeEphemeralSequential, nil)
	fmt.Println(other, err)
	_, err = lock.TryLock(ctx)
	fmt.Println("the other has it:", errors.Is(err, recipes.ErrNotAcquired))
	// Output:
	// /jobs/job-0000000000
	// host-7 <nil>
	// host-7 id=... <nil>
	// <nil>
	// /jobs/job-0000000001 <nil>
	// the other has it: true
}
