package scale

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/internal/relay"
	"github.com/lockkeeper/lockkeeper/proto"
)

// setWatches is the body of a request that sets watches again.
func setWatches(xid int32, op proto.Op, data, exists, child []string) []byte {
	b := (&proto.RequestHeader{Xid: xid, Type: int32(op)}).AppendTo(nil)
	if op == proto.OpSetWatches2 {
		sw := proto.SetWatches2{DataWatches: data, ExistWatches: exists, ChildWatches: child, PersistentWatches: []string{"/more"}}
		return sw.AppendTo(b)
	}
	return (&proto.SetWatches{DataWatches: data, ExistWatches: exists, ChildWatches: child}).AppendTo(b)
}

func reply(xid int32, code proto.Code) []byte {
	return (&proto.ReplyHeader{Xid: xid, Err: int32(code)}).AppendTo(nil)
}

// seen is a view of a connection past its handshake, and a wait for n watches.
func seen(n int) (*view, <-chan outage) {
	p := &tap{relay: &relay.Relay{}}
	done := p.cut(n)
	v := &view{tap: p, since: time.Now()}
	v.request(setWatches(1, proto.OpSetWatches, []string{"/no", "/handshake"}, nil, nil))
	v.reply(nil)
	return v, done
}

func TestWatchesCountWhenTheServerHasConfirmedThem(t *testing.T) {
	v, done := seen(4)
	v.request(setWatches(-8, proto.OpSetWatches, []string{"/a"}, []string{"/b", "/c"}, nil))
	v.request(setWatches(7, proto.OpSetWatches2, nil, []string{"/d", "/e"}, []string{"/f"}))
	v.request(setWatches(8, proto.OpExists, []string{"/x"}, nil, nil))
	v.reply(reply(7, proto.CodeOK)) // answers nothing: the first is still to come
	v.reply(reply(-2, proto.CodeOK))
	v.reply(reply(-8, proto.CodeOK))
	assert.Empty(t, done, "one is missing")
	v.reply(reply(7, proto.CodeOK))
	require.Len(t, done, 1)
	o := <-done
	assert.False(t, o.shook.Before(o.cut))
	assert.False(t, o.restored.Before(o.shook))
	v.request(setWatches(9, proto.OpSetWatches, []string{"/a"}, nil, nil))
	v.reply(reply(9, proto.CodeOK))
	assert.Empty(t, done, "nobody waits any more")
}

func TestWatchesThatTheServerRefusesDoNotCount(t *testing.T) {
	v, done := seen(1)
	v.request(setWatches(-8, proto.OpSetWatches2, []string{"/a"}, nil, nil))
	v.reply(reply(-8, proto.ErrUnimplemented))
	assert.Empty(t, done)
}

func TestAConnectionOlderThanTheCutDoesNotCount(t *testing.T) {
	v, done := seen(1)
	v.since = v.tap.cutAt.Add(-1)
	v.request(setWatches(-8, proto.OpSetWatches, []string{"/a"}, nil, nil))
	v.reply(reply(-8, proto.CodeOK))
	assert.Empty(t, done)
}

func TestMalformedRequestsAreNoWatches(t *testing.T) {
	whole := setWatches(-8, proto.OpSetWatches, []string{"/a"}, []string{"/b"}, nil)
	for n := range len(whole) {
		v, _ := seen(1)
		v.request(whole[:n])
		assert.Empty(t, v.pending, "%d bytes of %d", n, len(whole))
	}
}

// frames returns bodies as frames.
func frames(bodies ...[]byte) (b []byte) {
	for _, body := range bodies {
		b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
		b = append(b, body...)
	}
	return b
}

func TestPassChangesNothing(t *testing.T) {
	bodies := [][]byte{[]byte("handshake"), {}, bytes.Repeat([]byte("x"), 3*passSize), []byte("y")}
	sent := frames(bodies...)
	for _, cut := range []int{0, 2, 5} { // a stream that ends within a frame
		var got bytes.Buffer
		var saw [][]byte
		pass(&got, bytes.NewReader(sent[:len(sent)-cut]), func(body []byte) { saw = append(saw, bytes.Clone(body)) })
		whole := len(bodies)
		if cut > 0 {
			whole--
		}
		require.Len(t, saw, whole)
		for i := range saw {
			assert.True(t, bytes.Equal(bodies[i], saw[i]))
		}
		assert.True(t, bytes.Equal(frames(bodies[:whole]...), got.Bytes()), "cut by %d", cut)
	}
	saw := 0
	pass(io.Discard, bytes.NewReader([]byte{0xff, 0xff, 0xff, 0xff, 1}), func([]byte) { saw++ })
	assert.Zero(t, saw, "a length that cannot be")
}

func TestATapWithoutAServerEndsItsConnections(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p, err := newTap(ln.Addr().String())
	require.NoError(t, err)
	require.NoError(t, ln.Close())
	defer p.close()
	nc, err := net.Dial("tcp", p.addr())
	require.NoError(t, err)
	defer nc.Close()
	_, err = nc.Read(make([]byte, 1))
	require.Error(t, err)
}
