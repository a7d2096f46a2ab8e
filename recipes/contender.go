package recipes

import (
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
	b     *base
	q     *client.Queue
	claim claim
	try   bool
	pass  *Lease // of the mutex under which it is decided, for Curator's semaphore; else nil

	gen client.Generation
	g   *client.Group // bound to gen
	fly bool          // g is under way
	via uint64        // the connection that carried it last

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

	capacity int             // how many permits there are
	limit    *client.OneShot // the newest watch on the znode that says so
	limitSet bool            // it is armed

	own     *client.OneShot // the newest watch on the own znode; an event of an earlier one is not heard
	tags    uint32          // tags given out
	ownSet  bool            // own is armed on conn
	ownGone bool
	waiting bool // counted as a contender of the session
	proved  bool // a sync was sent to renew the lease clock for the grant

	// The holds of one znode, with HandOver.
	hand   uint32            // hand-overs so far; with GuardedHandover also the version of the znode's data
	since  time.Time         // the first grant
	pace   pace              // of requests that are lost
	gaveUp []*client.Cleanup // the deletion of a znode that was not taken over, which a Lock that fails waits for as well
	guard  *nodeGuard        // watches the znode while it is held; nil if no option wants it
}

// reset prepares for an attempt in the current session.
func (ct *contender) reset() {
	gen := ct.b.c.Generation()
	if ct.g == nil || gen != ct.gen {
		ct.gen, ct.g = gen, gen.Group()
	}
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
	ct.ownGone, ct.creating, ct.proved = false, false, false
	ct.hand, ct.since, ct.guard = 0, time.Time{}, nil
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

// errAgain says that an attempt has ended in a way that allows another one.
var errAgain = errors.New("own znode gone")

// acquire makes attempts until one is granted or fails for good.
func (ct *contender) acquire(ctx context.Context) (*Lease, error) {
	for {
		ct.reset()
		if ct.pass != nil && !ct.pass.gen.Same(ct.gen) {
			return nil, errAgain
		}
		l, err := ct.attempt(ctx)
		if err == nil {
			return l, nil
		}
		again := errors.Is(err, errAgain) || errors.Is(err, client.ErrSessionExpired) && ctx.Err() == nil
		grace, cancel := graceful(ctx)
		err = ct.leave(grace, err)
		cancel()
		if err := ct.final(again, err); err != nil {
			return nil, err
		}
	}
}

// final returns the error with which Lock fails after an attempt, nil if there is to be another one.
func (ct *contender) final(again bool, err error) error {
	over := ct.gen.Err()
	switch {
	case !again:
		return err
	case ct.b.failGone && errors.Is(err, client.ErrSessionExpired):
		return err
	case ct.b.failGone && errors.Is(err, ErrCleanupPending):
		return join(ErrNodeGone, ErrCleanupPending)
	case ct.b.failGone:
		return ErrNodeGone
	case over != nil && ct.b.c.Generation() == ct.gen:
		return over // no other session follows
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

// hold makes the lease, if the connection that the grant comes from is there and the lease clock runs.
func (ct *contender) hold(ctx context.Context) (*Lease, error) {
	l := &Lease{b: ct.b, claim: ct.claim, gen: ct.gen, node: ct.node, token: Token{ct.czxid, ct.hand}, lock: ctx, ct: ct}
	l.hold.Holder = (*leaseHold)(l)
	return l, ct.gen.Hold(&l.hold, ct.conn)
}

// rest waits between two proofs for one grant. The first may come at once; the next one is of no use before a quarter of the
// session timeout has passed, since that is how far a proof reaches back (package session, lease clock).
func (ct *contender) rest(ctx context.Context) error {
	if !ct.proved {
		ct.proved = true
		return nil
	}
	return sleep(ctx, ct.gen.Timeout()/4)
}

// When a request is lost soon after another one, it may be the request that breaks the connection: then the next one waits.
const (
	lossSoon  = time.Second
	lossPause = 100 * time.Millisecond
)

// pace keeps requests that are repeated after their connection broke from breaking every next one at full speed. The zero
// pace is ready.
type pace struct{ last time.Time }

// lost waits, if the last time was a moment ago, or returns the error of ctx if that ends before.
func (p *pace) lost(ctx context.Context) error {
	now := time.Now()
	soon := now.Sub(p.last) < lossSoon
	p.last = now
	if !soon {
		return nil
	}
	return sleep(ctx, lossPause)
}

// sleep waits for d, or returns the error of ctx if that ends before.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
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
	if ct.limit != nil && it.Tag == ct.limit.Tag {
		ct.limitSet, ct.listed = false, false
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
		}
	}
}

// watch returns a new watch whose event comes to the queue under a tag of its own. One cannot be used again: its event may
// be under way when it is taken back.
func (ct *contender) watch() *client.OneShot {
	ct.tags++
	return &client.OneShot{Sink: ct.q, Tag: ct.tags}
}

// forget takes the watches back; what they have brought about those ahead, or could still bring, concerns nobody.
func (ct *contender) forget() {
	if ct.own != nil {
		ct.gen.Unwatch(ct.own)
	}
	if ct.limit != nil {
		ct.gen.Unwatch(ct.limit)
	}
	ct.own, ct.ownSet, ct.limit, ct.limitSet = nil, false, nil, false
	for i := range ct.ahead {
		ct.ahead[i].drop(ct.gen)
	}
}
