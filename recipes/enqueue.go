package recipes

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/lockkeeper/lockkeeper/client"
)

// enqueue makes the own znode and reads the queue, in one flight if the path exists, in two otherwise.
func (ct *contender) enqueue(ctx context.Context) error {
	for tries := 0; ; tries++ {
		strays, err := ct.createAndList(ctx, tries > 0)
		if err == nil && len(ct.suspects) > 0 {
			err = ct.keepOldestMarked(ctx, strays)
		}
		switch {
		case err == nil:
			return ct.verify()
		case ct.claim.capacity == 0 && errors.Is(err, client.ErrNoNode):
			return join(&PermitsError{ct.b.dir, ""}, err) // a path of ours would not have the number
		case errors.Is(err, client.ErrConnectionLoss):
			if err := ct.recover(ctx); err == nil {
				return ct.verify()
			} else if !errors.Is(err, client.ErrNoNode) {
				return explain(err)
			}
		case !errors.Is(err, client.ErrNoNode):
			return explain(err)
		case tries >= maxParents:
			return join(ErrNoParent, err)
		}
	}
}

// explain adds what a server's code means for a lock.
func explain(err error) error {
	switch {
	case errors.Is(err, client.ErrNotReadOnly):
		return join(ErrReadOnly, err)
	case errors.Is(err, client.ErrEphemeralOnLocalSession):
		return &sessionKindError{err}
	}
	return err
}

// sessionKindError says that locks need a session the whole ensemble knows (docs/locks.md D11).
type sessionKindError struct{ err error }

func (e *sessionKindError) Error() string { return "locks need global sessions: " + e.err.Error() }

func (e *sessionKindError) Unwrap() error { return e.err }

// createAndList sends create and list together; because a connection's requests are executed in order, the list has the
// own znode and all that are ahead of it (docs/locks.md I1). With parents, the path is made first, in the same flight.
func (ct *contender) createAndList(ctx context.Context, parents bool) (strays []string, err error) {
	var levels []client.CreateCall
	if parents {
		levels, ct.read = ct.b.addLevels(ct.g, ct.b.dir), nil
	}
	ct.mine, ct.creating = ct.g.Create(ct.path, ct.data(), client.ModeEphemeralSequential, ct.b.acl), true
	asked := ct.ask(ct.g)
	if err := ct.flight(ctx); err != nil {
		return nil, err
	}
	if err := ct.created(); err != nil {
		ct.limitSet, ct.kidsSet = false, false // if the create got no answer, what was behind it got none either
		return nil, ct.b.joinParents(err, levels)
	}
	strays, err = ct.look(asked)
	if errors.Is(err, client.ErrConnectionLoss) { // between the two replies
		err = ct.list(ctx, false)
	}
	return strays, err
}

// created looks at the outcome of the create of a complete flight.
func (ct *contender) created() error {
	ct.creating = false
	node, stat, err := ct.mine.Path()
	switch {
	case err == nil:
		ct.adopt(node, stat.Czxid)
	case client.MaybeApplied(err):
		ct.unknown = true
	}
	return err
}

// adopt makes a znode the own one.
func (ct *contender) adopt(node string, czxid int64) {
	ct.node, ct.czxid = node, czxid
	ct.name = node[strings.LastIndexByte(node, '/')+1:]
	seq, _ := strconv.ParseInt(ct.name[min(len(ct.prefix), len(ct.name)):], 10, 32) // the server has written it
	ct.seq = int32(seq)
}

// addLevels adds the creation of every level of dir. Those that exist answer so, and those that we may not create
// answer that; both are fine as long as the path is there in the end (docs/locks.md I8).
func (b *base) addLevels(g *client.Group, dir string) []client.CreateCall {
	var levels []client.CreateCall
	for i := 1; i < len(dir); i++ {
		if i+1 == len(dir) {
			levels = append(levels, g.Create(dir, []byte{}, b.parents(), b.acl))
		} else if dir[i] == '/' {
			levels = append(levels, g.Create(dir[:i], []byte{}, b.parents(), b.acl))
		}
	}
	return levels
}

// joinParents adds to "no node" why the path could not be made. If not even its first level has a parent, the chroot of the
// client does not exist, and trying again is of no use.
func (b *base) joinParents(err error, levels []client.CreateCall) error {
	if !errors.Is(err, client.ErrNoNode) {
		return err
	}
	if n := len(levels); n > 0 {
		if why := levels[n-1].Err(); why == nil || errors.Is(why, client.ErrNodeExists) {
			return err // it was there, and has vanished again
		}
	}
	for i, l := range levels {
		switch why := l.Err(); {
		case why == nil, errors.Is(why, client.ErrNodeExists):
		case errors.Is(why, client.ErrNoNode):
			if i == 0 {
				return join(ErrNoParent, errChroot{b.c.Chroot()}) // not "no node", which would be tried again
			}
		default:
			return join(ErrNoParent, why)
		}
	}
	if len(levels) == 0 && b.dir == "/" && b.c.Chroot() != "" {
		return join(ErrNoParent, errChroot{b.c.Chroot()})
	}
	return err
}

// errChroot says that the client's chroot is missing.
type errChroot struct{ chroot string }

func (e errChroot) Error() string { return "the client's chroot " + e.chroot + " does not exist" }

// question is what has to be read of a queue.
type question struct {
	limit client.GetCall // only where the path's znode says how many permits there are
	kids  client.ChildrenCall
}

// ask adds the requests that read the queue to a flight.
//
// The number of permits comes last: contenders that are ahead can only become fewer in the meantime, so what it says then holds
// with what the list said. In the other order permits could be returned and the number lowered in between.
func (ct *contender) ask(g *client.Group) (a question) {
	a.kids = ct.askKids(g)
	switch {
	case ct.claim.capacity != 0:
	case ct.limitSet:
		a.limit = g.Get(ct.b.dir, nil)
	default:
		ct.limit, ct.limitSet = ct.watch(), true
		a.limit = g.GetArmed(ct.b.dir, ct.limit)
	}
	return a
}

// look takes the answers: how much there is to be had, and who is ahead of us now.
func (ct *contender) look(a question) (strays []string, err error) {
	if ct.claim.capacity == 0 {
		if err := ct.readLimit(a.limit); err != nil {
			return nil, err
		}
	}
	found, strays, err := ct.scan(a.kids)
	if err != nil {
		ct.kidsSet = false
		return nil, err
	}
	ct.conn, ct.listed = ct.via, true
	if !found {
		return strays, errAgain
	}
	return strays, nil
}

// verify refuses numbers that cannot be trusted.
func (ct *contender) verify() error {
	if exhausted(ct.seq) {
		return ErrSequenceEnd
	}
	return nil
}

// recover finds out what became of a create whose reply was lost, in the same session: it creates again under the same
// prefix and lists in one flight. The second create is a write through the leader, so after its reply the first one is
// visible or will never be; no sync is needed (docs/locks.md I12). The older znode is kept, the other one deleted.
func (ct *contender) recover(ctx context.Context) error {
	for {
		strays, err := ct.createAndList(ctx, false)
		if err == nil && ct.claim.stem != nil {
			err = ct.keepOldestMarked(ctx, strays)
		} else if err == nil && len(strays) > 0 {
			err = ct.keepOldest(ctx, strays)
		}
		if !errors.Is(err, client.ErrConnectionLoss) {
			return err
		}
		if err := ct.pace.lost(ctx); err != nil {
			return err
		}
	}
}

// keepOldest chooses among the own znodes. One that is found by its name counts only if it belongs to this session
// (docs/locks.md D7), and the token comes from its own Stat.
func (ct *contender) keepOldest(ctx context.Context, strays []string) error {
	oldest := ct.name
	for _, s := range strays {
		seq, _, ok := ct.claim.parse([]byte(s))
		best, _, _ := ct.claim.parse([]byte(oldest))
		if ok && older(seq, best) {
			oldest = s
		}
	}
	if oldest != ct.name {
		path := child(ct.b.dir, []byte(oldest))
		ex := ct.g.Exists(path)
		if err := ct.flight(ctx); err != nil {
			return err
		}
		stat, ok, err := ex.Stat()
		if err != nil {
			return err
		}
		if ok && stat.EphemeralOwner == ct.gen.SessionID() {
			strays = append(strays, ct.name)
			ct.adopt(path, stat.Czxid)
		}
	}
	for _, s := range strays {
		if s != ct.name {
			ct.gen.Delete(new(client.Cleanup), child(ct.b.dir, []byte(s)), nil)
		}
	}
	return ct.list(ctx, false)
}
