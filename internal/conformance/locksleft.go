package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/recipes"
)

func foreignNames(e *env) {
	c, tp := e.client()
	e.lockPath(c)
	foreign := []string{
		"foo", "lock-", "lock-x", "lock-12345678901", "lock-1x", "lock--", "x__lock__0000000000", "0000000000", "latch-0000000000",
		"read-lock-", "lock-0000000000-tail",
	}
	for _, name := range foreign {
		_, _, err := c.Create(e.ctx, lockDir+"/"+name, nil, client.ModePersistent, nil)
		e.must(err)
	}
	e.must(e.lock(c).Release(e.ctx))
	for i, name := range []string{"_c_ffffffff-ffff-ffff-ffff-ffffffffffff-lock-0000000000", "_c_0123456789abcdef0123456789abcdef-lock-0000000001", "lock-0000000002"} {
		_, _, err := c.Create(e.ctx, lockDir+"/"+name, nil, client.ModePersistent, nil)
		e.must(err)
		before := len(tp.frames(func(f *frame) bool { return replied(proto.OpGetData)(f) }))
		w := e.goLock(e.ctx, c)
		tp.await(e, before+2, replied(proto.OpGetData))
		_, err = recipes.NewMutex(c, lockDir).TryLock(e.ctx)
		e.fails(fmt.Sprintf("trylock behind contender %d", i), err, recipes.ErrNotAcquired)
		equal(e, "the lock is waited for", w.over(), false)
		e.must(c.Delete(e.ctx, lockDir+"/"+name, client.AnyVersion))
		e.must(e.granted(w).Release(e.ctx))
	}
	e.remains(c, len(foreign))
}

func cancelledLock(e *env) {
	holder, _ := e.client()
	e.lockPath(holder)
	l := e.lock(holder)
	c, tp := e.client()
	w := e.follow(c)
	ctx, cancel := context.WithCancel(e.ctx)
	waiting := e.goLock(ctx, c)
	e.waits(tp)
	cancel()
	e.wait(waiting.done, "the cancelled call")
	e.fails("waiting", waiting.err, context.Canceled)
	if !errors.Is(waiting.err, recipes.ErrCleanupPending) {
		e.remains(holder, 1)
	}

	ctx, cancel = context.WithCancel(e.ctx)
	tp.hold() // the create is executed, and its reply does not come
	before := len(tp.frames(replied(proto.OpCreate2)))
	creating := e.goLock(ctx, c)
	tp.await(e, before+1, replied(proto.OpCreate2))
	cancel()
	tp.release()
	e.wait(creating.done, "the cancelled call")
	e.fails("creating", creating.err, context.Canceled)
	e.remains(holder, 1)

	ctx, cancel = context.WithCancel(e.ctx)
	apart := e.goLock(ctx, c)
	tp.await(e, before+2, replied(proto.OpCreate2))
	tp.part()
	w.until(client.StateDisconnected)
	cancel()
	e.wait(apart.done, "the cancelled call")
	e.fails("cut off", apart.err, context.Canceled)
	e.fails("cut off", apart.err, recipes.ErrCleanupPending)
	tp.refuse(false)
	e.remains(holder, 1)
	e.poll("the clean-up to be confirmed", func() bool { return c.CleanupsPending() == 0 })
	e.must(l.Release(e.ctx))
	e.remains(holder, 0)
}

func deletedByOperator(e *env) {
	c, _ := e.client()
	e.lockPath(c)
	l := e.lock(c)
	_, err := c.Multi(e.ctx, l.Guard(), client.SetOp("/", []byte("guarded"), client.AnyVersion))
	e.must(err)
	operator := e.raw()
	operator.delete(e.path(l.Node()))
	_, err = c.Multi(e.ctx, l.Guard(), client.SetOp("/", []byte("late"), client.AnyVersion))
	e.fails("guard", err, client.ErrNoNode)
	err = l.Release(e.ctx)
	e.fails("release", err, recipes.ErrLost)
	e.fails("release", err, recipes.ErrNodeGone)
	data, _ := operator.get(e.root, false)
	equal(e, "data", data, "guarded")
}

// swept waits until a container has gone.
func (e *env) swept(c *client.Client, path string) {
	e.Helper()
	for {
		node, w, err := c.ExistsWatch(e.ctx, path)
		e.must(err)
		if !node.Exists {
			w.Close()
			return
		}
		e.must(e.tg.Sweep(e.ctx))
		e.event(w)
	}
}

func sweptParent(e *env) {
	c, _ := e.client()
	last := recipes.Token{}
	for range 3 {
		l, err := recipes.NewMutex(c, "/deep/er/lock").Lock(e.ctx)
		e.must(err)
		if l.Token().Compare(last) <= 0 {
			e.Errorf("token %v after %v", l.Token(), last)
		}
		last = l.Token()
		e.must(l.Release(e.ctx))
		e.swept(c, "/deep/er/lock")
	}
}

func removedParent(e *env) {
	c, _ := e.client()
	m := recipes.NewMutex(c, "/deep/er/lock")
	operator := e.raw()
	for range 3 {
		l, err := m.Lock(e.ctx)
		e.must(err)
		e.must(l.Release(e.ctx))
		operator.removeAll(e.path("/deep"))
	}
	l, err := m.Lock(e.ctx)
	e.must(err)
	operator.removeAll(e.path("/deep"))
	e.fails("release", l.Release(e.ctx), recipes.ErrNodeGone)
	l, err = m.Lock(e.ctx)
	e.must(err)
	e.must(l.Release(e.ctx))
}

func sweptContainer(e *env) {
	c, _ := e.client()
	_, _, err := c.Create(e.ctx, "/box", nil, client.ModeContainer, nil)
	e.must(err)
	_, _, err = c.Create(e.ctx, "/box/x", nil, client.ModePersistent, nil)
	e.must(err)
	e.must(e.tg.Sweep(e.ctx))
	e.must(c.Delete(e.ctx, "/box/x", client.AnyVersion)) // a container with a child stays
	e.swept(c, "/box")
}
