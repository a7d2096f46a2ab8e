package proto_test

import (
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// end is the header behind the last operation or result.
var end = []byte{0xff, 0xff, 0xff, 0xff, 1, 0xff, 0xff, 0xff, 0xff}

// everyOp has an operation of each type.
func everyOp() []proto.MultiOp {
	open := proto.WorldACL(proto.PermAll)
	return []proto.MultiOp{
		{Op: proto.OpCreate, Path: "/a", Data: []byte("x"), ACL: open, Flags: 1},
		{Op: proto.OpCreate2, Path: "/b", ACL: open, Flags: 3},
		{Op: proto.OpCreateContainer, Path: "/c", Data: []byte{}, ACL: open, Flags: 4},
		{Op: proto.OpCreateTTL, Path: "/d", ACL: open, Flags: 5, TTL: 1},
		{Op: proto.OpCreateTTL, Path: "/d", ACL: open, Flags: 6, TTL: proto.MaxTTL},
		{Op: proto.OpDelete, Path: "/e", Version: -1},
		{Op: proto.OpSetData, Path: "/f", Data: []byte("y"), Version: 7},
		{Op: proto.OpCheck, Path: "/g", Version: 8},
		{Op: proto.OpGetData, Path: "/h"},
		{Op: proto.OpGetChildren, Path: "/i"},
	}
}

func TestMultiRoundTrip(t *testing.T) {
	ops := everyOp()
	b := proto.AppendMulti(nil, ops)
	assert.Len(t, b, proto.MultiSize(ops))
	r := jute.NewReader(b)
	require.Equal(t, ops, proto.ReadMulti(&r))
	require.NoError(t, r.Err())
	for n := range b {
		r.Reset(b[:n])
		proto.ReadMulti(&r)
		assert.Error(t, r.Err(), "cut after %d bytes", n)
	}
}

func TestMultiEmpty(t *testing.T) {
	assert.Equal(t, end, proto.AppendMulti(nil, nil))
	assert.Equal(t, end, proto.AppendMultiReply(nil, nil))
	assert.Equal(t, len(end), proto.MultiSize(nil))
	r := jute.NewReader(end)
	assert.Empty(t, proto.ReadMulti(&r))
	assert.NoError(t, r.Err())
	r.Reset(end)
	assert.Empty(t, proto.ReadMultiReply(&r, nil))
	assert.NoError(t, r.Err())
}

// TestMultiEndIsWhereDoneIs: type and err of the last header are not looked at.
func TestMultiEndIsWhereDoneIs(t *testing.T) {
	r := jute.NewReader([]byte{0, 0, 0, 1, 1, 0, 0, 0, 0, 42})
	assert.Empty(t, proto.ReadMulti(&r))
	assert.NoError(t, r.Err())
	assert.Equal(t, 1, r.Remaining())
}

// TestCheckMulti is C114: no mixture, nothing that a multi does not know.
func TestCheckMulti(t *testing.T) {
	for _, op := range everyOp() {
		read := op.Op == proto.OpGetData || op.Op == proto.OpGetChildren
		assert.Equal(t, !read, proto.CheckMulti(proto.OpMulti, []proto.MultiOp{op}) == nil, op.Op)
		assert.Equal(t, read, proto.CheckMulti(proto.OpMultiRead, []proto.MultiOp{op}) == nil, op.Op)
	}
	assert.NoError(t, proto.CheckMulti(proto.OpMulti, nil))
	for _, op := range []proto.Op{proto.OpSetACL, proto.OpExists, proto.OpGetChildren2, proto.OpError, proto.OpMulti, 0, 99} {
		err := proto.CheckMulti(proto.OpMulti, []proto.MultiOp{{Op: proto.OpCheck, Path: "/"}, {Op: op, Path: "/"}})
		var unsendable *proto.UnsendableError
		require.ErrorAs(t, err, &unsendable)
		assert.Equal(t, op, unsendable.Op)
		assert.Equal(t, 1, unsendable.Index)
		assert.Contains(t, err.Error(), "as operation 1 of a multi")
	}
}

// badTTLs are operations that AppendMulti must not write as they are.
func badTTLs() []proto.MultiOp {
	return []proto.MultiOp{
		{Op: proto.OpCreateTTL, Path: "/a", Flags: 0, TTL: 1},
		{Op: proto.OpCreateTTL, Path: "/a", Flags: 4, TTL: 1},
		{Op: proto.OpCreateTTL, Path: "/a", Flags: 7, TTL: 1},
		{Op: proto.OpCreateTTL, Path: "/a", Flags: 5, TTL: 0},
		{Op: proto.OpCreateTTL, Path: "/a", Flags: 6, TTL: -1},
		{Op: proto.OpCreateTTL, Path: "/a", Flags: 5, TTL: proto.MaxTTL + 1},
	}
}

// TestMultiNeverWritesBadTTL: CheckMulti refuses them, and a caller who does not ask gets bytes without them (C49).
func TestMultiNeverWritesBadTTL(t *testing.T) {
	header := []byte{0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0xff, 0xff}
	for _, op := range badTTLs() {
		ops := []proto.MultiOp{op}
		var terr *proto.TTLError
		assert.ErrorAs(t, proto.CheckMulti(proto.OpMulti, ops), &terr)
		assert.Equal(t, append(header[:9:9], end...), proto.AppendMulti(nil, ops))
	}
	unknown := []proto.MultiOp{{Op: proto.OpSetACL, Path: "/a"}}
	assert.Equal(t, append(header[:9:9], end...), proto.AppendMulti(nil, unknown))
	assert.Equal(t, 18, proto.MultiSize(unknown))
	assert.Equal(t, 9*len(badTTLs())+9, proto.MultiSize(badTTLs()))
}

func TestReadMultiUnknown(t *testing.T) {
	for _, op := range []proto.Op{proto.OpSetACL, proto.OpExists, proto.OpError, 0, 99} {
		b := (&proto.MultiHeader{Type: int32(op), Err: -1}).AppendTo(nil)
		b = append(b, make([]byte, 100)...)
		r := jute.NewReader(b)
		proto.ReadMulti(&r)
		assert.ErrorIs(t, r.Err(), proto.ErrMultiOp, op)
		r.Reset(b)
		proto.ReadMultiReply(&r, nil)
		if op == proto.OpError {
			assert.ErrorIs(t, r.Err(), proto.ErrMultiOp, "the zeros behind the error entry are one of type 0")
			continue
		}
		assert.ErrorIs(t, r.Err(), proto.ErrMultiOp, op)
	}
}
