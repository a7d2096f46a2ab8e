package zktest

import (
	"github.com/lockkeeper/lockkeeper/proto"
)

// nodeKind says what besides data makes a znode go away.
type nodeKind uint8

const (
	kindPersistent nodeKind = iota
	kindEphemeral
	kindContainer
	kindTTL
)

// node is one znode. Guarded by Server.mu. The data slice is never changed in place, so that it may be handed out.
type node struct {
	path     string
	parent   *node
	children []*node // in no order; a node knows its place, so that removal costs the same for any number
	place    int     // index in parent.children
	data     []byte  // nil is null
	acl      []proto.ACL
	kind     nodeKind
	owner    *session // of an ephemeral
	ownPlace int      // index in owner.ephemerals
	ttl      int64    // milliseconds

	czxid, mzxid, pzxid int64
	ctime, mtime        int64
	version, aversion   int32
	// creates counts the children ever created. It numbers sequential children, and is not the cversion clients see.
	creates int32
}

// name returns the last component of the path.
func (n *node) name() string {
	if n.parent == nil {
		return ""
	}
	if n.parent.parent == nil {
		return n.path[1:]
	}
	return n.path[len(n.parent.path)+1:]
}

// stat returns what clients see: the cversion is computed, and markers of container and TTL znodes are hidden
// (DataNode.copyStat).
func (n *node) stat() proto.Stat {
	st := proto.Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version, Cversion: 2*n.creates - int32(len(n.children)), Aversion: n.aversion,
		DataLength: int32(len(n.data)), NumChildren: int32(len(n.children)), Pzxid: n.pzxid,
	}
	if n.owner != nil {
		st.EphemeralOwner = n.owner.id
	}
	return st
}

// tree is all znodes by path, with the zxid of the last transaction in it. The root is there twice, as "/" and as "",
// because the empty string is another name of it (docs/protocol.md section 15). Guarded by Server.mu.
type tree struct {
	nodes map[string]*node
	zxid  int64
}

// newTree returns the tree of a fresh server.
func newTree() *tree {
	t := &tree{nodes: make(map[string]*node)}
	root := &node{path: "/", data: []byte{}}
	t.nodes[""], t.nodes["/"] = root, root
	zk := &node{path: "/zookeeper", data: []byte{}}
	t.link(root, zk)
	t.link(zk, &node{path: "/zookeeper/quota", data: []byte{}})
	t.link(zk, &node{path: "/zookeeper/config", data: []byte{}, aversion: -1,
		acl: []proto.ACL{{Perms: proto.PermRead, ID: proto.ID{Scheme: "world", ID: "anyone"}}}})
	return t
}

// get looks a path up; the bytes are not kept.
func (t *tree) get(path []byte) *node { return t.nodes[string(path)] }

// size is the number of znodes, the root included.
func (t *tree) size() int { return len(t.nodes) - 1 }

func (t *tree) link(parent, n *node) {
	n.parent = parent
	n.place = len(parent.children)
	parent.children = append(parent.children, n)
	t.nodes[n.path] = n
	if n.owner != nil {
		n.owner.own(n)
	}
}

// unlink takes n out. It keeps n.parent and n.owner, so that link can undo it.
func (t *tree) unlink(n *node) {
	p := n.parent
	last := len(p.children) - 1
	p.children[n.place] = p.children[last]
	p.children[n.place].place = n.place
	p.children[last] = nil
	p.children = p.children[:last]
	delete(t.nodes, n.path)
	if n.owner != nil {
		n.owner.disown(n)
	}
}

// descendants counts the znodes below n.
func (n *node) descendants() int {
	total := len(n.children)
	for _, child := range n.children {
		total += child.descendants()
	}
	return total
}

// clone copies the tree as a member sees it that hears nothing from the leader any more.
func (t *tree) clone() *tree {
	out := &tree{nodes: make(map[string]*node, len(t.nodes)), zxid: t.zxid}
	root := cloneNode(out, nil, t.nodes["/"])
	out.nodes[""] = root
	return out
}

func cloneNode(into *tree, parent, n *node) *node {
	c := *n
	c.parent = parent
	c.children = make([]*node, len(n.children))
	for i, child := range n.children {
		c.children[i] = cloneNode(into, &c, child)
	}
	into.nodes[c.path] = &c
	return &c
}
