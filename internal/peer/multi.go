package peer

import (
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// multi answers the operations one by one; one that fails has its code in its entry, and does not stop the others.
func (c *connection) multi(r *jute.Reader, zxid int64) {
	for {
		var h proto.MultiHeader
		h.ReadFrom(r)
		if h.Done || r.Err() != nil {
			break
		}
		c.part(proto.Op(h.Type), r, zxid)
		if r.Err() != nil {
			return
		}
	}
	end := proto.MultiHeader{Type: int32(proto.OpError), Done: true, Err: -1}
	c.out = end.AppendTo(c.out)
}

// part answers one operation of a multi or multiRead.
func (c *connection) part(op proto.Op, r *jute.Reader, zxid int64) {
	start := len(c.out)
	h := proto.MultiHeader{Type: int32(op)}
	if op == proto.OpCreateContainer {
		h.Type = int32(proto.OpCreate2)
	}
	c.out = h.AppendTo(c.out)
	code := proto.ErrMarshalling
	switch op {
	case proto.OpCheck:
		path := r.StringBytes()
		r.Int() // version
		if code = proto.CodeOK; c.live.find(path) < 0 {
			code = c.exists(path)
		}
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpDelete:
		code = c.change(op, r, zxid)
	case proto.OpSetData, proto.OpGetData, proto.OpGetChildren:
		code = c.use(op, r, zxid)
	default:
		r.Fail("multi operation", proto.ErrMultiOp)
	}
	if code != proto.CodeOK {
		h = proto.MultiHeader{Type: int32(proto.OpError), Err: int32(code)}
		c.out = jute.AppendInt(h.AppendTo(c.out[:start]), int32(code))
	}
}
