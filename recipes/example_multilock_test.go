package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strconv"
	"sync"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// Two accounts are locked as one, in whatever order a transfer names them, so transfers in opposite directions do not wait for each
// other for ever. The guards make the server refuse the change of who has lost the locks without noticing.
func ExampleMultiLock() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	for _, account := range []string{"/anna", "/bert"} {
		if _, _, err := c.Create(ctx, account, []byte("100"), client.ModePersistent, nil); err != nil {
			log.Fatal(err)
		}
	}
	balance := func(account string) int {
		data, _, err := c.Get(ctx, account)
		if err != nil {
			log.Fatal(err)
		}
		n, err := strconv.Atoi(string(data))
		if err != nil {
			log.Fatal(err)
		}
		return n
	}
	transfer := func(from, to string, amount int) error {
		lease, err := recipes.NewMultiLock(
			recipes.NewMutex(c, "/locks"+from).Part(),
			recipes.NewMutex(c, "/locks"+to).Part(),
		).Lock(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = lease.ReleasePipelined() }()
		ops := append(lease.Guards(),
			client.SetOp(from, []byte(strconv.Itoa(balance(from)-amount)), client.AnyVersion),
			client.SetOp(to, []byte(strconv.Itoa(balance(to)+amount)), client.AnyVersion))
		_, err = c.Multi(ctx, ops...)
		return err
	}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if err := transfer("/anna", "/bert", 7); err != nil {
				log.Fatal(err)
			}
		})
		all.Go(func() {
			if err := transfer("/bert", "/anna", 5); err != nil {
				log.Fatal(err)
			}
		})
	}
	all.Wait()
	fmt.Println("anna", balance("/anna"), "bert", balance("/bert"))
	// Output:
	// anna 80 bert 120
}

// The parts may be of different kinds: here one writes to a table, reads the settings, and uses two of five connections.
func ExampleMultiLock_TryLock() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	table := recipes.NewMutex(c, "/locks/table")
	settings := recipes.NewRWMutex(c, "/locks/settings")
	connections := recipes.NewSemaphore(c, "/locks/connections", 5)
	all := recipes.NewMultiLock(table.Part(), settings.RPart(), connections.Part(2))

	writer, err := settings.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, err = all.TryLock(ctx)
	fmt.Println("somebody writes the settings:", errors.Is(err, recipes.ErrNotAcquired))
	_ = writer.Release(ctx)

	lease, err := all.TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, err = table.TryLock(ctx)
	fmt.Println("the table is ours:", errors.Is(err, recipes.ErrNotAcquired))
	reader, err := settings.TryRLock(ctx)
	fmt.Println("others read the settings as well:", err == nil)
	_ = reader.Release(ctx)
	fmt.Println(lease.Release(ctx))
	// Output:
	// somebody writes the settings: true
	// the table is ours: true
	// others read the settings as well: true
	// <nil>
}

// One part of the program takes the locks one after the other, always in the order of their paths. Beside it, whoever takes them as
// one has to be Ordered: otherwise this one would wait on a, and keep b from the one that has a.
func ExampleMultiLock_Ordered() {
	ctx := context.Background()
	c, closeAll := connect(ctx)
	defer closeAll()
	a, b := recipes.NewMutex(c, "/locks/a"), recipes.NewMutex(c, "/locks/b")
	both := recipes.NewMultiLock(a.Part(), b.Part()).Ordered()

	first, err := a.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan error)
	// Takes both locks and gives them back; owned by this function, which waits for it.
	go func() {
		lease, err := both.Lock(ctx)
		if err == nil {
			fmt.Println("both")
			err = lease.Release(ctx)
		}
		done <- err
	}()
	second, err := b.Lock(ctx) // whether the other one has asked for both by now or not
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("one after the other")
	_ = second.Release(ctx)
	_ = first.Release(ctx)
	fmt.Println(<-done)
	// Output:
	// one after the other
	// both
	// <nil>
}
