package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"runtime"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// Participants shows who has the mutex and who is next, of whatever process. The data is what each of them says of itself.
func ExampleMutex_Participants() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	mutex := func(name string) *recipes.Mutex {
		return recipes.NewMutex(c, "/locks/orders", recipes.Data([]byte(name)))
	}
	lease, err := mutex("billing").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // ends with its lock, below
		defer close(done)
		next, err := mutex("shipping").Lock(ctx)
		if err != nil {
			log.Fatal(err)
		}
		_ = next.Release(ctx)
	}()
	all := mutex("")
	participants, err := all.Participants(ctx)
	for err == nil && len(participants) < 2 { // until the other one has lined up
		participants, err = all.Participants(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range participants {
		fmt.Printf("%s: holds %v, its token is the lease's %v\n", p.Data, p.Holds, p.Token == lease.Token())
	}
	_ = lease.Release(ctx)
	<-done
	// Output:
	// billing: holds true, its token is the lease's true
	// shipping: holds false, its token is the lease's false
}

// No hold lasts longer than that: the work is told to stop, and the lock goes on to the next one.
func ExampleMaxHold() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	lease, err := recipes.NewMutex(c, "/locks/orders", recipes.MaxHold(20*time.Millisecond)).Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	<-lease.Context().Done() // where the work looks
	fmt.Println(context.Cause(lease.Context()))
	next, err := recipes.NewMutex(c, "/locks/orders").Lock(ctx)
	fmt.Println("the next one:", err)
	fmt.Println("too late:", errors.Is(lease.Release(ctx), recipes.ErrMaxHold))
	fmt.Println(next.Release(ctx))
	// Output:
	// held for longer than allowed
	// the next one: <nil>
	// too late: true
	// <nil>
}

// The goroutines of one lock object line up in memory, so that many of them cost the server no more than one.
func ExampleLocalQueue() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	m := recipes.NewMutex(c, "/locks/orders", recipes.LocalQueue())
	lease, err := m.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan error)
	for range 3 {
		go func() { // ends with its lock, below
			next, err := m.Lock(ctx)
			if err == nil {
				err = next.Release(ctx)
			}
			done <- err
		}()
	}
	for m.LocalWaiters() < 3 { // until all have lined up
		runtime.Gosched()
	}
	participants, err := m.Participants(ctx)
	fmt.Println("znodes:", len(participants), err)
	fmt.Println(lease.Release(ctx))
	for range 3 {
		fmt.Println(<-done)
	}
	// Output:
	// znodes: 1 <nil>
	// <nil>
	// <nil>
	// <nil>
	// <nil>
}

// A guard tells the holders of one znode apart: that of a holder who has passed it on is refused.
func ExampleGuardedHandover() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	if _, _, err := c.Create(ctx, "/next", []byte("1"), client.ModePersistent, nil); err != nil {
		log.Fatal(err)
	}
	m := recipes.NewMutex(c, "/locks/orders", recipes.HandOver(10, time.Minute), recipes.GuardedHandover())
	first, err := m.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	guard := first.Guard()
	granted := make(chan *recipes.Lease)
	go func() { // ends when the lease is taken, below
		lease, err := m.Lock(ctx)
		if err != nil {
			log.Fatal(err)
		}
		granted <- lease
	}()
	for m.LocalWaiters() == 0 { // until it has lined up
		runtime.Gosched()
	}
	_ = first.Release(ctx)
	second := <-granted
	fmt.Println("one znode:", second.Node() == first.Node(), "with the tokens' second number", second.Token().Hand)
	_, err = c.Multi(ctx, guard, client.SetOp("/next", []byte("2"), client.AnyVersion))
	fmt.Println("the first holder, bad version:", errors.Is(err, client.ErrBadVersion))
	_, err = c.Multi(ctx, second.Guard(), client.SetOp("/next", []byte("2"), client.AnyVersion))
	fmt.Println("the second holder:", err)
	fmt.Println(second.Release(ctx))
	// Output:
	// one znode: true with the tokens' second number 1
	// the first holder, bad version: true
	// the second holder: <nil>
	// <nil>
}

// Nobody waits for the server to confirm the release: the next request goes out right behind it.
func ExampleLease_ReleasePipelined() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	m := recipes.NewMutex(c, "/locks/orders")
	lease, err := m.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lease.ReleasePipelined())
	fmt.Println("over:", lease.State() == recipes.Lost)
	again, err := m.TryLock(ctx) // in the same flight as the deletion
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("confirmed:", lease.Release(ctx)) // who wants to know can still wait
	fmt.Println(again.Release(ctx))
	// Output:
	// <nil>
	// over: true
	// confirmed: <nil>
	// <nil>
}
