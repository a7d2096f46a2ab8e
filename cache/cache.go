package cache

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// ErrClosed says that Close was called. It matches net.ErrClosed.
var ErrClosed error = &closedError{}

type closedError struct{}

func (*closedError) Error() string { return "cache closed" }

func (*closedError) Is(target error) bool { return target == net.ErrClosed }

// Cache is a local copy of a znode, or of a znode and everything below it, that follows the ensemble until Close. It is made
// by Open.
//
// All methods may be called from any goroutine, also while the loop over Updates is running; none of them waits for another
// reader. Those of a nil or zero Cache find nothing, and report client.ErrZeroValue where they have an error.
type Cache struct {
	cl     *client.Client // immutable
	path   string         // immutable
	opts   options        // immutable
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}           // closed when run has ended
	wake   chan struct{}           // a token when there is something in waiting
	now    atomic.Pointer[version] // publishes what run has made; never nil

	mu      sync.Mutex // guards what follows; innermost
	waiting []chan struct{}
}

// State says whether what a cache shows is known to be current.
type State struct {
	// Current: the client is connected to a server with a quorum, no event is missing, and everything that this server has told
	// has been read, or is being read at this moment. The server itself may be behind the leader: see Cache.Sync.
	Current bool
	// Since is when Current became what it is.
	Since time.Time
}

// Open sets a watch on path, reads what is there, and returns when the first Snapshot is complete. It holds everything that was
// committed before Open was called. The znode need not exist: then the cache is empty, and fills when it is created. A client
// without a connection waits for one, also with the option FailFast.
//
// ctx bounds the opening only. If it ends first nothing is left behind. The error is a *client.Error; it matches
// client.ErrMarshalling or client.ErrUnimplemented if the server does not have the watches of version 3.6. The cache must be
// closed.
func Open(ctx context.Context, cl *client.Client, path string, opts ...Option) (*Cache, error) {
	c := &Cache{cl: cl, path: path, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	var err error
	c.opts, err = collect(opts)
	switch {
	case cl == nil:
		return nil, c.failed(client.ErrZeroValue)
	case ctx == nil:
		return nil, c.failed(client.ErrNilContext)
	case err != nil:
		return nil, c.failed(err)
	}
	if err := client.ValidatePath(path); err != nil {
		return nil, c.failed(err)
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.now.Store(&version{state: State{Since: time.Now()}, next: make(chan struct{})})
	// run, owned by the Cache; ended by Close, and by the end of the client.
	go c.run()
	if err := c.awaitFirst(ctx); err != nil {
		c.Close()
		return nil, c.failed(err)
	}
	return c, nil
}

// awaitFirst waits for the first snapshot.
func (c *Cache) awaitFirst(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for {
		v := c.now.Load()
		switch {
		case v.snap != nil:
			return nil
		case v.end != nil:
			return v.end
		}
		select {
		case <-v.next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// usable reports whether c was made by Open.
func (c *Cache) usable() bool { return c != nil && c.cancel != nil }

// failed returns the error of a method. One that has come from the client as an *Error is told for what it is.
func (c *Cache) failed(err error) error {
	var e *client.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	failure := &client.Error{Op: "cache", Err: err, Outcome: client.OutcomeNotSent}
	if c != nil {
		failure.Path = c.path
	}
	return failure
}

// Close ends the cache and its watch, and waits until its goroutine has ended. The last Snapshot stays readable, loops over
// Updates end with ErrClosed. It may be called any number of times.
func (c *Cache) Close() {
	if !c.usable() {
		return
	}
	c.cancel()
	<-c.done
}

// Done is closed when the cache has ended: by Close, or with the client. That of a nil or zero Cache is closed.
func (c *Cache) Done() <-chan struct{} {
	if !c.usable() {
		over := make(chan struct{})
		close(over)
		return over
	}
	return c.done
}

// Err returns nil as long as the cache follows the ensemble, and then why it has ended: it matches ErrClosed, or what has ended
// the client: client.ErrClosed, client.ErrAuthFailed, with client.FinalExpiry client.ErrSessionExpired; or it is why a server
// refused the watch.
func (c *Cache) Err() error {
	if !c.usable() {
		return c.failed(client.ErrZeroValue)
	}
	if v := c.now.Load(); v.end != nil {
		return c.failed(v.end)
	}
	return nil
}

// Path returns the path that the cache was opened for.
func (c *Cache) Path() string {
	if c == nil {
		return ""
	}
	return c.path
}

// Snapshot returns the newest complete state. It does not block and allocates nothing. While State says that it is not current
// it is the last one that was.
func (c *Cache) Snapshot() *Snapshot {
	if !c.usable() {
		return nil
	}
	return c.now.Load().snap
}

// State returns whether the newest Snapshot is known to be current. It does not block. A server that has lost its leader, and
// the client that is connected to it, notice that only later.
func (c *Cache) State() State {
	if !c.usable() {
		return State{}
	}
	v := c.now.Load()
	select {
	case <-v.moved:
		if v.state.Current { // the client has lost its connection, and the goroutine is about to say so
			return State{Since: time.Now()}
		}
	default:
	}
	return v.state
}

// Sync waits until the cache shows everything that was committed, by anybody, before Sync was called: then Snapshot does. It
// costs the client's Sync, which is repeated when the connection breaks, and the reading of what has changed.
func (c *Cache) Sync(ctx context.Context) error {
	switch {
	case !c.usable():
		return c.failed(client.ErrZeroValue)
	case ctx == nil:
		return c.failed(client.ErrNilContext)
	}
	if err := c.syncServer(ctx); err != nil {
		return err
	}
	// Whatever the sync has brought before its reply is in the watcher's buffer now, and run will see it after this.
	shown := make(chan struct{})
	c.mu.Lock()
	c.waiting = append(c.waiting, shown)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
	select {
	case <-shown:
		return nil
	case <-c.done:
		return c.Err()
	case <-ctx.Done():
		return c.failed(ctx.Err())
	}
}

// syncServer makes the server catch up with the leader.
func (c *Cache) syncServer(ctx context.Context) error {
	for {
		if err := c.Err(); err != nil {
			return err
		}
		err := c.cl.Sync(ctx, c.path)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, client.ErrConnectionLoss) && !errors.Is(err, client.ErrSessionExpired):
			return c.failed(err)
		case c.cl.Context().Err() != nil: // no session follows
			return c.failed(err)
		}
	}
}
