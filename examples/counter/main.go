// The counter program lets ten goroutines count in one znode, each by reading the number and writing back the next one: first as
// they like, and then under a lock. Without the lock two that read the same number write the same next one, and a count is
// lost. With it none is.
//
//	go run ./examples/counter -servers zk1:2181 -goroutines 10 -rounds 20
//
// For a number alone a lock is not needed: recipes.Counter does it by the version of the znode.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "counter:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("counter", flag.ContinueOnError)
	servers := fs.String("servers", "127.0.0.1:2181", "`host:port,host:port` of the ensemble")
	path := fs.String("path", "/examples/counter", "`path` below which the number and the lock are")
	goroutines := fs.Int("goroutines", 10, "how many count at the same time")
	rounds := fs.Int("rounds", 10, "how often each counts")
	if err := fs.Parse(args); err != nil {
		return err
	}
	c, err := client.Connect(ctx, *servers)
	if err != nil {
		return err
	}
	defer c.Close()
	number := *path + "/number"
	m := recipes.NewMutex(c, *path+"/lock")
	count := func() error { return increment(ctx, c, number) }
	locked := func() error {
		lease, err := m.Lock(ctx)
		if err != nil {
			return err
		}
		return errors.Join(count(), lease.Release(ctx))
	}
	for _, way := range []struct {
		name string
		f    func() error
	}{{"without the lock", count}, {"with the lock", locked}} {
		if err := reset(ctx, c, number); err != nil {
			return err
		}
		if err := together(*goroutines, *rounds, way.f); err != nil {
			return err
		}
		data, _, err := c.Get(ctx, number)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %s of %d\n", way.name, data, *goroutines**rounds)
	}
	return nil
}

// reset begins at 0.
func reset(ctx context.Context, c *client.Client, number string) error {
	_, _, err := c.CreateAll(ctx, number, []byte("0"), client.ModePersistent, nil)
	if errors.Is(err, client.ErrNodeExists) {
		_, err = c.Set(ctx, number, []byte("0"), client.AnyVersion)
	}
	return err
}

// increment reads the number and writes the next one, whatever has happened in between.
func increment(ctx context.Context, c *client.Client, number string) error {
	data, _, err := c.Get(ctx, number)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(data))
	if err != nil {
		return err
	}
	_, err = c.Set(ctx, number, strconv.AppendInt(nil, int64(n+1), 10), client.AnyVersion)
	return err
}

// together calls f from several goroutines, which have ended when it returns.
func together(goroutines, rounds int, f func() error) error {
	errs := make([]error, goroutines)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for r := 0; r < rounds && errs[i] == nil; r++ {
				errs[i] = f()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
