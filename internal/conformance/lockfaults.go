package conformance

import (
	"context"
	"errors"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/recipes"
)

func lockFaultEntries() []entry {
	return []entry{
		{"C146 F74", "the create's reply, or the create itself, is lost: in the end one own znode, and the lock", nil, lostCreate},
		{"C146 F80", "the release's reply is lost: the znode is gone, and the release says so", nil, lostRelease},
		{"C147 F77", "a waiter's session ends: its old znode counts for nobody, and it goes on in the next one", nil, waiterExpires},
		{"C152 F82", "a holder cut off for good: its lease ends before the next one gets the lock", nil, holderCutOff},
		{"C152 KILL", "a holder's session is ended by the server: its lease ends, the next one gets the lock", nil, holderKilled},
		{"D9", "the znode ahead cannot be read: the call fails at once, and leaves nothing", nil, unreadableAhead},
		{"F99", "a holder cut off for a moment: unsure, then held again, with the same token", nil, holderBlinks},
	}
}

// lostCreate loses create or reply on its way, before and behind the list that goes with it.
func lostCreate(e *env) {
	holder, _ := e.client()
	e.lockPath(holder)
	for what, lose := range map[string]func(tp *tap){
		"request lost":         func(tp *tap) { tp.on(sent(proto.OpCreate2), drop|cut) },
		"reply lost":           func(tp *tap) { tp.on(replied(proto.OpCreate2), drop|cut) },
		"the list's reply too": func(tp *tap) { tp.on(replied(proto.OpGetChildren2), drop|cut) },
		"reply lost twice": func(tp *tap) {
			tp.on(replied(proto.OpCreate2), drop|cut)
			tp.on(replied(proto.OpCreate2), drop|cut)
		},
	} {
		c, tp := e.client()
		lose(tp)
		l := e.lock(c)
		e.remains(holder, 1)
		st, ok, err := c.Exists(e.ctx, l.Node())
		e.must(err)
		if !ok || st.EphemeralOwner != c.SessionID() || l.Token().Zxid != st.Czxid {
			e.Errorf("%s: lease on %s with token %v; exists %v, stat %+v", what, l.Node(), l.Token(), ok, st)
		}
		e.must(l.Release(e.ctx))
		e.remains(holder, 0)
		equal(e, what+": deletions that are not confirmed", c.CleanupsPending(), 0)
		e.must(c.Close())
	}
}

func lostRelease(e *env) {
	holder, _ := e.client()
	e.lockPath(holder)
	for _, match := range []func(*frame) bool{sent(proto.OpDelete), replied(proto.OpDelete)} {
		c, tp := e.client()
		l := e.lock(c)
		w := e.goLock(e.ctx, holder)
		tp.on(match, drop|cut)
		e.must(l.Release(e.ctx))
		e.must(e.granted(w).Release(e.ctx))
		e.remains(holder, 0)
		e.fails("second release", l.Release(e.ctx), recipes.ErrNotHeld)
		e.must(c.Close())
	}
}

func waiterExpires(e *env) {
	holder, _ := e.client()
	e.lockPath(holder)
	l := e.lock(holder)
	c, tp := e.client()
	first := c.SessionID()
	w := e.goLock(e.ctx, c)
	e.waits(tp)
	e.kill(tp)
	e.remains(holder, 2) // that of the next session
	e.must(l.Release(e.ctx))
	lease := e.granted(w)
	st, ok, err := holder.Exists(e.ctx, lease.Node())
	e.must(err)
	if !ok || st.EphemeralOwner == first || st.EphemeralOwner != c.SessionID() {
		e.Errorf("lease on a znode of session %#x (exists: %v), want %#x", st.EphemeralOwner, ok, c.SessionID())
	}
	e.must(lease.Release(e.ctx))

	l = e.lock(holder)
	final, tp := e.client()
	failing := e.goLock(e.ctx, final, recipes.FailIfNodeGone())
	e.waits(tp)
	e.kill(tp)
	e.wait(failing.done, "the call to fail")
	if !errors.Is(failing.err, client.ErrSessionExpired) && !errors.Is(failing.err, recipes.ErrNodeGone) {
		e.Errorf("with FailIfNodeGone: %v", failing.err)
	}
	e.must(l.Release(e.ctx))
	e.remains(holder, 0)
}

func holderCutOff(e *env) {
	other, _ := e.client()
	e.lockPath(other)
	c, tp := e.client(e.short())
	l := e.lock(c)
	waiting := e.goLock(e.ctx, other)
	tp.part()
	states := make(chan recipes.State, 16)
	ctx, stop := context.WithCancel(e.ctx)
	defer stop()
	done := e.spawn(func() error {
		for s := range l.States(ctx) {
			states <- s
		}
		return nil
	})
	next := e.granted(waiting)
	select {
	case <-l.Done():
	default:
		e.Error("the next one got the lock before the lease had ended")
	}
	e.must(e.result(done))
	close(states)
	last := recipes.Held
	for s := range states {
		last = s
	}
	equal(e, "last state", last, recipes.Lost)
	if next.Token().Compare(l.Token()) <= 0 {
		e.Errorf("token %v after %v", next.Token(), l.Token())
	}
	tp.refuse(false)
	e.fails("release of what is lost", l.Release(e.ctx), recipes.ErrLost)
	e.must(next.Release(e.ctx))
}

func holderKilled(e *env) {
	other, _ := e.client()
	e.lockPath(other)
	c, tp := e.client()
	l := e.lock(c)
	waiting := e.goLock(e.ctx, other)
	e.kill(tp)
	next := e.granted(waiting)
	e.wait(l.Done(), "the lease to end")
	e.fails("cause", context.Cause(l.Context()), recipes.ErrSessionExpired)
	e.fails("release", l.Release(e.ctx), recipes.ErrLost)
	_, err := c.Multi(e.ctx, l.Guard(), client.SetOp("/", nil, client.AnyVersion))
	e.fails("guard", err, client.ErrNoNode)
	e.must(next.Release(e.ctx))
	e.remains(other, 0)
}

func unreadableAhead(e *env) {
	c, _ := e.client()
	e.lockPath(c)
	secret := client.WorldACL(client.PermAll &^ client.PermRead)
	_, _, err := c.Create(e.ctx, lockDir+"/lock-", nil, client.ModePersistentSequential, secret)
	e.must(err)
	_, err = recipes.NewMutex(c, lockDir).Lock(e.ctx)
	e.fails("lock", err, recipes.ErrUnreadable)
	e.fails("lock", err, client.ErrNoAuth)
	e.remains(c, 1)
}

func holderBlinks(e *env) {
	c, tp := e.client()
	e.lockPath(c)
	w := e.follow(c)
	l := e.lock(c)
	tp.part()
	w.until(client.StateDisconnected)
	equal(e, "state", l.State(), recipes.Unsure)
	equal(e, "context", l.Context().Err(), nil)
	tp.refuse(false)
	w.until(client.StateConnected)
	e.must(c.Sync(e.ctx, "/"))
	for s := range l.States(e.ctx) {
		if s == recipes.Held {
			break
		}
		if s == recipes.Lost {
			e.Fatalf("lost: %v", l.Context().Err())
		}
	}
	_, err := c.Multi(e.ctx, l.Guard(), client.SetOp("/", nil, client.AnyVersion))
	e.must(err)
	e.must(l.Release(e.ctx))
	e.remains(c, 0)
}
