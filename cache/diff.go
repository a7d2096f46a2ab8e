package cache

import "iter"

// ChangeType says how a znode differs between two snapshots.
type ChangeType uint8

// The types of changes.
const (
	Added   ChangeType = iota + 1 // it was not there before
	Changed                       // its data was set, or what is known of it has changed; the znode is the same
	Removed                       // it is there no more
)

// String returns "added", "changed" or "removed".
func (t ChangeType) String() string {
	switch t {
	case Added:
		return "added"
	case Changed:
		return "changed"
	case Removed:
		return "removed"
	}
	return "unknown change"
}

// Change is a znode that differs between two snapshots.
type Change struct {
	Type ChangeType
	Path string
	Old  Node // zero if it was added
	New  Node // zero if it was removed
}

// Diff yields what has changed from one snapshot to another of the same cache, in the order of paths, so that somebody who
// applies the changes one by one always has a tree: a parent is added before its children and removed after them. A znode that
// was deleted and created again, which its Czxid shows, is removed, with all that was below it, and then added: it is
// another one, and if it is ephemeral somebody else's perhaps. A znode is Changed if its data was set, even to the same bytes,
// or if Err or ChildrenErr came or went. Whatever else changes in a Stat, such as the number of children, is no Change.
//
// The cost follows from how much differs, not from how much there is. A nil Snapshot is an empty one.
func Diff(from, to *Snapshot) iter.Seq[Change] {
	return func(yield func(Change) bool) {
		var a, b *entry
		if from != nil {
			a = from.root
		}
		if to != nil {
			b = to.root
		}
		differ(yield).entries(a, b)
	}
}

// differ tells changes until it returns false.
type differ func(Change) bool

func (d differ) entries(a, b *entry) bool {
	switch {
	case a == b:
		return true
	case a == nil:
		return d.added(b)
	case b == nil:
		return d.removed(a)
	case replaced(a.node, b.node):
		return d.removed(a) && d.added(b)
	}
	if changed(a.node, b.node) && !d(Change{Type: Changed, Path: b.path, Old: a.node, New: b.node}) {
		return false
	}
	return d.branches(a.kids, b.kids)
}

// branches cuts both at the higher of the two roots: where the names are the same, so are the cuts, and what is shared is met
// as a whole.
func (d differ) branches(a, b *branch) bool {
	switch {
	case a == b:
		return true
	case a == nil:
		return b.each(d.added)
	case b == nil:
		return a.each(d.removed)
	case above(b.rank, b.e.name, a):
		left, e, right := a.split(b.e.name)
		return d.branches(left, b.left) && d.entries(e, b.e) && d.branches(right, b.right)
	}
	left, e, right := b.split(a.e.name)
	return d.branches(a.left, left) && d.entries(a.e, e) && d.branches(a.right, right)
}

func (d differ) added(e *entry) bool {
	return d(Change{Type: Added, Path: e.path, New: e.node}) && e.kids.each(d.added)
}

func (d differ) removed(e *entry) bool {
	return e.kids.each(d.removed) && d(Change{Type: Removed, Path: e.path, Old: e.node})
}

// replaced reports whether b is another znode than a. One whose Stat is not known counts as the same.
func replaced(a, b Node) bool {
	return a.Stat.Czxid != b.Stat.Czxid && a.Stat.Czxid != 0 && b.Stat.Czxid != 0
}

func changed(a, b Node) bool {
	return a.Stat.Mzxid != b.Stat.Mzxid || (a.Err == nil) != (b.Err == nil) || (a.ChildrenErr == nil) != (b.ChildrenErr == nil)
}
