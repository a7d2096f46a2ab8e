package zktest

import (
	"strings"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// read serves the requests about one znode.
func (q *request) read() {
	t := q.c.viewLocked()
	path := q.r.StringBytes()
	watch := false
	if q.op != proto.OpGetACL && q.op != proto.OpGetAllChildrenNumber {
		watch = q.r.Bool()
	}
	if q.r.Err() != nil || path == nil {
		q.fail(t.zxid, proto.ErrMarshalling)
		return
	}
	n := t.get(path)
	if code := q.readable(n, path); code != 0 {
		if watch && q.op == proto.OpExists && code == proto.ErrNoNode {
			q.watch(dataSide, string(path), regExist)
		}
		q.fail(t.zxid, code)
		return
	}
	if watch {
		q.watchNode(n, path)
	}
	q.c.beginLocked(q.xid, t.zxid)
	q.body(n, path)
	q.c.endLocked()
}

// readable returns why the znode cannot be read by this request, or 0. Before 3.9.2 the existence of a znode is everybody's to
// know, and so is its Stat.
func (q *request) readable(n *node, path []byte) proto.Code {
	perms := int32(proto.PermRead)
	switch q.op {
	case proto.OpExists:
		if !q.s.is39() {
			perms = 0
		}
		if strings.IndexByte(string(path), 0) >= 0 {
			return proto.ErrBadArguments
		}
	case proto.OpGetACL:
		perms |= proto.PermAdmin
	}
	switch {
	case n == nil:
		return proto.ErrNoNode
	case perms != 0 && !q.c.may(n.acl, perms):
		return proto.ErrNoAuth
	}
	return 0
}

// watchNode leaves the watch that the request asks for on a znode that exists.
func (q *request) watchNode(n *node, path []byte) {
	name := n.path
	if len(path) == 0 {
		name = "" // the root by its other name: such a watch never fires
	}
	if q.op == proto.OpGetChildren || q.op == proto.OpGetChildren2 {
		q.watch(childSide, name, regChild)
		return
	}
	q.watch(dataSide, name, regData)
}

func (q *request) watch(side int, path string, how reg) {
	q.s.watches[side].add(q.c, path, watchOnce)
	if q.c.member.cut {
		q.c.lateRegs = append(q.c.lateRegs, lateReg{how, path})
	}
}

// body appends the response record about n, which was asked for as path.
func (q *request) body(n *node, path []byte) {
	b := q.c.out
	switch q.op {
	case proto.OpGetData:
		b = jute.AppendBuffer(b, n.data)
	case proto.OpGetACL:
		b = appendACL(b, n.acl, q.c.may(n.acl, proto.PermAdmin))
	case proto.OpGetChildren, proto.OpGetChildren2:
		b = appendChildren(b, n)
	case proto.OpGetAllChildrenNumber:
		count := n.descendants()
		if len(path) == 0 {
			count++ // by its other name the root counts itself
		}
		b = jute.AppendInt(b, int32(count))
	}
	if q.op != proto.OpGetChildren && q.op != proto.OpGetAllChildrenNumber {
		st := n.stat()
		b = st.AppendTo(b)
	}
	q.c.out = b
}

func appendChildren(b []byte, n *node) []byte {
	b = jute.AppendCount(b, len(n.children))
	for _, child := range n.children {
		b = jute.AppendString(b, child.name())
	}
	return b
}

// appendEphemerals appends the paths of the session's ephemerals that begin with prefix, which is compared as text; blank
// and "/" mean all (docs/protocol.md section 14).
func appendEphemerals(b []byte, ss *session, prefix string) []byte {
	if strings.TrimSpace(prefix) == "" || prefix == "/" {
		prefix = ""
	}
	count := 0
	for _, n := range ss.ephemerals {
		if strings.HasPrefix(n.path, prefix) {
			count++
		}
	}
	b = jute.AppendCount(b, count)
	for _, n := range ss.ephemerals {
		if strings.HasPrefix(n.path, prefix) {
			b = jute.AppendString(b, n.path)
		}
	}
	return b
}
