package zktest

import (
	"encoding/binary"
	"time"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// request is one request in execution. All methods of it require Server.mu.
type request struct {
	s   *Server
	c   *connection
	xid int32
	op  proto.Op
	now time.Time
	r   *jute.Reader // behind the header
}

// needsLeader reports whether a member that is cut off cannot serve op by itself.
func needsLeader(op proto.Op) bool { return op.IsWrite() || op == proto.OpSync }

// dispatchLocked executes one request.
func (c *connection) dispatchLocked(xid int32, op proto.Op, r *jute.Reader, now time.Time) {
	s := c.s
	ss := c.ss
	if needsLeader(op) && (ss.owner != c && !c.committing || s.sessions[ss.id] != ss) {
		s.closeLocked(c) // moved to another member, or over
		return
	}
	if !c.member.cut && !c.gone && s.sessions[ss.id] == ss {
		s.touchLocked(ss, now)
	}
	q := request{s: s, c: c, xid: xid, op: op, now: now, r: r}
	switch op {
	case proto.OpPing:
		c.replyLocked(proto.XidPing, c.viewLocked().zxid, 0)
	case proto.OpExists, proto.OpGetData, proto.OpGetACL, proto.OpGetChildren, proto.OpGetChildren2,
		proto.OpGetAllChildrenNumber:
		q.read()
	case proto.OpMultiRead:
		q.multiRead()
	case proto.OpSetWatches, proto.OpSetWatches2:
		q.setWatches()
	case proto.OpAddWatch, proto.OpCheckWatches, proto.OpRemoveWatches:
		q.changeWatches()
	case proto.OpSync, proto.OpGetEphemerals, proto.OpWhoAmI, proto.OpCreateSession:
		q.other()
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		q.create()
	case proto.OpDelete, proto.OpSetData, proto.OpSetACL:
		q.write()
	case proto.OpCheck:
		if s.is39() {
			q.unknown()
			return
		}
		q.write()
	case proto.OpReconfig:
		q.reconfig()
	case proto.OpMulti:
		q.multi()
	case proto.OpCloseSession:
		zxid := s.removeSessionLocked(ss, now)
		c.replyLocked(xid, zxid, 0)
		if !c.member.cut { // else healLocked
			s.closeLocked(c)
		}
	default:
		q.unknown()
	}
}

// unknown answers an operation that the server does not know, which ends the connection.
func (q *request) unknown() {
	q.c.replyLocked(q.xid, -1, proto.ErrUnimplemented)
	q.s.closeLocked(q.c)
}

// viewLocked returns the tree that c's member knows.
func (c *connection) viewLocked() *tree {
	if c.member.snapshot != nil {
		return c.member.snapshot
	}
	return c.s.tree
}

// replyLocked queues a reply without a body.
func (c *connection) replyLocked(xid int32, zxid int64, code proto.Code) {
	c.beginLocked(xid, zxid)
	c.setCode(code)
	c.endLocked()
}

// setCode puts an error into the header of the reply that has been begun.
func (c *connection) setCode(code proto.Code) {
	binary.BigEndian.PutUint32(c.out[c.replyAt+16:], uint32(code))
}

// beginLocked starts a reply; append the body to c.out, then call endLocked.
func (c *connection) beginLocked(xid int32, zxid int64) {
	c.replyAt = len(c.out)
	b := append(c.out, 0, 0, 0, 0)
	b = jute.AppendInt(b, xid)
	b = jute.AppendLong(b, zxid)
	c.out = jute.AppendInt(b, 0)
}

func (c *connection) endLocked() {
	binary.BigEndian.PutUint32(c.out[c.replyAt:], uint32(len(c.out)-c.replyAt-4))
	c.s.stats.replies++
	c.s.dirtyLocked(c)
}

// fail answers with an error and the zxid given.
func (q *request) fail(zxid int64, code proto.Code) { q.c.replyLocked(q.xid, zxid, code) }

// other serves the requests that read no znode.
func (q *request) other() {
	c := q.c
	zxid := c.viewLocked().zxid
	switch q.op {
	case proto.OpCreateSession:
		q.s.tree.zxid++
		c.connectResponseLocked(c.ss, false)
		return
	case proto.OpSync:
		path := q.r.NullableString()
		if q.r.Err() != nil {
			q.fail(zxid, proto.ErrMarshalling)
			return
		}
		path.String = javaText([]byte(path.String))
		c.beginLocked(q.xid, zxid)
		c.out = jute.AppendNullableString(c.out, path)
	case proto.OpGetEphemerals:
		prefix := q.r.StringBytes()
		if q.r.Err() != nil {
			q.fail(zxid, proto.ErrMarshalling)
			return
		}
		c.beginLocked(q.xid, zxid)
		c.out = appendEphemerals(c.out, c.ss, string(prefix))
	case proto.OpWhoAmI:
		c.beginLocked(q.xid, zxid)
		c.out = jute.AppendCount(c.out, len(c.ids))
		for i := len(c.ids) - 1; i >= 0; i-- {
			c.out = jute.AppendString(c.out, c.ids[i].Scheme)
			c.out = jute.AppendString(c.out, userName(c.ids[i]))
		}
	}
	c.endLocked()
}
