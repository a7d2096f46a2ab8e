package interop

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/faultproxy"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// testExpiry lets sessions end without a word while they hold a mutex: whoever waits in another client must get it. That takes as long
// as the timeouts of the sessions, so all pairs do it at once.
func testExpiry(t *testing.T, server *zkserver.Server, classes, interpreter string) {
	rivals := map[string]struct {
		start func(t *testing.T) *program
		there string
		ours  []recipes.Option
	}{
		"Curator": {func(t *testing.T) *program { return curator(t, classes, "5.7") }, "mutex", nil},
		"kazoo": {func(t *testing.T) *program {
			if interpreter == "" {
				need(t, fmt.Errorf("%w: kazoo", errMissing))
			}
			return kazoo(t, interpreter)
		}, "kazoo", []recipes.Option{recipes.KazooNames()}},
	}
	for name, rival := range rivals {
		t.Run("Ours,"+name, func(t *testing.T) {
			t.Parallel()
			k := foreignKind(name, rival.start(t), rival.there)
			need(t, orders(t, server)().oursExpires(t, k, rival.ours))
		})
		t.Run(name+",Ours", func(t *testing.T) {
			t.Parallel()
			p := rival.start(t)
			need(t, orders(t, server)().theirsIsKilled(t, p, foreignKind(name, p, rival.there), rival.ours))
		})
	}
}

// oursExpires cuts our holder off. The other gets the lock, not before ours knows that its lease is lost.
func (o *order) oursExpires(t *testing.T, rival kind, opts []recipes.Option) error {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	proxy, err := faultproxy.Listen(o.server.Addr(), faultproxy.Options{})
	if err != nil {
		return err
	}
	defer proxy.Close()
	c, err := client.Connect(ctx, proxy.Addr(), client.SessionTimeout(6*time.Second))
	if err != nil {
		return err
	}
	defer c.Close()
	lease, err := recipes.NewMutex(c, o.path, opts...).Lock(ctx)
	if err != nil {
		return err
	}
	node, err := o.newest(ctx)
	if err != nil {
		return err
	}
	ct, err := rival.open(ctx, o.server.Addr(), o.path)
	if err != nil {
		return err
	}
	defer ct.close(ctx) // what is left of it is of no interest
	done := comes(ctx, ct, write)
	if err := o.waits(ctx, done, node, ct); err != nil {
		return err
	}
	proxy.Stall()
	if err := <-done; err != nil {
		return err
	}
	if state := lease.State(); state != recipes.Lost {
		return fmt.Errorf("our lease is %v while the other holds the lock", state)
	}
	if cause := context.Cause(lease.Context()); !errors.Is(cause, recipes.ErrDeadline) && !errors.Is(cause, recipes.ErrSessionExpired) {
		return fmt.Errorf("our lease has ended with %v", cause)
	}
	if err := firstOf(proxy.Heal(), ct.release(ctx)); err != nil {
		return err
	}
	next, err := recipes.NewMutex(c, o.path, opts...).Lock(ctx) // in the next session
	if err != nil {
		return err
	}
	if next.Token().Compare(lease.Token()) <= 0 {
		return fmt.Errorf("token %v after %v", next.Token(), lease.Token())
	}
	return next.Release(ctx)
}

// theirsIsKilled ends the program that holds the lock. Ours waits until its session has expired, and gets the lock then.
func (o *order) theirsIsKilled(t *testing.T, p *program, rival kind, opts []recipes.Option) error {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ct, err := rival.open(ctx, o.server.Addr(), o.path)
	if err != nil {
		return err
	}
	if err := ct.lock(ctx, false); err != nil {
		return err
	}
	node, err := o.newest(ctx)
	if err != nil {
		return err
	}
	m, err := mutexKind(opts...).open(ctx, o.server.Addr(), o.path)
	if err != nil {
		return err
	}
	defer m.close(ctx) // what is left of it is of no interest
	done := comes(ctx, m, write)
	if err := o.waits(ctx, done, node, m); err != nil {
		return err
	}
	if err := p.Kill(); err != nil {
		return err
	}
	<-p.Ended()
	// It is dead, and its session is not.
	if err := o.waits(ctx, done, node, m); err != nil {
		return err
	}
	return firstOf(<-done, m.release(ctx))
}
