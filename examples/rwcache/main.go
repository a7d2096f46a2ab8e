// The rwcache program keeps a value in memory that is made of two znodes, behind a read-write lock: any number of readers may use
// it at the same time, and a writer changes both znodes while no reader looks. Without the lock a reader could see one
// znode from before the change and one from after it.
//
//	go run ./examples/rwcache -servers zk1:2181 -readers 4 -changes 5
//
// A reader asks only whether the first znode is still the one it knows, and reads both again if not. To follow values that
// are no more than read, package cache is simpler: its snapshots are never torn, and it needs no lock.
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
		fmt.Fprintln(os.Stderr, "rwcache:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("rwcache", flag.ContinueOnError)
	servers := fs.String("servers", "127.0.0.1:2181", "`host:port,host:port` of the ensemble")
	path := fs.String("path", "/examples/rwcache", "`path` below which the two znodes and the lock are")
	readers := fs.Int("readers", 4, "how many read at the same time")
	changes := fs.Int("changes", 5, "how often the value changes")
	if err := fs.Parse(args); err != nil {
		return err
	}
	c, err := client.Connect(ctx, *servers)
	if err != nil {
		return err
	}
	defer c.Close()
	v := &value{c: c, left: *path + "/left", right: *path + "/right", lock: recipes.NewRWMutex(c, *path+"/lock")}
	if err := v.write(ctx, 0); err != nil {
		return err
	}
	errs := make([]error, *readers+1)
	reads := make([]int, *readers)
	var wg, begun sync.WaitGroup
	begun.Add(*readers)
	for i := range reads {
		// A reader ends when it has seen the last change, or has failed.
		wg.Go(func() {
			for n := -1; n < *changes && errs[i] == nil; reads[i]++ {
				if n, errs[i] = v.read(ctx); reads[i] == 0 {
					begun.Done()
				}
			}
		})
	}
	begun.Wait()
	for n := 1; n <= *changes && errs[*readers] == nil; n++ {
		errs[*readers] = v.write(ctx, n)
	}
	if errs[*readers] != nil {
		return errs[*readers] // readers would wait for a change that does not come: they end with the client
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, n := range reads {
		if n < 2 && *changes > 0 {
			return errors.New("a reader has not seen a change")
		}
	}
	fmt.Fprintf(out, "%d readers have seen %d, and never half of a change\n", *readers, *changes)
	return nil
}

// value is a number that is kept in two znodes, and in memory.
type value struct {
	c           *client.Client
	left, right string
	lock        *recipes.RWMutex

	mu    sync.Mutex
	known int64 // zxid of the newest change that is in memory
	n     int
}

// read returns the number. Many may read at the same time.
func (v *value) read(ctx context.Context) (n int, err error) {
	lease, err := v.lock.RLock(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, lease.Release(ctx)) }()
	stat, _, err := v.c.Exists(ctx, v.left)
	if err != nil {
		return 0, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if stat.Mzxid == v.known {
		return v.n, nil
	}
	g := v.c.Group()
	left, right := g.Get(v.left, nil), g.Get(v.right, nil)
	if err := g.Do(ctx); err != nil {
		return 0, err
	}
	a, stat, errLeft := left.Data()
	b, _, errRight := right.Data()
	if err := errors.Join(errLeft, errRight); err != nil {
		return 0, err
	}
	if string(a) != string(b) {
		return 0, fmt.Errorf("half of a change: %s and %s", a, b)
	}
	v.n, err = strconv.Atoi(string(a))
	v.known = stat.Mzxid
	return v.n, err
}

// write changes the number, in two steps that no reader sees one by one.
func (v *value) write(ctx context.Context, n int) (err error) {
	lease, err := v.lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lease.Release(ctx)) }()
	data := []byte(strconv.Itoa(n))
	for _, znode := range []string{v.left, v.right} {
		_, _, err := v.c.CreateAll(ctx, znode, data, client.ModePersistent, nil)
		if errors.Is(err, client.ErrNodeExists) {
			_, err = v.c.Set(ctx, znode, data, client.AnyVersion)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
