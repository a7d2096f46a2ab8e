package recipes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/lockkeeper/lockkeeper/recipes"
)

// A leader and a standby, which takes over when the leader's function has returned. What only a leader may do listens to the context
// of the function: it ends when the leadership does.
func ExampleElection_Lead() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	primary := recipes.NewElection(c, "/leader", []byte("host-a:8080"))
	standby := recipes.NewElection(c, "/leader", []byte("host-b:8080"))

	handedOver := make(chan struct{})
	stopped := make(chan error)
	err := primary.Lead(ctx, func(work context.Context, _ *recipes.Leadership) error {
		fmt.Println("host-a leads:", work.Err() == nil)
		go func() {
			stopped <- standby.Lead(ctx, func(context.Context, *recipes.Leadership) error {
				fmt.Println("host-b leads")
				close(handedOver)
				return nil
			})
		}()
		leader, err := standby.Leader(work)
		if err != nil {
			return err
		}
		fmt.Printf("the leader is %s\n", leader.Data)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	<-handedOver
	fmt.Println(<-stopped)
	// Output:
	// host-a leads: true
	// the leader is host-a:8080
	// host-b leads
	// <nil>
}

// Campaign is for programs that do not want their work inside a function.
func ExampleElection_Campaign() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	leadership, err := recipes.NewElection(c, "/leader", []byte("host-a:8080")).Campaign(ctx)
	if err != nil {
		log.Fatal(err)
	}
	work := leadership.Context() // ends when the leadership does
	fmt.Println("working:", work.Err() == nil)
	if err := leadership.Resign(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(context.Cause(work))
	// Output:
	// working: true
	// lease released
}

// Whoever wants to know the leader follows it: here through three of them, until there is none.
func ExampleElection_Observe() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	hosts := []string{"host-a:8080", "host-b:8080", "host-c:8080"}
	next := func() *recipes.Leadership {
		leadership, err := recipes.NewElection(c, "/leader", []byte(hosts[0])).Campaign(ctx)
		if err != nil {
			log.Fatal(err)
		}
		hosts = hosts[1:]
		return leadership
	}
	current := next()
	for leader, err := range recipes.NewElection(c, "/leader", nil).Observe(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		if leader.Node == "" {
			fmt.Println("nobody leads")
			break
		}
		fmt.Printf("%s leads\n", leader.Data)
		if err := current.Resign(ctx); err != nil { // elsewhere, in a real program
			log.Fatal(err)
		}
		if len(hosts) > 0 {
			current = next()
		}
	}
	// Output:
	// host-a:8080 leads
	// host-b:8080 leads
	// host-c:8080 leads
	// nobody leads
}
