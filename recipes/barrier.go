package recipes

import (
	"context"
	"errors"

	"github.com/lockkeeper/lockkeeper/client"
)

// Barrier keeps those who Wait waiting from Set to Remove, among all processes that use its path. It is one persistent znode:
// the barrier is set while that exists. Any number of goroutines may use one Barrier.
//
// Failure model: the barrier belongs to nobody, and outlives who has set it; whoever removes it must be able to come back.
// Wait looks at the znode again after every event, lost connection and expired session, and returns only when a server that
// has caught up has said that it is gone. A barrier that is removed and set again at once may let a waiter pass or not.
type Barrier struct{ s small }

// NewBarrier returns the barrier of path. It does not talk to the ensemble. A bad path is the error of every method.
func NewBarrier(c *client.Client, path string) *Barrier { return &Barrier{newSmall(c, path)} }

func (b *Barrier) small() *small {
	if b == nil {
		return nil
	}
	return &b.s
}

// Path returns the path of the barrier, "" of a nil one.
func (b *Barrier) Path() string { return b.small().path() }

// Set sets the barrier, making what is missing above it. That it was set already is no error. If the reply is lost it
// is done again, which makes no difference; an error that matches MaybeApplied leaves open whether it is set.
func (b *Barrier) Set(ctx context.Context) error {
	s := b.small()
	if err := s.usable(ctx, "set"); err != nil {
		return err
	}
	for {
		_, _, err := s.c.CreateAll(ctx, s.dir, nil, client.ModePersistent, nil)
		if errors.Is(err, client.ErrNodeExists) {
			err = nil
		}
		if !s.passing(ctx, err) {
			return s.fail("set", err)
		}
	}
}

// Remove removes the barrier, and so lets everybody pass. That it was not set is no error. If the reply is lost it is done
// again, and then also removes a barrier that somebody has set meanwhile.
func (b *Barrier) Remove(ctx context.Context) error {
	s := b.small()
	if err := s.usable(ctx, "remove"); err != nil {
		return err
	}
	for {
		err := s.c.Delete(ctx, s.dir, client.AnyVersion)
		if errors.Is(err, client.ErrNoNode) {
			err = nil
		}
		if !s.passing(ctx, err) {
			return s.fail("remove", err)
		}
	}
}

// Wait waits until the barrier is not set, or ctx ends. It leaves no watch behind.
func (b *Barrier) Wait(ctx context.Context) error {
	s := b.small()
	if err := s.usable(ctx, "wait"); err != nil {
		return err
	}
	for {
		set, err := b.await(ctx)
		if err == nil && !set {
			return nil
		}
		if err != nil && !s.passing(ctx, err) {
			return s.fail("wait", err)
		}
	}
}

// await looks at the barrier and, if it is set, waits for a change. A server that is behind must not be believed that it is not
// set yet, hence the sync.
func (b *Barrier) await(ctx context.Context) (set bool, err error) {
	s := &b.s
	if err := s.c.Sync(ctx, s.dir); err != nil && !errors.Is(err, client.ErrNoNode) {
		return false, err
	}
	node, w, err := s.c.ExistsWatch(ctx, s.dir)
	if err != nil {
		return false, err
	}
	defer w.Close()
	if !node.Exists {
		return false, nil
	}
	_, err = w.Wait(ctx)
	return true, err
}
