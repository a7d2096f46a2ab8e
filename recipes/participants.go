package recipes

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// Participant is one of those who hold a lock or wait for it, of whatever process and client.
type Participant struct {
	Node    string    // path of its znode, which Revoke takes
	Data    []byte    // of the znode: by default it names host, process and session; the caller's
	Session int64     // id of the session that it belongs to
	Token   Token     // what its lease has, or will have, but for local hand-overs; zero where that is not known yet
	Created time.Time // when it lined up, by the leader's clock, in milliseconds
	Shared  bool      // it wants a read lock, or permits of which there are several
	Permits int       // that it has or wants of a semaphore; 1 of any other lock
	Holds   bool      // nobody whom it would wait for is ahead of it
	Err     error     // why its znode could not be read, usually client.ErrNoAuth: then Data, Session, Token and Created are zero

	seq   int32
	claim claim
}

// participantBatch is how many znodes are read in one flight.
const participantBatch = 100

// participants reads the queue: the list of a server that has caught up with the leader, then each znode. Whoever has left in
// the meantime is left out, so this is not one state of the queue if it moves.
func (b *base) participants(ctx context.Context, want claim) ([]Participant, error) {
	if err := b.usable(ctx, "participants"); err != nil {
		return nil, err
	}
	ps, err := b.present(ctx, want)
	for i := range ps {
		ps[i].Holds = ps[i].holds(ps[:i])
	}
	if err == nil && b.gate != nil {
		ps, err = b.joinOutside(ctx, ps, want.of(lease))
	}
	if err != nil {
		return nil, &Error{"participants", b.path(), err}
	}
	return ps, nil
}

// present returns those in the queue that are still there when they are read.
func (b *base) present(ctx context.Context, want claim) ([]Participant, error) {
	ps, err := b.queue(ctx, want)
	for i := 0; i < len(ps) && err == nil; i += participantBatch {
		err = b.read(ctx, ps[i:min(i+participantBatch, len(ps))])
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(ps, func(p Participant) bool { return errors.Is(p.Err, client.ErrNoNode) }), nil
}

// joinOutside adds to the leases of Curator's semaphore those who wait for its mutex and have none yet. Whoever has the mutex may
// have a lease already: it is the last one then, and the only one that does not hold.
func (b *base) joinOutside(ctx context.Context, leases []Participant, want claim) ([]Participant, error) {
	outside, err := b.gate.present(ctx, one(exclusive))
	if n := len(leases); n > 0 && len(outside) > 0 && !leases[n-1].Holds {
		outside = outside[1:]
	}
	for i := range outside {
		p := &outside[i]
		p.Token = Token{} // that of its lease is not made yet
		p.Shared = want.shares()
	}
	return append(leases, outside...), err
}

// holds says whether those before p in the queue leave room for it. Where the znode of the semaphore says how many permits
// there are, that has been put into the claims.
func (p *Participant) holds(before []Participant) bool {
	weight := p.claim.weight
	for i := range before {
		if o := &before[i]; older(o.seq, p.seq) && p.claim.waitsFor(o.claim) {
			weight += o.claim.weight
		}
	}
	return weight <= p.claim.capacity
}

// queue lists the znodes of the contenders, in order.
func (b *base) queue(ctx context.Context, want claim) ([]Participant, error) {
	want = b.named(want)
	if b.gate != nil {
		want.kind = lease
	}
	g := b.c.Group()
	sync, kids := g.Sync(b.dir), g.Children(b.dir)
	var limit client.GetCall
	if want.capacity == 0 {
		limit = g.Get(b.dir, nil)
	}
	_ = g.Do(ctx) // each of the two has its own error
	if err := sync.Err(); err != nil && !errors.Is(err, client.ErrNoNode) {
		return nil, err
	}
	sc, err := kids.Scan()
	if errors.Is(err, client.ErrNoNode) { // made with the first contender
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	capacity := want.capacity
	if capacity == 0 {
		data, _, _ := limit.Data() // without a number nobody holds anything
		capacity, _ = parsePermits(data)
	}
	var ps []Participant
	for name, ok := sc.Next(); ok; name, ok = sc.Next() {
		if seq, c, ok := want.parse(name); ok {
			p := Participant{Node: child(b.dir, name), Shared: c.shares(), Permits: c.weight, seq: seq, claim: c}
			if c.capacity == 0 {
				p.claim.capacity = capacity
			}
			ps = append(ps, p)
		}
	}
	slices.SortFunc(ps, func(p, q Participant) int {
		switch {
		case older(p.seq, q.seq):
			return -1
		case older(q.seq, p.seq):
			return 1
		}
		return int(p.claim.kind) - int(q.claim.kind) // a writer that is being turned into a reader by Curator
	})
	return ps, sc.Err()
}

// read fills in what the znodes say, in one flight.
func (b *base) read(ctx context.Context, ps []Participant) error {
	g := b.c.Group()
	calls := make([]client.GetCall, len(ps))
	for i := range ps {
		calls[i] = g.Get(ps[i].Node, nil)
	}
	_ = g.Do(ctx) // each has its own error
	for i := range ps {
		if err := b.take(&ps[i], calls[i]); err != nil {
			return err
		}
	}
	return nil
}

// take fills in the answer to a read, which may be that it was refused.
func (b *base) take(p *Participant, call client.GetCall) error {
	data, stat, err := call.Data()
	var e *client.Error
	switch {
	case err == nil:
		b.fill(p, data, stat)
	case errors.As(err, &e) && e.Outcome == client.OutcomeRejected:
		p.Err = err
	default:
		return err
	}
	return nil
}

// fill puts in what the znode says.
func (b *base) fill(p *Participant, data []byte, stat client.Stat) {
	if b.stem != nil {
		data = unmarked(data)
	}
	p.Data, p.Session, p.Token = data, stat.EphemeralOwner, Token{Zxid: stat.Czxid}
	p.Created = time.UnixMilli(stat.Ctime)
}
