package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// place is where a contender contends.
type place struct {
	servers, path string
	timeout       time.Duration // of the session
}

// contender is a session and a lock. One goroutine at a time uses it.
type contender interface {
	lock(ctx context.Context) error
	release(ctx context.Context) error
	// loop acquires and releases n times. When it has returned nil, the server has answered everything.
	loop(ctx context.Context, n int) error
	// close ends the session, and a wait for the lock.
	close() error
}

// kind is a client in one way of using it. Nobody is one too, without open: what servers cost that nobody uses.
type kind struct {
	name string
	open func(ctx context.Context, at place) (contender, error)
}

// The clients, as -clients names them, in the order of the tables.
const (
	keyOurs      = "ours"
	keyNoProof   = "ours-noproof"
	keyNoAhead   = "ours-noahead"
	keyBare      = "ours-bare"
	keyPipelined = "ours-pipelined"
	keyGoZK      = "go-zookeeper"
	keyCurator   = "curator"
	keyNobody    = "nobody"
)

var clientKeys = []string{keyOurs, keyNoProof, keyNoAhead, keyBare, keyPipelined, keyGoZK, keyCurator, keyNobody}

// goKinds are those that run in this process, by key.
var goKinds = map[string]kind{
	keyOurs:      {"lockkeeper", ours(false, nil)},
	keyNoProof:   {"lockkeeper, LeaderProof(false)", ours(false, nil, client.LeaderProof(false))},
	keyNoAhead:   {"lockkeeper, NoLookAhead", ours(false, []recipes.Option{recipes.NoLookAhead()})},
	keyBare:      {"lockkeeper, NoLookAhead, NoOwnWatch", ours(false, []recipes.Option{recipes.NoLookAhead(), recipes.NoOwnWatch()})},
	keyPipelined: {"lockkeeper, ReleasePipelined", ours(true, nil)},
	keyGoZK:      {"go-zookeeper 1.0.4", openGoZK},
	keyNobody:    {"nobody", nil},
}

// ourContender is one of package recipes.
type ourContender struct {
	c         *client.Client
	m         *recipes.Mutex
	lease     *recipes.Lease
	pipelined bool
}

// ours returns how contenders of package recipes are opened.
func ours(pipelined bool, mutex []recipes.Option, connect ...client.Option) func(context.Context, place) (contender, error) {
	return func(ctx context.Context, at place) (contender, error) {
		c, err := client.Connect(ctx, at.servers, append(connect[:len(connect):len(connect)], client.SessionTimeout(at.timeout))...)
		if err != nil {
			return nil, err
		}
		return &ourContender{c: c, m: recipes.NewMutex(c, at.path, mutex...), pipelined: pipelined}, nil
	}
}

func (o *ourContender) lock(ctx context.Context) (err error) {
	o.lease, err = o.m.Lock(ctx)
	return err
}

func (o *ourContender) release(ctx context.Context) error { return o.lease.Release(ctx) }

// loop waits for its last release also where releases are not waited for: what was before it is answered then as well.
func (o *ourContender) loop(ctx context.Context, n int) error {
	for i := range n {
		err := o.lock(ctx)
		switch {
		case err != nil:
		case o.pipelined && i < n-1:
			err = o.lease.ReleasePipelined()
		default:
			err = o.release(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *ourContender) close() error { return o.c.Close() }

// goZK is a contender of go-zookeeper, whose calls know no context: only the end of its session ends a wait.
type goZK struct {
	l    *zk.Lock
	done func()
}

// silent is a logger that logs nothing.
type silent struct{}

func (silent) Printf(string, ...any) {}

func openGoZK(ctx context.Context, at place) (contender, error) {
	c, events, err := zk.Connect(strings.Split(at.servers, ","), at.timeout, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	for {
		select {
		case ev := <-events:
			if ev.State == zk.StateHasSession {
				return &goZK{zk.NewLock(c, at.path, zk.WorldACL(zk.PermAll)), sync.OnceFunc(c.Close)}, nil
			}
		case <-ctx.Done():
			c.Close()
			return nil, ctx.Err()
		}
	}
}

// until ends the session when ctx ends before the call does.
func (g *goZK) until(ctx context.Context, call func() error) error {
	stop := context.AfterFunc(ctx, g.done)
	defer stop()
	if err := call(); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	return nil
}

func (g *goZK) lock(ctx context.Context) error    { return g.until(ctx, g.l.Lock) }
func (g *goZK) release(ctx context.Context) error { return g.until(ctx, g.l.Unlock) }

func (g *goZK) loop(ctx context.Context, n int) error {
	return g.until(ctx, func() error {
		for range n {
			if err := g.l.Lock(); err != nil {
				return err
			}
			if err := g.l.Unlock(); err != nil {
				return err
			}
		}
		return nil
	})
}

func (g *goZK) close() error {
	g.done()
	return nil
}
