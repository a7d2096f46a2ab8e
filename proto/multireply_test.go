package proto_test

import (
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// everyResult has an entry of each type. It includes C111 (create2 with and without Stat), C112 (containers and TTL nodes
// are answered as create2), C113 (an error among good reads).
func everyResult() []proto.MultiResult {
	stat := proto.Stat{Czxid: 1, Pzxid: 2, DataLength: 3}
	return []proto.MultiResult{
		{Op: proto.OpCreate, Path: "/a"},
		{Op: proto.OpCreate2, Path: "/b", Stat: stat, HasStat: true},
		{Op: proto.OpDelete},
		{Op: proto.OpCheck},
		{Op: proto.OpSetData, Stat: stat, HasStat: true},
		{Op: proto.OpGetData, Data: []byte("x"), Stat: stat, HasStat: true},
		{Op: proto.OpGetData, Stat: stat, HasStat: true},
		{Op: proto.OpGetChildren, Children: []string{"a", "b"}},
		{Op: proto.OpGetChildren},
		{Op: proto.OpError},
		{Op: proto.OpError, Err: proto.ErrNoNode},
		{Op: proto.OpError, Err: -999},
	}
}

func TestMultiReplyRoundTrip(t *testing.T) {
	results := everyResult()
	b := proto.AppendMultiReply(nil, results)
	r := jute.NewReader(b)
	require.Equal(t, results, proto.ReadMultiReply(&r, nil))
	require.NoError(t, r.Err())
	require.Zero(t, r.Remaining())
	for n := range b {
		r.Reset(b[:n])
		proto.ReadMultiReply(&r, nil)
		assert.Error(t, r.Err(), "cut after %d bytes", n)
	}
}

// TestMultiReplyAppends: what dst held stays, and its room is used.
func TestMultiReplyAppends(t *testing.T) {
	b := proto.AppendMultiReply(nil, []proto.MultiResult{{Op: proto.OpDelete}})
	dst := make([]proto.MultiResult, 1, 4)
	dst[0].Path = "/before"
	dst[:2][1].Path = "left over"
	r := jute.NewReader(b)
	got := proto.ReadMultiReply(&r, dst)
	require.NoError(t, r.Err())
	assert.Equal(t, []proto.MultiResult{{Path: "/before"}, {Op: proto.OpDelete}}, got)
	assert.Same(t, &dst[0], &got[0])
}

// TestMultiFailure is C110: the first code counts, and an entry of type error with code 0 is no success.
func TestMultiFailure(t *testing.T) {
	i, code := proto.FirstError([]proto.MultiResult{
		{Op: proto.OpError}, {Op: proto.OpError, Err: proto.ErrBadVersion}, {Op: proto.OpError, Err: proto.ErrRuntimeInconsistency},
	})
	assert.Equal(t, 1, i)
	assert.Equal(t, proto.ErrBadVersion, code)
	i, code = proto.FirstError([]proto.MultiResult{{Op: proto.OpDelete}})
	assert.Equal(t, -1, i)
	assert.Equal(t, proto.CodeOK, code)
	_, code = proto.FirstError(nil)
	assert.Equal(t, proto.CodeOK, code)
}

// TestMultiReplyErrorsAsErrors: a failed entry is written as an error, whatever it was the answer to.
func TestMultiReplyErrorsAsErrors(t *testing.T) {
	want := proto.AppendMultiReply(nil, []proto.MultiResult{{Op: proto.OpError, Err: proto.ErrNoNode}})
	assert.Equal(t, want, proto.AppendMultiReply(nil, []proto.MultiResult{{Op: proto.OpGetData, Err: proto.ErrNoNode}}))
	unknown := proto.AppendMultiReply(nil, []proto.MultiResult{{Op: proto.OpExists}})
	assert.Equal(t, proto.AppendMultiReply(nil, []proto.MultiResult{{Op: proto.OpError}}), unknown)
}

// TestOldCreate2 is the answer of servers before 3.7.2 and 3.8.2 to a create2 inside a multi (C111): a create's.
func TestOldCreate2(t *testing.T) {
	r := jute.NewReader(proto.AppendMultiReply(nil, []proto.MultiResult{{Op: proto.OpCreate, Path: "/a"}}))
	got := proto.ReadMultiReply(&r, nil)
	require.NoError(t, r.Err())
	assert.False(t, got[0].HasStat)
}
