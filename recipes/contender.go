package recipes

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// tagFlight marks the completion of the group in flight; watches have tags of their own, never used twice.
const tagFlight = 0

// contender is one call of Lock: it makes a znode in the queue, looks who is ahead, waits, and is granted or cleans up.
// docs/locks.md A10 holds the rules by which it decides, which were model-checked; the numbers in the comments are theirs.
// All that it learns comes through one queue, in the order of the wire (rule 3).
type contender struct {
	m   *Mutex
	q   *client.Queue
	try bool

	gen client.Generation
	g   *client.Group // bound to gen
	fly bool          // g is under way
	via uint64        // the connection that carried it last

	mine     client.CreateCall // the create of the flight, while creating
	creating bool              // its outcome has not been looked at

	// The attempt: from a create to its grant or end.
	prefix  []byte // name of the znode up to its number; new with each attempt
	path    string // prefix as a path
	node    string // path of the own znode, "" before it is known
	name    string // its last component
	seq     int32
	czxid   int64
	unknown bool // the outcome of a create with this prefix is or was unknown

	// What the last list said.
	listed bool   // it can be trusted: no reconnect since (rule 4)
	conn   uint64 // the connection that brought it
	below  int    // contenders ahead of us then, less those whose end we were told: the known set
	ahead  string // the nearest of them

	own, pred *client.OneShot // the newest; an event of an earlier one is not heard
	tags      uint32          // tags given out
	ownSet    bool            // own is armed on conn
	ownGone   bool
	predSet   bool // pred is armed for ahead
	predGone  bool
	foreign   bool // ahead belongs to another session: its end may be trusted by event (rule 5)
	waiting   bool // counted as a contender of the session
	proved    bool // a sync was sent to renew the lease clock for the grant
}

// reset prepares for an attempt in the current session.
func (ct *contender) reset() {
	gen := ct.m.c.Generation()
	if ct.g == nil || gen != ct.gen {
		ct.gen, ct.g = gen, gen.Group()
	}
	ct.prefix = append(appendGUID(append(ct.prefix[:0], guidStart...)), '-')
	ct.prefix = append(ct.prefix, mark...)
	ct.path = child(ct.m.dir, ct.prefix)
	ct.node, ct.name, ct.seq, ct.czxid, ct.unknown = "", "", 0, 0, false
	ct.listed, ct.below, ct.ahead = false, 0, ""
	ct.ownGone, ct.predGone, ct.foreign, ct.creating, ct.proved = false, false, false, false, false
}

func child(dir string, name []byte) string {
	if dir == "/" {
		return "/" + string(name)
	}
	return dir + "/" + string(name)
}

// maxParents bounds how often a path is made again that vanishes between its creation and that of the lock's znode.
const maxParents = 10

// errAgain says that an attempt has ended in a way that allows another one.
var errAgain = errors.New("own znode gone")

// acquire makes attempts until one is granted or fails for good.
func (ct *contender) acquire(ctx context.Context) (*Lease, error) {
	for {
		ct.reset()
		l, err := ct.attempt(ctx)
		if err == nil {
			return l, nil
		}
		again := errors.Is(err, errAgain) || errors.Is(err, client.ErrSessionExpired) && ctx.Err() == nil
		err = ct.leave(ctx, err)
		over := ct.gen.Err()
		switch {
		case !again:
			return nil, err
		case ct.m.failGone && errors.Is(err, client.ErrSessionExpired):
			return nil, err
		case ct.m.failGone && errors.Is(err, ErrCleanupPending):
			return nil, join(ErrNodeGone, ErrCleanupPending)
		case ct.m.failGone:
			return nil, ErrNodeGone
		case over != nil && ct.m.c.Generation() == ct.gen:
			return nil, over // no other session follows
		}
	}
}

// attempt goes from the creation of a znode to its grant.
func (ct *contender) attempt(ctx context.Context) (*Lease, error) {
	if err := ct.enqueue(ctx); err != nil {
		return nil, err
	}
	for {
		if ct.below == 0 {
			l, err := ct.grant(ctx)
			if l != nil || err != nil {
				return l, err
			}
			continue // the connection has changed: listed again
		}
		if ct.try {
			return nil, ErrNotAcquired
		}
		if err := ct.park(ctx); err != nil {
			return nil, err
		}
	}
}

// grant puts the hold on the lease clock. Neither lease nor error means that the ground for the grant is gone, and the list
// was read again.
func (ct *contender) grant(ctx context.Context) (*Lease, error) {
	l := &Lease{m: ct.m, gen: ct.gen, node: ct.node, token: Token{Zxid: ct.czxid}, lock: ctx, ct: ct}
	l.hold.Holder = (*leaseHold)(l)
	switch err := ct.gen.Hold(&l.hold, ct.conn); {
	case err == nil:
		ct.forget()
		ct.settle()
		ct.q.Reset()
		l.begin()
		return l, nil
	case errors.Is(err, client.ErrLeaseDeadline):
		if err := ct.rest(ctx); err != nil {
			return nil, err
		}
		return nil, ct.list(ctx, true)
	case errors.Is(err, client.ErrDisconnected):
		return nil, ct.list(ctx, true)
	default:
		return nil, err
	}
}

// rest waits between two proofs for one grant. The first may come at once; the next one is of no use before a quarter of the
// session timeout has passed, since that is how far a proof reaches back (package session, lease clock).
func (ct *contender) rest(ctx context.Context) error {
	if !ct.proved {
		ct.proved = true
		return nil
	}
	t := time.NewTimer(ct.gen.Timeout() / 4)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settle ends the time of waiting.
func (ct *contender) settle() {
	if ct.waiting {
		ct.waiting = false
		ct.gen.Contend(-1)
	}
}

// flight sends the group and waits for it, while events that come in are noted.
func (ct *contender) flight(ctx context.Context) error {
	if err := ct.g.Submit(ctx, ct.q, tagFlight); err != nil {
		ct.creating = false
		return err
	}
	ct.fly = true
	for ct.fly {
		it, err := ct.q.Next(ctx)
		if err != nil {
			return err
		}
		ct.note(it)
	}
	return nil
}

// note takes one item. An event of another connection than the list's makes the list worthless (rule 4).
func (ct *contender) note(it client.Item) {
	if it.Kind == client.ItemReply {
		ct.fly, ct.via = false, it.Conn
		return
	}
	if it.Conn != ct.conn {
		ct.listed = false
	}
	gone := it.Event.Type == client.EventNodeDeleted || it.Event.Err != nil
	switch {
	case ct.own != nil && it.Tag == ct.own.Tag:
		ct.ownSet = false
		ct.ownGone = ct.ownGone || gone
	case ct.pred != nil && it.Tag == ct.pred.Tag:
		ct.predSet = false
		ct.predGone = ct.predGone || gone
	}
}

// watch returns a new watch whose event comes to the queue under a tag of its own. One cannot be used again: its event may
// be under way when it is taken back.
func (ct *contender) watch() *client.OneShot {
	ct.tags++
	return &client.OneShot{Sink: ct.q, Tag: ct.tags}
}

// forget takes the watches back; what they have brought about the one ahead, or could still bring, concerns nobody.
func (ct *contender) forget() {
	if ct.own != nil {
		ct.gen.Unwatch(ct.own)
	}
	if ct.pred != nil {
		ct.gen.Unwatch(ct.pred)
	}
	ct.own, ct.pred, ct.ownSet, ct.predSet, ct.predGone = nil, nil, false, false, false
}

// scan reads a list of children: how many are ahead, and which is nearest. It says whether the own znode is among them.
// Other znodes that carry our prefix are what became of a create whose outcome was unknown, perhaps long after
// (ZOOKEEPER-4907): they are returned.
func (ct *contender) scan(kids client.ChildrenCall) (found bool, strays []string, err error) {
	sc, err := kids.Scan()
	if err != nil {
		return false, nil, err
	}
	ct.below, ct.ahead = 0, ""
	var nearest int32
	var best []byte
	for name, ok := sc.Next(); ok; name, ok = sc.Next() {
		seq, ok := parseSequence(name)
		switch {
		case string(name) == ct.name:
			found = true
		case ct.unknown && bytes.HasPrefix(name, ct.prefix):
			strays = append(strays, string(name))
		case ok && older(seq, ct.seq):
			ct.below++
			if best == nil || older(nearest, seq) {
				best, nearest = name, seq
			}
		}
	}
	if err := sc.Err(); err != nil {
		return false, nil, err
	}
	if best != nil {
		ct.ahead = child(ct.m.dir, best)
	}
	return found, strays, nil
}
