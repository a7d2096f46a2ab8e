package proto_test

import (
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/proto"
)

// ops is the table of docs/protocol.md section 6, "write?" being its last column.
var ops = []struct {
	op    proto.Op
	name  string
	write bool
}{
	{0, "notification", false},
	{1, "create", true},
	{2, "delete", true},
	{3, "exists", false},
	{4, "getData", false},
	{5, "setData", true},
	{6, "getACL", false},
	{7, "setACL", true},
	{8, "getChildren", false},
	{9, "sync", false},
	{11, "ping", false},
	{12, "getChildren2", false},
	{13, "check", true},
	{14, "multi", true},
	{15, "create2", true},
	{16, "reconfig", true},
	{17, "checkWatches", false},
	{18, "removeWatches", false},
	{19, "createContainer", true},
	{20, "deleteContainer", true},
	{21, "createTTL", true},
	{22, "multiRead", false},
	{100, "auth", false},
	{101, "setWatches", false},
	{102, "sasl", false},
	{103, "getEphemerals", false},
	{104, "getAllChildrenNumber", false},
	{105, "setWatches2", false},
	{106, "addWatch", false},
	{107, "whoAmI", false},
	{-10, "createSession", true},
	{-11, "closeSession", true},
	{-1, "error", false},
}

func TestOps(t *testing.T) {
	for _, tt := range ops {
		assert.Equal(t, tt.name, tt.op.String())
		assert.Equal(t, tt.write, tt.op.IsWrite(), tt.name)
		// Of the names that begin so only createSession is no create of a znode.
		assert.Equal(t, strings.HasPrefix(tt.name, "create") && tt.op > 0, tt.op.IsCreate(), tt.name)
	}
	assert.Equal(t, "op 99", proto.Op(99).String())
	assert.Equal(t, "op -2", proto.Op(-2).String())
	assert.False(t, proto.Op(99).IsWrite())
}

// TestCheckSendable is the part of C49 that belongs to the opcode.
func TestCheckSendable(t *testing.T) {
	refused := map[proto.Op]bool{
		proto.OpNotification: true, proto.OpCheck: true, proto.OpDeleteContainer: true, proto.OpCreateSession: true,
		proto.OpError: true,
	}
	for _, tt := range ops {
		err := proto.CheckSendable(tt.op)
		if !refused[tt.op] {
			assert.NoError(t, err, tt.name)
			continue
		}
		var unsendable *proto.UnsendableError
		require.ErrorAs(t, err, &unsendable, tt.name)
		assert.Equal(t, tt.op, unsendable.Op)
		assert.Equal(t, -1, unsendable.Index)
		assert.Contains(t, err.Error(), tt.name+" must not be sent: ")
	}
	assert.NoError(t, proto.CheckSendable(99), "a number of a server to come")
}

// TestCheckTTL is the part of C49 that belongs to createTTL, and the bounds of C120.
func TestCheckTTL(t *testing.T) {
	ttls := []int64{-1 << 63, -1, 0, 1, 2, 60000, proto.MaxTTL - 1, proto.MaxTTL, proto.MaxTTL + 1, 1<<63 - 1}
	for mode := proto.CreateMode(-1); mode <= 8; mode++ {
		for _, ttl := range ttls {
			err := proto.CheckTTL(mode, ttl)
			if (mode == 5 || mode == 6) && ttl >= 1 && ttl <= 1099511627775 {
				assert.NoError(t, err, "%v %d", mode, ttl)
				continue
			}
			var terr *proto.TTLError
			require.ErrorAs(t, err, &terr, "%v %d", mode, ttl)
			assert.Equal(t, proto.TTLError{Mode: mode, TTL: ttl}, *terr)
		}
	}
	assert.EqualError(t, proto.CheckTTL(proto.ModeEphemeral, 1), "mode ephemeral has no TTL")
	assert.EqualError(t, proto.CheckTTL(proto.ModePersistentTTL, 0), "TTL of 0 ms is not in 1..1099511627775")
}

// TestCreateModes is the table of docs/protocol.md section 8.
func TestCreateModes(t *testing.T) {
	for _, tt := range []struct {
		mode                       proto.CreateMode
		flags                      int32
		op                         proto.Op
		sequential, ephemeral, ttl bool
		name                       string
	}{
		{proto.ModePersistent, 0, proto.OpCreate2, false, false, false, "persistent"},
		{proto.ModeEphemeral, 1, proto.OpCreate2, false, true, false, "ephemeral"},
		{proto.ModePersistentSequential, 2, proto.OpCreate2, true, false, false, "persistent sequential"},
		{proto.ModeEphemeralSequential, 3, proto.OpCreate2, true, true, false, "ephemeral sequential"},
		{proto.ModeContainer, 4, proto.OpCreateContainer, false, false, false, "container"},
		{proto.ModePersistentTTL, 5, proto.OpCreateTTL, false, false, true, "persistent with TTL"},
		{proto.ModePersistentSequentialTTL, 6, proto.OpCreateTTL, true, false, true, "persistent sequential with TTL"},
	} {
		assert.Equal(t, tt.flags, int32(tt.mode))
		assert.Equal(t, tt.op, tt.mode.Op(), tt.name)
		assert.Equal(t, tt.sequential, tt.mode.IsSequential(), tt.name)
		assert.Equal(t, tt.ephemeral, tt.mode.IsEphemeral(), tt.name)
		assert.Equal(t, tt.ttl, tt.mode.IsTTL(), tt.name)
		assert.Equal(t, tt.name, tt.mode.String())
	}
	assert.Equal(t, "mode 7", proto.CreateMode(7).String())
}
