// The job program is a job that a timer starts on every machine at the same time, and that runs on one of them.
//
//	go run ./examples/job -servers zk1:2181 -last 1m
//	go run ./examples/job -servers zk1:2181             in another terminal: says that it is running
//
// The job stops when it has lost its lock, or is interrupted.
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
		fmt.Fprintln(os.Stderr, "job:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("job", flag.ContinueOnError)
	servers := fs.String("servers", "127.0.0.1:2181", "`host:port,host:port` of the ensemble")
	path := fs.String("path", "/examples/job", "`path` of the job")
	last := fs.Duration("last", time.Second, "how long the job takes")
	if err := fs.Parse(args); err != nil {
		return err
	}
	c, err := client.Connect(ctx, *servers)
	if err != nil {
		return err
	}
	defer c.Close()
	job := recipes.NewSingletonJob(c, *path)
	ran, err := job.Run(ctx, func(ctx context.Context, _ *recipes.Lease) error {
		fmt.Fprintln(out, "job: runs")
		done := time.NewTimer(*last)
		defer done.Stop()
		select {
		case <-done.C:
			fmt.Fprintln(out, "job: done")
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	if err != nil || ran {
		return err
	}
	who, running, err := job.Running(ctx)
	if err != nil {
		return err
	}
	if !running { // it has ended in the meantime
		who.Data = []byte("nobody any more")
	}
	fmt.Fprintf(out, "job: is run by another instance: %s\n", who.Data)
	return nil
}
