package client

import (
	"errors"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/session"
)

// Op is one operation of a Multi. It is made by CreateOp, CreateTTLOp, SetOp, DeleteOp, CheckOp and Client.GuardOp; a zero
// Op makes the Multi fail. It keeps the slices that it was made from until the Multi is sent.
type Op struct {
	op      proto.Op
	path    string
	data    []byte
	acl     []ACL
	mode    CreateMode
	version int32
	timed   bool            // made by CreateTTLOp
	ttl     int64           // of such a one, in milliseconds
	maker   *session.Keeper // of a guard: whose path it is; nil for everybody's
	chroot  string          // of a guard
	refused error           // why it cannot be sent
}

// CreateOp creates a znode, as Client.Create does.
func CreateOp(path string, data []byte, mode CreateMode, acl []ACL) Op {
	return Op{op: mode.Op(), path: path, data: data, acl: acl, mode: mode}
}

// SetOp replaces the data of a znode, as Client.Set does.
func SetOp(path string, data []byte, version int32) Op {
	return Op{op: proto.OpSetData, path: path, data: data, version: version}
}

// DeleteOp deletes a znode, as Client.Delete does.
func DeleteOp(path string, version int32) Op {
	return Op{op: proto.OpDelete, path: path, version: version}
}

// CheckOp makes the Multi fail unless the znode exists and has this version; AnyVersion checks that it exists.
func CheckOp(path string, version int32) Op {
	return Op{op: proto.OpCheck, path: path, version: version}
}

// OpResult is what became of one op of a Multi.
type OpResult struct {
	Path    string // of the op; for a create, the path of the new znode
	Stat    Stat   // after a set, and of a new znode
	HasStat bool   // Stat was sent: not for delete and check, and for creates only by servers from 3.7.2, 3.8.2 and 3.9 on
	Err     error  // in a failed Multi: nil before the op that failed, ErrRuntimeInconsistency behind it
}

// multiPart is what a Group remembers of one op.
type multiPart struct {
	op   proto.Op
	path string
}

// multiDone is the decoded result of a multi.
type multiDone struct {
	results []OpResult
	err     error
}

// Multi adds a transaction. What the ops were made from may be reused at once. See Client.Multi.
func (g *Group) Multi(ops ...Op) MultiCall {
	c, ok := g.add(proto.OpMulti, "", g.checkMulti(ops))
	if !ok || len(ops) == 0 {
		return MultiCall{c}
	}
	b := g.g.Begin(proto.OpMulti)
	from := len(g.ops)
	for i := range ops {
		b = ops[i].appendTo(b, g.cl)
		g.ops = append(g.ops, multiPart{ops[i].op, ops[i].path})
	}
	g.calls[c.i].parts = [2]int{from, len(g.ops)}
	end := proto.MultiHeader{Type: int32(proto.OpError), Done: true, Err: -1}
	c.end(end.AppendTo(b), nil)
	return MultiCall{c}
}

// checkMulti returns a *MultiError for the first op that cannot be sent.
func (g *Group) checkMulti(ops []Op) error {
	if g == nil || g.cl == nil {
		return nil // there is no request to be wrong
	}
	for i := range ops {
		if err := ops[i].check(g.cl); err != nil {
			return &MultiError{Index: i, Op: opName(ops[i].op), Path: ops[i].path, Err: err}
		}
	}
	return nil
}

func (o *Op) check(c *Client) error {
	switch {
	case o.op == 0:
		return ErrZeroValue
	case o.refused != nil:
		return o.refused
	case o.maker != nil && (o.maker != c.keep || o.chroot != c.chroot):
		return ErrForeignGuard
	case o.timed:
		if err := checkCreateTTL(o.path, o.mode, o.ttl); err != nil {
			return err
		}
	case o.op.IsCreate():
		if err := checkCreate(o.path, o.mode); err != nil {
			return err
		}
	default:
		return proto.ValidatePath(o.path)
	}
	return c.needs(o.op)
}

// appendTo appends the op's header and record (docs/protocol.md section 10).
func (o *Op) appendTo(b []byte, c *Client) []byte {
	h, start := proto.MultiHeader{Type: int32(o.op), Err: -1}, len(b)
	b = h.AppendTo(b)
	switch o.op {
	case proto.OpSetData:
		return proto.AppendSetData(b, c.chroot, o.path, o.data, o.version)
	case proto.OpDelete, proto.OpCheck:
		return proto.AppendVersioned(b, c.chroot, o.path, o.version)
	}
	acl := o.acl
	if acl == nil {
		acl = c.acl
	}
	if o.op != proto.OpCreateTTL {
		return proto.AppendCreate(b, c.chroot, o.path, o.data, acl, o.mode)
	}
	req := proto.CreateTTLRequest{Path: o.path, Data: o.data, ACL: acl, Flags: int32(o.mode), TTL: o.ttl}
	b, err := proto.AppendCreateTTL(b, c.chroot, &req)
	if err != nil { // check has refused it before; if not, a header that no multi can have makes the server refuse the whole
		h.Type = int32(proto.OpError)
		b = h.AppendTo(b[:start])
	}
	return b
}

// MultiCall is the handle of a Multi in a Group.
type MultiCall struct{ c call }

// Zxid returns the zxid of the transaction, which is that of the creation of all znodes it has made; 0 without a reply.
func (h MultiCall) Zxid() int64 { return h.c.zxid() }

// Results returns what became of each op, in their order. If one failed, none was applied and the error holds a *MultiError.
// The slice is the caller's.
func (h MultiCall) Results() ([]OpResult, error) {
	gc, r, err := h.c.reply()
	switch {
	case err != nil:
		return nil, err
	case gc.index < 0:
		return nil, nil // a multi without ops: there is nothing to do, and nothing was sent
	case gc.multi == nil:
		gc.multi = h.c.g.decodeMulti(gc, &r)
	}
	return gc.multi.results, gc.multi.err
}

// decodeMulti reads the answer to a multi. Its header shows no error when the multi has failed: the entries do.
func (g *Group) decodeMulti(gc *groupCall, r *proto.Reader) *multiDone {
	parts := g.ops[gc.parts[0]:gc.parts[1]]
	entries, err := readResults(r, len(parts))
	if err != nil {
		return &multiDone{err: gc.malformed(err)}
	}
	results := make([]OpResult, len(parts))
	for i := range entries {
		results[i] = parts[i].result(&entries[i], g.cl.chroot)
	}
	at, code := proto.FirstError(entries)
	if at >= 0 {
		why := &MultiError{Index: at, Op: opName(parts[at].op), Path: parts[at].path, Err: code, Results: results}
		return &multiDone{results, gc.failed(session.Rejected, why)}
	}
	for i := range entries {
		if !parts[i].answeredBy(entries[i].Op) {
			return &multiDone{err: gc.malformed(&ReplyError{opName(parts[i].op) + " answered by " + entries[i].Op.String()})}
		}
	}
	return &multiDone{results: results}
}

// readResults reads the entries of an answer, one for each op.
func readResults(r *proto.Reader, ops int) ([]proto.MultiResult, error) {
	entries := proto.ReadMultiReplyTo(r, ops)
	err := r.Err()
	if errors.Is(err, proto.ErrTooManyResults) || err == nil && len(entries) != ops {
		err = &ReplyError{"another number of results than ops"}
	}
	return entries, err
}

func (p *multiPart) result(e *proto.MultiResult, chroot string) OpResult {
	res := OpResult{Path: p.path, Stat: e.Stat, HasStat: e.HasStat, Err: e.Err.Err()}
	if e.Op == proto.OpCreate || e.Op == proto.OpCreate2 {
		res.Path = proto.StripChroot(chroot, e.Path)
	}
	return res
}

// answeredBy reports whether an entry of type op can be the answer: creates have two forms, for the rest there is one.
func (p *multiPart) answeredBy(op proto.Op) bool {
	if p.op.IsCreate() {
		return op == proto.OpCreate || op == proto.OpCreate2
	}
	return op == p.op
}
