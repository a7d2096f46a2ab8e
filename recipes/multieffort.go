package recipes

import (
	"context"
	"errors"

	"github.com/lockkeeper/lockkeeper/client"
)

// effort is one attempt of a MultiLock: a contender per part. Of an Ordered one they are in the order of the paths.
type effort struct {
	cts     []*contender  // that of a lease is not to be touched any more: it may serve others as soon as the lease is released
	g       *client.Group // of the flight that makes the znodes
	fly     bool          // that one is under way
	leases  []*Lease      // of the contenders, nil before the grant
	pace    pace          // of transactions that are lost
	judge   *contender    // stands for all when it is decided whether there is to be another attempt
	ordered bool
	kept    int               // so many contenders, the first, have znodes; fewer than there are only if it is ordered, or at the start
	gaveUp  []*client.Cleanup // deletions of what others had
	quit    func()            // ends the wait, when a part is lost meanwhile
	calm    []func() bool     // take quit back from the leases
}

func (m *MultiLock) effort(try bool) *effort {
	e := &effort{leases: make([]*Lease, len(m.parts)), judge: &contender{}, ordered: m.order != nil && !try}
	for i := range m.parts {
		p := m.parts[m.sorted(i)]
		ct := p.b.contender(p.b.named(p.want), try)
		ct.part = true
		ct.reset()
		e.cts = append(e.cts, ct)
		if e.judge.b == nil || p.b.failGone {
			e.judge.b = p.b
		}
	}
	e.judge.gen = e.cts[0].gen
	e.g = e.cts[0].gen.Group()
	return e
}

// inOrder returns the leases in the order of the parts.
func (e *effort) inOrder(m *MultiLock) []*Lease {
	leases := make([]*Lease, len(e.leases))
	for i, l := range e.leases {
		leases[m.sorted(i)] = l
	}
	return leases
}

// attempt makes the znodes and waits for all to be granted. If a part is lost while another one is waited for that is over: there is
// nothing to be had any more, and others may want what there is.
func (e *effort) attempt(ctx context.Context) error {
	waits, quit := context.WithCancel(ctx)
	defer quit()
	e.quit = quit
	err := e.acquire(waits)
	for _, stop := range e.calm {
		stop()
	}
	if err != nil && waits.Err() != nil && ctx.Err() == nil {
		return errPartLost
	}
	return err
}

// errPartLost is errAgain where the znodes that are left have to be deleted, also that of a contender whose flight is under way.
var errPartLost = errors.New("a part was lost")

// acquire is attempt, whose context ends with a part.
func (e *effort) acquire(ctx context.Context) error {
	for e.kept < len(e.cts) {
		if err := e.rest(ctx); err != nil {
			return err
		}
		if err := e.enqueue(ctx, e.cts[e.kept:]); err != nil {
			return err
		}
		e.kept = len(e.cts)
		if err := e.await(ctx); err != nil {
			return err
		}
	}
	if e.lost() {
		return errAgain
	}
	return nil
}

// await waits until all contenders that have znodes are granted; an ordered effort gives some of these up instead.
func (e *effort) await(ctx context.Context) error {
	for {
		next, err := e.grants(ctx)
		if err != nil || next < 0 {
			return err
		}
		if e.cts[next].try {
			return ErrNotAcquired
		}
		if e.ordered {
			e.fallBack(next)
		} else {
			e.awayFrom(next)
		}
		if err := e.cts[next].park(ctx); err != nil {
			return err
		}
	}
}

// awayFrom has whoever stands behind us in a line for permits look for itself, while we wait elsewhere, and nod to nobody.
func (e *effort) awayFrom(next int) {
	for i, ct := range e.cts {
		if i != next && e.leases[i] == nil && ct.claim.lined() {
			ct.nod()
		}
	}
}

// grants makes leases of the parts that nothing keeps waiting, and returns the first of the others, below zero if there is none. As
// an operator may delete the znode of a lease while another part is waited for, which must not make a second holder (docs/locks.md
// A10 rule 2), these are watched then.
func (e *effort) grants(ctx context.Context) (next int, err error) {
	fresh := make([]*Lease, 0, len(e.cts))
	next = -1
	for i, ct := range e.cts[:e.kept] {
		for e.leases[i] == nil && !ct.blocked(ct.below) {
			if e.leases[i], err = ct.grant(ctx); err != nil {
				return next, err
			}
			if l := e.leases[i]; l != nil { // else the queue was read again
				fresh = append(fresh, l)
			}
		}
		if e.leases[i] == nil && next < 0 {
			if next = i; e.ordered {
				break // what comes after it is not ours before it is
			}
		}
	}
	if next < 0 && e.kept == len(e.cts) {
		return next, nil
	}
	for _, l := range fresh {
		e.calm = append(e.calm, l.afterFunc(e.quit))
		if !l.b.watchOwn && !l.b.revocable {
			l.gen.WatchNode(&client.NodeWatch{Gone: func() { l.finish(ErrNodeGone) }}, l.Node())
		}
	}
	return next, nil
}

// enqueue makes the znodes of cts and reads their queues, in one flight if the paths exist, in two otherwise.
func (e *effort) enqueue(ctx context.Context, cts []*contender) error {
	for tries := 0; ; tries++ {
		err := e.createAndList(ctx, cts, tries > 0)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, client.ErrConnectionLoss):
			// Once more, with the same names: the znodes of the lost transaction, if it was carried out, are found by them and
			// deleted. Those of one transaction are kept, as only they are ahead of the same others (docs/locks.md A10 rule 16).
			if err := e.pace.lost(ctx); err != nil {
				return err
			}
		case !errors.Is(err, client.ErrNoNode) || errors.Is(err, ErrCapacity): // a path of ours would not have the number
			return explain(err)
		case tries >= maxParents:
			return join(ErrNoParent, err)
		}
	}
}

// createAndList sends the transaction and the lists together.
func (e *effort) createAndList(ctx context.Context, cts []*contender, parents bool) error {
	first := cts[0]
	levels := make([][]client.CreateCall, len(cts))
	ops := make([]client.Op, len(cts))
	asked := make([]question, len(cts))
	for i, ct := range cts {
		if parents {
			levels[i], ct.read = ct.b.addLevels(e.g, ct.b.dir), nil
		}
		ops[i] = client.CreateOp(ct.path, ct.data(), client.ModeEphemeralSequential, ct.b.acl)
	}
	multi := e.g.Multi(ops...)
	for i, ct := range cts {
		asked[i] = ct.ask(e.g)
	}
	own := first.g
	first.g = e.g
	err := first.flight(ctx)
	if e.fly = first.fly; e.fly {
		return err // leave looks after the group
	}
	first.g = own
	if err == nil {
		err = created(cts, multi, levels)
	}
	if err != nil {
		return unlimited(cts, asked, err)
	}
	for i, ct := range cts {
		ct.via = first.via
		if err := e.look(ctx, ct, asked[i]); err != nil {
			return err
		}
	}
	return nil
}

// unlimited is for questions whose answers are not looked at: what they were to watch is not. It adds to err whose znode, that
// should say how many permits there are, is missing.
func unlimited(cts []*contender, asked []question, err error) error {
	for i, ct := range cts {
		if ct.claim.capacity != 0 {
			continue
		}
		ct.forget()
		if errors.Is(err, client.ErrNoNode) && errors.Is(asked[i].limit.Err(), client.ErrNoNode) {
			err = join(&PermitsError{ct.b.dir, ""}, err)
		}
	}
	return err
}

// created looks at the outcome of the transaction.
func created(cts []*contender, multi client.MultiCall, levels [][]client.CreateCall) error {
	results, err := multi.Results()
	for i, ct := range cts {
		switch {
		case err == nil:
			ct.adopt(results[i].Path, multi.Zxid())
		case client.MaybeApplied(err):
			ct.unknown = true
		case errors.Is(err, client.ErrNoNode):
			if err := ct.b.joinParents(client.ErrNoNode, levels[i]); !errors.Is(err, client.ErrNoNode) {
				return err
			}
		}
	}
	return err
}

// look takes the answers about one part's queue.
func (e *effort) look(ctx context.Context, ct *contender, asked question) error {
	strays, err := ct.look(asked)
	again := errors.Is(err, client.ErrConnectionLoss) // between the replies
	if err == nil && len(ct.suspects) > 0 {
		again, err = ct.sift(ctx) // those of ours are counted as ahead
		again = again || errors.Is(err, client.ErrConnectionLoss)
	}
	if again {
		err = ct.list(ctx, false)
	}
	if errors.Is(err, client.ErrNoNode) { // the path is gone, and our znode with it
		err = errAgain
	}
	if err != nil {
		return err
	}
	for _, s := range strays {
		ct.gen.Delete(new(client.Cleanup), child(ct.b.dir, []byte(s)), nil)
	}
	return ct.verify()
}

// leave removes everything of a failed attempt, as contender.leave does for one.
func (e *effort) leave(ctx context.Context, err error) error {
	grace, cancel := graceful(ctx)
	defer cancel()
	if e.fly {
		e.cts[e.kept].fly = false // nobody looks at the group and the queue any more
		if !e.g.Withdraw(err) {
			for _, ct := range e.cts[e.kept:] {
				ct.unknown = true // what is searched for behind the transaction is there or will never be
			}
		}
	}
	started := make([][]*client.Cleanup, len(e.cts))
	var late *contender // in flight, of which there is one at most
	for i, ct := range e.cts {
		switch l := e.leases[i]; {
		case l != nil:
			l.beginRelease()
		case ct.fly:
			late = ct
		default:
			ct.forget()
			ct.settle()
			started[i] = ct.clean(errors.Is(err, errAgain) && ct.ownGone)
		}
	}
	if late != nil {
		err = late.leave(grace, err)
	}
	for i, l := range e.leases {
		if l == nil {
			err = e.cts[i].confirm(grace, started[i], err)
		} else if l.cleanup.Wait(grace) != nil && grace.Err() != nil {
			return join(err, ErrCleanupPending)
		}
	}
	return e.judge.confirm(grace, e.gaveUp, err)
}
