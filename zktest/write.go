package zktest

import (
	"bytes"
	"strings"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// createArgs is a CreateRequest or CreateTTLRequest. The slices alias the frame.
type createArgs struct {
	op    proto.Op
	path  []byte // nil is null
	data  []byte
	acl   aclList
	flags int32
	ttl   int64 // milliseconds; -1 without
}

func (s *Server) readCreateLocked(op proto.Op, r *jute.Reader) createArgs {
	a := createArgs{op: op, path: r.StringBytes(), data: r.Buffer(), acl: s.readACLLocked(r), flags: r.Int(), ttl: -1}
	if op == proto.OpCreateTTL {
		a.ttl = r.Long()
	}
	return a
}

// begin starts the transaction of a request that has been read. If that failed it answers so and returns nil; before 3.9.0 such
// a request takes a zxid nevertheless (PrepRequestProcessor.pRequestHelper).
func (q *request) begin() *txn {
	if q.r.Err() == nil {
		return q.s.beginLocked(q.now)
	}
	zxid := q.s.tree.zxid
	if !q.s.is39() {
		zxid = q.s.beginLocked(q.now).zxid
	}
	q.fail(zxid, proto.ErrMarshalling)
	return nil
}

// create serves the four kinds of create outside a multi.
func (q *request) create() {
	a := q.s.readCreateLocked(q.op, q.r)
	tx := q.begin()
	if tx == nil {
		return
	}
	tx.owner = q.c.ss
	n, code := tx.create(q.c, a)
	if code != 0 {
		q.fail(tx.zxid, code)
		return
	}
	tx.commit()
	q.c.beginLocked(q.xid, tx.zxid)
	q.c.out = jute.AppendString(q.c.out, n.path)
	if q.op != proto.OpCreate {
		st := n.stat()
		q.c.out = st.AppendTo(q.c.out)
	}
	q.c.endLocked()
}

// kindOf returns what a create makes: the operation decides between persistent, container and TTL, the flags about the
// rest (docs/protocol.md section 8). A TTL create with flags or a time that no client may send is refused here.
func (s *Server) kindOf(a createArgs) (nodeKind, proto.Code) {
	mode := proto.CreateMode(a.flags)
	switch {
	case mode < proto.ModePersistent || mode > proto.ModePersistentSequentialTTL:
		return 0, proto.ErrBadArguments
	case (mode.IsTTL() || a.op == proto.OpCreateTTL) && s.cfg.noTTL:
		return 0, proto.ErrUnimplemented
	case (mode.IsTTL() || a.op == proto.OpCreateTTL) && proto.CheckTTL(mode, a.ttl) != nil:
		return 0, proto.ErrBadArguments
	case a.op == proto.OpCreateTTL:
		return kindTTL, 0
	case a.op == proto.OpCreateContainer:
		return kindContainer, 0
	case mode.IsEphemeral():
		return kindEphemeral, 0
	}
	return kindPersistent, 0
}

// create makes a znode for c, or for the operator when c is nil, with the checks and their order of
// PrepRequestProcessor.pRequest2TxnCreate.
func (tx *txn) create(c *connection, a createArgs) (*node, proto.Code) {
	t := tx.s.tree
	kind, code := tx.s.kindOf(a)
	slash := bytes.LastIndexByte(a.path, '/')
	switch {
	case code != 0:
		return nil, code
	case a.path == nil:
		return nil, proto.ErrMarshalling
	case slash < 0 || bytes.IndexByte(a.path, 0) >= 0:
		return nil, proto.ErrBadArguments
	}
	acl, code := c.fixACL(a.acl)
	if code != 0 {
		return nil, code
	}
	parent := t.get(a.path[:slash])
	switch {
	case parent == nil:
		return nil, proto.ErrNoNode
	case !c.may(parent.acl, proto.PermCreate):
		return nil, proto.ErrNoAuth
	}
	path := a.path
	if proto.CreateMode(a.flags).IsSequential() {
		path = appendSequence(append(make([]byte, 0, len(path)+11), path...), parent.creates)
	}
	name := string(path)
	switch {
	case proto.ValidatePath(name) != nil:
		return nil, proto.ErrBadArguments
	case t.nodes[name] != nil:
		return nil, proto.ErrNodeExists
	case parent.kind == kindEphemeral:
		return nil, proto.ErrNoChildrenForEphemerals
	}
	n := &node{path: name, data: bytes.Clone(a.data), acl: acl, kind: kind, ttl: max(a.ttl, 0)}
	if kind == kindEphemeral {
		n.owner = tx.owner
	}
	tx.insert(parent, n)
	return n, 0
}

// appendSequence appends v as Java's %010d does: ten digits, or for a negative number a minus and at least nine.
func appendSequence(b []byte, v int32) []byte {
	u, width := int64(v), 10
	if u < 0 {
		b = append(b, '-')
		u, width = -u, 9
	}
	var digits [10]byte
	i := len(digits)
	for u > 0 || len(digits)-i < width {
		i--
		digits[i] = byte('0' + u%10)
		u /= 10
	}
	return append(b, digits[i:]...)
}

// write serves delete, setData and setACL, and check outside a multi, which 3.9.3 does not know.
func (q *request) write() {
	a := q.s.readChangeLocked(q.op, q.r)
	tx := q.begin()
	if tx == nil {
		return
	}
	n, code := tx.change(q.c, a)
	if code != 0 {
		q.fail(tx.zxid, code)
		return
	}
	tx.commit()
	if q.op == proto.OpCheck {
		return // a check that succeeds is never answered (docs/protocol.md section 21, number 2)
	}
	q.c.beginLocked(q.xid, tx.zxid)
	if q.op != proto.OpDelete {
		st := n.stat()
		q.c.out = st.AppendTo(q.c.out)
	}
	q.c.endLocked()
}

// changeArgs is a DeleteRequest, SetDataRequest, SetACLRequest or CheckVersionRequest. The slices alias the frame.
type changeArgs struct {
	op      proto.Op
	path    []byte // nil is null
	data    []byte
	acl     aclList
	version int32
}

func (s *Server) readChangeLocked(op proto.Op, r *jute.Reader) changeArgs {
	a := changeArgs{op: op, path: r.StringBytes()}
	switch op {
	case proto.OpSetData:
		a.data = r.Buffer()
	case proto.OpSetACL:
		a.acl = s.readACLLocked(r)
	}
	a.version = r.Int()
	return a
}

// change changes, deletes or checks a znode for c, or for the operator when c is nil.
func (tx *txn) change(c *connection, a changeArgs) (*node, proto.Code) {
	if a.op == proto.OpDelete {
		return tx.delete(c, a)
	}
	if proto.ValidatePath(string(a.path)) != nil {
		return nil, proto.ErrBadArguments
	}
	perm, acl := int32(proto.PermRead), []proto.ACL(nil)
	switch a.op {
	case proto.OpSetData:
		perm = proto.PermWrite
	case proto.OpSetACL:
		perm = proto.PermAdmin
		var code proto.Code
		if acl, code = c.fixACL(a.acl); code != 0 {
			return nil, code
		}
	}
	n := tx.s.tree.get(a.path)
	if n == nil {
		return nil, proto.ErrNoNode
	}
	version := n.version
	if a.op == proto.OpSetACL {
		version = n.aversion
	}
	switch {
	case !c.may(n.acl, perm):
		return nil, proto.ErrNoAuth
	case a.version != anyVersion && a.version != version:
		return nil, proto.ErrBadVersion
	}
	switch a.op {
	case proto.OpSetData:
		tx.write(n, bytes.Clone(a.data))
	case proto.OpSetACL:
		n.acl = acl
		n.aversion++
	}
	return n, 0
}

// anyVersion in a request matches every version.
const anyVersion = -1

func (tx *txn) delete(c *connection, a changeArgs) (*node, proto.Code) {
	t := tx.s.tree
	path := string(a.path)
	slash := strings.LastIndexByte(path, '/')
	switch {
	case a.path == nil:
		return nil, proto.ErrMarshalling
	case slash < 0, strings.IndexByte(path, 0) >= 0, path == "/", path == "/zookeeper", path == "/zookeeper/quota",
		path == "/zookeeper/config":
		return nil, proto.ErrBadArguments
	}
	parent, n := t.nodes[path[:slash]], t.nodes[path]
	switch {
	case parent == nil:
		return nil, proto.ErrNoNode
	case !c.may(parent.acl, proto.PermDelete):
		return nil, proto.ErrNoAuth
	case n == nil:
		return nil, proto.ErrNoNode
	case a.version != anyVersion && a.version != n.version:
		return nil, proto.ErrBadVersion
	case len(n.children) > 0:
		return nil, proto.ErrNotEmpty
	}
	tx.remove(n)
	return n, 0
}
