package recipes

import (
	"context"
	"errors"

	"github.com/lockkeeper/lockkeeper/client"
)

// park waits until something has happened that may change who is ahead, and looks again if what is known does not tell.
// On return below says how many are.
func (ct *contender) park(ctx context.Context) error {
	ct.wait()
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

// woken says whether the state of the watches asks for a decision.
func (ct *contender) woken() bool {
	if ct.ownGone || !ct.ownSet && !ct.b.noOwn || !ct.limitSet && ct.claim.capacity == 0 {
		return true
	}
	if ct.looks() {
		return !ct.kidsSet
	}
	for i := range ct.ahead {
		if r := &ct.ahead[i]; !r.set {
			return true
		}
	}
	return false
}

// arm sets the watches that are missing, in one flight, the own znode's first (rule 2). A znode that is gone by then counts
// like the event of its end (rule 1).
func (ct *contender) arm(ctx context.Context) error {
	var own client.GetCall
	armOwn := !ct.ownSet && !ct.b.noOwn
	any := armOwn
	if armOwn {
		ct.own, ct.ownSet = ct.watch(), true
		own = ct.g.GetArmed(ct.node, ct.own)
	}
	for i := range ct.ahead {
		if r := &ct.ahead[i]; !r.set && !r.gone && !ct.looks() {
			r.watch, r.set, any = ct.watch(), true, true
			r.call, r.asked = ct.g.GetArmed(r.path, r.watch), true
		}
	}
	if !any {
		return nil
	}
	if err := ct.flight(ctx); err != nil {
		return err
	}
	if ct.via != ct.conn { // another connection than the list's makes the list worthless (rule 4)
		ct.listed = false
	}
	if armOwn {
		if err := own.Err(); errors.Is(err, client.ErrNoNode) {
			ct.ownGone, ct.ownSet = true, false
		} else if err != nil {
			return ct.lostArm(ctx, err)
		}
	}
	for i := range ct.ahead {
		if err := ct.ahead[i].armed(ct.gen); err != nil {
			return ct.lostArm(ctx, err)
		}
	}
	ct.drain()
	return nil
}

// armed takes the answer to the request that watches r, if there was one.
func (r *rival) armed(gen client.Generation) error {
	if !r.asked {
		return nil
	}
	r.asked = false
	switch err := r.call.Err(); {
	case errors.Is(err, client.ErrNoNode):
		r.gone, r.set = true, false
	case errors.Is(err, client.ErrNoAuth):
		return join(ErrUnreadable, err)
	case err != nil:
		return err
	default:
		st, _ := r.call.Stat()
		r.foreign, r.written = st.EphemeralOwner != gen.SessionID(), r.written || st.Version > 0
	}
	return nil
}

// lostArm is for a connection that broke while the watches were being set: which of them are is unknown, so none counts,
// and neither does the list.
func (ct *contender) lostArm(ctx context.Context, err error) error {
	if !errors.Is(err, client.ErrConnectionLoss) {
		return err
	}
	ct.forget()
	ct.listed = false
	return ct.pace.lost(ctx)
}

// decide uses what is known: on return below says how many are ahead. If what is known is not enough, the queue is read again.
func (ct *contender) decide(ctx context.Context) error {
	if ct.ownGone {
		return errAgain
	}
	if ct.learn() {
		return ct.list(ctx, false)
	}
	return nil // perhaps only data has changed somewhere, and the watches are to be set anew (rule 9)
}

// list reads the queue again. With proof a sync goes ahead, to renew a lease clock that has run out.
func (ct *contender) list(ctx context.Context, proof bool) error {
	for {
		if proof {
			ct.g.Sync(ct.b.dir)
		}
		asked := ct.ask(ct.g)
		if err := ct.flight(ctx); err != nil {
			return err
		}
		strays, err := ct.look(asked)
		again := false
		if err == nil && len(ct.suspects) > 0 {
			again, err = ct.sift(ctx)
		}
		switch {
		case again:
			continue // of ours some were counted as ahead, or the answers came from somewhere else
		case errors.Is(err, client.ErrConnectionLoss):
			ct.listed = false
			if err := ct.pace.lost(ctx); err != nil {
				return err
			}
			continue
		case errors.Is(err, client.ErrNoNode): // the path is gone, and our znode with it
			return errAgain
		case err != nil:
			return err
		}
		for _, s := range strays {
			ct.gen.Delete(new(client.Cleanup), child(ct.b.dir, []byte(s)), nil)
		}
		ct.drain()
		if ct.ownGone {
			return errAgain
		}
		return nil
	}
}

// clean starts the deletion of what the attempt has made, if anything; gone says that the own znode is not there any more. The
// znode that is known is deleted by its name even where others are searched for: the search may be refused.
func (ct *contender) clean(gone bool) (started []*client.Cleanup) {
	if ct.creating {
		_ = ct.created() // only what it tells about the znode matters here
	}
	if ct.gen.Err() != nil {
		return nil // the znode is gone with the session
	}
	if ct.node != "" && !gone {
		c := new(client.Cleanup)
		ct.gen.Delete(c, ct.node, nil)
		started = append(started, c)
	}
	if ct.unknown {
		c := new(client.Cleanup)
		ct.search(c, "")
		started = append(started, c)
	}
	return started
}
