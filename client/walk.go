package client

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/session"
)

// WalkNode is a znode that Walk has come to.
type WalkNode struct {
	Path string
	Stat Stat // as it was when the children were listed
}

// Walk yields a znode and everything below it, parents ahead of their children, and children in the order of their names.
// Requests are pipelined ahead of the loop, in groups that are bounded, and memory is needed for the siblings along one
// branch, not for the tree; a long list of children must fit into the ReceiveLimit.
//
// It is no snapshot: what others change meanwhile may be seen or not, and what they delete before it is its turn is left
// out. If there is nothing at path, the only thing that is yielded is an error that matches ErrNoNode. A znode that the server
// refuses to list, for want of permission, is yielded with its path and the error, and Walk goes on with the next one if the
// loop does; after any other error it ends. Nothing happens after the loop is left. The sequence may be used again, and
// then walks again.
//
// A znode called zookeeper directly below the client's chroot has no name there and is left out.
func (c *Client) Walk(ctx context.Context, path string) iter.Seq2[WalkNode, error] {
	return func(yield func(WalkNode, error) bool) {
		var err error
		switch {
		case !c.usable():
			err = ErrZeroValue
		case ctx == nil:
			err = ErrNilContext
		default:
			err = proto.ValidatePath(path)
		}
		if err != nil {
			yield(WalkNode{Path: path}, &Error{Op: "walk", Path: path, Err: err, Outcome: session.NotSent})
			return
		}
		w := &walk{g: c.Group(), chroot: c.chroot != "", width: firstWidth}
		w.frames = [][]walkEntry{{{path: path}}}
		w.run(ctx, yield)
	}
}

// walk is a Walk under way. The first entry of the last frame is the next znode; its siblings stand behind it, those of its
// parent in the frame before.
type walk struct {
	g      *Group
	chroot bool
	width  int // how many are listed at once
	held   int // entries that are listed ahead of their turn
	frames [][]walkEntry
	asked  []*walkEntry // those whose lists are under way
	lists  []ChildrenCall
}

// walkEntry is a znode whose turn has not come.
type walkEntry struct {
	path string
	list *walkList // nil until it is listed
}

type walkList struct {
	stat Stat
	kids []walkEntry
	err  error
}

func (w *walk) run(ctx context.Context, yield func(WalkNode, error) bool) {
	for first := true; len(w.frames) > 0; {
		last := len(w.frames) - 1
		if len(w.frames[last]) == 0 {
			w.frames = w.frames[:last]
			continue
		}
		if w.frames[last][0].list == nil {
			w.fetch(ctx)
		}
		e := w.frames[last][0]
		w.frames[last][0] = walkEntry{} // what is behind us is garbage
		w.frames[last] = w.frames[last][1:]
		w.held--
		l := e.list
		if errors.Is(l.err, ErrNoNode) && !first {
			continue
		}
		first = false
		if !yield(WalkNode{e.path, l.stat}, l.err) || l.isFinal() {
			return
		}
		w.frames = append(w.frames, l.kids)
	}
}

// isFinal reports whether the walk cannot go on: not because a server refused this one.
func (l *walkList) isFinal() bool {
	var why *Error
	return l.err != nil && (!errors.As(l.err, &why) || why.Outcome != session.Rejected)
}

// fetch lists the znodes that come next, in the order of their turns, as far as they are known: the children of those that
// are listed already too. It goes no further ahead when many wait.
func (w *walk) fetch(ctx context.Context) {
	w.asked, w.lists = w.asked[:0], w.lists[:0]
	room := max(w.width-w.held, w.width/4, 1)
	for i := len(w.frames) - 1; i >= 0; i-- {
		w.gather(w.frames[i], room)
	}
	for _, e := range w.asked {
		w.lists = append(w.lists, w.g.Children(e.path))
	}
	w.g.run(ctx)
	size := 0
	for i, e := range w.asked {
		l := new(walkList)
		e.list = l
		l.stat, l.err = w.lists[i].scan(func(name []byte) bool {
			size += len(name)
			if path := childPath(e.path, string(name)); !w.chroot || e.path != "/" || !proto.IsSystem(path) {
				l.kids = append(l.kids, walkEntry{path: path})
			}
			return true
		})
		if e, ok := l.err.(*Error); ok {
			e.Op = "walk"
		}
		slices.SortFunc(l.kids, func(a, b walkEntry) int { return strings.Compare(a.path, b.path) })
	}
	w.held += len(w.asked)
	w.width = nextWidth(w.width, room, len(w.asked), size)
}

// gather takes those of the entries, and of what is known below them, that are not listed.
func (w *walk) gather(entries []walkEntry, room int) {
	for i := range entries {
		if len(w.asked) >= room {
			return
		}
		if e := &entries[i]; e.list != nil {
			w.gather(e.list.kids, room)
		} else {
			w.asked = append(w.asked, e)
		}
	}
}
