package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/internal/load"
	"github.com/lockkeeper/lockkeeper/recipes"
	"github.com/lockkeeper/lockkeeper/zktest"
)

const (
	interopSessions = 2 // per client
	interopPer      = 2 // contenders per session
	interopRounds   = 50
	// interopBound ends a contention that hangs. It takes about a second.
	interopBound = 18 * time.Second
)

// contender takes the lock with one of the clients. read and write are a plain get and a plain set with the same client.
type contender struct {
	lock   func(ctx context.Context) (load.Token, error)
	unlock func(ctx context.Context) error
	read   func(ctx context.Context) (value string, version int32, err error)
	write  func(ctx context.Context, value string, version int32) error
}

// contention is one path on which both clients contend, and what shows that they exclude each other.
type contention struct {
	lock, counter string
	all, ours     *load.Checker // ours sees our holds alone, which have tokens

	mu      sync.Mutex // guards what follows
	last    bool       // the last hold was one of ours
	changes int        // of the client from one hold to the next
}

func TestBothClientsExcludeEachOtherOnZktest(t *testing.T) {
	srv := zktest.New()
	t.Cleanup(func() { srv.Close() })
	addr, err := srv.Listen()
	if err != nil {
		t.Fatal(err)
	}
	contend(t, addr)
}

func TestBothClientsExcludeEachOtherOnARealServer(t *testing.T) {
	contend(t, zkserver.Require(t, zkserver.Options{}).ConnectString())
}

// contend lets go-zookeeper's Lock and our Mutex contend for one path. Overlaps are looked for in two ways: by time, and by
// a counter that every holder increments with a get and a set of the version it has read.
func contend(t *testing.T, servers string) {
	ctx, cancel := context.WithTimeout(t.Context(), interopBound)
	defer cancel()
	root := "/lockkeeper-interop-" + rand.Text()
	ct := &contention{lock: root + "/lock", counter: root + "/counter"}
	ct.all, ct.ours = load.NewChecker("both clients", false), load.NewChecker("ours", true)
	plant(t, ctx, servers, root, ct)
	var all []*contender
	for range interopSessions {
		all = append(all, ct.incumbents(t, ctx, servers)...)
	}
	incumbents := len(all)
	for range interopSessions {
		all = append(all, ct.mutexes(t, ctx, servers)...)
	}
	var running sync.WaitGroup
	errs := make([]error, len(all))
	for i, c := range all {
		// contender, owned by contend, ends after its rounds, or with ctx, which also closes the sessions.
		running.Go(func() { errs[i] = ct.rounds(ctx, c, i, i >= incumbents) })
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	ct.check(t, all[0], len(all)*interopRounds)
}

// plant makes the znodes, and removes them after the test.
func plant(t *testing.T, ctx context.Context, servers, root string, ct *contention) {
	t.Helper()
	c, err := client.Connect(ctx, servers)
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{root, ct.lock, ct.counter}
	for _, path := range paths {
		if _, _, err := c.Create(ctx, path, []byte("0"), client.ModePersistent, nil); err != nil {
			t.Fatal(err)
		}
	}
	// Called after the sessions of the contenders have been closed: what they had left would make the deletion fail.
	t.Cleanup(func() {
		for i := range paths {
			if err := c.Delete(context.Background(), paths[len(paths)-1-i], client.AnyVersion); err != nil {
				t.Error(err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// incumbents opens a session of go-zookeeper and returns contenders that share it.
func (ct *contention) incumbents(t *testing.T, ctx context.Context, servers string) (cs []*contender) {
	t.Helper()
	opened, err := goZK{}.Open(ctx, servers)
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*zkSession)
	closeOnce := sync.OnceFunc(func() { s.Close() })
	context.AfterFunc(ctx, closeOnce) // its calls know no context
	t.Cleanup(closeOnce)
	for range interopPer {
		l := s.Locker(ct.lock, load.LockOptions{})
		cs = append(cs, &contender{
			lock: l.Lock, unlock: l.Unlock,
			read: func(context.Context) (string, int32, error) {
				data, stat, err := s.c.Get(ct.counter)
				if err != nil {
					return "", 0, err
				}
				return string(data), stat.Version, nil
			},
			write: func(_ context.Context, value string, version int32) error {
				_, err := s.c.Set(ct.counter, []byte(value), version)
				return err
			},
		})
	}
	return cs
}

// mutexes opens a session of ours and returns contenders that share it and a Mutex.
func (ct *contention) mutexes(t *testing.T, ctx context.Context, servers string) (cs []*contender) {
	t.Helper()
	c, err := client.Connect(ctx, servers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	m := recipes.NewMutex(c, ct.lock)
	for range interopPer {
		var lease *recipes.Lease
		cs = append(cs, &contender{
			lock: func(ctx context.Context) (token load.Token, err error) {
				lease, err = m.Lock(ctx)
				return lease.Token(), err
			},
			unlock: func(ctx context.Context) error { return lease.Release(ctx) },
			read: func(ctx context.Context) (string, int32, error) {
				data, stat, err := c.Get(ctx, ct.counter)
				return string(data), stat.Version, err
			},
			write: func(ctx context.Context, value string, version int32) error {
				_, err := c.Set(ctx, ct.counter, []byte(value), version)
				return err
			},
		})
	}
	return cs
}

// rounds takes and releases the lock again and again.
func (ct *contention) rounds(ctx context.Context, c *contender, id int, ours bool) error {
	for round := range interopRounds {
		token, err := c.lock(ctx)
		if err != nil {
			return fmt.Errorf("contender %d, round %d: lock: %w", id, round, err)
		}
		ct.enter(id, token, ours)
		err = c.increment(ctx)
		ct.leave(id, ours)
		if err = errors.Join(err, c.unlock(ctx)); err != nil {
			return fmt.Errorf("contender %d, round %d: %w", id, round, err)
		}
	}
	return nil
}

func (ct *contention) enter(id int, token load.Token, ours bool) {
	ct.all.Enter(id, load.Token{})
	if ours {
		ct.ours.Enter(id, token)
	}
	ct.mu.Lock()
	defer ct.mu.Unlock()
	if ct.last != ours {
		ct.last = ours
		ct.changes++
	}
}

func (ct *contention) leave(id int, ours bool) {
	if ours {
		ct.ours.Leave(id)
	}
	ct.all.Leave(id)
}

// increment fails when another holder has written between its get and its set.
func (c *contender) increment(ctx context.Context) error {
	value, version, err := c.read(ctx)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		return err
	}
	return c.write(ctx, strconv.Itoa(n+1), version)
}

// check looks at what has come of so many holds.
func (ct *contention) check(t *testing.T, reader *contender, want int) {
	t.Helper()
	for _, c := range []*load.Checker{ct.all, ct.ours} {
		if _, violations, first := c.Result(); violations > 0 {
			t.Errorf("%d violations, the first: %s", violations, first)
		}
	}
	if holds, _, _ := ct.all.Result(); holds != int64(want) {
		t.Errorf("%d holds, want %d", holds, want)
	}
	value, _, err := reader.read(t.Context())
	if err != nil || value != strconv.Itoa(want) {
		t.Errorf("the counter is %q after %d increments: %v", value, want, err)
	}
	if ct.changes < want/20 {
		t.Errorf("the lock changed between the clients %d times in %d holds: they did not contend", ct.changes, want)
	}
	t.Logf("%d holds, %d changes between the clients", want, ct.changes)
}
