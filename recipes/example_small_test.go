package recipes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/lockkeeper/lockkeeper/recipes"
)

// Whoever waits passes when the barrier is removed.
func ExampleBarrier() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	gate := recipes.NewBarrier(c, "/gates/migration")
	if err := gate.Set(ctx); err != nil {
		log.Fatal(err)
	}
	passed := make(chan error)
	go func() { passed <- recipes.NewBarrier(c, "/gates/migration").Wait(ctx) }()
	fmt.Println("the migration is done")
	if err := gate.Remove(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("passed:", <-passed)
	// Output:
	// the migration is done
	// passed: <nil>
}

// Two workers begin together and end together.
func ExampleDoubleBarrier() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	work := func(done chan<- error) {
		b := recipes.NewDoubleBarrier(c, "/steps/one", 2) // each worker has its own
		if err := b.Enter(ctx); err != nil {
			done <- err
			return
		}
		done <- b.Leave(ctx) // after the work
	}
	first, second := make(chan error), make(chan error)
	go work(first)
	go work(second)
	fmt.Println(<-first, <-second)
	// Output:
	// <nil> <nil>
}

// An instance is listed for as long as it runs, from session to session.
func ExampleMember_Run() {
	ctx, stop := context.WithCancel(context.Background())
	c, closeAll := connect(ctx)
	defer closeAll()
	m := recipes.NewMember(c, "/services/search", "host1", []byte("10.0.0.1:8080"))
	if err := m.Join(ctx); err != nil { // tells early if the name is taken
		log.Fatal(err)
	}
	left := make(chan error)
	go func() { left <- m.Run(ctx) }()
	all, err := m.Members(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, other := range all {
		fmt.Printf("%s at %s\n", other.Name, other.Data)
	}
	stop()
	fmt.Println("left:", <-left)
	// Output:
	// host1 at 10.0.0.1:8080
	// left: <nil>
}

func ExampleCounter_Add() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	n := recipes.NewCounter(c, "/counters/orders")
	for range 2 {
		sum, err := n.Add(ctx, 5)
		if err != nil { // client.MaybeApplied(err): it may have been added
			log.Fatal(err)
		}
		fmt.Println(sum)
	}
	// Output:
	// 5
	// 10
}

// A job that a timer starts on every machine runs on one.
func ExampleSingletonJob_Run() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	job := recipes.NewSingletonJob(c, "/jobs/report")
	ran, err := job.Run(ctx, func(ctx context.Context, _ *recipes.Lease) error {
		fmt.Println("writing the report")
		elsewhere, err := recipes.NewSingletonJob(c, "/jobs/report").Run(context.Background(), nothing)
		fmt.Println("at the same time elsewhere:", elsewhere)
		return err
	})
	fmt.Println(ran, err)
	// Output:
	// writing the report
	// at the same time elsewhere: false
	// true <nil>
}

func nothing(context.Context, *recipes.Lease) error { return nil }
