package wirecount_test

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"reflect"
	"testing"

	"github.com/lockkeeper/lockkeeper/integration/faultproxy"
	"github.com/lockkeeper/lockkeeper/integration/wirecount"
	"github.com/lockkeeper/lockkeeper/proto"
)

// framed puts a body behind its length.
func framed(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func asked(xid int32, op proto.Op, record interface{ AppendTo([]byte) []byte }) []byte {
	b := (&proto.RequestHeader{Xid: xid, Type: int32(op)}).AppendTo(nil)
	if record != nil {
		b = record.AppendTo(b)
	}
	return framed(b)
}

func answered(xid int32, code proto.Code, body ...byte) []byte {
	return framed(append((&proto.ReplyHeader{Xid: xid, Zxid: 7, Err: int32(code)}).AppendTo(nil), body...))
}

// dialogue is what a connection says in either direction, and what has to be counted of it.
func dialogue() (toServer, toClient []byte, want wirecount.Tally) {
	watch := func(path string) *proto.GetDataRequest { return &proto.GetDataRequest{Path: path, Watch: true} }
	for _, b := range [][]byte{
		framed((&proto.ConnectRequest{}).AppendTo(nil)),
		asked(1, proto.OpGetData, watch("/a")),
		asked(2, proto.OpGetData, watch("/missing")),
		asked(3, proto.OpExists, &proto.ExistsRequest{Path: "/missing", Watch: true}),
		asked(4, proto.OpGetData, &proto.GetDataRequest{Path: "/a"}),
		asked(proto.XidPing, proto.OpPing, nil),
		asked(proto.XidAuth, proto.OpAuth, &proto.AuthPacket{}),
		asked(5, proto.OpSync, &proto.SyncRequest{Path: "/a"}),
		asked(6, proto.OpGetChildren2, &proto.GetChildren2Request{Path: "/", Watch: true}),
		asked(7, proto.OpDelete, &proto.DeleteRequest{Path: "/a", Version: 256}),
	} {
		toServer = append(toServer, b...)
	}
	for _, b := range [][]byte{
		framed((&proto.ConnectResponse{}).AppendTo(nil)),
		answered(proto.XidAuth, proto.CodeOK), // overtakes
		answered(1, proto.CodeOK, 0, 0, 0, 0),
		answered(2, proto.ErrNoNode),
		answered(3, proto.ErrNoNode),
		answered(4, proto.CodeOK, 0, 0, 0, 0),
		answered(proto.XidNotification, proto.CodeOK, 1, 2, 3),
		answered(proto.XidPing, proto.CodeOK),
		answered(5, proto.CodeOK),
		answered(6, proto.ErrNoAuth),
	} {
		toClient = append(toClient, b...)
	}
	return toServer, toClient, wirecount.Tally{
		Ops: map[proto.Op]int64{proto.OpGetData: 3, proto.OpExists: 1, proto.OpPing: 1, proto.OpAuth: 1, proto.OpSync: 1,
			proto.OpGetChildren2: 1, proto.OpDelete: 1},
		Handshakes: 1, Replies: 8, Notifications: 1, Watches: 2, BytesIn: int64(len(toServer)), BytesOut: int64(len(toClient)),
		Outstanding: 1, Watching: 1,
	}
}

func same(a, b wirecount.Tally) bool {
	ops := maps.Equal(a.Ops, b.Ops)
	a.Ops, b.Ops = nil, nil
	return ops && reflect.DeepEqual(a, b)
}

// A stream may arrive in any pieces, and the counter gives back what it was given.
func TestFramesAreCountedHoweverTheyAreCut(t *testing.T) {
	toServer, toClient, want := dialogue()
	for size := 1; size <= len(toServer); size++ {
		c := new(wirecount.Counter)
		filter := c.Conn()
		for i, stream := range [][]byte{toServer, toClient} {
			see := filter(faultproxy.Direction(i))
			for at := 0; at < len(stream); at += size {
				piece := stream[at:min(at+size, len(stream))]
				if got := see(piece); string(got) != string(piece) {
					t.Fatalf("pieces of %d: %q became %q", size, piece, got)
				}
			}
		}
		if got := c.Tally(); c.Err() != nil || !same(got, want) {
			t.Fatalf("pieces of %d: %+v, %v, want %+v", size, got, c.Err(), want)
		}
	}
}

func TestTwoConnectionsDoNotMix(t *testing.T) {
	toServer, toClient, want := dialogue()
	c := new(wirecount.Counter)
	one, two := c.Conn(), c.Conn()
	half := len(toServer) / 2
	first, second := one(faultproxy.ToServer), two(faultproxy.ToServer)
	first(toServer[:half])
	second(toServer)
	first(toServer[half:])
	two(faultproxy.ToClient)(toClient)
	before := c.Tally()
	one(faultproxy.ToClient)(toClient)
	got := c.Tally()
	if c.Err() != nil || got.Watching != 2 || got.Outstanding != 2 || got.Packets() != 2*want.Packets() {
		t.Errorf("%+v, %v", got, c.Err())
	}
	if last := got.Minus(before); last.Replies != want.Replies || last.BytesIn != 0 || len(last.Ops) != 0 || last.Watches != want.Watches {
		t.Errorf("the difference is %+v", last)
	}
}

func TestWhatIsNotTheProtocol(t *testing.T) {
	hello := framed((&proto.ConnectRequest{}).AppendTo(nil))
	for name, b := range map[string][]byte{
		"a four-letter word":  []byte("ruok"),
		"an empty request":    append(hello, 0, 0, 0, 0),
		"half a header":       append(hello, framed([]byte{0, 0, 0, 1, 0, 0, 0})...),
		"a length of minus 1": append(hello, 255, 255, 255, 255),
	} {
		c := new(wirecount.Counter)
		see := c.Conn()(faultproxy.ToServer)
		if got := see(b); string(got) != string(b) {
			t.Errorf("%s: became %q", name, got)
		}
		var stream *wirecount.StreamError
		if err := c.Err(); !errors.Is(err, wirecount.ErrNotProtocol) || !errors.As(err, &stream) || stream.What == "" {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := c.Await(t.Context(), func(wirecount.Tally) bool { return false }); !errors.Is(err, wirecount.ErrNotProtocol) {
			t.Errorf("%s: Await: %v", name, err)
		}
		before := c.Tally()
		see(asked(1, proto.OpSync, nil))
		if !same(c.Tally(), before) {
			t.Errorf("%s: the connection goes on being counted", name)
		}
	}
}

func TestAReplyThatNobodyAskedFor(t *testing.T) {
	toServer, toClient, _ := dialogue()
	c := new(wirecount.Counter)
	filter := c.Conn()
	filter(faultproxy.ToServer)(toServer)
	see := filter(faultproxy.ToClient)
	see(toClient)
	if see(answered(8, proto.CodeOK)); !errors.Is(c.Err(), wirecount.ErrNotProtocol) {
		t.Errorf("xid 8: %v", c.Err())
	}
}

func TestAwait(t *testing.T) {
	toServer, toClient, want := dialogue()
	c := new(wirecount.Counter)
	filter := c.Conn()
	done := make(chan error)
	// Waiter; owned by the test, which receives its end; ends with the last frame.
	go func() {
		got, err := c.Await(t.Context(), func(t wirecount.Tally) bool { return t.Replies == want.Replies })
		if err == nil && !same(got, want) {
			err = errors.New("another tally than that of the last frame")
		}
		done <- err
	}()
	filter(faultproxy.ToServer)(toServer)
	see := filter(faultproxy.ToClient)
	for i := range toClient {
		see(toClient[i : i+1])
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Await(ctx, func(wirecount.Tally) bool { return false }); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}

// Who waits watches, and who writes does not wait any more.
func TestWatchingEndsWithAWrite(t *testing.T) {
	c := new(wirecount.Counter)
	filter := c.Conn()
	ask, answer := filter(faultproxy.ToServer), filter(faultproxy.ToClient)
	ask(framed((&proto.ConnectRequest{}).AppendTo(nil)))
	answer(framed((&proto.ConnectResponse{}).AppendTo(nil)))
	xid := int32(0)
	step := func(op proto.Op, record interface{ AppendTo([]byte) []byte }, want int64) {
		t.Helper()
		xid++
		ask(asked(xid, op, record))
		if op != proto.OpGetData {
			answer(answered(xid, proto.CodeOK))
		} else {
			answer(answered(xid, proto.CodeOK, 0, 0, 0, 0))
		}
		if got := c.Tally().Watching; got != want {
			t.Errorf("after %v %d: %d watching, want %d", op, xid, got, want)
		}
	}
	watch := &proto.GetDataRequest{Path: "/a", Watch: true}
	step(proto.OpGetData, watch, 1)
	step(proto.OpGetData, watch, 1)
	step(proto.OpSync, nil, 1)
	step(proto.OpDelete, &proto.DeleteRequest{Path: "/b"}, 0)
	step(proto.OpDelete, &proto.DeleteRequest{Path: "/b"}, 0)
	step(proto.OpGetData, watch, 1)
	if err := c.Err(); err != nil {
		t.Error(err)
	}
}

func TestKinds(t *testing.T) {
	for op, want := range map[proto.Op]wirecount.Kind{
		proto.OpCreate2: wirecount.Write, proto.OpMulti: wirecount.Write, proto.OpCloseSession: wirecount.Write,
		proto.OpGetChildren2: wirecount.Read, proto.OpMultiRead: wirecount.Read, proto.OpSync: wirecount.Sync,
		proto.OpPing: wirecount.Ping, proto.OpRemoveWatches: wirecount.Other, proto.OpAddWatch: wirecount.Other, 99: wirecount.Other,
	} {
		if got := wirecount.KindOf(op); got != want {
			t.Errorf("%v is %d, want %d", op, got, want)
		}
	}
	_, _, tally := dialogue()
	for kind, want := range map[wirecount.Kind]int64{wirecount.Read: 5, wirecount.Write: 1, wirecount.Sync: 1, wirecount.Ping: 1, wirecount.Other: 1} {
		if got := tally.Requests(kind); got != want {
			t.Errorf("%d requests of kind %d, want %d", got, kind, want)
		}
	}
	if got := tally.Packets(); got != 10 {
		t.Errorf("%d packets, want 10", got)
	}
}
