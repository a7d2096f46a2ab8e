package cache

import (
	"hash/maphash"
	"strings"
)

// entry is a znode with everything below it. Entries and branches never change: a tree that differs shares with the one
// before whatever is the same, so a snapshot costs nothing, and the difference between two is found without looking at that.
type entry struct {
	name string // the last part of path
	path string
	node Node
	kids *branch
}

// branch is a part of the children of one znode: a binary tree by name that is also a heap by rank. Since the rank follows from
// the name, the same set of names always has the same shape.
type branch struct {
	e           *entry
	rank        uint64
	left, right *branch
	count       int // children in this branch
	size        int // znodes in this branch, those below included
}

func (b *branch) counts() (count, size int) {
	if b == nil {
		return 0, 0
	}
	return b.count, b.size
}

// size returns the number of znodes of e, itself included.
func (e *entry) size() int {
	if e == nil {
		return 0
	}
	_, below := e.kids.counts()
	return below + 1
}

func newBranch(e *entry, rank uint64, left, right *branch) *branch {
	lc, ls := left.counts()
	rc, rs := right.counts()
	return &branch{e: e, rank: rank, left: left, right: right, count: lc + rc + 1, size: ls + rs + e.size()}
}

// above reports whether a child stands above the root of b.
func above(rank uint64, name string, b *branch) bool {
	return rank > b.rank || rank == b.rank && name < b.e.name
}

// find returns the child with this name.
func (b *branch) find(name string) *entry {
	for b != nil {
		switch {
		case name == b.e.name:
			return b.e
		case name < b.e.name:
			b = b.left
		default:
			b = b.right
		}
	}
	return nil
}

// with returns b with e in it, in place of a child of the same name.
func (b *branch) with(e *entry, rank uint64) *branch {
	switch {
	case b == nil:
		return newBranch(e, rank, nil, nil)
	case e.name == b.e.name:
		return newBranch(e, rank, b.left, b.right)
	case above(rank, e.name, b):
		left, _, right := b.split(e.name)
		return newBranch(e, rank, left, right)
	case e.name < b.e.name:
		return newBranch(b.e, b.rank, b.left.with(e, rank), b.right)
	}
	return newBranch(b.e, b.rank, b.left, b.right.with(e, rank))
}

// without returns b without the child of this name.
func (b *branch) without(name string) *branch {
	switch {
	case b == nil:
		return nil
	case name == b.e.name:
		return join(b.left, b.right)
	case name < b.e.name:
		return newBranch(b.e, b.rank, b.left.without(name), b.right)
	}
	return newBranch(b.e, b.rank, b.left, b.right.without(name))
}

// split divides b into the children before and behind name, and the one of that name.
func (b *branch) split(name string) (left *branch, e *entry, right *branch) {
	switch {
	case b == nil:
		return nil, nil, nil
	case name == b.e.name:
		return b.left, b.e, b.right
	case name < b.e.name:
		left, e, right = b.left.split(name)
		return left, e, newBranch(b.e, b.rank, right, b.right)
	}
	left, e, right = b.right.split(name)
	return newBranch(b.e, b.rank, b.left, left), e, right
}

// join puts together what split has divided.
func join(left, right *branch) *branch {
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	case above(left.rank, left.e.name, right):
		return newBranch(left.e, left.rank, left.left, join(left.right, right))
	}
	return newBranch(right.e, right.rank, join(left, right.left), right.right)
}

// each calls f for the children in the order of their names, until it returns false.
func (b *branch) each(f func(*entry) bool) bool {
	return b == nil || b.left.each(f) && f(b.e) && b.right.each(f)
}

// walk calls f for e and all below, parents first, until it returns false.
func (e *entry) walk(f func(*entry) bool) bool {
	return e == nil || f(e) && e.kids.each(func(kid *entry) bool { return kid.walk(f) })
}

// find returns the entry of a path, nil if there is none below e.
func (e *entry) find(path string) *entry {
	if e == nil || !within(path, e.path) {
		return nil
	}
	for e != nil && len(e.path) < len(path) {
		e = e.kids.find(next(e.path, path))
	}
	return e
}

// within reports whether path is root or below it.
func within(path, root string) bool {
	rest, ok := strings.CutPrefix(path, root)
	return ok && (rest == "" || root == "/" || rest[0] == '/')
}

// next returns the name of the child of dir on the way to path, which is below dir.
func next(dir, path string) string {
	rest := path[len(dir):]
	if dir != "/" {
		rest = rest[1:]
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// childPath returns the path of a child.
func childPath(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

// parentOf returns the path of the parent of any path but "/".
func parentOf(path string) string {
	return path[:max(1, strings.LastIndexByte(path, '/'))]
}

// tree is the state that the goroutine of a cache works on.
type tree struct {
	path string // of the root
	root *entry // nil if the znode does not exist
	seed maphash.Seed
}

// depth returns how far a path, which is within the tree, is below the root.
func (t *tree) depth(path string) int {
	switch {
	case path == t.path:
		return 0
	case t.path == "/":
		return strings.Count(path, "/")
	}
	return strings.Count(path[len(t.path):], "/")
}

// put sets the znode of a path, whose parent exists unless it is the root. What is below it stays.
func (t *tree) put(path string, n Node) {
	if path != t.path {
		t.root = t.change(t.root, path, &n)
		return
	}
	root := &entry{name: path[strings.LastIndexByte(path, '/')+1:], path: path, node: n}
	if t.root != nil {
		root.kids = t.root.kids
	}
	t.root = root
}

// remove takes a znode away with everything below it.
func (t *tree) remove(path string) {
	switch {
	case path == t.path:
		t.root = nil
	case t.root.find(path) != nil:
		t.root = t.change(t.root, path, nil)
	}
}

// change returns e with the znode of a path below it set, or without it if n is nil.
func (t *tree) change(e *entry, path string, n *Node) *entry {
	name := next(e.path, path)
	kid, kids := e.kids.find(name), (*branch)(nil)
	switch last := len(childPath(e.path, name)) == len(path); {
	case last && n == nil:
		kids = e.kids.without(name)
	case last:
		fresh := &entry{name: path[len(path)-len(name):], path: path, node: *n}
		if kid != nil {
			fresh.kids = kid.kids
		}
		kids = e.kids.with(fresh, maphash.String(t.seed, name))
	default:
		kids = e.kids.with(t.change(kid, path, n), maphash.String(t.seed, name))
	}
	return &entry{name: e.name, path: e.path, node: e.node, kids: kids}
}
