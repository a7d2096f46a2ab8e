package proto_test

import (
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

func TestChrootRequestsEqualTheRecords(t *testing.T) {
	acl := proto.WorldACL(proto.PermRead)
	for _, chroot := range []string{"", "/app", "/a/b"} {
		for _, path := range []string{"/", "/x", "/x/y"} {
			full := proto.JoinChroot(chroot, path)
			assert.Equal(t, (&proto.ExistsRequest{Path: full, Watch: true}).AppendTo(nil), proto.AppendWatched(nil, chroot, path, true))
			assert.Equal(t, (&proto.DeleteRequest{Path: full, Version: 3}).AppendTo(nil), proto.AppendVersioned(nil, chroot, path, 3))
			assert.Equal(t, (&proto.CheckWatchesRequest{Path: full, Type: 3}).AppendTo(nil), proto.AppendVersioned(nil, chroot, path, 3))
			assert.Equal(t, (&proto.SetDataRequest{Path: full, Data: []byte("d"), Version: 3}).AppendTo(nil),
				proto.AppendSetData(nil, chroot, path, []byte("d"), 3))
			assert.Equal(t, (&proto.SetACLRequest{Path: full, ACL: acl, Version: 3}).AppendTo(nil), proto.AppendSetACL(nil, chroot, path, acl, 3))
			assert.Equal(t, (&proto.CreateRequest{Path: full, ACL: acl, Flags: 1}).AppendTo(nil),
				proto.AppendCreate(nil, chroot, path, nil, acl, proto.ModeEphemeral))
			assert.Equal(t, path, proto.StripChroot(chroot, full))
		}
		sequential := proto.AppendCreate(nil, chroot, "/", nil, acl, proto.ModePersistentSequential)
		assert.Equal(t, (&proto.CreateRequest{Path: chroot + "/", ACL: acl, Flags: 2}).AppendTo(nil), sequential)
	}
}

// The same function places and strips for everything, so that no request and no answer can differ from another.
func TestPlacesBelowAChroot(t *testing.T) {
	for _, tc := range []struct{ chroot, path, full string }{
		{"/app", "/", "/app"},
		{"/app", "/x", "/app/x"},
		{"/app", "/app", "/app/app"},
		{"/app", "/zookeeperx", "/app/zookeeperx"},
		{"/app", "/zookeepe", "/app/zookeepe"},
		{"/app", "/x/zookeeper", "/app/x/zookeeper"},
		{"/app", "/zookeeper", "/zookeeper"},
		{"/app", "/zookeeper/config", "/zookeeper/config"},
		{"/zookeeper/quota", "/", "/zookeeper/quota"},
		{"/zookeeper/quota", "/x", "/zookeeper/quota/x"},
		{"/zookeeper/quota", "/zookeeper/config", "/zookeeper/config"},
		{"/zookeeper", "/x", "/zookeeper/x"},
		{"/zookeeperx", "/y", "/zookeeperx/y"},
		{"/zookeeperx", "/zookeeper", "/zookeeper"},
	} {
		assert.Equal(t, tc.full, proto.JoinChroot(tc.chroot, tc.path), tc)
		assert.Equal(t, jute.AppendString(nil, tc.full), proto.AppendPath(nil, tc.chroot, tc.path), tc)
		assert.Equal(t, tc.path, proto.StripChroot(tc.chroot, tc.full), tc)
	}
	for _, tc := range []struct{ chroot, sent, want string }{
		{"/app", "/application", "/application"},
		{"/app", "/ap", "/ap"},
		{"/app", "/", "/"},
		{"/app", "/app/zookeeper", "/app/zookeeper"}, // as /zookeeper it would be another znode
		{"/app", "/app/zookeeper/a", "/app/zookeeper/a"},
		{"/app", "/app/zookeepers", "/zookeepers"},
		{"/zookeeper/quota", "/zookeeper/quotas", "/zookeeper/quotas"},
		{"/zookeeper/quota", "/zookeeper/config", "/zookeeper/config"},
		{"", "/app", "/app"},
	} {
		assert.Equal(t, tc.want, proto.StripChroot(tc.chroot, tc.sent), tc)
	}
}

// A number behind the name makes /zookeeper another znode, but nothing behind /zookeeper/.
func TestPlacesOfSequentialCreates(t *testing.T) {
	acl := proto.WorldACL(proto.PermAll)
	for path, full := range map[string]string{
		"/": "/app/", "/x-": "/app/x-", "/zookeeper": "/app/zookeeper", "/zookeeper/": "/zookeeper/", "/zookeeper/x-": "/zookeeper/x-",
	} {
		want := (&proto.CreateRequest{Path: full, ACL: acl, Flags: int32(proto.ModeEphemeralSequential)}).AppendTo(nil)
		assert.Equal(t, want, proto.AppendCreate(nil, "/app", path, nil, acl, proto.ModeEphemeralSequential), path)
		req := proto.CreateTTLRequest{Path: path, ACL: acl, Flags: int32(proto.ModePersistentSequentialTTL), TTL: 1}
		got, err := proto.AppendCreateTTL(nil, "/app", &req)
		require.NoError(t, err)
		req.Path = full
		assert.Equal(t, req.AppendTo(nil), got, path)
	}
	want := (&proto.CreateRequest{Path: "/zookeeper", ACL: acl}).AppendTo(nil)
	assert.Equal(t, want, proto.AppendCreate(nil, "/app", "/zookeeper", nil, acl, proto.ModePersistent))
}

func TestAppendCreateTTLRefuses(t *testing.T) {
	acl := proto.WorldACL(proto.PermAll)
	for _, bad := range []proto.CreateTTLRequest{
		{Path: "/a", ACL: acl, Flags: int32(proto.ModePersistentTTL)},
		{Path: "/a", ACL: acl, Flags: int32(proto.ModePersistentTTL), TTL: -1},
		{Path: "/a", ACL: acl, Flags: int32(proto.ModePersistentTTL), TTL: proto.MaxTTL + 1},
		{Path: "/a", ACL: acl, Flags: int32(proto.ModePersistent), TTL: 1},
		{Path: "/a", ACL: acl, Flags: 7, TTL: 1},
	} {
		got, err := proto.AppendCreateTTL([]byte("x"), "", &bad)
		var ttl *proto.TTLError
		require.ErrorAs(t, err, &ttl)
		assert.Equal(t, "x", string(got))
	}
}

func TestHasName(t *testing.T) {
	for _, tt := range []struct {
		chroot, path string
		want         bool
	}{
		{"", "/a", true}, {"", "/zookeeper/config", true}, {"/app", "/app", true}, {"/app", "/app/a", true}, {"/app", "/zookeeper/config", true},
		{"/app", "/apple", false}, {"/app", "/other", false}, {"/app", "/app/zookeeper", false}, {"/app", "/app/zookeeper/x", false},
		{"/app", "/app/zookeepers", true},
	} {
		assert.Equal(t, tt.want, proto.HasName(tt.chroot, tt.path), tt.chroot+" "+tt.path)
	}
}
