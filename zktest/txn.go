package zktest

import (
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
)

// txn is one transaction: it changes the tree at once, remembers the events, and either fires them (commit) or takes the
// changes back (rollback). All its methods require Server.mu.
type txn struct {
	s      *Server
	zxid   int64
	now    int64 // Unix milliseconds
	events []change
	undo   []func()
	atomic bool     // keep undo
	owner  *session // of ephemerals that are created
}

// change is a znode that was created, deleted or written.
type change struct {
	kind      proto.EventType
	path      string
	acl       []proto.ACL
	parent    string // "" when the parent's children did not change
	parentACL []proto.ACL
}

// beginLocked starts a transaction. It takes the next zxid, which is used up whatever becomes of the transaction.
func (s *Server) beginLocked(now time.Time) *txn {
	s.tree.zxid++
	tx := &s.tx
	tx.s, tx.zxid, tx.now = s, s.tree.zxid, now.UnixMilli()
	tx.events, tx.undo, tx.atomic, tx.owner = tx.events[:0], tx.undo[:0], false, nil
	return tx
}

// commit fires the watches, in the order of the changes.
func (tx *txn) commit() {
	for _, e := range tx.events {
		tx.s.fireLocked(e, tx.zxid)
	}
}

// rollback takes everything back, counters included.
func (tx *txn) rollback() {
	for i := len(tx.undo) - 1; i >= 0; i-- {
		tx.undo[i]()
	}
	clear(tx.undo)
}

// insert puts n below parent. The creation counter is stored only if it grows, so that it stays at the top once it is
// there, and pzxid with it (DataTree.createNode since ZOOKEEPER-3249).
func (tx *txn) insert(parent, n *node) {
	creates, pzxid := parent.creates, parent.pzxid
	n.czxid, n.mzxid, n.pzxid = tx.zxid, tx.zxid, tx.zxid
	n.ctime, n.mtime = tx.now, tx.now
	if next := creates + 1; next > creates {
		parent.creates, parent.pzxid = next, tx.zxid
	}
	t := tx.s.tree
	t.link(parent, n)
	tx.events = append(tx.events, change{proto.EventNodeCreated, n.path, n.acl, parent.path, parent.acl})
	if tx.atomic {
		tx.undo = append(tx.undo, func() {
			t.unlink(n)
			parent.creates, parent.pzxid = creates, pzxid
		})
	}
}

// remove takes n, which has no children, out of the tree.
func (tx *txn) remove(n *node) {
	parent, pzxid := n.parent, n.parent.pzxid
	t := tx.s.tree
	t.unlink(n)
	parent.pzxid = tx.zxid
	tx.events = append(tx.events, change{proto.EventNodeDeleted, n.path, n.acl, parent.path, parent.acl})
	if tx.atomic {
		tx.undo = append(tx.undo, func() {
			t.link(parent, n)
			parent.pzxid = pzxid
		})
	}
}

// write replaces the data of n.
func (tx *txn) write(n *node, data []byte) {
	old, mzxid, mtime, version := n.data, n.mzxid, n.mtime, n.version
	n.data, n.mzxid, n.mtime = data, tx.zxid, tx.now
	n.version++
	tx.events = append(tx.events, change{kind: proto.EventNodeDataChanged, path: n.path, acl: n.acl})
	if tx.atomic {
		tx.undo = append(tx.undo, func() {
			n.data, n.mzxid, n.mtime, n.version = old, mzxid, mtime, version
		})
	}
}
