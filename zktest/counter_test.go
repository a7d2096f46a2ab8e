package zktest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestSequenceCounter(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/s", proto.ModePersistent)
		assert.Equal(t, "/s/a0000000000", w.create("/s/a", proto.ModeEphemeralSequential))
		w.create("/s/plain", proto.ModePersistent)
		assert.Equal(t, "/s/b0000000002", w.create("/s/b", proto.ModePersistentSequential), "plain creates count")
		w.delete("/s/plain")
		assert.Equal(t, proto.ErrNodeExists, w.createCode("/s/b0000000002", proto.ModePersistent))
		assert.Equal(t, "/s/0000000003", w.create("/s/", proto.ModePersistentSequential), "failures and deletes do not")
		_, st := w.get("/s", false)
		assert.Equal(t, int32(5), st.Cversion)
		w.delete("/s/a0000000000")
		w.delete("/s/b0000000002")
		w.delete("/s/0000000003")
		w.delete("/s")
		w.create("/s", proto.ModePersistent)
		assert.Equal(t, "/s/a0000000000", w.create("/s/a", proto.ModeEphemeralSequential), "a new parent begins anew")
	})
}

func TestSequenceOverflow(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/s", proto.ModePersistent)
		require.True(t, srv.SetCounter("/s", 2147483646))
		assert.Equal(t, "/s/a2147483646", w.create("/s/a", proto.ModeEphemeralSequential))
		assert.Equal(t, "/s/a2147483647", w.create("/s/a", proto.ModeEphemeralSequential))
		_, before, err := srv.Get("/s")
		require.NoError(t, err)
		assert.Equal(t, "/s/b2147483647", w.create("/s/b", proto.ModeEphemeralSequential), "the counter stays at the top")
		_, after, err := srv.Get("/s")
		require.NoError(t, err)
		assert.Equal(t, before.Pzxid, after.Pzxid, "and pzxid with it")
		require.True(t, srv.SetCounter("/s", -2147483648))
		assert.Equal(t, "/s/c-2147483648", w.create("/s/c", proto.ModeEphemeralSequential))
		require.True(t, srv.SetCounter("/s", -5))
		assert.Equal(t, "/s/c-000000005", w.create("/s/c", proto.ModeEphemeralSequential))
		assert.False(t, srv.SetCounter("/nowhere", 1))
	})
}

func TestSweep(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/fresh", proto.ModeContainer)
		w.create("/used", proto.ModeContainer)
		w.create("/used/x", proto.ModePersistent)
		ttl := proto.CreateTTLRequest{Path: "/ttl", ACL: proto.WorldACL(31), Flags: int32(proto.ModePersistentTTL), TTL: 5000}
		w.ok(proto.OpCreateTTL, &ttl, nil)
		assert.Zero(t, srv.Sweep())
		w.delete("/used/x")
		w.exists("/used", true)
		pass(6 * time.Second)
		assert.Equal(t, 2, srv.Sweep())
		assert.Equal(t, []event{{proto.EventNodeDeleted, "/used"}}, w.events())
		assert.Equal(t, []string{"fresh", "zookeeper"}, srv.Children("/"))
		assert.Equal(t, proto.ErrNoNode, w.createCode("/used/y", proto.ModePersistent), "what a client meets then")
	})
}

// The clock of a TTL znode starts again with its data, not with its ACL or its children, and stops while it has children.
func TestSweepOfTTL(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		names := []string{"/acl", "/child", "/childless", "/idle", "/set"}
		for _, path := range names {
			w.ok(proto.OpCreateTTL, &proto.CreateTTLRequest{Path: path, ACL: proto.WorldACL(31), Flags: int32(proto.ModePersistentTTL), TTL: 5000}, nil)
		}
		pass(4 * time.Second)
		w.set("/set", "x")
		w.ok(proto.OpSetACL, &proto.SetACLRequest{Path: "/acl", ACL: proto.WorldACL(31), Version: -1}, nil)
		w.create("/child/x", proto.ModePersistent)
		w.create("/childless/x", proto.ModePersistent)
		w.delete("/childless/x")
		pass(time.Second)
		assert.Zero(t, srv.Sweep(), "not longer than the time")
		pass(time.Millisecond)
		assert.Equal(t, 3, srv.Sweep())
		assert.Equal(t, []string{"child", "set", "zookeeper"}, srv.Children("/"))
		w.delete("/child/x")
		assert.Equal(t, 1, srv.Sweep(), "it was due long ago")
		pass(4 * time.Second)
		assert.Equal(t, 1, srv.Sweep())
	})
}

// A container that becomes empty by a sweep is due at the next.
func TestSweepOfContainersInContainers(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/a", proto.ModeContainer)
		w.create("/a/b", proto.ModeContainer)
		w.create("/a/b/c", proto.ModePersistent)
		w.delete("/a/b/c")
		assert.Equal(t, 1, srv.Sweep())
		assert.True(t, srv.Exists("/a"))
		assert.Equal(t, 1, srv.Sweep())
		assert.Zero(t, srv.Sweep())
	})
}

func TestWithoutTTL(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		ttl := proto.CreateTTLRequest{Path: "/ttl", ACL: proto.WorldACL(31), Flags: int32(proto.ModePersistentTTL), TTL: 5000}
		assert.Equal(t, proto.ErrUnimplemented, w.code(proto.OpCreateTTL, &ttl))
		assert.Empty(t, w.events(), "and the connection stays")
	}, zktest.WithoutTTL())
}
