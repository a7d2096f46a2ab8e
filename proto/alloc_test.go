package proto_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// TestAppendAllocatesNothing when there is room.
func TestAppendAllocatesNothing(t *testing.T) {
	var (
		header  = proto.RequestHeader{Xid: 1, Type: int32(proto.OpCreate2)}
		create  = proto.CreateRequest{Path: "/a/b", Data: []byte("data"), ACL: proto.WorldACL(proto.PermAll)}
		exists  = proto.ExistsRequest{Path: "/a/b", Watch: true}
		watches = proto.SetWatches2{DataWatches: lockNames(10)}
		answer  = proto.GetDataResponse{Data: []byte("data")}
		ops     = everyOp()
		results = everyResult()
		buf     = make([]byte, 0, 4096)
	)
	allocs := testing.AllocsPerRun(100, func() {
		b := header.AppendTo(buf[:0])
		b = create.AppendTo(b)
		b = exists.AppendTo(b)
		b = watches.AppendTo(b)
		b = answer.AppendTo(b)
		b = proto.AppendMulti(b, ops)
		b = proto.AppendMultiReply(b, results)
		if len(b) == 0 || len(b) > cap(buf) {
			t.Error("the buffer is too small for this test")
		}
	})
	assert.Zero(t, allocs)
}

// TestReadFixedAllocatesNothing: records without strings and vectors, and those with a buffer, which aliases.
func TestReadFixedAllocatesNothing(t *testing.T) {
	b := (&proto.ReplyHeader{Xid: 1}).AppendTo(nil)
	b = (&proto.GetDataResponse{Data: make([]byte, 100), Stat: proto.Stat{Czxid: 1}}).AppendTo(b)
	b = (&proto.SetDataResponse{}).AppendTo(b)
	b = (&proto.ErrorResponse{}).AppendTo(b)
	b = (&proto.ConnectResponse{Passwd: make([]byte, 16)}).AppendTo(b)
	var (
		header  proto.ReplyHeader
		data    proto.GetDataResponse
		set     proto.SetDataResponse
		failure proto.ErrorResponse
		connect proto.ConnectResponse
	)
	allocs := testing.AllocsPerRun(100, func() {
		r := jute.NewReader(b)
		header.ReadFrom(&r)
		data.ReadFrom(&r)
		set.ReadFrom(&r)
		failure.ReadFrom(&r)
		connect.ReadFrom(&r)
		if r.Err() != nil || r.Remaining() != 0 {
			t.Error(r.Err())
		}
	})
	assert.Zero(t, allocs)
}

// TestReadVectorAllocatesOnce for the vector of an honest answer: one slice of the right length, and its strings.
func TestReadVectorAllocatesOnce(t *testing.T) {
	b := (&proto.GetChildrenResponse{Children: lockNames(100)}).AppendTo(nil)
	var got proto.GetChildrenResponse
	allocs := testing.AllocsPerRun(100, func() {
		r := jute.NewReader(b)
		got.ReadFrom(&r)
	})
	assert.Equal(t, 101.0, allocs)
	assert.Equal(t, 100, cap(got.Children))
}

// TestHostileCountsAllocateLittle (C6, C7): a count that the rest cannot hold allocates nothing but the error; one that it
// could hold, by elements that then are not there, allocates no more ahead than the input is long.
func TestHostileCountsAllocateLittle(t *testing.T) {
	const size = 1 << 20
	impossible := append(jute.AppendCount(nil, size/4+1), make([]byte, size)...)
	assert.Less(t, allocated(func() { readChildren(impossible) }), uint64(1<<10))

	// Vectors of as many strings as there is room for, the first of which is longer than the rest.
	lying := append(jute.AppendCount(nil, size/4), make([]byte, size)...)
	lying[4] = 0x7f
	assert.Less(t, allocated(func() { readChildren(lying) }), uint64(size+size/8))

	// The most memory that input can claim: strings of no bytes. Append doubles less and less, hence the factor.
	empty := append(jute.AppendCount(nil, size/4), make([]byte, size)...)
	assert.Less(t, allocated(func() { readChildren(empty) }), uint64(24*size))
}

func readChildren(b []byte) {
	r := jute.NewReader(b)
	var got proto.GetChildrenResponse
	got.ReadFrom(&r)
}

// allocated returns how many bytes f allocates: the least of several runs, since the rest of the process (the test runner,
// the race detector) allocates now and then as well, which can only add.
func allocated(f func()) uint64 {
	least := uint64(math.MaxUint64)
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}
