// The leader program is one of several instances of a service, of which one leads and the others stand by.
//
//	go run ./examples/leader -servers zk1:2181 -name a
//	go run ./examples/leader -servers zk1:2181 -name b    in another terminal
//	go run ./examples/leader -servers zk1:2181 -watch     shows who leads, and every change
//
// Interrupt the one that leads: it stops its work first and resigns then, so the standby takes over at once and the two never
// lead at the same time. When a leader loses its session the same happens by itself: it campaigns again, and is a standby.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "leader:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("leader", flag.ContinueOnError)
	servers := fs.String("servers", "127.0.0.1:2181", "`host:port,host:port` of the ensemble")
	path := fs.String("path", "/examples/leader", "`path` of the election")
	name := fs.String("name", "instance", "`name` of this instance")
	watch := fs.Bool("watch", false, "be no candidate, and show who leads")
	if err := fs.Parse(args); err != nil {
		return err
	}
	c, err := client.Connect(ctx, *servers)
	if err != nil {
		return err
	}
	defer c.Close()
	e := recipes.NewElection(c, *path, []byte(*name))
	if *watch {
		err = show(ctx, e, out)
	} else {
		err = stand(ctx, e, *name, out)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // interrupted
	}
	return err
}

// stand leads whenever it is this instance's turn.
func stand(ctx context.Context, e *recipes.Election, name string, out io.Writer) error {
	for {
		switch leader, err := e.Leader(ctx); {
		case err == nil:
			fmt.Fprintf(out, "%s: stands by, %s leads\n", name, leader.Data)
		case !errors.Is(err, recipes.ErrNoLeader):
			return err
		}
		err := e.Lead(ctx, func(ctx context.Context, _ *recipes.Leadership) error {
			fmt.Fprintf(out, "%s: leads\n", name)
			<-ctx.Done() // here is the work of a leader, which has to stop now
			fmt.Fprintf(out, "%s: leads no more: %v\n", name, context.Cause(ctx))
			return nil
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !errors.Is(err, recipes.ErrLost) {
			return err
		}
	}
}

// show prints the leader and every later one.
func show(ctx context.Context, e *recipes.Election, out io.Writer) error {
	for leader, err := range e.Observe(ctx) {
		switch {
		case err != nil:
			return err
		case leader.Node == "":
			fmt.Fprintln(out, "nobody leads")
		default:
			fmt.Fprintf(out, "leader: %s\n", leader.Data)
		}
	}
	return nil
}
