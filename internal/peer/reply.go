package peer

import (
	"encoding/binary"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// data is what every znode holds unless Options say otherwise.
const data = "hello"

// body appends the body of the reply to a request whose header has been read.
func (c *connection) body(op proto.Op, r *jute.Reader, zxid int64) proto.Code {
	switch op {
	case proto.OpPing, proto.OpAuth, proto.OpSetWatches, proto.OpSetWatches2, proto.OpCheckWatches, proto.OpRemoveWatches:
		return proto.CodeOK
	case proto.OpCloseSession:
		c.done = true
		return proto.CodeOK
	case proto.OpSync:
		c.out = appendBytes(c.out, r.StringBytes())
		return proto.CodeOK
	case proto.OpAddWatch:
		c.out = jute.AppendInt(c.out, 0)
		return proto.CodeOK
	case proto.OpMulti, proto.OpMultiRead:
		c.multi(r, zxid)
		return proto.CodeOK
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpDelete:
		return c.change(op, r, zxid)
	case proto.OpExists, proto.OpGetData, proto.OpSetData, proto.OpGetACL, proto.OpSetACL, proto.OpGetChildren, proto.OpGetChildren2:
		return c.use(op, r, zxid)
	}
	c.done = true // as a real server, which closes behind its answer
	return proto.ErrUnimplemented
}

// change answers what makes and removes znodes.
func (c *connection) change(op proto.Op, r *jute.Reader, zxid int64) proto.Code {
	path := r.StringBytes()
	if op == proto.OpDelete {
		r.Int() // version
		return c.remove(path)
	}
	flags := skipToFlags(r)
	if r.Err() != nil {
		return proto.ErrMarshalling
	}
	owner := int64(0)
	if flags.IsEphemeral() {
		owner = c.session
	}
	if flags.IsSequential() {
		path = c.live.add(path, c.srv.seq.Add(1)-1, zxid, owner).path
	}
	c.out = appendBytes(c.out, path)
	if op != proto.OpCreate {
		c.stat(zxid, owner, 0)
	}
	return proto.CodeOK
}

// skipToFlags passes over data and ACL of a CreateRequest and returns its last field.
func skipToFlags(r *jute.Reader) proto.CreateMode {
	r.Buffer()
	n, _ := r.Count(12)
	for range n {
		r.Int()
		r.StringBytes()
		r.StringBytes()
	}
	return proto.CreateMode(r.Int())
}

// remove deletes a node; whoever watched it has been told.
func (c *connection) remove(path []byte) proto.Code {
	if i := c.live.find(path); i >= 0 {
		c.live.remove(i)
		return proto.CodeOK
	}
	return c.exists(path)
}

// exists tells whether there is a znode at path that this connection has not made.
func (c *connection) exists(path []byte) proto.Code {
	seq, ok := sequence(path)
	if !ok || seq < int64(c.srv.ahead) || seq >= behindBase && seq < behindBase+int64(c.srv.behind) {
		return proto.CodeOK
	}
	return proto.ErrNoNode
}

// use answers what concerns one znode and does not make or remove it.
func (c *connection) use(op proto.Op, r *jute.Reader, zxid int64) proto.Code {
	path := r.StringBytes()
	watch := readUse(op, r)
	czxid, owner := zxid, int64(0)
	if i := c.live.find(path); i >= 0 {
		nd := &c.live[i]
		czxid, owner = nd.czxid, nd.owner
		nd.watched = nd.watched || watch && (op == proto.OpExists || op == proto.OpGetData)
	} else if code := c.exists(path); code != proto.CodeOK {
		return code
	}
	children := 0
	switch op {
	case proto.OpGetData:
		c.out = appendBytes(c.out, c.srv.data)
	case proto.OpGetACL:
		c.out = jute.AppendCount(c.out, 1)
		c.out = jute.AppendInt(c.out, proto.PermAll)
		c.out = jute.AppendString(c.out, "world")
		c.out = jute.AppendString(c.out, "anyone")
	case proto.OpGetChildren:
		c.children(path)
		return proto.CodeOK
	case proto.OpGetChildren2:
		children = c.children(path)
	}
	c.stat(czxid, owner, children)
	return proto.CodeOK
}

// readUse passes over what follows the path in the request of such an operation, and returns its watch flag. What is behind
// the path of a setACL stays unread, since nothing follows it.
func readUse(op proto.Op, r *jute.Reader) (watch bool) {
	switch op {
	case proto.OpExists, proto.OpGetData, proto.OpGetChildren, proto.OpGetChildren2:
		return r.Bool()
	case proto.OpSetData:
		r.Buffer()
		r.Int() // version
	}
	return false
}

// children appends the names of path's children and returns their number.
func (c *connection) children(path []byte) int {
	at := len(c.out)
	c.out = jute.AppendCount(c.out, 0)
	c.out = append(c.out, c.srv.fixed...)
	var own int
	c.out, own = c.live.appendChildren(c.out, path)
	n := c.srv.ahead + c.srv.behind + own
	binary.BigEndian.PutUint32(c.out[at:], uint32(n))
	return n
}

// stat appends a Stat.
func (c *connection) stat(czxid, owner int64, children int) {
	st := proto.Stat{
		Czxid: czxid, Mzxid: czxid, Pzxid: czxid, Ctime: 1, Mtime: 1, EphemeralOwner: owner,
		DataLength: int32(len(c.srv.data)), NumChildren: int32(children),
	}
	c.out = st.AppendTo(c.out)
}
