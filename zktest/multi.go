package zktest

import (
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// part is one operation of a multi: a create when create.op is set, else a change.
type part struct {
	op     proto.Op // of a create: as what it is executed
	create createArgs
	change changeArgs
}

// partResult is what became of it.
type partResult struct {
	op   proto.Op // the type in the answer
	code proto.Code
	path string
	stat proto.Stat
}

// nextPart reads a MultiHeader and reports whether an operation follows.
func nextPart(r *jute.Reader) (proto.Op, bool) {
	op := proto.Op(r.Int())
	done := r.Bool()
	r.Int() // not looked at
	return op, !done && r.Err() == nil
}

// reading is how the reading of a multi went.
type reading int

const (
	readWell    reading = iota
	readBadly           // an answer of -5, and a zxid is taken
	readNoTrace         // the same, and none is
)

// readPartsLocked reads the operations of a multi, until one of them cannot be part of one.
func (s *Server) readPartsLocked(r *jute.Reader) (parts []part, how reading) {
	for {
		op, more := nextPart(r)
		if !more && r.Err() != nil {
			return nil, readBadly
		}
		if !more {
			return parts, readWell
		}
		ok := false
		p := part{op: op}
		switch op {
		case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
			p.create = s.readCreateLocked(op, r)
			p.op = s.executedAs(op, p.create.flags)
			p.create.op = p.op
			ok = p.create.path != nil && !(s.is39() && p.op == proto.OpError)
			if s.is39() && p.create.acl.null && op != proto.OpCreateTTL && r.Err() == nil && p.op != proto.OpError {
				return nil, readNoTrace // an exception of another kind: CreateOptions insists on a list
			}
		case proto.OpDelete, proto.OpSetData, proto.OpCheck:
			p.change = s.readChangeLocked(op, r)
			ok = p.change.path != nil
		}
		if !ok {
			return nil, readBadly
		}
		parts = append(parts, p)
	}
}

// executedAs returns as what a create in a multi is executed, and answered: 3.8.0 keeps the flags and not the opcode, and
// 3.9.3 lets flags that ask for a container go before it (org.apache.zookeeper.Op.create). OpError stands for what is an
// exception there: TTL flags in a create without a time, and in 3.9.3 flags that are no mode.
func (s *Server) executedAs(op proto.Op, flags int32) proto.Op {
	mode := proto.CreateMode(flags)
	switch {
	case op == proto.OpCreateTTL:
		return op
	case mode.IsTTL(), s.is39() && (mode < proto.ModePersistent || mode > proto.ModePersistentSequentialTTL):
		return proto.OpError
	case mode == proto.ModeContainer:
		return proto.OpCreateContainer
	case s.is39():
		return op
	}
	return proto.OpCreate
}

// multi serves a transaction of several operations: all of them or none.
func (q *request) multi() {
	parts, how := q.s.readPartsLocked(q.r)
	if how == readNoTrace {
		q.fail(q.s.tree.zxid, proto.ErrMarshalling)
		return
	}
	tx := q.s.beginLocked(q.now)
	tx.atomic, tx.owner = true, q.c.ss
	if how == readBadly {
		q.fail(tx.zxid, proto.ErrMarshalling)
		return
	}
	results := make([]partResult, len(parts))
	failed := -1
	for i := range parts {
		if failed >= 0 {
			results[i].code = proto.ErrRuntimeInconsistency
			continue
		}
		if results[i] = tx.part(q.c, &parts[i]); results[i].code != 0 {
			failed = i
		}
	}
	if failed >= 0 {
		tx.rollback()
	} else {
		tx.commit()
	}
	if failed >= 0 && results[failed].code == proto.ErrMarshalling { // no operation has this code: it is the whole's
		q.fail(tx.zxid, proto.ErrMarshalling)
		return
	}
	q.c.beginLocked(q.xid, tx.zxid)
	for i := range results {
		if failed >= 0 {
			results[i].op = proto.OpError
		}
		q.c.out = results[i].appendTo(q.c.out)
	}
	q.c.out = appendMultiEnd(q.c.out)
	q.c.endLocked()
}

// part executes one operation. In 3.8.0 a create2 is executed as a create and answered without Stat (docs/protocol.md section
// 10).
func (tx *txn) part(c *connection, p *part) partResult {
	if p.op == proto.OpError {
		return partResult{code: proto.ErrMarshalling}
	}
	if !p.op.IsCreate() {
		n, code := tx.change(c, p.change)
		res := partResult{op: p.op, code: code}
		if n != nil && p.op == proto.OpSetData {
			res.stat = n.stat()
		}
		return res
	}
	n, code := tx.create(c, p.create)
	if code != 0 {
		return partResult{code: code}
	}
	res := partResult{op: proto.OpCreate2, path: n.path, stat: n.stat()}
	if p.op == proto.OpCreate {
		res.op = proto.OpCreate
	}
	return res
}

func (p *partResult) appendTo(b []byte) []byte {
	b = appendMultiHeader(b, p.op, p.code)
	switch p.op {
	case proto.OpCreate:
		b = jute.AppendString(b, p.path)
	case proto.OpCreate2:
		b = p.stat.AppendTo(jute.AppendString(b, p.path))
	case proto.OpSetData:
		b = p.stat.AppendTo(b)
	case proto.OpError:
		b = jute.AppendInt(b, int32(p.code))
	}
	return b
}

func appendMultiHeader(b []byte, op proto.Op, code proto.Code) []byte {
	b = jute.AppendInt(b, int32(op))
	b = jute.AppendBool(b, false)
	return jute.AppendInt(b, int32(code))
}

func appendMultiEnd(b []byte) []byte {
	b = jute.AppendInt(b, int32(proto.OpError))
	b = jute.AppendBool(b, true)
	return jute.AppendInt(b, -1)
}

// multiRead answers each read on its own.
func (q *request) multiRead() {
	t := q.c.viewLocked()
	whole := *q.r
	reads, writes := 0, 0
	for op, more := nextPart(&whole); more; op, more = nextPart(&whole) {
		skipPart(&whole, op)
		if op == proto.OpGetData || op == proto.OpGetChildren {
			reads++
		} else {
			writes++
		}
	}
	switch {
	case whole.Err() != nil, reads > 0 && writes > 0:
		q.fail(t.zxid, proto.ErrMarshalling)
		return
	case writes > 0:
		parts := *q.r
		if _, how := q.s.readPartsLocked(&parts); how != readWell && q.s.is39() {
			q.fail(t.zxid, proto.ErrMarshalling) // it does not come to be an answer to nothing
			return
		}
		q.refuseMultiRead(t.zxid)
		return
	}
	q.c.beginLocked(q.xid, t.zxid)
	for op, more := nextPart(q.r); more; op, more = nextPart(q.r) {
		path := q.r.StringBytes()
		q.r.Bool() // the watch flag is ignored
		if path == nil {
			// An exception, which comes with what has been read before.
			q.c.setCode(proto.ErrMarshalling)
			break
		}
		one := request{s: q.s, c: q.c, op: op}
		n := t.get(path)
		if code := one.readable(n, path); code != 0 {
			q.c.out = appendMultiHeader(q.c.out, proto.OpError, code)
			q.c.out = jute.AppendInt(q.c.out, int32(code))
			continue
		}
		q.c.out = appendMultiHeader(q.c.out, op, 0)
		one.body(n, path)
	}
	q.c.out = appendMultiEnd(q.c.out)
	q.c.endLocked()
}

// refuseMultiRead answers one that holds writes only with -5 and, as no other error is, with a body: that of an answer to
// nothing (docs/protocol.md section 21, number 11).
func (q *request) refuseMultiRead(zxid int64) {
	c := q.c
	c.replyLocked(q.xid, zxid, proto.ErrMarshalling)
	c.s.stats.replies--
	c.out = appendMultiEnd(c.out)
	c.endLocked()
}
