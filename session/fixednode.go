package session

import (
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// FixedNode is an ephemeral znode at a path that others make znodes at as well, and how its session tells it from theirs: by
// the transaction that has made it, which has also written a mark into the znode of a counter.
type FixedNode struct {
	Path    string // as sent to the server
	Counter string // of the znode that the transaction has written
	Mark    string // what it has written there, and no other transaction; ASCII
	Zxid    int64  // of the transaction; 0 if its outcome is unknown, so that the mark has to tell
	Version int32  // of the counter after it
	// Several says that more transactions with this mark may have been sent, so that another one may be carried out later
	// (ZOOKEEPER-4907).
	Several bool
}

// FixedVersion is the version that the transaction gives the znode of a FixedNode, by writing it once: znodes of those who
// create theirs by a plain request have another one.
const FixedVersion = 1

// fixedStep is what a cleanup of a FixedNode has in flight.
type fixedStep uint8

const (
	fixedDelete fixedStep = iota // the first deletion, by the versions that the transaction left
	fixedLook                    // a look at what is there
	fixedAgain                   // a deletion by the versions that the look has shown
)

// fixedCleanup is what a Cleanup knows of a FixedNode.
type fixedCleanup struct {
	FixedNode
	step    fixedStep
	tries   int     // deletions after a look
	deleted bool    // one was carried out, or its reply was lost
	special special // of the Cleanup, for which it saves an allocation
}

// DeleteFixed starts the deletion of n, and of nothing else at its path: the transaction that deletes it writes the counter
// too, so that of several copies one at most is carried out, and none once somebody else has written the counter. Where the
// server refuses that, or the reply is lost, a look behind a sync tells whether the znode is still there; that comes first
// when it is unknown whether there is one. g is as in Delete, and DeleteFixed does not block either.
func (s *Session) DeleteFixed(c *Cleanup, n FixedNode, g *Group) {
	c.s, c.g = s, g
	f := &fixedCleanup{FixedNode: n}
	f.special.fixed = f
	c.more = &f.special
	if n.Zxid == 0 || n.Version == anyVersion { // a counter that has this version would let every deletion pass
		f.step = fixedLook
	}
	s.cleaner.start(c)
}

// anyVersion is the version that every znode has for a delete, setData or check.
const anyVersion = -1

// prepareFixed builds the next request for a FixedNode.
func (c *Cleanup) prepareFixed() {
	f, g := c.fixed(), c.g
	if f.step == fixedDelete {
		appendFixedDelete(g, f.Path, FixedVersion, f.Counter, f.Version)
		return
	}
	f.step = fixedLook // what an earlier look has shown may have changed
	g.End(proto.AppendPath(g.Begin(proto.OpSync), "", f.Path), nil)
	g.End(proto.AppendWatched(g.Begin(proto.OpGetData), "", f.Counter, false), nil)
	g.End(proto.AppendWatched(g.Begin(proto.OpExists), "", f.Path, false), nil)
}

// appendFixedDelete adds the transaction that deletes path. Without a counter there is nothing to be written.
func appendFixedDelete(g *Group, path string, version int32, counter string, counted int32) {
	b := g.Begin(proto.OpMulti)
	if counter != "" {
		b = (&proto.MultiHeader{Type: int32(proto.OpSetData), Err: -1}).AppendTo(b)
		b = proto.AppendSetData(b, "", counter, []byte{}, counted)
	}
	b = (&proto.MultiHeader{Type: int32(proto.OpDelete), Err: -1}).AppendTo(b)
	b = proto.AppendVersioned(b, "", path, version)
	g.End((&proto.MultiHeader{Type: int32(proto.OpError), Done: true, Err: -1}).AppendTo(b), nil)
}

// lose notes that the reply to what is in flight is lost: a look tells what has become of it. f is nil for other cleanups.
func (f *fixedCleanup) lose() {
	if f != nil {
		f.deleted = f.deleted || f.step != fixedLook
		f.step = fixedLook
	}
}

// receiveFixed takes the answer to what receive does not decide by itself. err is that of the last request.
func (c *Cleanup) receiveFixed(err error) {
	f, cl := c.fixed(), &c.s.cleaner
	if f.step == fixedLook {
		c.looked(err)
		return
	}
	if err == nil {
		r := jute.NewReader(c.g.Body(0))
		if _, code := proto.FirstError(proto.ReadMultiReplyTo(&r, 2)); code != proto.CodeOK {
			err = code
		} else {
			err = r.Err()
		}
	}
	switch {
	case err == nil && f.Several:
		f.deleted, f.Zxid = true, 0
		c.look()
	case err == error(proto.ErrBadVersion), err == error(proto.ErrNoNode):
		c.look()
	default:
		cl.finish(c, err)
	}
}

// look asks what is there, in a moment if a deletion was just decided by such a look.
func (c *Cleanup) look() {
	f, cl := c.fixed(), &c.s.cleaner
	pause := f.step == fixedAgain && f.tries > 1
	f.step = fixedLook
	if pause {
		cl.later(c)
	} else {
		cl.send(c)
	}
}

// looked decides by the answers to a look whether the znode is there; gone is that to the last question. It is deleted by the
// versions that it and the counter have now, which are not those of the transaction if somebody has written them since.
func (c *Cleanup) looked(gone error) {
	f, cl, g := c.fixed(), &c.s.cleaner, c.g
	_, behind := g.Result(0)
	_, unread := g.Result(1)
	if behind == nil && f.Zxid == 0 && unread != error(proto.ErrNoNode) {
		behind = unread // then the mark is needed
	}
	switch {
	case behind == error(proto.ErrThrottled), unread == error(proto.ErrThrottled):
		cl.later(c)
		return
	case behind != nil:
		cl.finish(c, behind)
		return
	}
	var counter, node proto.Stat
	r := jute.NewReader(g.Body(1))
	mark := r.Buffer()
	counter.ReadFrom(&r)
	if unread == nil {
		unread = r.Err()
	}
	if gone == nil {
		r := jute.NewReader(g.Body(2))
		node.ReadFrom(&r)
		gone = r.Err()
	}
	ours := gone == nil && node.EphemeralOwner == c.s.ID() && node.Czxid == f.Zxid
	if f.Zxid == 0 {
		ours = gone == nil && node.EphemeralOwner == c.s.ID() && unread == nil && node.Czxid == counter.Mzxid && string(mark) == f.Mark
	}
	switch {
	case ours:
		f.step, f.tries = fixedAgain, f.tries+1
		beside := f.Counter
		if unread != nil {
			beside = "" // somebody has deleted it, or taken the right to read it away
		}
		g.Reset()
		appendFixedDelete(g, f.Path, node.Version, beside, counter.Version)
		cl.enqueue(c)
	case gone != nil && gone != error(proto.ErrNoNode):
		cl.finish(c, gone)
	case f.Zxid != 0 && f.Several:
		f.Zxid = 0 // that one is gone; another may be there
		c.look()
	case f.deleted:
		cl.finish(c, nil)
	default:
		cl.finish(c, proto.ErrNoNode)
	}
}
