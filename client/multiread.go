package client

import (
	"context"

	"github.com/lockkeeper/lockkeeper/proto"
)

// ReadOp is one operation of a MultiRead. It is made by GetOp and ChildrenOp; a zero ReadOp makes the MultiRead fail.
type ReadOp struct {
	op   proto.Op
	path string
}

// GetOp reads the data and Stat of a znode, as Client.Get does.
func GetOp(path string) ReadOp { return ReadOp{proto.OpGetData, path} }

// ChildrenOp lists the names of a znode's children, as Client.Children does, but without a Stat.
func ChildrenOp(path string) ReadOp { return ReadOp{proto.OpGetChildren, path} }

// ReadResult is what one op of a MultiRead has read. Its slices are the caller's.
type ReadResult struct {
	Path     string   // of the op
	Data     []byte   // of a GetOp; nil if it is null on the server
	Stat     Stat     // of a GetOp
	Children []string // of a ChildrenOp: names, in no defined order; empty and not nil if there are none
	Err      error    // why there is nothing: a Code, such as ErrNoNode
}

// readsDone is the decoded result of a multiRead.
type readsDone struct {
	results []ReadResult
	err     error
}

// MultiRead makes all reads in one step of the server, without a write in between. Each has its own result: that a znode is
// missing fails its own op and nothing else, and the error of the call is only for the whole. If an op cannot be sent the
// error holds a *MultiError. Without ops nothing is sent. (docs/protocol.md section 10.)
//
// Reads that need no common moment are better made with a Group, which has room for more and spends no memory.
func (c *Client) MultiRead(ctx context.Context, ops ...ReadOp) ([]ReadResult, error) {
	g, err := c.take("multiRead", "")
	if err != nil {
		return nil, err
	}
	h := g.MultiRead(ops...)
	g.run(ctx)
	results, err := h.Results()
	c.put(g)
	return results, err
}

// MultiRead adds reads that are made in one step. See Client.MultiRead.
func (g *Group) MultiRead(ops ...ReadOp) MultiReadCall {
	c, ok := g.add(proto.OpMultiRead, "", g.allowed(proto.OpMultiRead, checkReads(ops)))
	if !ok || len(ops) == 0 {
		return MultiReadCall{c}
	}
	b := g.g.Begin(proto.OpMultiRead)
	from := len(g.ops)
	for _, o := range ops {
		h := proto.MultiHeader{Type: int32(o.op), Err: -1}
		b = proto.AppendWatched(h.AppendTo(b), g.cl.chroot, o.path, false)
		g.ops = append(g.ops, multiPart(o))
	}
	g.calls[c.i].parts = [2]int{from, len(g.ops)}
	end := proto.MultiHeader{Type: int32(proto.OpError), Done: true, Err: -1}
	c.end(end.AppendTo(b), nil)
	return MultiReadCall{c}
}

// checkReads returns a *MultiError for the first op that cannot be sent.
func checkReads(ops []ReadOp) error {
	for i, o := range ops {
		err := proto.ValidatePath(o.path)
		if o.op == 0 {
			err = ErrZeroValue
		}
		if err != nil {
			return &MultiError{Index: i, Op: opName(o.op), Path: o.path, Err: err}
		}
	}
	return nil
}

// MultiReadCall is the handle of a MultiRead in a Group.
type MultiReadCall struct{ c call }

// Results returns what each op has read, in their order. The slice is the caller's.
func (h MultiReadCall) Results() ([]ReadResult, error) {
	gc, r, err := h.c.reply()
	switch {
	case err != nil:
		return nil, err
	case gc.index < 0:
		return nil, nil // without ops nothing was sent
	case gc.reads == nil:
		gc.reads = h.c.g.decodeReads(gc, &r)
	}
	return gc.reads.results, gc.reads.err
}

// decodeReads reads the answer to a multiRead: an entry per op, of its type, or an error in its place.
func (g *Group) decodeReads(gc *groupCall, r *proto.Reader) *readsDone {
	parts := g.ops[gc.parts[0]:gc.parts[1]]
	entries, err := readResults(r, len(parts))
	if err != nil {
		return &readsDone{err: gc.malformed(err)}
	}
	results := make([]ReadResult, len(parts))
	for i := range entries {
		e, p := &entries[i], &parts[i]
		if e.Op != p.op && (e.Op != proto.OpError || e.Err == proto.CodeOK) {
			return &readsDone{err: gc.malformed(&ReplyError{opName(p.op) + " answered by " + e.Op.String()})}
		}
		results[i] = ReadResult{Path: p.path, Data: cloneBytes(e.Data), Stat: e.Stat, Children: e.Children, Err: e.Err.Err()}
		if e.Op == proto.OpGetChildren && e.Children == nil {
			results[i].Children = []string{}
		}
	}
	return &readsDone{results: results}
}

// Err returns nil if the reads were made, whatever they found.
func (h MultiReadCall) Err() error {
	_, err := h.Results()
	return err
}
