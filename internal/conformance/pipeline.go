package conformance

import (
	"context"
	"encoding/binary"
	"strconv"
	"sync"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
)

func pipelineEntries() []entry {
	return []entry{
		{"C40", "1000 calls made at once, their replies held back and released: each gets its own", nil, thousandCalls},
		{"C41", "create, get, set, get, delete without waiting: results as if sequential", nil, groupInOrder},
		{"C47 F15", "an unknown error code is an error that carries its number; the connection stays", nil, unknownCode},
		{"C48 E23", "an unknown opcode: -6 with zxid -1, a close, and the session goes on", nil, unknownOpcode},
		{"C42 C48", "a reply to nothing breaks the client's connection, and not its session", nil, replyToNothing},
		{"C51 F59", "a call cancelled in flight returns at once; its late reply disturbs nobody", nil, cancelledInFlight},
		{"C58", "10,000 reads outstanding on one connection are all answered", nil, manyOutstanding},
		{"C52 F35", "a connection lost with calls in flight: each completes once, as unknown", nil, lostInFlight},
	}
}

func thousandCalls(e *env) {
	const n = 1000
	c, tp := e.client()
	for i := range 10 {
		_, _, err := c.Create(e.ctx, "/"+strconv.Itoa(i), []byte(strconv.Itoa(i)), client.ModePersistent, nil)
		e.must(err)
	}
	tp.hold()
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() {
			want := strconv.Itoa(i % 10)
			if data, _, err := c.Get(e.ctx, "/"+want); err != nil || string(data) != want {
				e.Errorf("get /%s: %q, %v", want, data, err)
			}
		})
	}
	tp.await(e, n, replied(proto.OpGetData))
	tp.release()
	calls.Wait()
}

func groupInOrder(e *env) {
	c, _ := e.client()
	g := c.Group()
	created := g.Create("/a", []byte("1"), client.ModePersistent, nil)
	first := g.Get("/a", nil)
	set := g.Set("/a", []byte("2"), 0)
	second := g.Get("/a", nil)
	deleted := g.Delete("/a", 1)
	missing := g.Exists("/a")
	e.must(g.Do(e.ctx))
	_, st, err := created.Path()
	e.must(err)
	data, same, err := first.Data()
	e.must(err)
	equal(e, "first read", string(data), "1")
	equal(e, "stat of the first read", same, st)
	changed, err := set.Stat()
	e.must(err)
	data, same, err = second.Data()
	e.must(err)
	equal(e, "second read", string(data), "2")
	equal(e, "stat of the second read", same, changed)
	e.must(deleted.Err())
	if deleted.Zxid() <= changed.Mzxid {
		e.Errorf("zxid of the delete %#x, of the set %#x", deleted.Zxid(), changed.Mzxid)
	}
	_, ok, err := missing.Stat()
	e.must(err)
	equal(e, "exists in the end", ok, false)
}

func unknownCode(e *env) {
	c, tp := e.client()
	tp.rewrite(replied(proto.OpGetData), func(b []byte) []byte {
		b = b[:4+proto.ReplyHeaderSize]
		code := int32(-999)
		binary.BigEndian.PutUint32(b[16:], uint32(code))
		binary.BigEndian.PutUint32(b, proto.ReplyHeaderSize)
		return b
	})
	_, _, err := c.Get(e.ctx, "/")
	e.fails("get", err, client.Code(-999))
	e.outcome(err, client.OutcomeRejected, false)
	_, _, err = c.Get(e.ctx, "/")
	e.must(err)
	_, conns := tp.counts()
	equal(e, "connections", conns, 1)
}

func unknownOpcode(e *env) {
	r := e.raw()
	path := r.create(e.path("/e"), "", proto.ModeEphemeral)
	rep := r.do(99, none)
	equal(e, "code", rep.code, proto.ErrUnimplemented)
	equal(e, "zxid", rep.zxid, -1)
	r.gone()
	back := e.attach(r.again())
	equal(e, "owner", back.stat(path).EphemeralOwner, r.ss.SessionID)
}

func replyToNothing(e *env) {
	c, tp := e.client()
	w := e.follow(c)
	id := c.SessionID()
	e.must(tp.inject(requestFrame(1<<30, proto.OpExists, &proto.ExistsRequest{Path: e.root})))
	lost := w.until(client.StateDisconnected)
	if lost.Err == nil {
		e.Error("no reason for the disconnect")
	}
	w.until(client.StateConnected)
	e.must(tp.inject(requestFrame(1<<30, 99, none)))
	w.until(client.StateDisconnected)
	equal(e, "session", w.until(client.StateConnected).SessionID, id)
	_, _, err := c.Get(e.ctx, "/")
	e.must(err)
}

func cancelledInFlight(e *env) {
	c, tp := e.client()
	ctx, cancel := context.WithCancel(e.ctx)
	tp.hold()
	written := e.spawn(func() error { _, err := c.Set(ctx, "/", []byte("late"), client.AnyVersion); return err })
	tp.await(e, 1, replied(proto.OpSetData))
	cancel()
	err := e.result(written)
	e.fails("set", err, context.Canceled)
	e.outcome(err, client.OutcomeUnknown, true)
	read := e.spawn(func() error {
		data, _, err := c.Get(e.ctx, "/")
		equal(e, "data", string(data), "late")
		return err
	})
	tp.release()
	e.must(e.result(read))
	_, conns := tp.counts()
	equal(e, "connections", conns, 1)

	before := len(tp.frames(anySent))
	_, _, err = c.Get(ctx, "/")
	e.fails("get with a dead context", err, context.Canceled)
	e.outcome(err, client.OutcomeNotSent, false)
	equal(e, "requests written for it", len(tp.frames(anySent))-before, 0)
}

func manyOutstanding(e *env) {
	const n = 10_000
	c, _ := e.client()
	_, err := c.Set(e.ctx, "/", make([]byte, 500), client.AnyVersion)
	e.must(err)
	g := c.Group()
	calls := make([]client.GetCall, n)
	for i := range calls {
		calls[i] = g.Get("/", nil)
	}
	e.must(g.Do(e.ctx))
	for i := range calls {
		if data, _, err := calls[i].Data(); err != nil || len(data) != 500 {
			e.Fatalf("read %d: %d bytes, %v", i, len(data), err)
		}
	}
}

func lostInFlight(e *env) {
	const n = 100
	c, tp := e.client()
	tp.hold()
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() {
			_, err := c.Set(e.ctx, "/", nil, client.AnyVersion)
			e.outcome(err, client.OutcomeUnknown, true)
		})
	}
	tp.await(e, n, replied(proto.OpSetData))
	tp.cut()
	calls.Wait()
	tp.release()
	_, st, err := c.Get(e.ctx, "/")
	e.must(err)
	equal(e, "version: nothing was sent again", st.Version, n)
}
