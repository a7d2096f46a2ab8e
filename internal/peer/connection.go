package peer

import (
	"encoding/binary"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// flushSize is how many bytes of replies are collected at most while more requests are there.
const flushSize = 64 << 10

// smallReplies is what a frugal peer keeps for the next replies, in bytes.
const smallReplies = 4 << 10

// connection is one client. It is owned by the goroutine of Serve.
type connection struct {
	srv     *Server
	fc      *conn.Conn
	out     []byte // replies that have yet to be written
	live    nodes
	session int64
	done    bool // after this batch the connection ends
}

// handshake gives the client the session and the timeout that it asks for.
func (c *connection) handshake() error {
	req, hasReadOnly, err := c.fc.ReadConnectRequest()
	if err != nil {
		return err
	}
	c.session = req.SessionID
	if c.session == 0 {
		c.session = 0x100000000000000 + c.srv.sessions.Add(1)
	}
	rep := proto.ConnectResponse{TimeOut: max(req.TimeOut, 1), SessionID: c.session, Passwd: []byte("lockkeeper--peer")}
	out, start := conn.BeginFrame(c.out)
	out = rep.AppendTo(out)
	if !hasReadOnly {
		out = out[:len(out)-1]
	}
	conn.EndFrame(out, start)
	c.out = out[:0]
	return c.fc.WriteBatch(out)
}

// loop answers requests; those that arrived together get their replies together.
func (c *connection) loop() error {
	requests := int64(0)
	for {
		if !c.fc.Buffered() || c.done {
			c.srv.requests.Add(requests)
			c.srv.bursts.Add(min(requests, 1))
			requests = 0
			if err := c.flush(); err != nil || c.done {
				return err
			}
		}
		body, err := c.fc.ReadFrame()
		if err != nil {
			return err
		}
		r := jute.NewReader(body)
		var h proto.RequestHeader
		h.ReadFrom(&r)
		if proto.Op(h.Type) == proto.OpPing {
			c.srv.pings.Add(1)
		} else {
			requests++
		}
		c.answer(&h, &r)
		if len(c.out) >= flushSize {
			if err := c.flush(); err != nil {
				return err
			}
		}
	}
}

func (c *connection) flush() error {
	err := c.fc.WriteBatch(c.out)
	if c.out = c.out[:0]; c.srv.frugal && cap(c.out) > smallReplies {
		c.out = nil
	}
	return err
}

// answer appends the reply to one request, and in front of it the event that the request causes.
func (c *connection) answer(h *proto.RequestHeader, r *jute.Reader) {
	op := proto.Op(h.Type)
	zxid := c.srv.zxid.Load()
	if op.IsWrite() {
		zxid = c.srv.zxid.Add(1)
	}
	if op == proto.OpDelete {
		peek := *r
		c.notifyDeletion(peek.StringBytes())
	}
	out, start := conn.BeginFrame(c.out)
	rep := proto.ReplyHeader{Xid: h.Xid, Zxid: zxid}
	c.out = rep.AppendTo(out)
	code := c.body(op, r, zxid)
	if r.Err() != nil {
		code = proto.ErrMarshalling
	}
	if code != proto.CodeOK {
		rep.Err = int32(code)
		c.out = rep.AppendTo(c.out[:start+4])
	}
	conn.EndFrame(c.out, start)
}

// notifyDeletion sends the event of a watched node that is about to be deleted.
func (c *connection) notifyDeletion(path []byte) {
	i := c.live.find(path)
	if i < 0 || !c.live[i].watched {
		return
	}
	out, start := conn.BeginFrame(c.out)
	h := proto.ReplyHeader{Xid: proto.XidNotification, Zxid: -1}
	out = h.AppendTo(out)
	out = jute.AppendInt(out, int32(proto.EventNodeDeleted))
	out = jute.AppendInt(out, int32(proto.KeeperSyncConnected))
	out = appendBytes(out, path)
	conn.EndFrame(out, start)
	c.out = out
}

// appendBytes appends b as a string or buffer that is not null.
func appendBytes(dst, b []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(b)))
	return append(dst, b...)
}
