package conformance

import (
	"encoding/binary"
	"net"
	"slices"
	"sync"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// link is one connection through a tap.
type link struct {
	tp     *tap
	number int      // from 1
	far    net.Conn // the other end of what the client has; buffered without bound, so that writes never block
	server net.Conn

	writing sync.Mutex // a leaf: one write to the server at a time

	// Guarded by tap.mu.
	ops     map[int32][]request // what the client has asked for and was not answered; xids below 0 may be used again
	held    []byte              // what is kept back from the client
	shakes  [2]bool             // the first frame of a direction has passed; indexed by side
	goneFar bool                // ended
}

// request is what is known of a request when its reply comes.
type request struct {
	op   proto.Op
	path string
}

// frame is one frame that has passed.
type frame struct {
	conn  int  // number of the connection, from 1
	out   bool // from the client
	shake bool // the first of its direction, which has no header
	xid   int32
	op    proto.Op // of the request, also in its reply; OpNotification for events
	path  string   // the first field of a request, if it is a path, also in its reply; of an event
	zxid  int64    // of a reply
	code  proto.Code
	body  []byte // behind the header; of a shake everything
}

// end takes the link out of its tap and closes both sides.
func (l *link) end() {
	l.tp.mu.Lock()
	defer l.tp.mu.Unlock()
	l.endLocked()
}

func (l *link) endLocked() {
	if l.goneFar {
		return
	}
	l.goneFar = true
	l.tp.conns = slices.DeleteFunc(l.tp.conns, func(o *link) bool { return o == l })
	_ = l.far.Close() // the two loops see the end, and nobody else cares
	_ = l.server.Close()
}

// write sends to the server.
func (l *link) write(b []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	_, err := l.server.Write(b)
	return err
}

// deliverLocked sends to the client, or keeps back.
func (l *link) deliverLocked(b []byte) {
	if l.tp.held {
		l.held = append(l.held, b...)
		return
	}
	if len(l.held) > 0 {
		b = append(l.held, b...)
		l.held = nil
	}
	if len(b) > 0 {
		_, _ = l.far.Write(b) // fails only when the client has closed
	}
}

// up carries what the client sends.
func (l *link) up() {
	defer l.tp.wg.Done()
	defer l.end()
	cutter{src: l.far}.run(func(raws [][]byte) bool {
		var batch []byte
		do := pass
		l.tp.mu.Lock()
		for _, raw := range raws {
			var send []byte
			do, send = l.tp.noteLocked(l.parseOutLocked(raw), raw)
			batch = append(batch, send...)
			if do&cut != 0 {
				break
			}
		}
		l.tp.mu.Unlock()
		return (len(batch) == 0 || l.write(batch) == nil) && do&cut == 0
	})
}

// down carries what the server sends.
func (l *link) down() {
	defer l.tp.wg.Done()
	defer l.end()
	cutter{src: l.server}.run(func(raws [][]byte) bool {
		l.tp.mu.Lock()
		defer l.tp.mu.Unlock()
		var batch []byte
		for _, raw := range raws {
			do, send := l.tp.noteLocked(l.parseInLocked(raw), raw)
			batch = append(batch, send...)
			if do&cut != 0 {
				l.deliverLocked(batch)
				return false
			}
		}
		l.deliverLocked(batch)
		return true
	})
}

// parseOutLocked reads the header of a client's frame, and the path that most requests begin with.
func (l *link) parseOutLocked(raw []byte) frame {
	f := frame{conn: l.number, out: true, shake: !l.shakes[0]}
	l.shakes[0] = true
	if f.shake {
		f.body = slices.Clone(raw[4:])
		return f
	}
	r := jute.NewReader(raw[4:])
	f.xid, f.op = r.Int(), proto.Op(r.Int())
	f.body = slices.Clone(r.Rest())
	switch f.op {
	case proto.OpPing, proto.OpAuth, proto.OpSetWatches, proto.OpMulti, proto.OpCloseSession:
	default:
		f.path = r.String()
	}
	l.ops[f.xid] = append(l.ops[f.xid], request{f.op, f.path})
	return f
}

// parseInLocked reads the header of a server's frame, and an event's path.
func (l *link) parseInLocked(raw []byte) frame {
	f := frame{conn: l.number, shake: !l.shakes[1]}
	l.shakes[1] = true
	if f.shake {
		f.body = slices.Clone(raw[4:])
		return f
	}
	r := jute.NewReader(raw[4:])
	f.xid, f.zxid, f.code = r.Int(), r.Long(), proto.Code(r.Int())
	f.body = slices.Clone(r.Rest())
	if f.xid == proto.XidNotification {
		r.Skip(8) // type and state
		f.path = r.String()
		return f
	}
	if asked := l.ops[f.xid]; len(asked) > 1 {
		f.op, f.path = asked[0].op, asked[0].path
		l.ops[f.xid] = asked[1:]
	} else if len(asked) == 1 {
		f.op, f.path = asked[0].op, asked[0].path
		delete(l.ops, f.xid)
	}
	return f
}

// cutter cuts a stream into frames.
type cutter struct {
	src net.Conn
	buf []byte
}

// run calls f with the frames that have arrived together, each with its length, until f returns false or the stream ends.
func (c cutter) run(f func(raws [][]byte) bool) {
	chunk := make([]byte, 64<<10)
	for {
		n, err := c.src.Read(chunk)
		c.buf = append(c.buf, chunk[:n]...)
		var raws [][]byte
		for len(c.buf) >= 4 {
			size := 4 + int(binary.BigEndian.Uint32(c.buf))
			if len(c.buf) < size {
				break
			}
			raws = append(raws, c.buf[:size:size])
			c.buf = c.buf[size:]
		}
		if len(raws) > 0 && !f(raws) || err != nil {
			return
		}
	}
}
