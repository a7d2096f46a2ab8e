package client

import (
	"context"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/session"
)

// Group is a list of requests that are queued together and stand next to each other on the wire, with nothing of anybody
// else in between; it takes one round trip. It is not a transaction: each request has its own result, and the requests of
// others may be served between two of them. For all or nothing there is Multi.
//
// The methods named after operations add a request and return a handle, a small value. Do sends the requests and waits; the
// handles then tell the results. The first request added after Do begins a new round, in which the handles of the round
// before return ErrStaleCall. After some rounds a Group allocates nothing.
//
// A Group is made by Client.Group or Generation.Group. It is for one goroutine at a time. The methods of a nil or zero Group
// do nothing, and its handles return errors that match ErrZeroValue.
type Group struct {
	cl    *Client
	ss    *session.Session // the only session that may carry the group; nil: the current one
	at    *session.Session // the one that Submit gave it to
	g     *session.Group   // nil until needed, and after one was left to the session
	calls []groupCall
	ops   []multiPart // of all multis and multiReads in calls
	round uint64      // of the handles
	sent  bool        // Do or Submit was called: the next request begins a new round
	bad   bool        // one of calls cannot be sent

	refusal error // why nothing was sent, when that is not in g
	refused error // what the session refused the group with; its results say so too
	lost    error // why g was left to the session, with requests in flight
}

// groupCall is what a Group knows of one of its requests.
type groupCall struct {
	op    proto.Op
	path  string
	buf   []byte     // get: where the data goes
	index int        // in the session's group; -1 when there is nothing to send
	err   error      // why the request cannot be sent
	multi *multiDone // multi: the result, decoded on demand
	reads *readsDone // multiRead: the same
	parts [2]int     // multi and multiRead: their part of the group's ops
}

// call is a handle: it finds a request of a Group as long as the Group is in the same round.
type call struct {
	g     *Group
	i     int
	round uint64
}

// Group returns an empty group. Its rounds are carried by whatever session is current.
func (c *Client) Group() *Group {
	if !c.usable() {
		return &Group{}
	}
	return &Group{cl: c}
}

// Do sends the requests and waits for all replies, or for the end of ctx. It returns nil or the first error of any kind in
// the order of the requests; what became of the others, the handles tell. If one of the requests cannot be sent, because
// its path is invalid or it is too large, nothing is sent: the others fail with ErrGroupRefused. If ctx ends while requests
// are in flight, all fail with its error and an unknown outcome. Without requests Do returns nil; called again before a new
// request it returns the same as before.
func (g *Group) Do(ctx context.Context) error {
	if g == nil || g.cl == nil {
		return &Error{Op: "group", Err: ErrZeroValue, Outcome: session.NotSent}
	}
	if !g.sent {
		g.run(ctx)
	}
	return g.firstError()
}

// run is Do without its result.
func (g *Group) run(ctx context.Context) {
	g.sent = true
	if g.refuse(ctx) || g.g == nil || g.g.Len() == 0 {
		return
	}
	var kept bool
	var err error
	if g.ss != nil {
		kept, err = g.ss.Do(ctx, g.g)
	} else {
		kept, err = g.cl.keep.Do(ctx, g.g)
	}
	if kept {
		g.refused = err
	} else {
		g.g, g.lost = nil, err
	}
}

// refuse decides whether nothing can be sent.
func (g *Group) refuse(ctx context.Context) bool {
	switch {
	case ctx == nil:
		g.refusal = ErrNilContext
	case g.bad:
		g.refusal = ErrGroupRefused
	}
	return g.refusal != nil
}

// firstError returns the first error in the order of the requests.
func (g *Group) firstError() error {
	for i := range g.calls {
		if err := g.verify(i); err != nil {
			return err
		}
	}
	return nil
}

// reset ends a round: handles become stale, and nothing of the callers' is kept.
func (g *Group) reset() {
	g.round++
	clear(g.calls)
	clear(g.ops)
	g.calls, g.ops = g.calls[:0], g.ops[:0]
	g.sent, g.bad = false, false
	g.refusal, g.refused, g.lost = nil, nil, nil
	if g.g != nil {
		g.g.Reset()
	}
}

// add begins a request, in a new round if the last one is done, and says whether it is to be encoded: err is why not.
func (g *Group) add(op proto.Op, path string, err error) (call, bool) {
	if g == nil || g.cl == nil {
		return call{}, false
	}
	if g.sent {
		g.reset()
	}
	if g.g == nil {
		g.g = session.NewGroup()
	}
	c := call{g, len(g.calls), g.round}
	g.calls = append(g.calls, groupCall{op: op, path: path, err: err, index: -1})
	g.bad = g.bad || err != nil
	return c, err == nil
}

// end completes the request that add began, with the record appended to what g.g.Begin returned.
func (c call) end(b []byte, w *session.Watch) {
	g := c.g
	gc, before := &g.calls[c.i], g.g.Size()
	gc.index = g.g.End(b, w)
	if size := g.g.Size() - before - 4; size > g.cl.sendLimit {
		gc.err, g.bad = &RequestTooLargeError{Op: gc.op, Size: size, Limit: g.cl.sendLimit}, true
	}
}

// Exists adds a look at a znode's Stat.
func (g *Group) Exists(path string) ExistsCall { return g.exists(path, nil) }

func (g *Group) exists(path string, w *session.Watch) ExistsCall {
	c, ok := g.add(proto.OpExists, path, proto.ValidatePath(path))
	if ok {
		c.end(proto.AppendWatched(g.g.Begin(proto.OpExists), g.cl.chroot, path, w != nil), w)
	}
	return ExistsCall{c}
}

// Get adds the reading of a znode's data. GetCall.Data appends it to buf[:0], so that nothing is allocated if it fits; buf may
// be nil, and must not be used otherwise until then.
func (g *Group) Get(path string, buf []byte) GetCall { return g.get(path, buf, nil) }

func (g *Group) get(path string, buf []byte, w *session.Watch) GetCall {
	c, ok := g.add(proto.OpGetData, path, proto.ValidatePath(path))
	if c.g != nil {
		g.calls[c.i].buf = buf
	}
	if ok {
		c.end(proto.AppendWatched(g.g.Begin(proto.OpGetData), g.cl.chroot, path, w != nil), w)
	}
	return GetCall{c}
}

// Set adds the replacement of a znode's data, which is encoded at once: the caller may reuse it. See Client.Set.
func (g *Group) Set(path string, data []byte, version int32) SetCall {
	c, ok := g.add(proto.OpSetData, path, proto.ValidatePath(path))
	if ok {
		c.end(proto.AppendSetData(g.g.Begin(proto.OpSetData), g.cl.chroot, path, data, version), nil)
	}
	return SetCall{c}
}

// Delete adds the deletion of a znode. See Client.Delete.
func (g *Group) Delete(path string, version int32) DeleteCall {
	c, ok := g.add(proto.OpDelete, path, proto.ValidatePath(path))
	if ok {
		c.end(proto.AppendVersioned(g.g.Begin(proto.OpDelete), g.cl.chroot, path, version), nil)
	}
	return DeleteCall{c}
}

// Create adds the creation of a znode. data and acl are encoded at once: the caller may reuse them. See Client.Create.
func (g *Group) Create(path string, data []byte, mode CreateMode, acl []ACL) CreateCall {
	op := mode.Op()
	c, ok := g.add(op, path, g.allowed(op, checkCreate(path, mode)))
	if ok {
		if acl == nil {
			acl = g.cl.acl
		}
		c.end(proto.AppendCreate(g.g.Begin(op), g.cl.chroot, path, data, acl, mode), nil)
	}
	return CreateCall{c}
}

// Children adds the listing of a znode's children.
func (g *Group) Children(path string) ChildrenCall { return g.children(path, nil) }

func (g *Group) children(path string, w *session.Watch) ChildrenCall {
	c, ok := g.add(proto.OpGetChildren2, path, proto.ValidatePath(path))
	if ok {
		c.end(proto.AppendWatched(g.g.Begin(proto.OpGetChildren2), g.cl.chroot, path, w != nil), w)
	}
	return ChildrenCall{c}
}

// GetACL adds the reading of a znode's access list.
func (g *Group) GetACL(path string) GetACLCall {
	c, ok := g.add(proto.OpGetACL, path, proto.ValidatePath(path))
	if ok {
		c.end(proto.AppendPath(g.g.Begin(proto.OpGetACL), g.cl.chroot, path), nil)
	}
	return GetACLCall{c}
}

// SetACL adds the replacement of a znode's access list, which is encoded at once. See Client.SetACL.
func (g *Group) SetACL(path string, acl []ACL, aversion int32) SetACLCall {
	c, ok := g.add(proto.OpSetACL, path, proto.ValidatePath(path))
	if ok {
		c.end(proto.AppendSetACL(g.g.Begin(proto.OpSetACL), g.cl.chroot, path, acl, aversion), nil)
	}
	return SetACLCall{c}
}

// Sync adds a sync: what follows it in the group is served by a server that has caught up. See Client.Sync.
func (g *Group) Sync(path string) SyncCall {
	c, ok := g.add(proto.OpSync, path, proto.ValidatePath(path))
	if ok {
		c.end(proto.AppendPath(g.g.Begin(proto.OpSync), g.cl.chroot, path), nil)
	}
	return SyncCall{c}
}

// turnedAway reports whether the session refused the group because it is over, which leaves the group unsent.
func (g *Group) turnedAway() bool {
	return g.refused == error(session.ErrSessionExpired)
}
