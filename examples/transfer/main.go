// The transfer program moves amounts between two accounts, in both directions at once. Each transfer locks both accounts, by one
// MultiLock: whoever locked one after the other would soon wait for somebody who waits for them.
//
//	go run ./examples/transfer -servers zk1:2181 -transfers 20
//
// Both balances change in one transaction, in which both locks are checked: what is in the accounts together never changes.
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
		fmt.Fprintln(os.Stderr, "transfer:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("transfer", flag.ContinueOnError)
	servers := fs.String("servers", "127.0.0.1:2181", "`host:port,host:port` of the ensemble")
	path := fs.String("path", "/examples/transfer", "`path` below which the accounts and their locks are")
	transfers := fs.Int("transfers", 20, "how many in each direction")
	if err := fs.Parse(args); err != nil {
		return err
	}
	c, err := client.Connect(ctx, *servers)
	if err != nil {
		return err
	}
	defer c.Close()
	b := &bank{c: c}
	left, err := b.account(ctx, *path+"/left", 100)
	if err != nil {
		return err
	}
	right, err := b.account(ctx, *path+"/right", 100)
	if err != nil {
		return err
	}
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i, way := range [][2]*account{{left, right}, {right, left}} {
		wg.Go(func() {
			for n := 0; n < *transfers && errs[i] == nil; n++ {
				errs[i] = b.transfer(ctx, way[0], way[1], 3+i)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	sum := 0
	for _, a := range []*account{left, right} {
		balance, _, err := b.balance(ctx, a)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %d\n", a.name, balance)
		sum += balance
	}
	fmt.Fprintf(out, "%d transfers, together still %d\n", 2**transfers, sum)
	return nil
}

type bank struct{ c *client.Client }

// account is a znode that holds a balance, and a lock.
type account struct {
	name, znode string
	lock        *recipes.Mutex
}

// account opens an account with this balance.
func (b *bank) account(ctx context.Context, path string, balance int) (*account, error) {
	a := &account{path, path + "/balance", recipes.NewMutex(b.c, path+"/lock")}
	data := []byte(strconv.Itoa(balance))
	_, _, err := b.c.CreateAll(ctx, a.znode, data, client.ModePersistent, nil)
	if errors.Is(err, client.ErrNodeExists) {
		_, err = b.c.Set(ctx, a.znode, data, client.AnyVersion)
	}
	return a, err
}

func (b *bank) balance(ctx context.Context, a *account) (balance int, version int32, err error) {
	data, stat, err := b.c.Get(ctx, a.znode)
	if err != nil {
		return 0, 0, err
	}
	balance, err = strconv.Atoi(string(data))
	return balance, stat.Version, err
}

// transfer moves an amount; balances may become negative.
func (b *bank) transfer(ctx context.Context, from, to *account, amount int) (err error) {
	both, err := recipes.NewMultiLock(from.lock.Part(), to.lock.Part()).Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, both.Release(ctx)) }()
	have, version, err := b.balance(ctx, from)
	if err != nil {
		return err
	}
	there, versionThere, err := b.balance(ctx, to)
	if err != nil {
		return err
	}
	_, err = b.c.Multi(ctx, append(both.Guards(),
		client.SetOp(from.znode, []byte(strconv.Itoa(have-amount)), version),
		client.SetOp(to.znode, []byte(strconv.Itoa(there+amount)), versionThere))...)
	return err
}
