package interop

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// contender has a session and one lock object. One goroutine at a time uses it.
type contender interface {
	session() int64
	// lock waits until it holds the lock: shared only if the lock has that.
	lock(ctx context.Context, shared bool) error
	// downgrade makes a shared hold of one that is not.
	downgrade(ctx context.Context) error
	release(ctx context.Context) error
	// close ends the session, and a lock that does not listen to its context.
	close(ctx context.Context) error
}

// kind is what contends: a client and one of its locks. Its name is one word.
type kind struct {
	name string
	open func(ctx context.Context, servers, path string) (contender, error)
}

var errNoDowngrade = errors.New("has no downgrade")

// foreign is a contender in another program.
type foreign struct {
	p    *program
	name string
	id   int64
}

// contenders numbers them, so that no two have one name.
var contenders atomic.Int64

// foreignKind is a kind of lock in another program, by the name that it has there.
func foreignKind(name string, p *program, there string) kind {
	return kind{name, func(ctx context.Context, servers, path string) (contender, error) {
		f := &foreign{p: p, name: fmt.Sprintf("%s-%d", name, contenders.Add(1))}
		id, err := p.Call(ctx, f.name, "open", there, servers, path)
		if err != nil {
			return nil, err
		}
		f.id, err = strconv.ParseInt(id, 10, 64)
		return f, err
	}}
}

func (f *foreign) do(ctx context.Context, command ...string) error {
	_, err := f.p.Call(ctx, f.name, command...)
	return err
}

func (f *foreign) session() int64 { return f.id }

func (f *foreign) lock(ctx context.Context, shared bool) error {
	return f.do(ctx, "lock", strconv.FormatBool(shared))
}

func (f *foreign) downgrade(ctx context.Context) error { return f.do(ctx, "downgrade") }
func (f *foreign) release(ctx context.Context) error   { return f.do(ctx, "release") }

// close does not wait: Curator takes a tenth of a second for it, and there are hundreds of contenders.
func (f *foreign) close(context.Context) error {
	_, err := f.p.Send(f.name, "close")
	return err
}

// rounds makes the other program do what rounds does here.
func (f *foreign) rounds(ctx context.Context, n int, root, mode string) (r result, err error) {
	text, err := f.p.Call(ctx, f.name, "rounds", strconv.Itoa(n), root, mode)
	if err != nil {
		return result{}, err
	}
	_, err = fmt.Sscan(text, &r.increments, &r.changes, &r.most)
	return r, err
}

// held is a hold of a lock of package recipes.
type held interface {
	Release(ctx context.Context) error
	Downgrade(ctx context.Context) error
}

// ours is a contender for a lock of package recipes.
type ours struct {
	c       *client.Client
	acquire func(ctx context.Context, shared bool) (held, error)
	held    held
}

// oursKind is a kind of lock of package recipes.
func oursKind(name string, lock func(c *client.Client, path string) func(context.Context, bool) (held, error)) kind {
	return kind{name, func(ctx context.Context, servers, path string) (contender, error) {
		c, err := client.Connect(ctx, servers)
		if err != nil {
			return nil, err
		}
		return &ours{c: c, acquire: lock(c, path)}, nil
	}}
}

func mutexKind(opts ...recipes.Option) kind { return namedMutex("ours", opts...) }

func namedMutex(name string, opts ...recipes.Option) kind {
	return oursKind(name, func(c *client.Client, path string) func(context.Context, bool) (held, error) {
		m := recipes.NewMutex(c, path, opts...)
		return func(ctx context.Context, _ bool) (held, error) { return m.Lock(ctx) }
	})
}

// sharedKind is our mutex when all contenders use one object, whose option says how they line up in memory. It is for one test.
func sharedKind(name string, option recipes.Option) kind {
	var first *ours
	return kind{name, func(ctx context.Context, servers, path string) (contender, error) {
		if first != nil {
			return &shares{ours{c: first.c, acquire: first.acquire}}, nil
		}
		c, err := client.Connect(ctx, servers)
		if err != nil {
			return nil, err
		}
		m := recipes.NewMutex(c, path, option)
		first = &ours{c: c, acquire: func(ctx context.Context, _ bool) (held, error) { return m.Lock(ctx) }}
		return first, nil
	}}
}

// shares is a contender that uses the session of another.
type shares struct{ ours }

func (s *shares) close(context.Context) error { return nil }

// twice is a hold of a re-entrant mutex with two levels.
type twice struct {
	*recipes.Reentry
	outer *recipes.Reentry
}

func (t twice) Release(ctx context.Context) error {
	if err := t.Reentry.Release(ctx); err != nil {
		return err
	}
	return t.outer.Release(ctx)
}

// reentrantKind is our re-entrant mutex, entered twice each time, as Curator's users may.
func reentrantKind(opts ...recipes.Option) kind {
	return oursKind("ours-reentrant", func(c *client.Client, path string) func(context.Context, bool) (held, error) {
		r := recipes.NewReentrant(c, path, opts...)
		return func(ctx context.Context, _ bool) (held, error) {
			inside, outer, err := r.Lock(ctx)
			if err != nil {
				return nil, err
			}
			_, inner, err := r.Lock(inside)
			return twice{inner, outer}, err
		}
	})
}

func rwKind() kind { return namedRW("ours") }

func namedRW(name string, opts ...recipes.Option) kind {
	return oursKind(name, func(c *client.Client, path string) func(context.Context, bool) (held, error) {
		rw := recipes.NewRWMutex(c, path, opts...)
		return func(ctx context.Context, shared bool) (held, error) {
			if shared {
				return rw.RLock(ctx)
			}
			return rw.Lock(ctx)
		}
	})
}

func (o *ours) session() int64 { return o.c.SessionID() }

func (o *ours) lock(ctx context.Context, shared bool) (err error) {
	o.held, err = o.acquire(ctx, shared)
	return err
}

func (o *ours) downgrade(ctx context.Context) error { return o.held.Downgrade(ctx) }
func (o *ours) release(ctx context.Context) error   { return o.held.Release(ctx) }
func (o *ours) close(context.Context) error         { return o.c.Close() }

// goZK is a contender for go-zookeeper's Lock. Only the end of its session ends its wait.
type goZK struct {
	c    *zk.Conn
	l    *zk.Lock
	done func()
}

const sessionTimeout = 10 * time.Second

// silent is a logger that logs nothing.
type silent struct{}

func (silent) Printf(string, ...any) {}

func goZKKind() kind {
	return kind{"go-zk", func(ctx context.Context, servers, path string) (contender, error) {
		c, events, err := zk.Connect(strings.Split(servers, ","), sessionTimeout, zk.WithLogger(silent{}), zk.WithLogInfo(false))
		if err != nil {
			return nil, err
		}
		for {
			select {
			case ev := <-events:
				if ev.State == zk.StateHasSession {
					return &goZK{c, zk.NewLock(c, path, zk.WorldACL(zk.PermAll)), sync.OnceFunc(c.Close)}, nil
				}
			case <-ctx.Done():
				c.Close()
				return nil, ctx.Err()
			}
		}
	}}
}

func (g *goZK) session() int64 { return g.c.SessionID() }

func (g *goZK) lock(ctx context.Context, _ bool) error {
	stop := context.AfterFunc(ctx, g.done)
	defer stop()
	return g.l.Lock()
}

func (g *goZK) downgrade(context.Context) error { return errNoDowngrade }
func (g *goZK) release(context.Context) error   { return g.l.Unlock() }

func (g *goZK) close(context.Context) error {
	g.done()
	return nil
}
