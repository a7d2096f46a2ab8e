package conformance

import (
	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
)

func aclEntries() []entry {
	return []entry{
		{"C123 P13.2", "the digest id is the server's; scheme auth expands to the creator; digests are hidden", nil, digestIDs},
		{"P13.2 raw", "which permission each operation needs, and on which znode", nil, permissions},
		{"P11 D9", "events of a znode that the connection may not read use up its watches", nil, filteredEvents},
		{"P13.2 ids", "identities that an access list may hold, and those it may not", nil, listedIDs},
	}
}

func digestIDs(e *env) {
	equal(e, "test vector", client.DigestID("bob", "secret"), "bob:fyVmFCwVbTJYrznoSu1koqYEYF0=")
	bob, _ := e.client(client.Auth("digest", []byte("bob:secret")))
	_, _, err := bob.Create(e.ctx, "/own", []byte("x"), client.ModePersistent, client.CreatorACL(client.PermAll))
	e.must(err)
	want := []client.ACL{{Perms: client.PermAll, ID: client.ID{Scheme: "digest", ID: client.DigestID("bob", "secret")}}}
	acl, _, err := bob.GetACL(e.ctx, "/own")
	e.must(err)
	equal(e, "scheme auth, expanded", acl, want)
	_, _, err = bob.Create(e.ctx, "/named", nil, client.ModePersistent, want)
	e.must(err)
	_, _, err = bob.Get(e.ctx, "/named")
	e.must(err)

	nobody, _ := e.client()
	_, _, err = nobody.Get(e.ctx, "/own")
	e.fails("get by another", err, client.ErrNoAuth)
	_, _, err = nobody.GetACL(e.ctx, "/own")
	e.fails("getACL by another", err, client.ErrNoAuth)
	_, err = bob.SetACL(e.ctx, "/own", append(want, client.WorldACL(client.PermRead)...), 0)
	e.must(err)
	acl, st, err := nobody.GetACL(e.ctx, "/own")
	e.must(err)
	equal(e, "aversion", st.Aversion, 1)
	equal(e, "hidden digest", acl[0].ID.ID, "bob:x")
	data, _, err := nobody.Get(e.ctx, "/own")
	e.must(err)
	equal(e, "data", string(data), "x")
}

// permissions tries every operation on znodes that allow one thing each.
func permissions(e *env) {
	owner, r := e.raw(), e.raw()
	equal(e, "auth", owner.auth("digest", "owner:pw"), 0)
	all := proto.ACL{Perms: proto.PermAll, ID: proto.ID{Scheme: "digest", ID: proto.DigestID("owner", "pw")}}
	exists := int32(0)
	if e.tg.Version.since(NewVersion(3, 8, 4), NewVersion(3, 9, 2)) {
		exists = proto.PermRead
	}
	for name, perm := range map[string]int32{
		"read": proto.PermRead, "write": proto.PermWrite, "create": proto.PermCreate, "delete": proto.PermDelete, "admin": proto.PermAdmin, "none": 0,
	} {
		path := e.path("/" + name)
		req := proto.CreateRequest{Path: path, ACL: []proto.ACL{all, {Perms: perm, ID: proto.ID{Scheme: "world", ID: "anyone"}}}}
		owner.ok(proto.OpCreate, &req, &proto.CreateResponse{})
		owner.create(path+"/child", "", proto.ModePersistent)
		for _, tc := range []struct {
			what  string
			op    proto.Op
			rec   encoder
			needs int32
		}{
			{"getData", proto.OpGetData, &proto.GetDataRequest{Path: path}, proto.PermRead},
			{"getChildren", proto.OpGetChildren, &proto.GetChildrenRequest{Path: path}, proto.PermRead},
			{"getChildren2", proto.OpGetChildren2, &proto.GetChildren2Request{Path: path}, proto.PermRead},
			{"getAllChildrenNumber", proto.OpGetAllChildrenNumber, &proto.GetAllChildrenNumberRequest{Path: path}, proto.PermRead},
			{"exists", proto.OpExists, &proto.ExistsRequest{Path: path}, exists},
			{"getACL", proto.OpGetACL, &proto.GetACLRequest{Path: path}, proto.PermRead | proto.PermAdmin},
			{"setData", proto.OpSetData, &proto.SetDataRequest{Path: path, Version: -1}, proto.PermWrite},
			{"create", proto.OpCreate, newNode(path+"/new", "", proto.ModePersistent), proto.PermCreate},
			{"delete of a child", proto.OpDelete, &proto.DeleteRequest{Path: path + "/child", Version: -1}, proto.PermDelete},
			{"sync", proto.OpSync, &proto.SyncRequest{Path: path}, 0},
		} {
			want := proto.Code(0)
			if tc.needs != 0 && tc.needs&perm == 0 {
				want = proto.ErrNoAuth
			}
			if got := r.do(tc.op, tc.rec).code; got != want {
				e.Errorf("%s with permission %s: %v, want %v", tc.what, name, got, want)
			}
		}
		e.transactions(r, path, name, perm)
	}
}

// transactions tries what only a multi can, and setACL last, since it opens the znode.
func (e *env) transactions(r *raw, path, name string, perm int32) {
	e.Helper()
	allowed := func(needs int32) proto.Code {
		if needs&perm == 0 {
			return proto.ErrNoAuth
		}
		return 0
	}
	equal(e, "check with permission "+name, r.multi(proto.MultiOp{Op: proto.OpCheck, Path: path, Version: -1})[0].Err, allowed(proto.PermRead))
	read := r.parts(proto.OpMultiRead, []proto.MultiOp{{Op: proto.OpGetData, Path: path}, {Op: proto.OpGetChildren, Path: path}})
	equal(e, "multiRead with permission "+name, []proto.Code{read[0].Err, read[1].Err}, []proto.Code{allowed(proto.PermRead), allowed(proto.PermRead)})
	rep := r.do(proto.OpSetACL, &proto.SetACLRequest{Path: path, ACL: world(), Version: -1})
	equal(e, "setACL with permission "+name, rep.code, allowed(proto.PermAdmin))
	if rep.code != 0 { // somebody has to clean up
		owner := e.raw()
		equal(e, "auth", owner.auth("digest", "owner:pw"), 0)
		owner.setACL(path, world())
	}
}

func listedIDs(e *env) {
	r := e.raw()
	try := func(what string, want proto.Code, acl ...proto.ACL) {
		e.Helper()
		req := proto.CreateRequest{Path: e.path("/s-"), ACL: acl, Flags: int32(proto.ModePersistentSequential)}
		equal(e, what, r.code(proto.OpCreate, &req), want)
	}
	one := func(perms int32, scheme, id string) proto.ACL {
		return proto.ACL{Perms: perms, ID: proto.ID{Scheme: scheme, ID: id}}
	}
	bad := proto.ErrInvalidACL
	open := one(proto.PermAll, "world", "anyone")
	try("world", 0, open)
	try("world, twice", 0, open, open)
	try("world, nobody", bad, one(31, "world", "nobody"))
	try("permissions that do not exist", 0, one(999, "world", "anyone"), open)
	try("no permission", 0, one(0, "world", "anyone"), open)
	try("no such scheme", bad, one(31, "nosuch", "x"))
	try("empty scheme", bad, one(31, "", "x"))
	try("auth without identity", bad, one(31, "auth", ""))
	try("digest", 0, one(31, "digest", "a:b"), open)
	try("digest without a colon", bad, one(31, "digest", "ab"))
	try("digest with two", bad, one(31, "digest", "a:b:c"))
	try("ip", 0, one(31, "ip", "10.0.0.1"), open)
	try("ip with bits", 0, one(31, "ip", "10.0.0.0/8"), open)
	try("ip, not an address", bad, one(31, "ip", "ten"))
	try("ip, too many bits", bad, one(31, "ip", "10.0.0.0/33"))
	try("good and bad", bad, open, one(31, "nosuch", "x"))
	equal(e, "auth by ip", r.auth("ip", ""), 0)
	try("auth with only ip", bad, one(31, "auth", ""))
	equal(e, "auth", r.auth("digest", "a:b"), 0)
	try("auth with identity", 0, one(31, "auth", "ignored"), open)

	own := r.create(e.path("/ip"), "data", proto.ModePersistent)
	r.setACL(own, []proto.ACL{one(31, "ip", "127.0.0.1")})
	if data, _ := r.get(own, false); data != "data" {
		e.Error("a client is not let in by its address")
	}
	r.setACL(own, []proto.ACL{one(31, "ip", "127.0.0.0/8"), one(1, "ip", "10.0.0.1")})
	r.setACL(own, world())
}

// filteredEvents changes znodes that the watcher may not read. Servers of all versions use up its watches; whether they tell
// it depends on the version, and on what distributors have added to it.
func filteredEvents(e *env) {
	owner, r := e.raw(), e.raw()
	closed := world()
	closed[0].Perms = proto.PermAll &^ proto.PermRead
	for _, path := range []string{"/data", "/dir", "/gone"} {
		owner.create(e.path(path), "", proto.ModePersistent)
	}
	r.get(e.path("/data"), true)
	r.get(e.path("/gone"), true)
	r.children(e.path("/dir"), true)
	r.exists(e.path("/new"), true)
	for _, path := range []string{"/data", "/dir", "/gone"} {
		owner.setACL(e.path(path), closed)
	}
	change := func() {
		owner.set(e.path("/data"), "new")
		owner.delete(e.path("/gone"))
		owner.create(e.path("/dir/x"), "", proto.ModePersistent)
		owner.ok(proto.OpCreate, &proto.CreateRequest{Path: e.path("/new"), ACL: closed}, &proto.CreateResponse{})
	}
	change()
	events := r.events()
	if e.tg.Version.since(NewVersion(3, 8, 4), NewVersion(3, 9, 2)) && len(events) != 0 {
		e.Errorf("events of what cannot be read: %v", events)
	}
	if n := len(events); n != 0 && n != 4 {
		e.Errorf("some are filtered and some are not: %v", events)
	}
	for _, path := range []string{"/data", "/dir", "/new"} {
		owner.setACL(e.path(path), world())
	}
	owner.delete(e.path("/dir/x"))
	owner.delete(e.path("/new"))
	owner.create(e.path("/gone"), "", proto.ModePersistent)
	change()
	e.events(r, "the second time")
}
