package cache

import (
	"errors"
	"strings"

	"github.com/lockkeeper/lockkeeper/client"
)

// derived is the need for more of what t has read.
func (f *follower) derived(t *task, path string, what want) {
	f.want(path, need{what: what, full: t.full, turn: f.turn, oldest: t.oldest, zxid: unknown})
}

// apply takes the replies to a task, in their order, and returns how many bytes they had.
func (f *follower) apply(t *task) (bytes int) {
	if t.bad != nil {
		f.unreadable(t, t.bad)
		return 0
	}
	if t.what&wantData != 0 {
		data, st, err := t.data.Data()
		bytes += len(data)
		switch {
		case err == nil:
			f.gotData(t, data, st)
		case errors.Is(err, client.ErrNoNode):
			f.tree.remove(t.path)
		case transient(err):
			f.again(t, wantData, err)
		default:
			f.unreadable(t, err)
		}
		t.proved = f.proved
	}
	if t.what&wantList != 0 {
		names, st, err := t.list.Names()
		for _, name := range names {
			bytes += len(name)
		}
		f.gotList(t, names, st, err)
	}
	if t.what == wantStat {
		st, exists, err := t.stat.Stat()
		f.gotStat(t, st, exists, err)
	}
	if t.what&wantData == 0 {
		t.proved = f.proved
	}
	return bytes
}

// parentKnown reports whether a znode can be put into the tree. Where events have told of it and not of its parent, which may
// not be read, both are read again.
func (f *follower) parentKnown(t *task) bool {
	if t.path == f.c.path || f.tree.root.find(parentOf(t.path)) != nil {
		return true
	}
	if t.bad == nil {
		f.derived(t, parentOf(t.path), wantData)
		f.derived(t, t.path, wantData)
		t.bad = client.ErrNoNode // it covers nothing
	}
	return false
}

// saw notes the zxids of a Stat.
func (f *follower) saw(st *client.Stat) {
	f.proved = max(f.proved, st.Czxid, st.Mzxid, st.Pzxid)
	f.zxid = max(f.zxid, f.proved)
}

// gotData takes a znode.
func (f *follower) gotData(t *task, data []byte, st client.Stat) {
	f.saw(&st)
	if !f.parentKnown(t) {
		return
	}
	node, fresh := Node{Data: data, Stat: st}, true // fresh: its children were never listed
	if old := f.tree.root.find(t.path); old != nil && replaced(old.node, node) {
		f.tree.remove(t.path) // with what was below the znode that had this path before
	} else if old != nil {
		node.ChildrenErr = old.node.ChildrenErr
		if fresh = old.node.Err != nil; !fresh && old.node.Stat.Mzxid == st.Mzxid {
			node.Data = old.node.Data
		}
	}
	f.put(t.path, node)
	f.touched[t.path] = struct{}{}
	if (fresh || t.full) && st.NumChildren > 0 && t.what&wantList == 0 && f.tree.depth(t.path) < f.c.opts.depth {
		f.derived(t, t.path, wantList)
	}
}

// put sets a znode if it differs.
func (f *follower) put(path string, n Node) {
	if old := f.tree.root.find(path); old == nil || old.node.Stat != n.Stat || changed(old.node, n) || !sameReason(old.node.Err, n.Err) {
		f.tree.put(path, n)
	}
}

// sameReason reports whether two errors say the same, as far as a server has said it.
func sameReason(a, b error) bool {
	var x, y client.Code
	return errors.As(a, &x) == errors.As(b, &y) && x == y
}

// unreadable notes that the data of a znode cannot be had. What else is known of it stays.
func (f *follower) unreadable(t *task, err error) {
	if !f.parentKnown(t) {
		return
	}
	n := Node{Err: err}
	if old := f.tree.root.find(t.path); old != nil {
		n.Stat, n.ChildrenErr = old.node.Stat, old.node.ChildrenErr
	}
	f.put(t.path, n)
	switch {
	case t.what&wantData == 0:
	case errors.Is(err, client.ErrNoAuth):
		f.derived(t, t.path, wantStat) // for which servers before 3.9 want no permission
		t.bad = err
	case t.what&wantList == 0 && f.tree.depth(t.path) < f.c.opts.depth:
		f.derived(t, t.path, wantList) // which may be had all the same, if it is the data that is too large
	}
}

// gotStat takes the answer to exists.
func (f *follower) gotStat(t *task, st client.Stat, exists bool, err error) {
	switch {
	case err == nil && !exists:
		f.tree.remove(t.path)
	case err == nil:
		f.newStat(t, st)
		f.touched[t.path] = struct{}{}
		e := f.tree.root.find(t.path)
		// It had no children before the gap. Those that it has may have been created in it.
		if t.full && e != nil && e.node.Err == nil && st.NumChildren > 0 && f.tree.depth(t.path) < f.c.opts.depth {
			f.derived(t, t.path, wantList)
		}
	case transient(err):
		f.again(t, wantStat, err)
	default:
		f.unreadable(t, err)
	}
}

// newStat takes the Stat of a znode that was read without its data, and has that read if it is not the one that we have.
func (f *follower) newStat(t *task, st client.Stat) {
	f.saw(&st)
	e := f.tree.root.find(t.path)
	if e == nil || e.node.Err == nil && (e.node.Stat.Mzxid != st.Mzxid || e.node.Stat.Czxid != st.Czxid) {
		if t.what&wantData == 0 {
			f.derived(t, t.path, wantData)
		}
		return
	}
	n := e.node
	n.Stat = st
	f.put(t.path, n)
}

// gotList takes the list of children: those that are gone are removed, those that are new are read.
func (f *follower) gotList(t *task, names []string, st client.Stat, err error) {
	if err == nil {
		f.newStat(t, st)
	}
	e := f.tree.root.find(t.path)
	switch {
	case errors.Is(err, client.ErrNoNode):
		f.tree.remove(t.path)
		return
	case err != nil && transient(err):
		f.again(t, wantList, err)
		return
	case e == nil || err == nil && replaced(e.node, Node{Stat: st}):
		return // its data is being read, and then its children
	}
	n := e.node
	if n.ChildrenErr = err; err == nil {
		f.children(t, e, names)
	}
	f.put(t.path, n)
}

// children makes the children of e those of the list. One that is called zookeeper, at the root of a client with a chroot, has
// no name there: that path is the server's own tree.
func (f *follower) children(t *task, e *entry, names []string) {
	listed := make(map[string]bool, len(names))
	for _, name := range names {
		if name != "" && !strings.Contains(name, "/") {
			listed[name] = true
		}
	}
	if t.path == "/" && f.cl.Chroot() != "" {
		f.nameless = listed["zookeeper"]
		delete(listed, "zookeeper")
	}
	e.kids.each(func(kid *entry) bool {
		if !listed[kid.name] {
			f.tree.remove(kid.path)
		}
		delete(listed, kid.name)
		return true
	})
	for name := range listed {
		f.derived(t, childPath(t.path, name), wantData)
	}
}
