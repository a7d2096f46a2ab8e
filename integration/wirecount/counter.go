package wirecount

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/lockkeeper/lockkeeper/integration/faultproxy"
	"github.com/lockkeeper/lockkeeper/proto"
)

// ErrNotProtocol is matched by the error of a Counter in whose connections something else has passed.
var ErrNotProtocol = errors.New("not ZooKeeper's protocol")

// StreamError says what there was instead of the protocol. It matches ErrNotProtocol.
type StreamError struct {
	What  string // what the bytes should have been
	Bytes string // a few of them
}

// Error names both.
func (e *StreamError) Error() string {
	return fmt.Sprintf("wirecount: %v: %q is not %s", ErrNotProtocol, e.Bytes, e.What)
}

// Unwrap returns ErrNotProtocol.
func (e *StreamError) Unwrap() error { return ErrNotProtocol }

// Counter counts in all connections for which Conn was called. The zero Counter is ready; it must not be copied. All methods
// may be called from any goroutine.
type Counter struct {
	mu      sync.Mutex // guards what follows, and the state of all connections; a leaf
	tally   Tally
	err     error
	changed chan struct{} // closed by the next change; nil when nobody waits for one
}

// Conn is for Options.Conn of a faultproxy.Proxy: it returns the filter of one connection.
func (c *Counter) Conn() func(d faultproxy.Direction) func(chunk []byte) []byte {
	k := &connection{c: c}
	return func(d faultproxy.Direction) func([]byte) []byte {
		count, s := k.sent, new(stream)
		if d == faultproxy.ToClient {
			count = k.received
		}
		return func(chunk []byte) []byte {
			k.see(s, chunk, count)
			return chunk
		}
	}
}

// Tally returns what has passed so far. Its map is the caller's.
func (c *Counter) Tally() Tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tally.clone()
}

// Err returns the first reason why a connection is not counted any more, nil if there is none. It matches ErrNotProtocol.
func (c *Counter) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Await returns the first tally of which ok is true. It waits until there is one, until ctx ends, or until a connection
// cannot be counted. ok is called with no lock held, and not for every tally in between.
func (c *Counter) Await(ctx context.Context, ok func(Tally) bool) (Tally, error) {
	for {
		c.mu.Lock()
		t, err := c.tally.clone(), c.err
		if c.changed == nil {
			c.changed = make(chan struct{})
		}
		changed := c.changed
		c.mu.Unlock()
		if err != nil || ok(t) {
			return t, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return t, fmt.Errorf("wirecount: %w", ctx.Err())
		}
	}
}

// connection is one of the Counter's. Its fields are guarded by the Counter's mu.
type connection struct {
	c         *Counter
	lost      bool      // what passes is not understood
	asked     bool      // the ConnectRequest has passed
	answered  bool      // so has the ConnectResponse
	watching  bool      // it is one of Tally.Watching
	unreplied []request // in the order in which they were sent
}

// request is one without a reply.
type request struct {
	xid   int32
	op    proto.Op
	watch bool
}

// see takes a chunk of one direction, whose frames go to count with mu held.
func (k *connection) see(s *stream, chunk []byte, count func(frame) error) {
	c := k.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.lost {
		return
	}
	if err := s.cut(chunk, count); err != nil {
		k.lost = true
		if c.err == nil {
			c.err = err
		}
	}
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// sent counts a frame to the server.
func (k *connection) sent(f frame) error {
	t := &k.c.tally
	if !k.asked {
		k.asked = true
		t.Handshakes++
		t.BytesIn += int64(lengthSize + f.size)
		return nil
	}
	if f.size < proto.RequestHeaderSize {
		return &StreamError{What: "a request", Bytes: string(f.header)}
	}
	r := request{xid: int32At(f.header, 0), op: proto.Op(int32At(f.header, 4))}
	switch r.op {
	case proto.OpExists, proto.OpGetData, proto.OpGetChildren, proto.OpGetChildren2:
		r.watch = f.last != 0 // the flag ends all four records
	case proto.OpAddWatch:
		r.watch = true
	}
	if t.Ops == nil {
		t.Ops = make(map[proto.Op]int64)
	}
	t.Ops[r.op]++
	if k.watching && KindOf(r.op) == Write {
		k.watching = false
		t.Watching--
	}
	t.Outstanding++
	t.BytesIn += int64(lengthSize + f.size)
	k.unreplied = append(k.unreplied, r)
	return nil
}

// Where a reply's header has its error code, behind xid and zxid.
const codeOffset = 12

// received counts a frame from the server.
func (k *connection) received(f frame) error {
	t := &k.c.tally
	if !k.answered {
		k.answered = true
		t.BytesOut += int64(lengthSize + f.size)
		return nil
	}
	if f.size < proto.ReplyHeaderSize {
		return &StreamError{What: "a reply", Bytes: string(f.header)}
	}
	xid, code := int32At(f.header, 0), proto.Code(int32At(f.header, codeOffset))
	if xid == proto.XidNotification {
		t.Notifications++
		t.BytesOut += int64(lengthSize + f.size)
		return nil
	}
	// Nearly always the first: only the answer to an auth request overtakes others (docs/protocol.md section 13).
	i := slices.IndexFunc(k.unreplied, func(r request) bool { return r.xid == xid })
	if i < 0 {
		return &StreamError{What: "a reply to anything that was asked", Bytes: string(f.header)}
	}
	r := k.unreplied[i]
	k.unreplied = slices.Delete(k.unreplied, i, i+1)
	t.Replies++
	t.Outstanding--
	t.BytesOut += int64(lengthSize + f.size)
	if r.watch && (code == proto.CodeOK || r.op == proto.OpExists && code == proto.ErrNoNode) {
		t.Watches++
		if !k.watching {
			k.watching = true
			t.Watching++
		}
	}
	return nil
}

func int32At(b []byte, i int) int32 { return int32(binary.BigEndian.Uint32(b[i:])) }
