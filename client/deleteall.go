package client

import (
	"context"
	"errors"
	"strconv"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/session"
)

// maxTries is how often a znode that gets new children all the time is emptied again.
const maxTries = 10

// DeleteAllError says how far a DeleteAll came: Path could not be deleted or listed, and remains, as do its parents and what
// the client had not come to.
type DeleteAllError struct {
	Path    string // as the caller would give it
	Deleted int    // znodes that this call has deleted
	Err     error  // why it ended at Path
}

// Error returns a text such as "/a/b remains, 17 deleted before: not authorized".
func (e *DeleteAllError) Error() string {
	text := e.Path + " remains, " + strconv.Itoa(e.Deleted) + " deleted before"
	if e.Err == nil {
		return text
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *DeleteAllError) Unwrap() error { return e.Err }

// DeleteAll deletes a znode and everything below it, the deepest first. It is not atomic: others see parts of the tree
// meanwhile, and when it fails a part may be gone; it may be called again. Requests travel in groups that are bounded in
// number and bytes, and the memory that is needed depends on how wide the tree is, not on how many znodes it has.
//
// What somebody else deletes at the same time is fine. What somebody creates at the same time is deleted too, ten times at
// most for each znode that was thought to be empty; then the error matches ErrNotEmpty. If there is nothing at path at all the
// error matches ErrNoNode (as in ZKUtil.deleteRecursive in Java). Any other error holds a *DeleteAllError;
// MaybeApplied is true for it if anything was deleted.
//
// "/" is refused with ErrProtected, with every chroot: a path that came out empty must not empty the application's tree. A
// client whose chroot is further up can do that by the name. The server's own tree below /zookeeper is refused likewise.
func (c *Client) DeleteAll(ctx context.Context, path string) error {
	err := c.checkDeleteAll(ctx, path)
	if err != nil {
		return &Error{Op: "deleteAll", Path: path, Err: err, Outcome: session.NotSent}
	}
	// Below the chroot there may be a znode that only the server's names reach.
	d := &treeDelete{g: c.rooted("").Group(), width: firstWidth}
	d.todo = []*treeNode{{path: proto.JoinChroot(c.chroot, path)}}
	var failed *Error
	if err := d.run(ctx); !errors.As(err, &failed) {
		return err
	}
	if d.deleted == 0 && errors.Is(failed.Err, ErrNoNode) {
		return &Error{Op: "deleteAll", Path: path, Err: failed.Err, Outcome: failed.Outcome} // nothing remains
	}
	why := &DeleteAllError{Path: proto.StripChroot(c.chroot, failed.Path), Deleted: d.deleted, Err: failed.Err}
	result := &Error{Op: "deleteAll", Path: path, Err: why, Outcome: failed.Outcome, write: failed.write}
	if d.deleted > 0 || d.unknown {
		result.Outcome, result.write = session.Unknown, true // of the whole: a part was applied
	}
	return result
}

func (c *Client) checkDeleteAll(ctx context.Context, path string) error {
	switch {
	case !c.usable():
		return ErrZeroValue
	case ctx == nil:
		return ErrNilContext
	}
	if err := proto.ValidatePath(path); err != nil {
		return err
	}
	if path == "/" || proto.IsSystem(proto.JoinChroot(c.chroot, path)) {
		return ErrProtected
	}
	return nil
}

// treeNode is a znode of a tree that is being deleted.
type treeNode struct {
	parent *treeNode
	path   string // the server's
	open   int    // children that are not in a batch yet
	tries  int    // how often it, or one of those above it, was found not to be empty
	queued bool   // it is in the batch
}

// treeDelete is a DeleteAll under way. It goes down first, so that it keeps the siblings along a few branches and not the
// whole tree.
type treeDelete struct {
	g       *Group
	todo    []*treeNode // to be listed, the next ones at the end
	level   []*treeNode // being listed
	lists   []ChildrenCall
	batch   []*treeNode // to be deleted, children ahead of their parents
	deletes []DeleteCall
	bytes   int // of the paths in batch
	width   int // how many are listed at once
	deleted int
	unknown bool // a delete may have been applied
}

func (d *treeDelete) run(ctx context.Context) error {
	for len(d.todo) > 0 || len(d.batch) > 0 {
		if len(d.todo) > 0 {
			if err := d.list(ctx); err != nil {
				return err
			}
		}
		if len(d.todo) == 0 || len(d.batch) >= maxWidth || d.bytes >= flightBytes {
			if err := d.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// list asks for the children of the next znodes.
func (d *treeDelete) list(ctx context.Context) error {
	n := min(len(d.todo), d.width)
	d.level = append(d.level[:0], d.todo[len(d.todo)-n:]...)
	d.todo, d.lists = d.todo[:len(d.todo)-n], d.lists[:0]
	for _, node := range d.level {
		d.lists = append(d.lists, d.g.Children(node.path))
	}
	d.g.run(ctx)
	size := 0
	for i, node := range d.level {
		_, err := d.lists[i].scan(func(name []byte) bool {
			size += len(name)
			node.open++
			d.todo = append(d.todo, &treeNode{parent: node, path: childPath(node.path, string(name)), tries: node.tries})
			return true
		})
		switch {
		case err == nil && node.open == 0:
			d.queue(node)
		case err != nil && node.isGone(err):
			d.done(node)
		case err != nil:
			return err
		}
	}
	d.width = nextWidth(d.width, d.width, n, size)
	return nil
}

// isGone reports whether err says that somebody else has deleted the znode; of the root at first sight that is an error.
func (n *treeNode) isGone(err error) bool {
	return errors.Is(err, ErrNoNode) && (n.parent != nil || n.tries > 0)
}

// queue puts a znode without children into the batch, and its parent behind it if that was the last child.
func (d *treeDelete) queue(n *treeNode) {
	n.queued = true
	d.batch = append(d.batch, n)
	d.bytes += len(n.path)
	d.done(n)
}

// done takes a znode off its parent's account.
func (d *treeDelete) done(n *treeNode) {
	if p := n.parent; p != nil {
		if p.open--; p.open == 0 {
			d.queue(p)
		}
	}
}

// flush deletes the batch. Its requests are executed in order, so that a parent is empty when its turn comes.
func (d *treeDelete) flush(ctx context.Context) (err error) {
	d.deletes = d.deletes[:0]
	for _, n := range d.batch {
		d.deletes = append(d.deletes, d.g.Delete(n.path, AnyVersion))
	}
	if len(d.batch) > 0 {
		d.g.run(ctx)
	}
	for i, n := range d.batch {
		why := d.deletes[i].Err()
		d.unknown = d.unknown || MaybeApplied(why)
		switch {
		case why == nil:
			d.deleted++
		case errors.Is(why, ErrNoNode):
		case errors.Is(why, ErrNotEmpty) && n.tries < maxTries:
			d.again(n)
		case err == nil:
			err = why
		}
	}
	clear(d.batch)
	d.batch, d.bytes = d.batch[:0], 0
	return err
}

// again has a znode listed that has got children since. If its parent was in the same batch, that has failed too and will
// find it again.
func (d *treeDelete) again(n *treeNode) {
	n.queued = false
	if n.parent != nil {
		if n.parent.queued {
			return
		}
		n.parent.open++
	}
	n.tries++
	d.todo = append(d.todo, n)
}

// childPath returns the path of a child.
func childPath(dir, name string) string {
	if dir == "/" {
		return dir + name
	}
	return dir + "/" + name
}
