package zktest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func (w *wire) auth(userPassword string) {
	w.t.Helper()
	w.ok(proto.OpAuth, &proto.AuthPacket{Scheme: "digest", Auth: []byte(userPassword)}, nil)
}

func (w *wire) createWith(path string, acl ...proto.ACL) proto.Code {
	w.t.Helper()
	return w.code(proto.OpCreate, &proto.CreateRequest{Path: path, ACL: acl})
}

func entry(perms int32, scheme, id string) proto.ACL {
	return proto.ACL{Perms: perms, ID: proto.ID{Scheme: scheme, ID: id}}
}

// TestPermissionTable tries every operation on a znode that gives one permission, below a parent that gives another.
func TestPermissionTable(t *testing.T) {
	reads := func(op proto.Op) func(w *wire) proto.Code {
		return func(w *wire) proto.Code { return w.code(op, &proto.GetDataRequest{Path: "/p/n"}) }
	}
	for _, test := range []struct {
		name       string
		node, over int32 // the permissions that suffice, on the znode or its parent; 0: none needed
		do         func(w *wire) proto.Code
	}{
		{"getData", proto.PermRead, 0, reads(proto.OpGetData)},
		{"getChildren", proto.PermRead, 0, reads(proto.OpGetChildren)},
		{"getChildren2", proto.PermRead, 0, reads(proto.OpGetChildren2)},
		{"getAllChildrenNumber", proto.PermRead, 0, reads(proto.OpGetAllChildrenNumber)},
		{"exists", 0, 0, reads(proto.OpExists)},
		{"getACL", proto.PermRead | proto.PermAdmin, 0, reads(proto.OpGetACL)},
		{"setData", proto.PermWrite, 0, func(w *wire) proto.Code {
			return w.code(proto.OpSetData, &proto.SetDataRequest{Path: "/p/n", Version: -1})
		}},
		{"setACL", proto.PermAdmin, 0, func(w *wire) proto.Code {
			return w.code(proto.OpSetACL, &proto.SetACLRequest{Path: "/p/n", ACL: proto.WorldACL(31), Version: -1})
		}},
		{"create", proto.PermCreate, 0, func(w *wire) proto.Code { return w.createCode("/p/n/x", proto.ModePersistent) }},
		{"delete", 0, proto.PermDelete, func(w *wire) proto.Code {
			return w.code(proto.OpDelete, &proto.DeleteRequest{Path: "/p/n", Version: -1})
		}},
		{"check", proto.PermRead, 0, func(w *wire) proto.Code {
			rep := w.multi(proto.OpMulti, proto.MultiOp{Op: proto.OpCheck, Path: "/p/n", Version: 0})
			return rep[0].Err
		}},
	} {
		for bit := range 5 {
			perm := int32(1) << bit
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				w := open(t, srv)
				w.create("/p", proto.ModePersistent)
				w.create("/p/n", proto.ModePersistent)
				expect := func(needed int32, on string) {
					want := proto.ErrNoAuth
					if needed&perm != 0 {
						want = 0
					}
					assert.Equal(t, want, test.do(w), "%s with %b on %s", test.name, perm, on)
				}
				switch {
				case test.over != 0:
					assert.NoError(t, srv.SetACL("/p", proto.WorldACL(perm)))
					expect(test.over, "the parent")
				case test.node != 0:
					assert.NoError(t, srv.SetACL("/p/n", proto.WorldACL(perm)))
					expect(test.node, "the znode")
				default:
					assert.NoError(t, srv.SetACL("/p/n", proto.WorldACL(0)))
					assert.Zero(t, test.do(w), test.name)
				}
			})
		}
	}
}

func TestValidACL(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		for _, bad := range []proto.ACL{
			entry(31, "world", "nobody"), entry(31, "auth", ""), entry(31, "nosuch", "x"), entry(31, "super", "x"),
			entry(31, "digest", "bob"), entry(31, "digest", "a:b:c"), entry(31, "digest", "a:"), entry(31, "ip", "1.2.3"),
			entry(31, "ip", "1.2.3.4/33"), entry(31, "ip", "1.2.3.4/x"), entry(31, "ip", "::1"),
		} {
			assert.Equal(t, proto.ErrInvalidACL, w.createWith("/x", bad), "%v", bad)
		}
		assert.Equal(t, proto.ErrInvalidACL, w.createWith("/x", entry(31, "world", "anyone"), entry(1, "nosuch", "")))
		for _, good := range []proto.ACL{
			entry(999, "world", "anyone"), entry(0, "world", "anyone"), entry(31, "digest", "bob:x"),
			entry(31, "ip", "10.0.0.1"), entry(31, "ip", "10.0.0.0/8"),
		} {
			assert.Zero(t, w.createWith("/x", good), "%v", good)
			w.delete("/x")
		}
	})
}

func TestDigest(t *testing.T) {
	const bob = "bob:fyVmFCwVbTJYrznoSu1koqYEYF0="
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.auth("bob:secret")
		assert.Zero(t, w.createWith("/b", entry(31, "auth", "ignored"), entry(31, "digest", bob)))
		var acl proto.GetACLResponse
		w.ok(proto.OpGetACL, &proto.GetACLRequest{Path: "/b"}, &acl)
		assert.Equal(t, []proto.ACL{entry(31, "digest", bob)}, acl.ACL, "resolved, and without duplicates")

		stranger := open(t, srv)
		assert.Equal(t, proto.ErrNoAuth, stranger.code(proto.OpGetData, &proto.GetDataRequest{Path: "/b"}))
		stranger.auth("bob:wrong")
		assert.Equal(t, proto.ErrNoAuth, stranger.code(proto.OpGetData, &proto.GetDataRequest{Path: "/b"}))
		stranger.auth("bob:secret")
		stranger.get("/b", false)

		assert.NoError(t, srv.SetACL("/b", []proto.ACL{entry(31, "digest", bob), entry(1, "world", "anyone")}))
		reader := open(t, srv)
		acl = proto.GetACLResponse{}
		reader.ok(proto.OpGetACL, &proto.GetACLRequest{Path: "/b"}, &acl)
		assert.Equal(t, entry(31, "digest", "bob:x"), acl.ACL[0], "hidden from those without ADMIN")

		v := w.again(srv, member)
		assert.Equal(t, proto.ErrNoAuth, v.code(proto.OpSetData, &proto.SetDataRequest{Path: "/b", Version: -1}),
			"identities belong to the connection")
	})
}

func TestIPAndSuper(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		assert.Zero(t, w.createWith("/mine", entry(31, "ip", "127.0.0.0/8")))
		assert.Zero(t, w.createWith("/yours", entry(31, "ip", "10.0.0.1")))
		w.get("/mine", false)
		assert.Equal(t, proto.ErrNoAuth, w.code(proto.OpGetData, &proto.GetDataRequest{Path: "/yours"}))
		w.auth("root:pw")
		w.get("/yours", false)
		assert.Equal(t, proto.ErrNoAuth, open(t, srv).code(proto.OpGetData, &proto.GetDataRequest{Path: "/yours"}))
	}, zktest.SuperDigest("root", "pw"))
}

func TestAuthPackets(t *testing.T) {
	for _, test := range []struct {
		scheme string
		auth   []byte
		ok     bool
	}{
		{"digest", []byte("a:b"), true}, {"digest", []byte("nocolon"), true}, {"digest", nil, false},
		{"ip", nil, true}, {"world", []byte("anyone"), false}, {"", nil, false}, {"x509", []byte("cn"), false},
		{"sasl", []byte("u"), false},
	} {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			w := open(t, srv)
			rep := w.do(proto.OpAuth, &proto.AuthPacket{Scheme: test.scheme, Auth: test.auth})
			assert.Zero(t, rep.Zxid)
			if test.ok {
				assert.Zero(t, rep.Err)
				assert.Empty(t, w.events())
				return
			}
			assert.Equal(t, proto.ErrAuthFailed, rep.Err)
			w.closed()
		})
	}
}

func TestAuthOvertakes(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		held := srv.Hold(zktest.Match{Op: proto.OpExists})
		first := w.send(proto.OpExists, &proto.ExistsRequest{Path: "/"})
		second := w.send(proto.OpAuth, &proto.AuthPacket{Scheme: "digest", Auth: []byte("a:b")})
		assert.Equal(t, second, w.recv().Xid)
		held.Release()
		assert.Equal(t, first, w.recv().Xid)
	})
}

func TestSASLNotConfigured(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		var rep proto.SetSASLResponse
		head := w.ok(proto.OpSASL, &proto.GetSASLRequest{Token: []byte{}}, &rep)
		assert.Nil(t, rep.Token)
		assert.Zero(t, head.Zxid)
	})
}
