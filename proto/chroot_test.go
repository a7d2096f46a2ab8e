package proto_test

import (
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/proto"
)

func TestChrootRequestsEqualTheRecords(t *testing.T) {
	acl := proto.WorldACL(proto.PermRead)
	for _, chroot := range []string{"", "/app", "/a/b"} {
		for _, path := range []string{"/", "/x", "/x/y"} {
			full := proto.JoinChroot(chroot, path)
			assert.Equal(t, (&proto.ExistsRequest{Path: full, Watch: true}).AppendTo(nil), proto.AppendWatched(nil, chroot, path, true))
			assert.Equal(t, (&proto.DeleteRequest{Path: full, Version: 3}).AppendTo(nil), proto.AppendVersioned(nil, chroot, path, 3))
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
	assert.Equal(t, "/application", proto.StripChroot("/app", "/application"))
	assert.Equal(t, "/zookeeper/config", proto.StripChroot("/app", "/zookeeper/config"))
}
