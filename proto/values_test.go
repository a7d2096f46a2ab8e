package proto_test

import (
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

func TestSizes(t *testing.T) { // C12: 68 bytes; TestStatRoundTrip cuts them short
	assert.Equal(t, proto.StatSize, (&proto.Stat{}).Size())
	assert.Equal(t, proto.RequestHeaderSize, (&proto.RequestHeader{}).Size())
	assert.Equal(t, proto.ReplyHeaderSize, (&proto.ReplyHeader{}).Size())
	assert.Equal(t, proto.MultiHeaderSize, (&proto.MultiHeader{}).Size())
}

func TestZxid(t *testing.T) {
	z := proto.Zxid(0x500000003)
	assert.Equal(t, int32(5), z.Epoch())
	assert.Equal(t, uint32(3), z.Counter())
	assert.Equal(t, "0x500000003", z.String())
	assert.Equal(t, "0xffffffffffffffff", proto.Zxid(-1).String())
	assert.Equal(t, int32(-1), proto.Zxid(-1).Epoch())
	assert.Equal(t, uint32(0xffffffff), proto.Zxid(0x7_ffffffff).Counter())
	assert.Less(t, proto.Zxid(0x1_ffffffff), proto.Zxid(0x2_00000000))
}

func TestXids(t *testing.T) {
	assert.Equal(t, []int32{-1, -2, -4, -8}, []int32{
		proto.XidNotification, proto.XidPing, proto.XidAuth, proto.XidSetWatches,
	})
}

// TestDigestID has the vector of docs/protocol.md section 13.2 (C123).
func TestDigestID(t *testing.T) {
	assert.Equal(t, "bob:fyVmFCwVbTJYrznoSu1koqYEYF0=", proto.DigestID("bob", "secret"))
}

func TestACLs(t *testing.T) {
	assert.Equal(t, []int{1, 2, 4, 8, 16, 31}, []int{
		proto.PermRead, proto.PermWrite, proto.PermCreate, proto.PermDelete, proto.PermAdmin, proto.PermAll,
	})
	world := proto.WorldACL(proto.PermRead)
	assert.Equal(t, []proto.ACL{{Perms: 1, ID: proto.ID{Scheme: "world", ID: "anyone"}}}, world)
	world[0].Perms = 0
	assert.Equal(t, int32(1), proto.WorldACL(proto.PermRead)[0].Perms, "each caller has a list of its own")
	assert.Equal(t, []proto.ACL{{Perms: 31, ID: proto.ID{Scheme: "auth"}}}, proto.CreatorACL(proto.PermAll))
}

// TestEvents is the two lists at the top of docs/protocol.md section 11, and C93's unknown numbers.
func TestEvents(t *testing.T) {
	for number, name := range map[proto.EventType]string{
		-1: "none", 1: "node created", 2: "node deleted", 3: "node data changed", 4: "node children changed",
		5: "data watch removed", 6: "child watch removed", 7: "persistent watch removed", 99: "event 99", 0: "event 0",
	} {
		assert.Equal(t, name, number.String())
	}
	for number, name := range map[proto.KeeperState]string{
		-112: "expired", 0: "disconnected", 3: "connected", 4: "authentication failed", 5: "connected read-only",
		6: "authenticated", 7: "closed", 99: "state 99", 1: "state 1",
	} {
		assert.Equal(t, name, number.String())
	}
}

// TestNullAndEmpty keeps nil and empty data apart and reads null vectors as empty ones (C3, C4).
func TestNullAndEmpty(t *testing.T) {
	for _, data := range [][]byte{nil, {}} {
		req := proto.SetDataRequest{Path: "/a", Data: data}
		r := jute.NewReader(req.AppendTo(nil))
		var got proto.SetDataRequest
		got.ReadFrom(&r)
		require.NoError(t, r.Err())
		assert.Equal(t, data, got.Data)
	}
	for _, count := range []int32{-1, 0} {
		r := jute.NewReader(jute.AppendInt(nil, count))
		got := proto.GetChildrenResponse{Children: []string{"from before"}}
		got.ReadFrom(&r)
		require.NoError(t, r.Err())
		assert.Empty(t, got.Children)
	}
}

// TestNullVectorsAreNotWritten: servers fail at null vectors (C13).
func TestNullVectorsAreNotWritten(t *testing.T) {
	req := proto.CreateRequest{Path: "/a"}
	empty := proto.CreateRequest{Path: "/a", ACL: []proto.ACL{}}
	assert.Equal(t, empty.AppendTo(nil), req.AppendTo(nil))
	assert.Equal(t, jute.AppendLong(nil, 0), (&proto.SetWatches2{}).AppendTo(nil)[:8])
	assert.Equal(t, make([]byte, 5*4), (&proto.SetWatches2{}).AppendTo(nil)[8:])
}

// TestNullStrings: unused fields of a reconfig are null and not empty.
func TestNullStrings(t *testing.T) {
	req := proto.ReconfigRequest{JoiningServers: jute.NullString{Valid: true}, CurConfigID: -1}
	b := req.AppendTo(nil)
	assert.Equal(t, []byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, b[:12])
	assert.Len(t, b, req.Size())
	hidden := proto.ReconfigRequest{NewMembers: jute.NullString{String: "not valid"}}
	assert.Len(t, hidden.AppendTo(nil), hidden.Size())
}

// TestReadOnlyByte: a handshake without the last byte reads as false whatever the record held (C26).
func TestReadOnlyByte(t *testing.T) {
	b := (&proto.ConnectResponse{TimeOut: 1, Passwd: make([]byte, 16)}).AppendTo(nil)
	require.Len(t, b, 37)
	got := proto.ConnectResponse{ReadOnly: true}
	r := jute.NewReader(b[:36])
	got.ReadFrom(&r)
	require.NoError(t, r.Err())
	assert.False(t, got.ReadOnly)
	assert.Equal(t, 37, got.Size(), "Size counts the byte")
}

// TestBuffersAlias says who owns what after ReadFrom.
func TestBuffersAlias(t *testing.T) {
	b := (&proto.SetDataRequest{Path: "/a", Data: []byte("xyz")}).AppendTo(nil)
	var got proto.SetDataRequest
	r := jute.NewReader(b)
	got.ReadFrom(&r)
	clear(b)
	assert.Equal(t, "/a", got.Path)
	assert.Equal(t, []byte{0, 0, 0}, got.Data)
	grown := append(got.Data, 1, 2, 3, 4)
	assert.Equal(t, make([]byte, 4), b[len(b)-4:], "appending to a buffer copies it")
	assert.Len(t, grown, 7)
}
