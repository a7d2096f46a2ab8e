// The lifecycle program shows the life of a lock, and what happens to a second copy that is started meanwhile: it waits for a
// while, and gives up. When the first copy has released the lock the second one gets it.
//
//	go run ./examples/lifecycle -servers zk1:2181,zk2:2181,zk3:2181 -wait 1s
//
// Both copies are in this process, each with a client and so a session of its own, as two processes would have them.
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
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "lifecycle:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("lifecycle", flag.ContinueOnError)
	servers := fs.String("servers", "127.0.0.1:2181", "`host:port,host:port` of the ensemble")
	path := fs.String("path", "/examples/lifecycle", "`path` of the lock")
	wait := fs.Duration("wait", 500*time.Millisecond, "how long the second copy waits for the lock")
	if err := fs.Parse(args); err != nil {
		return err
	}
	first, err := client.Connect(ctx, *servers)
	if err != nil {
		return err
	}
	defer first.Close()
	second, err := client.Connect(ctx, *servers)
	if err != nil {
		return err
	}
	defer second.Close()

	held, err := recipes.NewMutex(first, *path).Lock(ctx) // no bound but ctx: the lock is free, or it is waited for
	if err != nil {
		return err
	}
	defer held.Release(ctx) // if the program returns early; a second release does nothing
	fmt.Fprintln(out, "first copy: has the lock,", held.State())

	if err := giveUp(ctx, recipes.NewMutex(second, *path), *wait, out); err != nil {
		return err
	}
	if err := held.Release(ctx); err != nil {
		return err
	}
	fmt.Fprintln(out, "first copy: released it, its context says:", context.Cause(held.Context()))

	next, err := recipes.NewMutex(second, *path).Lock(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "second copy: has the lock, with a higher token:", next.Token().Compare(held.Token()) > 0)
	return next.Release(ctx)
}

// giveUp waits for the lock and expects not to get it. The context bounds the wait; what Lock has made is deleted again.
func giveUp(ctx context.Context, m *recipes.Mutex, wait time.Duration, out io.Writer) error {
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	lease, err := m.Lock(bounded)
	switch {
	case err == nil:
		return errors.Join(errors.New("two copies have the lock"), lease.Release(ctx))
	case !errors.Is(err, context.DeadlineExceeded):
		return err
	}
	fmt.Fprintln(out, "second copy: waited for", wait, "and gave up")
	return nil
}
