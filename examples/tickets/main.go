// The tickets program sells tickets, from a stock that several sellers share, until it is sold out. Each seller is a
// process of its own, and no ticket is sold twice.
//
//	go run ./examples/tickets -servers zk1:2181 -stock 20    puts 20 tickets on sale
//	go run ./examples/tickets -servers zk1:2181 -seller a    sells; start as many as you like, on any machine
//
// A seller takes the lock, reads how many tickets are left, and sells the one with that number: in one transaction the lock is
// still its own, the stock is one less, and a znode says who has sold the ticket. If the reply to that is lost, the znode tells
// whether it took place.
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
	"syscall"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "tickets:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("tickets", flag.ContinueOnError)
	servers := fs.String("servers", "127.0.0.1:2181", "`host:port,host:port` of the ensemble")
	path := fs.String("path", "/examples/tickets", "`path` of the sale")
	stock := fs.Int("stock", 0, "begin a new sale with this many tickets, and sell none")
	seller := fs.String("seller", "seller", "`name` of this seller")
	if err := fs.Parse(args); err != nil {
		return err
	}
	c, err := client.Connect(ctx, *servers)
	if err != nil {
		return err
	}
	defer c.Close()
	s := &sale{c: c, path: *path, lock: recipes.NewMutex(c, *path+"-lock")}
	if *stock > 0 {
		fmt.Fprintln(out, "on sale:", *stock)
		return s.open(ctx, *stock)
	}
	for sold := 0; ; sold++ {
		ticket, err := s.sell(ctx, *seller)
		if err != nil {
			return err
		}
		if ticket == 0 {
			fmt.Fprintf(out, "%s: sold out, after %d of mine\n", *seller, sold)
			return nil
		}
		fmt.Fprintf(out, "%s: sold ticket %d\n", *seller, ticket)
	}
}

// sale is a znode whose data is the number of tickets that are left, and which has a child for each that is sold.
type sale struct {
	c    *client.Client
	path string
	lock *recipes.Mutex
}

// open begins a new sale.
func (s *sale) open(ctx context.Context, stock int) error {
	if err := s.c.DeleteAll(ctx, s.path); err != nil && !errors.Is(err, client.ErrNoNode) {
		return err
	}
	_, _, err := s.c.CreateAll(ctx, s.path, []byte(strconv.Itoa(stock)), client.ModePersistent, nil)
	return err
}

// sell sells one ticket and returns its number, or 0 if there is none left.
func (s *sale) sell(ctx context.Context, seller string) (ticket int, err error) {
	lease, err := s.lock.Lock(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, lease.Release(ctx)) }()
	data, stat, err := s.c.Get(ctx, s.path)
	if err != nil {
		return 0, err
	}
	left, err := strconv.Atoi(string(data))
	if err != nil || left == 0 {
		return 0, err
	}
	sold := s.path + "/" + ticketName(left)
	_, err = s.c.Multi(ctx,
		lease.Guard(), // nothing happens if the lock has been lost without our noticing
		client.SetOp(s.path, []byte(strconv.Itoa(left-1)), stat.Version),
		client.CreateOp(sold, []byte(seller), client.ModePersistent, nil))
	if client.MaybeApplied(err) {
		by, _, look := s.c.Get(ctx, sold)
		if look != nil || string(by) != seller {
			return 0, errors.Join(err, look)
		}
		err = nil // it took place, only its reply was lost
	}
	return left, err
}

// ticketName is the name of the znode of a ticket.
func ticketName(ticket int) string { return fmt.Sprintf("ticket-%04d", ticket) }
