package fuzz_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

func multiSeeds() [][]byte {
	acl := proto.WorldACL(proto.PermAll)
	return [][]byte{
		proto.AppendMulti(nil, nil),
		proto.AppendMulti(nil, []proto.MultiOp{
			{Op: proto.OpCreate, Path: "/a", Data: []byte("x"), ACL: acl},
			{Op: proto.OpCreate2, Path: "/a/n-", ACL: acl, Flags: 3},
			{Op: proto.OpCreateContainer, Path: "/c", ACL: acl, Flags: 4},
			{Op: proto.OpCreateTTL, Path: "/t", ACL: acl, Flags: 5, TTL: 60_000},
			{Op: proto.OpCheck, Path: "/a", Version: -1},
			{Op: proto.OpSetData, Path: "/a", Data: []byte{}, Version: 3},
			{Op: proto.OpDelete, Path: "/a", Version: -1},
		}),
		proto.AppendMulti(nil, []proto.MultiOp{{Op: proto.OpGetData, Path: "/a"}, {Op: proto.OpGetChildren, Path: "/"}}),
		proto.AppendMultiReply(nil, []proto.MultiResult{
			{Op: proto.OpCreate, Path: "/a"}, {Op: proto.OpCreate2, Path: "/b", HasStat: true}, {Op: proto.OpDelete}, {Op: proto.OpCheck},
			{Op: proto.OpSetData, HasStat: true}, {Op: proto.OpGetData, Data: []byte("d"), HasStat: true},
			{Op: proto.OpGetChildren, Children: []string{"x", "y"}},
		}),
		proto.AppendMultiReply(nil, []proto.MultiResult{
			{Op: proto.OpError}, {Op: proto.OpError, Err: proto.ErrNoNode}, {Op: proto.OpError, Err: proto.ErrRuntimeInconsistency},
		}),
	}
}

// FuzzMulti decodes arbitrary bytes as the body of a multi and as that of its answer. What decodes survives a round trip.
func FuzzMulti(f *testing.F) {
	for _, seed := range multiSeeds() {
		f.Add(seed)
		f.Add(seed[:len(seed)-1])
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		checkMulti(t, input)
		checkMultiReply(t, input)
	})
}

func checkMulti(t *testing.T, input []byte) {
	r := jute.NewReader(input)
	ops := proto.ReadMulti(&r)
	require.LessOrEqual(t, len(ops), 1+len(input)/proto.MultiHeaderSize)
	if r.Err() != nil || proto.CheckMulti(proto.OpMulti, ops) != nil && proto.CheckMulti(proto.OpMultiRead, ops) != nil {
		return // not one that may be sent
	}
	encoded := proto.AppendMulti(nil, ops)
	require.Equal(t, proto.MultiSize(ops), len(encoded))
	r.Reset(encoded)
	again := proto.ReadMulti(&r)
	require.NoError(t, r.Err())
	require.Zero(t, r.Remaining())
	require.Equal(t, ops, again)
}

func checkMultiReply(t *testing.T, input []byte) {
	r := jute.NewReader(input)
	results := proto.ReadMultiReply(&r, nil)
	require.LessOrEqual(t, len(results), 1+len(input)/proto.MultiHeaderSize)
	if i, code := proto.FirstError(results); i >= 0 {
		require.NotZero(t, code)
	}
	if r.Err() != nil {
		return
	}
	r.Reset(proto.AppendMultiReply(nil, results))
	again := proto.ReadMultiReply(&r, nil)
	require.NoError(t, r.Err())
	require.Zero(t, r.Remaining())
	require.Equal(t, results, again)
}

// FuzzChildren compares the scanner that makes no strings with the record.
func FuzzChildren(f *testing.F) {
	rep := proto.GetChildren2Response{Children: []string{"a", "", "_c_x-lock-0000000001"}, Stat: proto.Stat{Version: 3}}
	f.Add(rep.AppendTo(nil))
	f.Add(rep.AppendTo(nil)[:30])
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, body []byte) {
		r := jute.NewReader(body)
		var want proto.GetChildren2Response
		want.ReadFrom(&r)
		var names []string
		s := proto.NewChildScanner(body)
		for name, ok := s.Next(); ok; name, ok = s.Next() {
			names = append(names, string(name))
		}
		stat := s.Stat()
		require.Equal(t, r.Err(), s.Err())
		if r.Err() == nil {
			require.Equal(t, want.Children, names)
			require.Equal(t, want.Stat, stat)
		}
	})
}
