package client

import (
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/session"
)

// opName is the name of an operation in errors: that of the method.
func opName(op proto.Op) string {
	switch op {
	case 0:
		return "nothing"
	case proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		return "create"
	case proto.OpGetData:
		return "get"
	case proto.OpSetData:
		return "set"
	case proto.OpGetChildren, proto.OpGetChildren2:
		return "children"
	}
	return op.String()
}

// find returns the request of a handle, or why there is no result.
func (c call) find() (*groupCall, error) {
	switch {
	case c.g == nil:
		return nil, &Error{Op: "group", Err: ErrZeroValue, Outcome: session.NotSent}
	case c.round != c.g.round || c.i >= len(c.g.calls):
		return nil, &Error{Op: "group", Err: ErrStaleCall, Outcome: session.NotSent}
	}
	gc := &c.g.calls[c.i]
	if !c.g.sent {
		return nil, gc.failed(session.NotSent, ErrNotDone)
	}
	return gc, nil
}

// failed returns the error of a request.
func (gc *groupCall) failed(o Outcome, err error) error {
	return &Error{Op: opName(gc.op), Path: gc.path, Err: err, Outcome: o, write: gc.op.IsWrite()}
}

// malformed returns the error of a request whose reply cannot be decoded: whatever it said is not known.
func (gc *groupCall) malformed(err error) error { return gc.failed(session.Unknown, err) }

// outcome returns what became of a request.
func (g *Group) outcome(gc *groupCall) (Outcome, error) {
	switch {
	case gc.err != nil:
		return session.NotSent, gc.err
	case g.refusal != nil:
		return session.NotSent, g.refusal
	case g.lost != nil:
		return session.Unknown, g.lost
	case gc.index < 0:
		return session.Replied, nil
	}
	return g.g.Result(gc.index)
}

// reply returns a reader over the body of a request's reply, or the request's error.
func (c call) reply() (*groupCall, proto.Reader, error) {
	gc, err := c.find()
	if err != nil {
		return nil, proto.Reader{}, err
	}
	if o, err := c.g.outcome(gc); err != nil {
		return gc, proto.Reader{}, gc.failed(o, err)
	}
	return gc, proto.NewReader(c.g.body(gc)), nil
}

func (g *Group) body(gc *groupCall) []byte {
	if gc.index < 0 || g.g == nil {
		return nil
	}
	return g.g.Body(gc.index)
}

// missing reports whether a server answered ErrNoNode.
func (c call) missing() bool { return c.rejectedWith(ErrNoNode) }

// rejectedWith reports whether a server answered with this code.
func (c call) rejectedWith(code Code) bool {
	gc, err := c.find()
	if err != nil {
		return false
	}
	_, err = c.g.outcome(gc)
	return err == error(code) // the code itself, as the session passes it on
}

// err returns the error of a request whose reply has no body, or one that does not matter.
func (c call) err() error {
	_, _, err := c.reply()
	return err
}

// stat returns the Stat that is all there is in the reply.
func (c call) stat() (st Stat, err error) {
	gc, r, err := c.reply()
	if err != nil {
		return Stat{}, err
	}
	st.ReadFrom(&r)
	if err := r.Err(); err != nil {
		return Stat{}, gc.malformed(err)
	}
	return st, nil
}

// zxid returns the zxid in the reply's header.
func (c call) zxid() int64 {
	gc, err := c.find()
	if err != nil || gc.index < 0 || c.g.g == nil || c.g.refusal != nil {
		return 0
	}
	return c.g.g.Zxid(gc.index)
}

// conn returns the number of the connection that carried the group of a complete request, 0 if none did.
func (c call) conn() uint64 {
	gc, err := c.find()
	if err != nil || gc.index < 0 || c.g.g == nil || c.g.refusal != nil {
		return 0
	}
	return c.g.g.Conn()
}

// verify returns the error of request i, if its result would be one. It allocates nothing otherwise.
func (g *Group) verify(i int) error {
	c := call{g, i, g.round}
	gc, r, err := c.reply()
	if err != nil {
		if gc.op == proto.OpExists && c.missing() || gc.op == proto.OpCheckWatches && c.rejectedWith(proto.ErrNoWatcher) {
			return nil
		}
		return err
	}
	if err = g.decodes(c, gc, &r); err == nil {
		err = r.Err()
	}
	if _, ok := err.(*Error); err == nil || ok {
		return err
	}
	return gc.malformed(err)
}

// decodes reads over the body of a reply as far as its handle will; what is wrong shows in r, or is returned.
func (g *Group) decodes(c call, gc *groupCall, r *proto.Reader) error {
	switch gc.op {
	case proto.OpExists, proto.OpSetData, proto.OpSetACL:
		r.Skip(proto.StatSize)
	case proto.OpGetData, proto.OpReconfig:
		r.Buffer()
		r.Skip(proto.StatSize)
	case proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		r.StringBytes()
		r.Skip(proto.StatSize)
	case proto.OpGetChildren2:
		s := proto.NewChildScanner(r.Rest())
		s.Stat()
		return s.Err()
	case proto.OpGetEphemerals:
		s := proto.NewChildScanner(r.Rest())
		for _, ok := s.Next(); ok; _, ok = s.Next() {
			continue
		}
		return s.Err()
	case proto.OpGetAllChildrenNumber:
		r.Skip(4)
	case proto.OpWhoAmI:
		var rep proto.WhoAmIResponse
		rep.ReadFrom(r)
	case proto.OpMulti:
		_, err := MultiCall{c}.Results()
		return err
	case proto.OpMultiRead:
		_, err := MultiReadCall{c}.Results()
		return err
	}
	return nil
}
