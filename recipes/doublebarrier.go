package recipes

import (
	"context"
	"errors"
	"sync"

	"github.com/lockkeeper/lockkeeper/client"
)

// DoubleBarrier lets a number of members begin together and end together: Enter waits until all of them have arrived, Leave
// until all of them are done. Each member has a DoubleBarrier object of its own, of the same path and number, and may Enter
// again after Leave: one who is early for the next round waits until the last one of this round has left.
//
// A member is an ephemeral znode below the path. The data of the path's own znode says whether members gather or work, and
// changes by compare-and-set, so its version counts the rounds, and waiting members look at that and not at events: nobody
// passes because something else has woken them. Who comes when enough are there already waits for the next round; several
// that come at the same moment may make more than n pass. The znode of the path must not be deleted while it is in use.
//
// Failure model: a member whose session expires while it waits in Enter is not counted any more, and its Enter fails with
// ErrSessionExpired; one whose Enter has returned is taken to have left. Others do not learn that it did not do its work. A
// member that never comes keeps all others waiting: bound Enter by its ctx, after which the member is withdrawn.
//
// All methods may be called from any goroutine, one of Enter and Leave at a time: the others wait for it.
type DoubleBarrier struct {
	s small
	n int

	turn chan struct{} // has room for whoever is in Enter or Leave
	mu   sync.Mutex
	in   *entry // what Enter has left for Leave
}

// entry is one passage of a member.
type entry struct {
	gen   client.Generation
	name  string
	round int32 // version of the path's znode while members gather
}

const (
	memberMark = "member-"
	gathering  = ""
	working    = "working"
)

var (
	// ErrEntered is the answer to an Enter of a member that has not left.
	ErrEntered = errors.New("entered already")
	// ErrNotEntered is the answer to a Leave of a member that has not entered.
	ErrNotEntered = errors.New("not entered")
)

// NewDoubleBarrier returns one member of the double barrier of path, which n members pass together. It does not talk to the
// ensemble. A bad path, or n below 1, is the error of every method.
func NewDoubleBarrier(c *client.Client, path string, n int) *DoubleBarrier {
	b := &DoubleBarrier{s: newSmall(c, path), n: n, turn: make(chan struct{}, 1)}
	if b.s.err == nil && n < 1 {
		b.s.err = errors.New("a double barrier has at least one member")
	}
	return b
}

func (b *DoubleBarrier) small() *small {
	if b == nil {
		return nil
	}
	return &b.s
}

// Path returns the path of the barrier, "" of a nil one.
func (b *DoubleBarrier) Path() string { return b.small().path() }

// begin takes the turn; the function that it returns gives it back.
func (b *DoubleBarrier) begin(ctx context.Context, op string) (func(), error) {
	s := b.small()
	if err := s.usable(ctx, op); err != nil {
		return nil, err
	}
	select {
	case b.turn <- struct{}{}:
		return func() { <-b.turn }, nil
	case <-ctx.Done():
		return nil, s.fail(op, ctx.Err())
	}
}

// entered returns the passage that has begun, nil if there is none.
func (b *DoubleBarrier) entered() *entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.in
}

func (b *DoubleBarrier) setEntered(e *entry) {
	b.mu.Lock()
	b.in = e
	b.mu.Unlock()
}

// Enter waits until n members have entered, or ctx ends. When it fails, the member is not counted any more, and its znode is gone or
// the error matches ErrCleanupPending as well.
func (b *DoubleBarrier) Enter(ctx context.Context) error {
	end, err := b.begin(ctx, "enter")
	if err != nil {
		return err
	}
	defer end()
	if b.entered() != nil {
		return b.s.fail("enter", ErrEntered)
	}
	e := &entry{gen: b.s.c.Generation(), name: memberMark + string(appendGUID(nil, true))}
	if err := b.enter(ctx, e); err != nil {
		return b.s.fail("enter", b.withdraw(ctx, e, err))
	}
	b.setEntered(e)
	return nil
}

// Leave waits until all members have left, or ctx ends. It has left itself in any case, unless the error matches
// ErrCleanupPending; called again it goes on waiting.
func (b *DoubleBarrier) Leave(ctx context.Context) error {
	end, err := b.begin(ctx, "leave")
	if err != nil {
		return err
	}
	defer end()
	e := b.entered()
	if e == nil {
		return b.s.fail("leave", ErrNotEntered)
	}
	if err := b.withdraw(ctx, e, nil); err != nil {
		return b.s.fail("leave", err)
	}
	for {
		over, err := b.othersLeft(ctx, e.round+1)
		if over && err == nil {
			b.setEntered(nil)
			return nil
		}
		if err != nil && !b.s.passing(ctx, err) {
			return b.s.fail("leave", err)
		}
	}
}

// withdraw deletes the member's znode, also one whose creation has an unknown outcome.
func (b *DoubleBarrier) withdraw(ctx context.Context, e *entry, why error) error {
	var c client.Cleanup
	e.gen.DeleteMatching(&c, b.s.dir, e.name)
	grace, cancel := graceful(ctx)
	defer cancel()
	_ = c.Wait(grace)
	if done, result := c.Result(); !done {
		return join(why, ErrCleanupPending)
	} else if result != nil && !errors.Is(result, client.ErrSessionExpired) && !errors.Is(result, client.ErrNoNode) {
		return join(why, result)
	}
	return why
}

// enter makes the member's znode, begins the work if it is the last one, and waits until it has begun.
func (b *DoubleBarrier) enter(ctx context.Context, e *entry) error {
	if err := b.gather(ctx, e); err != nil {
		return err
	}
	for {
		began, err := b.began(ctx, e)
		if began && err == nil {
			return nil
		}
		if err != nil && !lost(ctx, err) {
			return err
		}
	}
}

// gather makes the member's znode while members gather. Nobody else has its name, so it can be made again after a lost reply.
func (b *DoubleBarrier) gather(ctx context.Context, e *entry) error {
	for {
		round, err := b.opening(ctx, e)
		if err == nil {
			g := e.gen.Group()
			made := g.Multi(client.CheckOp(b.s.dir, round),
				client.CreateOp(child(b.s.dir, []byte(e.name)), nil, client.ModeEphemeral, nil))
			_ = g.Do(ctx) // the call has its own error
			_, err = made.Results()
		}
		switch {
		case err == nil:
			e.round = round
			return nil
		case errors.Is(err, client.ErrNodeExists):
			// The reply was lost. It stands in the round in which it was made, which is over only when it has left.
			return b.adopt(ctx, e)
		case errors.Is(err, client.ErrBadVersion), lost(ctx, err):
		default:
			return explain(err)
		}
	}
}

// adopt finds the round of the member's znode that was there already.
func (b *DoubleBarrier) adopt(ctx context.Context, e *entry) error {
	for {
		data, stat, err := b.s.c.Get(ctx, b.s.dir)
		if lost(ctx, err) {
			continue
		} else if err != nil {
			return err
		}
		e.round = stat.Version
		if string(data) == working {
			e.round--
		}
		return nil
	}
}

// opening waits until members gather, and returns the version that says so. If all have left without saying so, this one says it.
func (b *DoubleBarrier) opening(ctx context.Context, e *entry) (int32, error) {
	for {
		data, stat, err := b.s.c.Get(ctx, b.s.dir)
		if errors.Is(err, client.ErrNoNode) {
			_, _, err = b.s.c.CreateAll(ctx, b.s.dir, []byte(gathering), client.ModePersistent, nil)
			if err != nil && !errors.Is(err, client.ErrNodeExists) {
				return 0, err
			}
			continue
		}
		if err != nil || string(data) != working {
			return stat.Version, err
		}
		if own, err := b.mine(ctx, e); err != nil {
			return 0, err
		} else if own { // its reply was lost, and the others have not waited for that
			return 0, client.ErrNodeExists
		}
		if _, err := b.othersLeft(ctx, stat.Version); err != nil {
			return 0, err
		}
	}
}

// mine says whether the member's own znode is there. A server that is behind may not have it yet, hence the sync.
func (b *DoubleBarrier) mine(ctx context.Context, e *entry) (bool, error) {
	g := b.s.c.Group()
	sync, own := g.Sync(b.s.dir), g.Exists(child(b.s.dir, []byte(e.name)))
	_ = g.Do(ctx) // each has its own error
	if err := sync.Err(); err != nil {
		return false, err
	}
	_, ok, err := own.Stat()
	return ok, err
}

// began says whether the work of the round has begun, and waits for a change otherwise. Whoever comes last sees all that came
// before, since the list is read behind its own creation; so only the last one needs to look at the list.
func (b *DoubleBarrier) began(ctx context.Context, e *entry) (bool, error) {
	node, w, err := b.s.c.GetWatch(ctx, b.s.dir)
	if err != nil {
		return false, err
	}
	defer w.Close()
	if err := e.gen.Err(); err != nil { // others may have begun, and do not count on it
		return false, err
	}
	if node.Stat.Version != e.round {
		return true, nil
	}
	members, _, err := b.members(ctx)
	if err != nil {
		return false, err
	}
	if len(members) >= b.n {
		return false, b.turnTo(ctx, working, e.round)
	}
	select {
	case <-w.Done():
		_, err := w.Wait(ctx)
		return false, err
	case <-e.gen.Ended():
		return false, e.gen.Err()
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
