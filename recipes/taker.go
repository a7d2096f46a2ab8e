package recipes

import (
	"context"
	"errors"

	"github.com/lockkeeper/lockkeeper/client"
)

// taker is one call of Lock on a FixedMutex: it tries to make the znode, waits while somebody else has it, and cleans up if it
// fails. One transaction makes the znode and writes the counter beside it (docs/locks.md A9): create, a write that makes our
// znode's version one that a plain create does not have, and the attempt's mark into the counter, which tells in case of doubt
// whose transaction was the last.
type taker struct {
	entrant

	mark    []byte           // new with each attempt; all its transactions have it
	multi   client.MultiCall // the transaction of the flight, while taking
	taking  bool             // its outcome has not been looked at
	unknown bool             // the outcome of a transaction with this mark is or was unknown

	zxid    int64 // of the transaction that has made the znode ours; 0 if none has
	counted int32 // the version of the counter after it

	watch   *client.OneShot // the newest watch on the znode of whoever has the lock
	armed   bool            // it is set
	free    bool            // the znode was seen or told to be gone
	node    client.GetCall  // what the flight asks for when it looks
	counter client.GetCall
}

// taker returns one from the pool, or a new one.
func (b *base) taker(try bool) *taker {
	t, ok := b.pool.Get().(*taker)
	if !ok {
		t = &taker{entrant: entrant{b: b, q: client.NewQueue()}}
		t.of = t
	}
	t.try, t.gaveUp = try, nil
	return t
}

// begin prepares for an attempt in the current session.
func (t *taker) begin() error {
	t.bind()
	t.mark = appendGUID(t.mark[:0], true)
	t.taking, t.unknown, t.zxid, t.armed, t.free = false, false, 0, false, false
	return nil
}

// attempt goes from the first transaction to the grant.
func (t *taker) attempt(ctx context.Context) (*Lease, error) {
	for {
		ours, err := t.take(ctx)
		if err == nil && !ours {
			if t.try {
				return nil, ErrNotAcquired
			}
			ours, err = t.await(ctx)
		}
		switch {
		case err != nil:
			return nil, err
		case ours:
			return t.own(ctx)
		}
	}
}

// own makes a lease of a znode that is ours.
func (t *taker) own(ctx context.Context) (*Lease, error) {
	if t.counted == client.AnyVersion {
		return nil, errAgain // a guard with this version, which a counter has after 2^32 writes, would guard nothing
	}
	return t.grant(ctx)
}

// take makes the znode ours, or finds that it is somebody else's.
func (t *taker) take(ctx context.Context) (ours bool, err error) {
	for tries := 0; ; {
		ours, err = t.send(ctx, tries > 0)
		switch {
		case err == nil:
			return ours, nil
		case errors.Is(err, client.ErrConnectionLoss):
			if err := t.pace.lost(ctx); err != nil {
				return false, err
			}
		case !errors.Is(err, client.ErrNoNode):
			return false, explain(err)
		case tries >= maxParents:
			return false, join(ErrNoParent, err)
		default:
			tries++
		}
	}
}

// send sends the transaction; with parents, what is missing of the path and the counter is made first, in the same flight. Behind
// it goes a look, unless this is the first try: if the znode is somebody else's, it is watched, and if an earlier transaction has
// made it ours, its reply being lost, that shows. The transaction is a write through the leader, so what was carried out before it
// can be seen behind it.
func (t *taker) send(ctx context.Context, parents bool) (ours bool, err error) {
	b := t.b
	var levels []client.CreateCall
	if parents {
		levels = append(b.addLevels(t.g, above(b.dir)), t.g.Create(b.counter, []byte{}, client.ModePersistent, b.acl))
	}
	t.multi, t.taking = t.g.Multi(client.CreateOp(b.dir, []byte{}, client.ModeEphemeral, b.acl),
		client.SetOp(b.dir, b.nodeData(t.gen), 0), client.SetOp(b.counter, t.mark, client.AnyVersion)), true
	looks := t.waiting || t.unknown
	if looks {
		t.look()
	}
	if err := t.flight(ctx); err != nil {
		return false, err
	}
	switch err = t.taken(); {
	case err == nil:
		t.forget()
		return true, nil
	case looks && errors.Is(err, client.ErrNodeExists):
		return t.seen()
	case errors.Is(err, client.ErrNodeExists):
		return false, nil
	}
	t.forget()
	return false, b.joinParents(err, levels)
}

// flight sends the group and waits for it, while events that come in are noted.
func (t *taker) flight(ctx context.Context) error {
	err := t.entrant.flight(ctx)
	t.taking = t.taking && (err == nil || t.fly) // else nothing was sent
	return err
}

// taken looks at the outcome of the transaction of a complete flight.
func (t *taker) taken() error {
	t.taking = false
	results, err := t.multi.Results()
	switch {
	case err == nil:
		t.zxid, t.counted = results[2].Stat.Mzxid, results[2].Stat.Version
	case client.MaybeApplied(err):
		t.unknown = true
	}
	return err
}

// look adds to a flight the questions that seen has the answers of: who has the lock, with a watch on his znode, and while a
// transaction is in doubt whose was the last.
func (t *taker) look() {
	t.watch, t.armed, t.free = t.entrant.watch(), true, false
	t.node = t.g.GetArmed(t.b.dir, t.watch)
	if t.unknown {
		t.counter = t.g.Get(t.b.counter, nil)
	}
}

// seen takes the answers, and says whether the znode is ours.
func (t *taker) seen() (ours bool, err error) {
	stat, err := t.node.Stat()
	switch {
	case errors.Is(err, client.ErrNoNode):
		t.armed, t.free = false, true
		return false, nil
	case errors.Is(err, client.ErrNoAuth):
		return false, join(ErrUnreadable, err)
	case err != nil || !t.unknown:
		t.armed = t.armed && err == nil
		return false, err
	}
	data, counter, err := t.counter.Data()
	if errors.Is(err, client.ErrNoNode) {
		return false, nil // somebody has deleted it
	}
	if err != nil {
		t.forget()
		return false, err
	}
	if stat.EphemeralOwner != t.gen.SessionID() || stat.Czxid != counter.Mzxid || string(data) != string(t.mark) {
		return false, nil
	}
	t.zxid, t.counted = stat.Czxid, counter.Version
	t.forget()
	return true, nil
}

// await waits until the znode of whoever has the lock is gone: then everybody who waits tries again, and one succeeds. A
// transaction of ours that is carried out late, by a server that we have left (ZOOKEEPER-4907), makes it ours.
func (t *taker) await(ctx context.Context) (ours bool, err error) {
	t.wait()
	for !t.free {
		if !t.armed { // not yet, or something has changed; it need not be the end (docs/locks.md A10 rule 9)
			t.look()
			if err := t.flight(ctx); err != nil {
				return false, err
			}
			ours, err := t.seen()
			switch {
			case errors.Is(err, client.ErrConnectionLoss):
				if err := t.pace.lost(ctx); err != nil {
					return false, err
				}
				continue
			case ours || err != nil:
				return ours, err
			}
		}
		t.drain()
		if t.armed && !t.free {
			it, err := t.q.Next(ctx)
			if err != nil {
				return false, err
			}
			t.note(it)
		}
	}
	return false, nil
}

// note takes one item.
func (t *taker) note(it client.Item) {
	switch {
	case it.Kind == client.ItemReply:
		t.fly, t.via = false, it.Conn
	case t.watch != nil && it.Tag == t.watch.Tag:
		t.armed = false
		t.free = it.Event.Type == client.EventNodeDeleted || it.Event.Err != nil
	}
}

// forget takes the watch back.
func (t *taker) forget() {
	if t.watch != nil {
		t.gen.Unwatch(t.watch)
	}
	t.watch, t.armed = nil, false
}

// fixedLease is a lease with its stake, in one piece of memory.
type fixedLease struct {
	Lease
	fixedStake
}

// grant puts the hold on the lease clock.
func (t *taker) grant(ctx context.Context) (*Lease, error) {
	for {
		fl := &fixedLease{fixedStake: fixedStake{t.made()}}
		l := &fl.Lease
		l.claim, l.node, l.token, l.by, l.stake = one(exclusive), t.b.dir, Token{Zxid: t.zxid}, &t.entrant, &fl.fixedStake
		switch err := t.hold(ctx, l, t.via); {
		case err == nil:
			t.settle()
			t.q.Reset()
			l.begin()
			return l, nil
		case errors.Is(err, client.ErrLeaseDeadline):
			if err := t.rest(ctx); err != nil {
				return nil, err
			}
		case !errors.Is(err, client.ErrDisconnected):
			return nil, err
		}
		if err := t.verify(ctx); err != nil {
			return nil, err
		}
	}
}

// verify makes sure, behind a sync, that the znode is still ours.
func (t *taker) verify(ctx context.Context) error {
	for {
		t.g.Sync(t.b.dir)
		ex := t.g.Exists(t.b.dir)
		if err := t.flight(ctx); err != nil {
			return err
		}
		stat, there, err := ex.Stat()
		switch {
		case errors.Is(err, client.ErrConnectionLoss):
			if err := t.pace.lost(ctx); err != nil {
				return err
			}
		case err != nil:
			return err
		case !there || stat.Czxid != t.zxid:
			t.zxid = 0
			return errAgain
		default:
			return nil
		}
	}
}

// made is what the transaction has made, or may have.
func (t *taker) made() client.FixedNode {
	n := client.FixedNode{Path: t.b.dir, Counter: t.b.counter, Zxid: t.zxid, Version: t.counted, Several: t.unknown}
	if t.unknown {
		n.Mark = string(t.mark)
	}
	return n
}

// clean starts the deletion of what the attempt has made, or may have.
func (t *taker) clean(bool) []*client.Cleanup {
	if t.taking {
		_ = t.taken() // only what it tells about the znode matters here
	}
	if t.gen.Err() != nil || t.zxid == 0 && !t.unknown {
		return nil
	}
	c := new(client.Cleanup)
	t.gen.DeleteFixed(c, t.made(), nil)
	return []*client.Cleanup{c}
}

// fixedStake is the stake of a znode of a fixed path.
type fixedStake struct{ client.FixedNode }

// guard checks the counter's version, which every grant and every release changes.
func (s *fixedStake) guard(l *Lease) client.Op { return l.b.c.GuardOp(s.Counter, s.Version) }

// beside checks that the znode is there: it may be gone without a release, and clients without a counter may have theirs there.
func (s *fixedStake) beside(l *Lease) []client.Op {
	return []client.Op{l.b.c.GuardOp(s.Path, client.FixedVersion)}
}

func (s *fixedStake) remove(l *Lease, c *client.Cleanup, by *entrant) {
	var spare *client.Group
	if by != nil {
		spare = by.g
	}
	l.gen.DeleteFixed(c, s.FixedNode, spare)
}

func (s *fixedStake) refused(*Lease, *entrant) {}
