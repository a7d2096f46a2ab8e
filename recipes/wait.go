package recipes

import (
	"context"
	"errors"

	"github.com/lockkeeper/lockkeeper/client"
)

// park waits until something has happened that may change who is ahead, and looks again if what is known does not tell.
// On return below says how many are.
func (ct *contender) park(ctx context.Context) error {
	if !ct.waiting {
		ct.waiting = true
		ct.gen.Contend(1)
	}
	if err := ct.arm(ctx); err != nil {
		return err
	}
	for !ct.woken() {
		it, err := ct.q.Next(ctx)
		if err != nil {
			return err
		}
		ct.note(it)
		ct.drain()
	}
	return ct.decide(ctx)
}

// drain takes what else has arrived: the end of the own znode may be right behind that of the one ahead (docs/locks.md D4b).
func (ct *contender) drain() {
	for {
		it, ok := ct.q.TryNext()
		if !ok {
			return
		}
		ct.note(it)
	}
}

// woken says whether the state of the watches asks for a decision.
func (ct *contender) woken() bool {
	return ct.ownGone || ct.predGone || !ct.predSet || !ct.ownSet && !ct.m.noOwn
}

// arm sets the watches that are missing, in one flight, the own znode's first (rule 2). A znode that is gone by then counts
// like the event of its end (rule 1).
func (ct *contender) arm(ctx context.Context) error {
	var own, pred client.GetCall
	armOwn, armPred := !ct.ownSet && !ct.m.noOwn, !ct.predSet
	if !armOwn && !armPred {
		return nil
	}
	if armOwn {
		ct.own, ct.ownSet = ct.watch(), true
		own = ct.g.GetArmed(ct.node, ct.own)
	}
	if armPred {
		ct.pred, ct.predSet = ct.watch(), true
		pred = ct.g.GetArmed(ct.ahead, ct.pred)
	}
	if err := ct.flight(ctx); err != nil {
		return err
	}
	if armOwn {
		if err := own.Err(); errors.Is(err, client.ErrNoNode) {
			ct.ownGone, ct.ownSet = true, false
		} else if err != nil {
			return ct.lostArm(err)
		}
		ct.sameConn()
	}
	if armPred {
		err := pred.Err()
		switch {
		case errors.Is(err, client.ErrNoNode):
			ct.predGone, ct.predSet = true, false
		case errors.Is(err, client.ErrNoAuth):
			return join(ErrUnreadable, err)
		case err != nil:
			return ct.lostArm(err)
		default:
			ct.foreign = pred.Owner() != ct.gen.SessionID()
		}
		ct.sameConn()
	}
	ct.drain()
	return nil
}

// lostArm is for a connection that broke while the watches were being set: which of them are is unknown, so none counts,
// and neither does the list.
func (ct *contender) lostArm(err error) error {
	if !errors.Is(err, client.ErrConnectionLoss) {
		return err
	}
	ct.forget()
	ct.listed = false
	return nil
}

// sameConn notes the connection of an answer: another one than the list's makes the list worthless (rule 4).
func (ct *contender) sameConn() {
	if ct.via != ct.conn {
		ct.listed = false
	}
}

// decide uses what is known. The lock is ours without another request only if the one ahead was the last of the known set,
// is gone for certain and belonged to another session, the list is from this connection, and our own znode's watch is
// armed (rules 1, 2, 4, 5). In all other cases the queue is read again.
func (ct *contender) decide(ctx context.Context) error {
	switch {
	case ct.ownGone:
		return errAgain
	case ct.predGone && ct.listed && ct.foreign && ct.below == 1 && (ct.ownSet || ct.m.noOwn) && !ct.m.relist:
		ct.below = 0
		return nil
	case !ct.predGone && ct.listed:
		return nil // data changed somewhere: only the watches are set anew (rule 9)
	}
	return ct.list(ctx, false)
}

// list reads the queue again. With proof a sync goes ahead, to renew a lease clock that has run out.
func (ct *contender) list(ctx context.Context, proof bool) error {
	for {
		if proof {
			ct.g.Sync(ct.m.dir)
		}
		kids := ct.g.Children(ct.m.dir)
		if err := ct.flight(ctx); err != nil {
			return err
		}
		ahead := ct.ahead
		strays, err := ct.look(kids)
		switch {
		case errors.Is(err, client.ErrConnectionLoss):
			ct.listed = false
			continue
		case errors.Is(err, client.ErrNoNode): // the path is gone, and our znode with it
			return errAgain
		case err != nil:
			return err
		}
		for _, s := range strays {
			ct.gen.Delete(new(client.Cleanup), child(ct.m.dir, []byte(s)), nil)
		}
		ct.drain()
		if ct.ahead != ahead {
			ct.foreign = false // not known yet
		}
		if ct.pred != nil && (ct.ahead != ahead || ct.predGone) {
			ct.gen.Unwatch(ct.pred)
			ct.pred, ct.predSet, ct.predGone = nil, false, false
		}
		if ct.ownGone {
			return errAgain
		}
		return nil
	}
}

// leave removes everything of a failed attempt, and returns err, joined with ErrCleanupPending if that was not confirmed
// in time. What has not been written is taken back; a create in flight is waited for, within the grace, since only its
// reply tells the name of the znode.
func (ct *contender) leave(ctx context.Context, err error) error {
	ct.forget()
	ct.settle()
	if ct.fly {
		ct.g.Withdraw(err)
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), CleanupGrace)
	defer cancel()
	for ct.fly {
		it, late := ct.q.Next(grace)
		if late != nil {
			ct.q.Forward(ct.late)
			return join(err, ErrCleanupPending)
		}
		ct.note(it)
	}
	c := ct.clean(errors.Is(err, errAgain))
	if c == nil {
		return err
	}
	switch why := c.Wait(grace); {
	case why == nil, errors.Is(why, client.ErrNoNode), ct.gen.Err() != nil:
		return err
	case grace.Err() != nil:
		return join(err, ErrCleanupPending)
	default:
		return join(err, why)
	}
}

// late takes the reply of a flight that nobody waits for any more.
func (ct *contender) late(it client.Item) {
	if it.Kind == client.ItemReply {
		ct.clean(false)
	}
}

// clean starts the deletion of what the attempt has made, if anything; gone says that the own znode is not there any more.
func (ct *contender) clean(gone bool) *client.Cleanup {
	if ct.creating {
		_ = ct.created() // only what it tells about the znode matters here
	}
	switch {
	case ct.gen.Err() != nil:
		return nil // the znode is gone with the session
	case ct.unknown:
		c := new(client.Cleanup)
		ct.gen.DeleteMatching(c, ct.m.dir, string(ct.prefix))
		return c
	case ct.node != "" && !gone:
		c := new(client.Cleanup)
		ct.gen.Delete(c, ct.node, nil)
		return c
	}
	return nil
}
