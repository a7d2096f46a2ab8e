package recipes

import (
	"context"
	"errors"

	"github.com/lockkeeper/lockkeeper/client"
)

// effort is one attempt of a MultiLock: a contender per part.
type effort struct {
	cts    []*contender  // that of a lease is not to be touched any more: it may serve others as soon as the lease is released
	g      *client.Group // of the flight that makes the znodes
	fly    bool          // that one is under way
	leases []*Lease      // of the parts, nil before the grant
	pace   pace          // of transactions that are lost
	judge  *contender    // stands for all when it is decided whether there is to be another attempt
}

func (m *MultiLock) effort(try bool) *effort {
	e := &effort{leases: make([]*Lease, len(m.parts)), judge: &contender{}}
	for _, p := range m.parts {
		ct := p.b.contender(p.b.named(p.want), try)
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

// attempt makes the znodes and waits for all to be granted.
func (e *effort) attempt(ctx context.Context) error {
	if err := e.enqueue(ctx); err != nil {
		return err
	}
	for {
		next, err := e.grants(ctx)
		if err != nil {
			return err
		}
		if next == nil {
			break
		}
		if next.try {
			return ErrNotAcquired
		}
		if err := next.park(ctx); err != nil {
			return err
		}
	}
	for _, l := range e.leases {
		if l.State() == Lost { // while others were waited for
			return errAgain
		}
	}
	return nil
}

// grants makes leases of the parts that nothing keeps waiting, and returns the first of the others, nil if there is none. As an
// operator may delete the znode of a lease while another part is waited for, which must not make a second holder (docs/locks.md
// A10 rule 2), these are watched then.
func (e *effort) grants(ctx context.Context) (next *contender, err error) {
	fresh := make([]*Lease, 0, len(e.cts))
	for i, ct := range e.cts {
		for e.leases[i] == nil && !ct.blocked(ct.below) {
			if e.leases[i], err = ct.grant(ctx); err != nil {
				return nil, err
			}
			if l := e.leases[i]; l != nil { // else the queue was read again
				fresh = append(fresh, l)
			}
		}
		if e.leases[i] == nil && next == nil {
			next = ct
		}
	}
	if next == nil {
		return nil, nil
	}
	for _, l := range fresh {
		if !l.b.watchOwn && !l.b.revocable {
			l.gen.WatchNode(&client.NodeWatch{Gone: func() { l.finish(ErrNodeGone) }}, l.Node())
		}
	}
	return next, nil
}

// enqueue makes all znodes and reads all queues, in one flight if the paths exist, in two otherwise.
func (e *effort) enqueue(ctx context.Context) error {
	for tries := 0; ; tries++ {
		err := e.createAndList(ctx, tries > 0)
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
func (e *effort) createAndList(ctx context.Context, parents bool) error {
	first := e.cts[0]
	levels := make([][]client.CreateCall, len(e.cts))
	ops := make([]client.Op, len(e.cts))
	asked := make([]question, len(e.cts))
	for i, ct := range e.cts {
		if parents {
			levels[i], ct.read = ct.b.addLevels(e.g, ct.b.dir), nil
		}
		ops[i] = client.CreateOp(ct.path, ct.data(), client.ModeEphemeralSequential, ct.b.acl)
	}
	multi := e.g.Multi(ops...)
	for i, ct := range e.cts {
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
		err = e.created(multi, levels)
	}
	if err != nil {
		return e.unlimited(asked, err)
	}
	for i, ct := range e.cts {
		ct.via = first.via
		if err := e.look(ctx, ct, asked[i]); err != nil {
			return err
		}
	}
	return nil
}

// unlimited is for questions whose answers are not looked at: what they were to watch is not. It adds to err whose znode, that
// should say how many permits there are, is missing.
func (e *effort) unlimited(asked []question, err error) error {
	for i, ct := range e.cts {
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
func (e *effort) created(multi client.MultiCall, levels [][]client.CreateCall) error {
	results, err := multi.Results()
	for i, ct := range e.cts {
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
		e.cts[0].fly = false // nobody looks at the group and the queue any more
		if !e.g.Withdraw(err) {
			for _, ct := range e.cts {
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
	return err
}
