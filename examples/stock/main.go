// The stock program is a shop with several tills and one stock. Each order takes some pieces, or is refused because too few are
// left: what is sold is never more than there was.
//
//	go run ./examples/stock -servers zk1:2181 -pieces 20 -tills 4 -take 3
//
// A lock alone could not promise that: a till that is stopped for a minute between reading the stock and writing it would
// write when somebody else has the lock already. So each write is guarded: it happens in one transaction with a check that the
// lock is still that of the writer. At the end the program tries a write with a lock that it has given back, and is refused.
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
	"sync/atomic"
	"syscall"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "stock:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("stock", flag.ContinueOnError)
	servers := fs.String("servers", "127.0.0.1:2181", "`host:port,host:port` of the ensemble")
	path := fs.String("path", "/examples/stock", "`path` below which the stock and the lock are")
	pieces := fs.Int("pieces", 20, "how many there are at first")
	tills := fs.Int("tills", 4, "how many tills sell at the same time")
	take := fs.Int("take", 3, "how many pieces an order takes")
	if err := fs.Parse(args); err != nil {
		return err
	}
	c, err := client.Connect(ctx, *servers)
	if err != nil {
		return err
	}
	defer c.Close()
	s := &shop{c: c, stock: *path + "/pieces", lock: recipes.NewMutex(c, *path+"/lock")}
	if err := s.fill(ctx, *pieces); err != nil {
		return err
	}
	sold, err := s.open(ctx, *tills, *take)
	if err != nil {
		return err
	}
	left, _, err := s.read(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "sold %d, left %d, of %d\n", sold, left, *pieces)
	return s.late(ctx, out)
}

// shop is a stock in a znode, and the lock that goes with it.
type shop struct {
	c     *client.Client
	stock string
	lock  *recipes.Mutex
}

func (s *shop) fill(ctx context.Context, pieces int) error {
	data := []byte(strconv.Itoa(pieces))
	_, _, err := s.c.CreateAll(ctx, s.stock, data, client.ModePersistent, nil)
	if errors.Is(err, client.ErrNodeExists) {
		_, err = s.c.Set(ctx, s.stock, data, client.AnyVersion)
	}
	return err
}

func (s *shop) read(ctx context.Context) (pieces int, version int32, err error) {
	data, stat, err := s.c.Get(ctx, s.stock)
	if err != nil {
		return 0, 0, err
	}
	pieces, err = strconv.Atoi(string(data))
	return pieces, stat.Version, err
}

// open lets all tills sell until each has been refused, and returns how many pieces they have sold.
func (s *shop) open(ctx context.Context, tills, take int) (int64, error) {
	var sold atomic.Int64
	errs := make([]error, tills)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for ok := true; ok && errs[i] == nil; {
				if ok, errs[i] = s.order(ctx, take); ok {
					sold.Add(int64(take))
				}
			}
		})
	}
	wg.Wait()
	return sold.Load(), errors.Join(errs...)
}

// order sells some pieces, or returns false if too few are left.
func (s *shop) order(ctx context.Context, take int) (ok bool, err error) {
	lease, err := s.lock.Lock(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, lease.Release(ctx)) }()
	pieces, version, err := s.read(ctx)
	if err != nil || pieces < take {
		return false, err
	}
	_, err = s.c.Multi(ctx, lease.Guard(), client.SetOp(s.stock, []byte(strconv.Itoa(pieces-take)), version))
	return err == nil, err // client.MaybeApplied(err): whether it is sold has to be looked up
}

// late writes as a till does that has lost its lock and does not know.
func (s *shop) late(ctx context.Context, out io.Writer) error {
	lease, err := s.lock.Lock(ctx)
	if err != nil {
		return err
	}
	if err := lease.Release(ctx); err != nil {
		return err
	}
	_, err = s.c.Multi(ctx, lease.Guard(), client.SetOp(s.stock, []byte("1000"), client.AnyVersion))
	if !errors.Is(err, client.ErrNoNode) {
		return fmt.Errorf("a write without the lock: %w", err)
	}
	fmt.Fprintln(out, "a write without the lock is refused")
	return nil
}
