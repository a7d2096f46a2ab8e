package cache

import (
	"iter"

	"github.com/lockkeeper/lockkeeper/client"
)

// Node is a znode as a cache knows it.
type Node struct {
	// Data is shared by everybody who looks at the cache, and by all snapshots: it must not be changed. It is nil if the znode's
	// data is null, and when Err says why it is not known.
	Data []byte
	// Stat belongs to Data; Aversion is that of the newest read, since servers do not tell changes of access lists.
	Stat client.Stat
	// Err is why the data is not known: it matches client.ErrNoAuth, or is a *client.PathError for a name that the client does
	// not send, or says that the reply was too large. The Stat may be zero then. The znode is read again when it changes, and
	// after a gap.
	Err error
	// ChildrenErr is why children may be missing, in the same way.
	ChildrenErr error
}

// Snapshot is a state of the cached znodes. It never changes, and costs nothing to take or to keep but the memory of what has
// changed since. All methods may be called from any goroutine; those of a nil Snapshot find nothing.
type Snapshot struct {
	path  string
	root  *entry
	zxid  int64
	mixed bool
}

// Path returns the path of the znode that the cache is for.
func (s *Snapshot) Path() string {
	if s == nil {
		return ""
	}
	return s.path
}

// Get returns the znode of a path, and whether there is one. It allocates nothing.
func (s *Snapshot) Get(path string) (Node, bool) {
	if s == nil {
		return Node{}, false
	}
	e := s.root.find(path)
	if e == nil {
		return Node{}, false
	}
	return e.node, true
}

// Root returns the znode that the cache is for, and whether it exists.
func (s *Snapshot) Root() (Node, bool) { return s.Get(s.Path()) }

// Children yields the names, in their order, and the znodes of the children of a path; none if it does not exist.
func (s *Snapshot) Children(path string) iter.Seq2[string, Node] {
	return func(yield func(string, Node) bool) {
		if s == nil {
			return
		}
		if e := s.root.find(path); e != nil {
			e.kids.each(func(kid *entry) bool { return yield(kid.name, kid.node) })
		}
	}
}

// ChildCount returns the number of children of a path.
func (s *Snapshot) ChildCount(path string) int {
	if s == nil {
		return 0
	}
	e := s.root.find(path)
	if e == nil {
		return 0
	}
	n, _ := e.kids.counts()
	return n
}

// All yields the paths and the znodes of the snapshot, a parent before its children, and those in the order of their names.
func (s *Snapshot) All() iter.Seq2[string, Node] {
	return func(yield func(string, Node) bool) {
		if s != nil {
			s.root.walk(func(e *entry) bool { return yield(e.path, e.node) })
		}
	}
}

// Len returns the number of znodes.
func (s *Snapshot) Len() int {
	if s == nil {
		return 0
	}
	return s.root.size()
}

// Zxid returns the highest zxid that the cache has seen up to this snapshot, in a Stat or an event of the subtree. The state is
// at least as new. It is 0 as long as nothing has been seen.
func (s *Snapshot) Zxid() int64 {
	if s == nil {
		return 0
	}
	return s.zxid
}

// Mixed reports whether the znodes were read at different moments, because the subtree has never been at rest for the time of
// the option Patience. Each is as it was at its newest read. Otherwise the snapshot is the subtree as it was at one moment.
func (s *Snapshot) Mixed() bool { return s != nil && s.mixed }
