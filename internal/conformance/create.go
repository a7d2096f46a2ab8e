package conformance

import (
	"errors"
	"fmt"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
)

func createEntries() []entry {
	return []entry{
		{"C120", "create modes: the right opcode on the wire, the right owner; TTL modes refused locally", nil, modesOnWire},
		{"C120 raw E18", "opcodes and flags of creates, in all combinations that may be sent", nil, modesByOpcode},
		{"P8", "sequence numbers count all creations, not failures, and are not the cversion", nil, sequenceNumbers},
		{"P7", "Stat: versions, lengths, children and zxids after each kind of change", nil, statFields},
		{"F65", "a trailing slash is for sequential creates: the name is the number", nil, bareNumbers},
	}
}

func modesOnWire(e *env) {
	c, tp := e.client()
	for _, tc := range []struct {
		mode  client.CreateMode
		op    proto.Op
		owned bool
	}{
		{client.ModePersistent, proto.OpCreate2, false}, {client.ModeEphemeral, proto.OpCreate2, true},
		{client.ModePersistentSequential, proto.OpCreate2, false}, {client.ModeEphemeralSequential, proto.OpCreate2, true},
		{client.ModeContainer, proto.OpCreateContainer, false},
	} {
		path := fmt.Sprintf("/%d-", tc.mode)
		got, st, err := c.Create(e.ctx, path, []byte("x"), tc.mode, nil)
		e.must(err)
		requests := tp.frames(all(anySent, at(e.path(path))))
		equal(e, tc.mode.String()+": opcode", requests[0].op, tc.op)
		equal(e, tc.mode.String()+": sequential", len(got) == len(path)+10, tc.mode.IsSequential())
		owner := int64(0)
		if tc.owned {
			owner = c.SessionID()
		}
		equal(e, tc.mode.String()+": owner", st.EphemeralOwner, owner)
		same, ok, err := c.Exists(e.ctx, got)
		e.must(err)
		equal(e, tc.mode.String()+": exists", ok, true)
		equal(e, tc.mode.String()+": stat of the create", st, same)
	}
	for _, mode := range []client.CreateMode{client.ModePersistentTTL, client.ModePersistentSequentialTTL, 7, -1} {
		_, _, err := c.Create(e.ctx, "/ttl", nil, mode, nil)
		var me *client.ModeError
		if !errors.As(err, &me) {
			e.Errorf("mode %d: %v, want a *ModeError", mode, err)
		}
		e.outcome(err, client.OutcomeNotSent, false)
	}
	equal(e, "requests for them", len(tp.frames(all(anySent, at(e.path("/ttl"))))), 0)
}

// modesByOpcode sends what a client may. Nothing here may be a TTL create with other flags than 5 and 6, or with a time out
// of range: such a request can harm a real server (docs/protocol.md section 21, number 1).
func modesByOpcode(e *env) {
	r := e.raw()
	for _, op := range []proto.Op{proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer} {
		for flags := int32(-1); flags <= 8; flags++ {
			path := e.path(fmt.Sprintf("/%d-%d-", op, flags))
			want := proto.Code(0)
			// -8 for TTL modes by these opcodes, and for numbers that are none.
			if flags < 0 || flags > 4 {
				want = proto.ErrBadArguments
			}
			req := proto.CreateRequest{Path: path, ACL: world(), Flags: flags}
			rep := r.do(op, &req)
			if rep.code != want {
				e.Errorf("%v with flags %d: %v, want %v", op, flags, rep.code, want)
			}
			if rep.code == 0 {
				checkCreated(e, r, op, flags, path, rep)
			}
		}
	}
	for i, ttl := range []int64{1, 60_000, 1<<40 - 1} {
		for _, mode := range []proto.CreateMode{proto.ModePersistentTTL, proto.ModePersistentSequentialTTL} {
			path := e.path(fmt.Sprintf("/ttl-%d-%d-", i, mode))
			var rep proto.Create2Response
			r.ok(proto.OpCreateTTL, &proto.CreateTTLRequest{Path: path, ACL: world(), Flags: int32(mode), TTL: ttl}, &rep)
			equal(e, "owner of a TTL znode", rep.Stat.EphemeralOwner, 0)
			equal(e, "sequential", len(rep.Path) == len(path)+10, mode.IsSequential())
		}
	}
}

// checkCreated checks the record of the answer, and the owner.
func checkCreated(e *env, r *raw, op proto.Op, flags int32, path string, rep reply) {
	e.Helper()
	var made proto.Create2Response
	if op == proto.OpCreate {
		var short proto.CreateResponse
		r.decode(rep, &short)
		made.Path = short.Path
	} else {
		r.decode(rep, &made)
	}
	mode := proto.CreateMode(flags)
	if (len(made.Path) == len(path)+10) != mode.IsSequential() {
		e.Errorf("%v with flags %d made %s", op, flags, made.Path)
	}
	owner := r.stat(made.Path).EphemeralOwner
	if ephemeral := mode.IsEphemeral() && op != proto.OpCreateContainer; (owner == r.ss.SessionID) != ephemeral || owner != 0 && !ephemeral {
		e.Errorf("%v with flags %d: owner %#x", op, flags, owner)
	}
}

func sequenceNumbers(e *env) {
	r := e.raw()
	next := func(want string) {
		e.Helper()
		equal(e, "path", r.create(e.path("/s-"), "", proto.ModePersistentSequential), e.path("/s-"+want))
	}
	next("0000000000")
	next("0000000001")
	r.delete(e.path("/s-0000000001"))
	next("0000000002")
	equal(e, "cversion", r.stat(e.root).Cversion, 4)
	r.create(e.path("/plain"), "", proto.ModePersistent) // counts too
	next("0000000004")
	equal(e, "failed create", r.createCode(e.path("/plain")), proto.ErrNodeExists)
	equal(e, "failed create", r.code(proto.OpCreate, &proto.CreateRequest{Path: e.path("/s-"), Flags: 2}), proto.ErrInvalidACL)
	next("0000000005")
	equal(e, "other prefix", r.create(e.path("/t"), "", proto.ModeEphemeralSequential), e.path("/t0000000006"))
	// A znode with the next name is in the way of nobody but the one who gets it.
	r.create(e.path("/s-0000000008"), "", proto.ModePersistent)
	equal(e, "name taken", r.code(proto.OpCreate, newNode(e.path("/s-"), "", proto.ModePersistentSequential)), proto.ErrNodeExists)
}

func statFields(e *env) {
	r := e.raw()
	a, b := e.path("/a"), e.path("/a/b")
	var made proto.Create2Response
	r.ok(proto.OpCreate2, newNode(a, "four", proto.ModePersistent), &made)
	st := made.Stat
	equal(e, "new", []int32{st.Version, st.Cversion, st.Aversion, st.DataLength, st.NumChildren}, []int32{0, 0, 0, 4, 0})
	equal(e, "new: zxids", []int64{st.Mzxid, st.Pzxid}, []int64{st.Czxid, st.Czxid})
	equal(e, "new: mtime", st.Mtime, st.Ctime)

	set := r.set(a, "longer")
	equal(e, "set", []int32{set.Version, set.Cversion, set.Aversion, set.DataLength, set.NumChildren}, []int32{1, 0, 0, 6, 0})
	equal(e, "set: czxid and pzxid", []int64{set.Czxid, set.Pzxid}, []int64{st.Czxid, st.Pzxid})
	equal(e, "set: mzxid rose", set.Mzxid > st.Mzxid, true)

	r.setACL(a, world())
	acl := r.stat(a)
	set.Aversion++
	equal(e, "setACL changes the aversion alone", acl, set)

	r.create(b, "", proto.ModePersistent)
	child := r.stat(a)
	equal(e, "child", []int32{child.Version, child.Cversion, child.Aversion, child.NumChildren}, []int32{1, 1, 1, 1})
	equal(e, "child: mzxid", child.Mzxid, set.Mzxid)
	equal(e, "child: pzxid", child.Pzxid, r.stat(b).Czxid)

	r.set(b, "new")
	r.setACL(b, world())
	r.create(b+"/c", "", proto.ModePersistent)
	equal(e, "what happens to a child does not show in its parent", r.stat(a), child)
	r.delete(b + "/c")
	r.delete(b)
	after := r.stat(a)
	equal(e, "child gone", []int32{after.Cversion, after.NumChildren}, []int32{2, 0})
	equal(e, "child gone: pzxid rose", after.Pzxid > child.Pzxid, true)
	r.ok(proto.OpSetData, &proto.SetDataRequest{Path: a, Version: -1}, &proto.SetDataResponse{})
	equal(e, "null data", r.stat(a).DataLength, 0)
}

func bareNumbers(e *env) {
	c, _ := e.client()
	_, _, err := c.Create(e.ctx, "/dir", nil, client.ModePersistent, nil)
	e.must(err)
	path, _, err := c.Create(e.ctx, "/dir/", nil, client.ModePersistentSequential, nil)
	e.must(err)
	equal(e, "below a directory", path, "/dir/0000000000")
	path, _, err = c.Create(e.ctx, "/", nil, client.ModeEphemeralSequential, nil)
	e.must(err)
	equal(e, "below the root", path, "/0000000001")
	_, _, err = c.Create(e.ctx, "/dir/", nil, client.ModePersistent, nil)
	var pe *client.PathError
	if !errors.As(err, &pe) {
		e.Errorf("not sequential: %v, want a *PathError", err)
	}
}
