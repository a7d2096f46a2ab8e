package conformance

import (
	"errors"
	"fmt"
	"strings"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
)

func frameEntries() []entry {
	return []entry{
		{"C20 F06", "a request over the send limit is refused before anything is written", nil, overSendLimit},
		{"C21 F04", "a setData of 1,048,575 bytes is applied and read back", nil, largestRequest},
		{"C22 F04", "one byte more: the server closes, the client reconnects and does not send again", nil, tooLargeRequest},
		{"C23 F03", "an answer with many children, over a megabyte, is read", nil, largeAnswer},
		{"C16", "an answer over the receive limit fails its call and nothing else", nil, overReceiveLimit},
	}
}

func overSendLimit(e *env) {
	c, tp := e.client(client.SendLimit(1000))
	data := make([]byte, 1000)
	_, err := c.Set(e.ctx, "/", data, client.AnyVersion)
	var large *client.RequestTooLargeError
	if !errors.As(err, &large) {
		e.Fatalf("set of 1000 bytes: %v", err)
	}
	e.outcome(err, client.OutcomeNotSent, false)
	equal(e, "limit", large.Limit, 1000)
	_, err = c.Multi(e.ctx, client.SetOp("/", data, client.AnyVersion))
	e.outcome(err, client.OutcomeNotSent, false)
	_, _, err = c.Get(e.ctx, "/")
	e.must(err)
	equal(e, "requests on the wire", len(tp.frames(anySent)), 1)
	_, conns := tp.counts()
	equal(e, "connections", conns, 1)
}

// largest is what a server accepts, in bytes of a frame.
const largest = 1048575

// dataFor returns the data with which a setData of path makes a frame of size bytes (docs/protocol.md section 3).
func dataFor(path string, size int) []byte { return []byte(strings.Repeat("x", size-20-len(path))) }

func largestRequest(e *env) {
	c, tp := e.client()
	data := dataFor(e.root, largest)
	_, err := c.Set(e.ctx, "/", data, client.AnyVersion)
	e.must(err)
	got, _, err := c.Get(e.ctx, "/")
	e.must(err)
	equal(e, "data read is data written", string(got) == string(data), true)
	equal(e, "size of the request", len(tp.frames(sent(proto.OpSetData))[0].body)+proto.RequestHeaderSize, largest)
	if n := len(tp.frames(replied(proto.OpGetData))[0].body) + proto.ReplyHeaderSize; n <= largest {
		e.Errorf("the answer has %d bytes, which shows nothing", n)
	}
}

func tooLargeRequest(e *env) {
	c, tp := e.client(client.SendLimit(2 << 20))
	id := c.SessionID()
	_, err := c.Set(e.ctx, "/", dataFor(e.root, largest+1), client.AnyVersion)
	e.fails("set", err, client.ErrConnectionLoss)
	e.outcome(err, client.OutcomeUnknown, true)
	_, st, err := c.Get(e.ctx, "/")
	e.must(err)
	equal(e, "version", st.Version, 0)
	equal(e, "same session", c.SessionID() == id, true)
	equal(e, "setData requests on the wire", len(tp.frames(sent(proto.OpSetData))), 1)
	_, conns := tp.counts()
	equal(e, "connections", conns, 2)
}

func largeAnswer(e *env) {
	const children, size = 5000, 220
	c, tp := e.client()
	for from := 0; from < children; from += 500 {
		ops := make([]client.Op, 500)
		for i := range ops {
			ops[i] = client.CreateOp(fmt.Sprintf("/%0*d", size, from+i), nil, client.ModePersistent, nil)
		}
		_, err := c.Multi(e.ctx, ops...)
		e.must(err)
	}
	names, st, err := c.Children(e.ctx, "/")
	e.must(err)
	equal(e, "children", len(names), children)
	equal(e, "numChildren", st.NumChildren, children)
	seen := map[string]bool{}
	for _, name := range names {
		if len(name) != size || seen[name] {
			e.Fatalf("name %q is wrong or there twice", name)
		}
		seen[name] = true
	}
	if n := len(tp.frames(replied(proto.OpGetChildren2))[0].body); n <= largest {
		e.Errorf("the answer has %d bytes, which shows nothing", n)
	}
}

func overReceiveLimit(e *env) {
	c, tp := e.client(client.ReceiveLimit(1000))
	_, err := c.Set(e.ctx, "/", make([]byte, 2000), client.AnyVersion)
	e.must(err)
	g := c.Group()
	large, after := g.Get("/", nil), g.Exists("/")
	_ = g.Do(e.ctx) // the first error, which the handle tells too
	_, _, err = large.Data()
	if err == nil || !strings.Contains(err.Error(), "get /") {
		e.Errorf("get: %v, want an error that names it", err)
	}
	e.outcome(err, client.OutcomeUnknown, false)
	if _, ok, err := after.Stat(); err != nil || !ok {
		e.Errorf("the next reply: %v, %v", ok, err)
	}
	_, conns := tp.counts()
	equal(e, "connections", conns, 1)
}
