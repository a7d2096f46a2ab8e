// The connlimit program limits how many connections to something are open at the same time, among all processes, by a semaphore: a
// permit is taken before a connection is opened, and given back when it is closed.
//
//	go run ./examples/connlimit -servers zk1:2181 -limit 3 -clients 10
//
// Whoever loses its session loses its permit: a connection has to be closed when the context of the lease ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
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
		fmt.Fprintln(os.Stderr, "connlimit:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("connlimit", flag.ContinueOnError)
	servers := fs.String("servers", "127.0.0.1:2181", "`host:port,host:port` of the ensemble")
	path := fs.String("path", "/examples/connlimit", "`path` of the semaphore")
	limit := fs.Int("limit", 3, "how many connections may be open at the same time; the same in all processes")
	clients := fs.Int("clients", 10, "how many want one")
	uses := fs.Int("uses", 2, "how often each opens one")
	if err := fs.Parse(args); err != nil {
		return err
	}
	c, err := client.Connect(ctx, *servers)
	if err != nil {
		return err
	}
	defer c.Close()
	p := &pool{c: c, permits: recipes.NewSemaphore(c, *path, *limit)}
	errs := make([]error, *clients)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for u := 0; u < *uses && errs[i] == nil; u++ {
				errs[i] = p.use(ctx)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d connections, at most %d at the same time\n", p.opened, p.most)
	if p.most > *limit {
		return fmt.Errorf("that is more than %d", *limit)
	}
	return nil
}

// pool counts what would be connections.
type pool struct {
	c       *client.Client
	permits *recipes.Semaphore

	mu                 sync.Mutex
	opened, open, most int
}

// use opens a connection, uses it, and closes it.
func (p *pool) use(ctx context.Context) error {
	lease, err := p.permits.Acquire(ctx, 1)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.opened++
	p.open++
	p.most = max(p.most, p.open)
	p.mu.Unlock()

	err = p.work(lease.Context())

	p.mu.Lock()
	p.open--
	p.mu.Unlock()
	return errors.Join(err, lease.Release(ctx))
}

// work is where the connection is used, here for three questions to the ensemble. It has to end with the context, since then
// somebody else may have the permit.
func (p *pool) work(ctx context.Context) error {
	for range 3 {
		if _, _, err := p.c.Exists(ctx, p.permits.Path()); err != nil {
			return err
		}
	}
	return nil
}
