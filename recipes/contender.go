package recipes

import (
	"context"
	"errors"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// contender is one call of Lock: it makes a znode in the queue, looks who is ahead, waits, and is granted or cleans up.
// docs/locks.md A10 holds the rules by which it decides, which were model-checked; the numbers in the comments are theirs.
type contender struct {
	entrant
	claim claim
	pass  *Lease // of the mutex under which it is decided, for Curator's semaphore; else nil

	mine     client.CreateCall // the create of the flight, while creating
	creating bool              // its outcome has not been looked at

	// The attempt: from a create to its grant or end.
	prefix  []byte // name of the znode up to its number; new with each attempt
	unique  int    // how much of it no other attempt has
	path    string // prefix as a path
	node    string // path of the own znode, "" before it is known
	name    string // its last component
	seq     int32
	czxid   int64
	unknown bool // the outcome of a create with this prefix is or was unknown

	// With PlainNames.
	marked   []byte           // data of the znodes, which ends in a mark that no other attempt has
	mark     string           // what no other attempt has
	suspects []string         // names in the last list that may be ours, and have not been read
	read     map[string]int64 // names that have been read: the czxid of a znode of ours, 0 for others'

	// What the last list said.
	listed bool    // it can be trusted: no reconnect since (rule 4)
	conn   uint64  // the connection that brought it
	below  int     // what the contenders ahead of us want together, less those whose end we were told: the known set
	ahead  []rival // the nearest of them, the nearest first: those that are watched
	before []rival // memory for the next list, as is near
	near   []nearest

	followed bool            // the last list showed somebody behind us
	nodded   bool            // the own znode has been given to the session to be written
	kids     *client.OneShot // the newest watch on the children, of a waiter that looks for itself
	kidsSet  bool            // it is armed

	capacity int             // how many permits there are
	limit    *client.OneShot // the newest watch on the znode that says so
	limitSet bool            // it is armed

	own     *client.OneShot // the newest watch on the own znode; an event of an earlier one is not heard
	ownSet  bool            // own is armed on conn
	ownGone bool

	// The holds of one znode, with HandOver.
	hand  uint32    // hand-overs so far; with GuardedHandover also the version of the znode's data
	since time.Time // the first grant
}

// reset prepares for an attempt in the current session.
func (ct *contender) reset() {
	ct.bind()
	ct.prefix = ct.claim.appendPrefix(ct.prefix[:0])
	ct.unique = len(ct.prefix)
	if ct.claim.stem != nil {
		ct.newMark()
	}
	ct.prefix = append(ct.prefix, ct.claim.mark()...)
	ct.path = child(ct.b.dir, ct.prefix)
	ct.node, ct.name, ct.seq, ct.czxid, ct.unknown = "", "", 0, 0, false
	ct.listed, ct.below, ct.ahead = false, 0, ct.ahead[:0]
	ct.capacity = ct.claim.capacity
	ct.ownGone, ct.creating, ct.nodded = false, false, false
	ct.hand, ct.since = 0, time.Time{}
}

// guid is what the names of all znodes of this attempt begin with.
func (ct *contender) guid() string { return string(ct.prefix[:ct.unique]) }

func child(dir string, name []byte) string {
	if dir == "/" {
		return "/" + string(name)
	}
	return dir + "/" + string(name)
}

// maxParents bounds how often a path is made again that vanishes between its creation and that of the lock's znode.
const maxParents = 10

// begin prepares for an attempt in the current session, which has to be that of the mutex under which it is decided.
func (ct *contender) begin() error {
	ct.reset()
	if ct.pass != nil && !ct.pass.gen.Same(ct.gen) {
		return errAgain
	}
	return nil
}

// attempt goes from the creation of a znode to its grant.
func (ct *contender) attempt(ctx context.Context) (*Lease, error) {
	if err := ct.enqueue(ctx); err != nil {
		return nil, err
	}
	return ct.await(ctx)
}

// await waits for the grant of a znode that stands in the queue.
func (ct *contender) await(ctx context.Context) (*Lease, error) {
	for {
		if ct.claim.capacity == 0 && !ct.limitSet {
			// The number of permits was written, or the connection changed, while the queue was read: nobody is told again, and
			// what was read of the number is outdated.
			if err := ct.list(ctx, false); err != nil {
				return nil, err
			}
			continue
		}
		if !ct.blocked(ct.below) {
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
	switch l, err := ct.hold(ctx); {
	case err == nil:
		if ct.claim.lined() && ct.followed {
			ct.nod()
		}
		ct.forget()
		ct.settle()
		ct.q.Reset()
		if ct.b.grants > 0 {
			ct.since = time.Now()
		}
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

// hold makes the lease, if the connection that the grant comes from is there and the lease clock runs.
func (ct *contender) hold(ctx context.Context) (*Lease, error) {
	l := &Lease{claim: ct.claim, node: ct.node, token: Token{ct.czxid, ct.hand}, by: &ct.entrant, stake: nodeStake{}}
	return l, ct.entrant.hold(ctx, l, ct.conn)
}

// flight sends the group and waits for it, while events that come in are noted.
func (ct *contender) flight(ctx context.Context) error {
	err := ct.entrant.flight(ctx)
	ct.creating = ct.creating && (err == nil || ct.fly) // else nothing was sent
	return err
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
	if ct.limit != nil && it.Tag == ct.limit.Tag {
		ct.limitSet, ct.listed = false, false
		return
	}
	if ct.kids != nil && it.Tag == ct.kids.Tag {
		ct.kidsSet = false
		return
	}
	if ct.own != nil && it.Tag == ct.own.Tag {
		ct.ownSet = false
		ct.ownGone = ct.ownGone || gone
		return
	}
	for i := range ct.ahead {
		if r := &ct.ahead[i]; r.watch != nil && it.Tag == r.watch.Tag {
			r.set = false
			r.gone = r.gone || gone
			r.written = r.written || !gone
		}
	}
}

// forget takes the watches back; what they have brought about those ahead, or could still bring, concerns nobody.
func (ct *contender) forget() {
	if ct.own != nil {
		ct.gen.Unwatch(ct.own)
	}
	if ct.limit != nil {
		ct.gen.Unwatch(ct.limit)
	}
	if ct.kids != nil {
		ct.gen.Unwatch(ct.kids)
	}
	ct.own, ct.ownSet, ct.limit, ct.limitSet, ct.kids, ct.kidsSet = nil, false, nil, false, nil, false
	for i := range ct.ahead {
		ct.ahead[i].drop(ct.gen)
	}
}
