package client

import (
	"context"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/session"
)

// What follows is the seam for authors of recipes, such as package recipes: what a lock needs and a user of the client does
// not. It is public so that recipes can be written outside this module, and stable as the rest of the package. Paths of
// items and registrations are those of the server, with the chroot.
type (
	// Queue brings replies and events to one consumer in the order of the wire.
	Queue = session.Queue
	// Item is one thing in a Queue.
	Item = session.Item
	// Hold is a lease on the session's lease clock.
	Hold = session.Hold
	// HoldState is where a Hold stands.
	HoldState = session.HoldState
	// Holder is told what becomes of a Hold. It is called on the session's goroutines and must not block.
	Holder = session.Holder
	// Cleanup is a deletion in the hands of the session.
	Cleanup = session.Cleanup
	// FixedNode is an ephemeral znode at a path that others use as well. For a Generation its paths are the client's.
	FixedNode = session.FixedNode
	// NodeWatch tells when a znode is gone.
	NodeWatch = session.NodeWatch
	// Touch is a write in the hands of the session, of a znode that nobody has written before.
	Touch = session.Touch
	// OneShot is the registration of a one-shot watch: its maker sets Sink, usually a Queue, and Tag.
	OneShot = session.Watch
	// Sink takes the event of a OneShot. It is called on the session's goroutines and must not block.
	Sink = session.Sink
)

// The kinds of Items, and the states of a Hold.
const (
	ItemReply = session.ItemReply // a group that was submitted to the queue is complete
	ItemEvent = session.ItemEvent // a OneShot whose Sink is the queue fired, or its session ended
	Held      = session.Held
	Unsure    = session.Unsure
	Lost      = session.Lost
)

// FixedVersion is the version that a FixedNode has from the transaction that makes it.
const FixedVersion = session.FixedVersion

// NewQueue returns an empty queue.
func NewQueue() *Queue { return session.NewQueue() }

// Generation is one session of a Client, to which the requests of a recipe are bound: what was decided in one session must
// not happen in another. It is a small comparable value. All methods may be called from any goroutine; those of a zero
// Generation report ErrZeroValue or do nothing.
type Generation struct {
	cl *Client
	ss *session.Session
}

// Generation returns the session that accepts requests now.
func (c *Client) Generation() Generation {
	if !c.usable() {
		return Generation{}
	}
	return Generation{c, c.keep.Current()}
}

// Number counts the sessions of the client from 1; 0 for a zero Generation.
func (gn Generation) Number() uint64 {
	if gn.ss == nil {
		return 0
	}
	return gn.ss.Generation()
}

// Same says whether both are the same session, whatever views of the client they come from.
func (gn Generation) Same(o Generation) bool { return gn.ss == o.ss }

// SessionID returns the session's id, 0 before its first handshake.
func (gn Generation) SessionID() int64 {
	if gn.ss == nil {
		return 0
	}
	return gn.ss.ID()
}

// Timeout returns the session timeout that the server granted, 0 before the first handshake.
func (gn Generation) Timeout() time.Duration {
	if gn.ss == nil {
		return 0
	}
	return gn.ss.Timeout()
}

// Err returns why the session is over, nil while it is not.
func (gn Generation) Err() error {
	if gn.ss == nil {
		return ErrZeroValue
	}
	return gn.ss.Err()
}

// Ended is closed when the session is over and everything that depended on it has been told; for a zero Generation it is
// closed already.
func (gn Generation) Ended() <-chan struct{} {
	if gn.ss == nil {
		over := make(chan struct{})
		close(over)
		return over
	}
	return gn.ss.Ended()
}

// Group returns an empty group that only this session carries: after its end requests fail with ErrSessionExpired, not sent.
func (gn Generation) Group() *Group {
	if gn.ss == nil {
		return &Group{}
	}
	return &Group{cl: gn.cl, ss: gn.ss}
}

// Hold puts h, whose Holder is set, on the lease clock, at the moment when a lock is granted by what connection connNo (of
// Item.Conn) brought. It is refused when that connection is gone, the session is over, or the lease deadline has passed.
func (gn Generation) Hold(h *Hold, connNo uint64) error {
	if gn.ss == nil {
		return ErrZeroValue
	}
	return gn.ss.Hold(h, connNo)
}

// Unhold takes h off the lease clock and says whether it was on: if not, its Holder has been told that it was lost, or is
// being told.
func (gn Generation) Unhold(h *Hold) bool { return gn.ss != nil && gn.ss.Unhold(h) }

// Contend counts n more contenders that wait for a lock; -1 counts one less. While there are any, the session proves to
// itself that the leader knows it.
func (gn Generation) Contend(n int) {
	if gn.ss != nil {
		gn.ss.Contend(n)
	}
}

// LeaseDeadline returns when holds end unless the session is proved to live on; the zero time for a zero Generation.
func (gn Generation) LeaseDeadline() time.Time {
	if gn.ss == nil {
		return time.Time{}
	}
	return gn.ss.LeaseDeadline()
}

// LeaseLeft returns how long holds last if nothing more is heard; at or below 0 they are over.
func (gn Generation) LeaseLeft() time.Duration {
	if gn.ss == nil {
		return 0
	}
	return gn.ss.LeaseLeft()
}

// Delete gives the deletion of path to the session, which repeats it until the server says OK or "no node", or the session
// ends. It does not block. spare, which may be nil, lends its memory and must not be in flight; it stays usable, and gets the
// memory back by Reclaim. It reports false if path is invalid or the Generation zero: then nothing happens.
func (gn Generation) Delete(c *Cleanup, path string, spare *Group) bool {
	if gn.ss == nil || ValidatePath(path) != nil {
		return false
	}
	var g *session.Group
	if spare != nil {
		spare.reset()
		g, spare.g = spare.g, nil
	}
	gn.ss.Delete(c, proto.JoinChroot(gn.cl.chroot, path), g)
	return true
}

// DeleteMatching gives the deletion of all children of dir whose names begin with prefix to the session: what a create with
// unknown outcome may have left. It syncs before it looks, and does not block. It reports false if dir is invalid, prefix
// empty, or the Generation zero: then nothing happens.
func (gn Generation) DeleteMatching(c *Cleanup, dir, prefix string) bool {
	if gn.ss == nil || prefix == "" || ValidatePath(dir) != nil {
		return false
	}
	gn.ss.DeleteMatching(c, proto.JoinChroot(gn.cl.chroot, dir), prefix)
	return true
}

// DeleteMine is DeleteMatching for names that do not tell whose a znode is: of the children of dir whose names begin with
// prefix, those are deleted that belong to this session and whose data ends in mark, which nobody else may write. Node, unless
// it is empty, is the path of one that is known, which is deleted first, whatever its data is. A child that may not be read is
// left alone, and is the cleanup's result if nothing else is amiss. It reports false if dir or node is invalid, prefix or mark
// empty, or the Generation zero: then nothing happens.
func (gn Generation) DeleteMine(c *Cleanup, dir, prefix, mark, node string) bool {
	if gn.ss == nil || prefix == "" || mark == "" || ValidatePath(dir) != nil || node != "" && ValidatePath(node) != nil {
		return false
	}
	if node != "" {
		node = proto.JoinChroot(gn.cl.chroot, node)
	}
	gn.ss.DeleteMine(c, proto.JoinChroot(gn.cl.chroot, dir), prefix, mark, node)
	return true
}

// DeleteFixed gives the deletion of n, and of nothing else that is or comes to be at its path, to the session, which repeats it
// until the znode is gone for certain, or the session ends. The transaction that has made n is
//
//	Multi(CreateOp(n.Path, ..., ModeEphemeral), SetOp(n.Path, data, 0), SetOp(n.Counter, []byte(n.Mark), AnyVersion))
//
// and the deletion writes the counter as well. If n.Zxid is 0 it looks by the mark whether that has made one. It does not block;
// spare is as for Delete. It reports false if a path is invalid or the Generation zero: then nothing happens.
func (gn Generation) DeleteFixed(c *Cleanup, n FixedNode, spare *Group) bool {
	if gn.ss == nil || ValidatePath(n.Path) != nil || ValidatePath(n.Counter) != nil {
		return false
	}
	var g *session.Group
	if spare != nil {
		spare.reset()
		g, spare.g = spare.g, nil
	}
	n.Path, n.Counter = proto.JoinChroot(gn.cl.chroot, n.Path), proto.JoinChroot(gn.cl.chroot, n.Counter)
	gn.ss.DeleteFixed(c, n, g)
	return true
}

// Unwatch forgets a OneShot, whether it is registered or its request is still under way: then it never will be.
func (gn Generation) Unwatch(w *OneShot) {
	if gn.ss != nil {
		gn.ss.Unwatch(w)
	}
}

// WatchNode makes n, whose Gone is set, tell when path is gone: at once if it is not there, otherwise when that happens,
// through changes of its data, which Changed is told if it is set, and reconnects, until n.Stop or the end of the session.
// It does not block; one request goes out. It reports false if path is invalid or the Generation zero: then nothing happens.
func (gn Generation) WatchNode(n *NodeWatch, path string) bool {
	if gn.ss == nil || proto.ValidatePath(path) != nil {
		return false
	}
	n.Path = proto.JoinChroot(gn.cl.chroot, path)
	gn.ss.WatchNode(n)
	return true
}

// Touch makes sure that path has been written since its creation: unless it has, it gets data, which must not change any more. The
// session repeats the request until it is answered, or the session ends. That the znode is gone, or may not be written, is not told. It
// does not block, and reports false if path is invalid or the Generation zero: then nothing happens.
func (gn Generation) Touch(t *Touch, path string, data []byte) bool {
	if gn.ss == nil || proto.ValidatePath(path) != nil {
		return false
	}
	gn.ss.Touch(t, proto.JoinChroot(gn.cl.chroot, path), data)
	return true
}

// Reclaim takes back the memory that a Cleanup, which is done, was lent by Generation.Delete.
func (g *Group) Reclaim(c *Cleanup) {
	if sg := c.TakeGroup(); sg != nil && g != nil && g.g == nil {
		sg.Reset()
		g.g = sg
	}
}

// Submit sends the requests without waiting for the replies: the completion of the group becomes an Item in q, with the tag,
// in the order of the wire among the events that go to q. Until that item has been taken out of q the group and its handles
// must not be touched; then the handles tell the results. Submit blocks only for room, as InFlight allows, until ctx ends.
// If it returns an error nothing was sent, no item will come, and the error is that of the first request.
func (g *Group) Submit(ctx context.Context, q *Queue, tag uint32) error {
	if g == nil || g.cl == nil || q == nil {
		return &Error{Op: "group", Err: ErrZeroValue, Outcome: session.NotSent}
	}
	if g.sent || g.g == nil || g.g.Len() == 0 && !g.bad {
		return &Error{Op: "group", Err: ErrEmptyGroup, Outcome: session.NotSent}
	}
	g.sent = true
	if g.refuse(ctx) {
		return g.firstError()
	}
	ss := g.ss
	if ss == nil {
		ss = g.cl.keep.Current()
	}
	g.at = ss
	g.g.To(q, tag)
	if err := ss.Submit(ctx, g.g); err != nil {
		return g.calls[0].failed(session.NotSent, err)
	}
	return nil
}

// Withdraw takes the requests of a Submit back, if nothing of them has been written yet: the handles then report err, and not
// sent, and the item is in the queue when Withdraw returns. It reports whether that was so; if not, the item comes in its
// time. It is for whoever called Submit, before the item was taken out of the queue.
func (g *Group) Withdraw(err error) bool {
	return g != nil && g.at != nil && g.g != nil && g.at.Withdraw(g.g, err)
}

// GetArmed adds a getData that leaves a watch, as one-shot watches are. The group sets w's Kind and Path; the caller has set
// Sink and Tag, and leaves w alone until its event or Generation.Unwatch. If the znode does not exist there is no watch.
func (g *Group) GetArmed(path string, w *OneShot) GetCall {
	if g != nil && g.cl != nil && w != nil {
		w.Kind, w.Path = session.WatchData, proto.JoinChroot(g.cl.chroot, path)
	}
	return g.get(path, nil, w)
}

// ChildrenArmed adds a listing of children that leaves a watch on them, as GetArmed does on the data of a znode.
func (g *Group) ChildrenArmed(path string, w *OneShot) ChildrenCall {
	if g != nil && g.cl != nil && w != nil {
		w.Kind, w.Path = session.WatchChild, proto.JoinChroot(g.cl.chroot, path)
	}
	return g.children(path, w)
}

// Identity returns a comparable value that a client shares with its views and with no other client.
func (c *Client) Identity() any {
	if !c.usable() {
		return nil
	}
	return c.keep
}

// FullPath returns path as it is sent to servers, behind the chroot.
func (c *Client) FullPath(path string) string {
	if c == nil {
		return path
	}
	return proto.JoinChroot(c.chroot, path)
}

// GuardOp is CheckOp for a path of this client: a Multi through another Client, or another chroot, fails with
// ErrForeignGuard instead of looking at some other znode.
func (c *Client) GuardOp(path string, version int32) Op {
	if !c.usable() {
		return Op{}
	}
	o := CheckOp(path, version)
	o.maker, o.chroot = c.keep, c.chroot
	return o
}

// RefusedOp returns an operation that makes a Multi fail with err before anything is sent: for a guard that cannot hold.
func RefusedOp(err error) Op { return Op{op: proto.OpCheck, refused: err} }
