package conformance

import (
	"errors"
	"strings"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
)

func multiEntries() []entry {
	return []entry{
		{"C110 E7 E8 F13", "results by position; a failed multi names its first error, index and list", nil, multiResults},
		{"C111 C112 P21.9", "creates of all kinds in a multi, answered as this version does", nil, multiCreates},
		{"C113 E9 raw", "multiRead: each read has its own result; the watch flag sets nothing", nil, multiReads},
		{"C114", "an empty multi is answered locally, and by the server with the end alone", nil, emptyMulti},
		{"P10 raw", "a multi that mixes kinds, or has what cannot be in one, is refused whole", nil, refusedMulti},
		{"C117", "a failed multi with sequential creates leaves no gap in the numbers", nil, noGap},
		{"P10.order", "operations see those before them, and share one zxid", nil, multiOrder},
	}
}

func multiResults(e *env) {
	c, _ := e.client()
	_, _, err := c.Create(e.ctx, "/ex", []byte("v1"), client.ModePersistent, nil)
	e.must(err)
	_, _, err = c.Create(e.ctx, "/ex/gone", nil, client.ModePersistent, nil)
	e.must(err)
	results, err := c.Multi(e.ctx, client.CheckOp("/ex", 0), client.SetOp("/ex", []byte("v2"), 0),
		client.DeleteOp("/ex/gone", client.AnyVersion))
	e.must(err)
	equal(e, "results", len(results), 3)
	equal(e, "paths", []string{results[0].Path, results[1].Path, results[2].Path}, []string{"/ex", "/ex", "/ex/gone"})
	equal(e, "version", results[1].Stat.Version, 1)
	equal(e, "which have a Stat", []bool{results[0].HasStat, results[1].HasStat, results[2].HasStat}, []bool{false, true, false})

	results, err = c.Multi(e.ctx, client.CreateOp("/ex/m", nil, client.ModePersistent, nil), client.CheckOp("/ex", 7),
		client.DeleteOp("/ex/x", client.AnyVersion))
	e.fails("multi", err, client.ErrBadVersion)
	e.outcome(err, client.OutcomeRejected, false)
	var me *client.MultiError
	if !errors.As(err, &me) || me.Index != 1 || me.Path != "/ex" || len(me.Results) != 3 {
		e.Fatalf("%v, want an error of op 1 with three results", err)
	}
	if !strings.Contains(err.Error(), "/ex") {
		e.Errorf("text %q does not name the path", err)
	}
	equal(e, "results", len(results), 3)
	if results[0].Err != nil || !errors.Is(results[1].Err, client.ErrBadVersion) || !errors.Is(results[2].Err, client.ErrRuntimeInconsistency) {
		e.Errorf("results %v", results)
	}
	_, ok, err := c.Exists(e.ctx, "/ex/m")
	e.must(err)
	equal(e, "the first op was applied", ok, false)
}

// create2InMulti reports whether a multi takes create2 as an operation of its own (ZOOKEEPER-4026).
func (e *env) create2InMulti() bool {
	return e.tg.Version.since(NewVersion(3, 7, 2), NewVersion(3, 8, 2), NewVersion(3, 9, 0))
}

func multiCreates(e *env) {
	withStat := e.create2InMulti()
	c, _ := e.client()
	results, err := c.Multi(e.ctx, client.CreateOp("/p", []byte("x"), client.ModePersistent, nil),
		client.CreateOp("/c", nil, client.ModeContainer, nil), client.CreateOp("/s-", nil, client.ModeEphemeralSequential, nil))
	e.must(err)
	equal(e, "paths", []string{results[0].Path, results[1].Path, results[2].Path}, []string{"/p", "/c", "/s-0000000002"})
	equal(e, "which have a Stat", []bool{results[0].HasStat, results[1].HasStat, results[2].HasStat}, []bool{withStat, true, withStat})

	r := e.raw()
	got := r.multi(
		proto.MultiOp{Op: proto.OpCreate, Path: e.path("/1"), ACL: world()},
		proto.MultiOp{Op: proto.OpCreate2, Path: e.path("/2"), ACL: world()},
		proto.MultiOp{Op: proto.OpCreateContainer, Path: e.path("/3"), ACL: world(), Flags: int32(proto.ModeContainer)},
		proto.MultiOp{Op: proto.OpCreateTTL, Path: e.path("/4"), ACL: world(), Flags: int32(proto.ModePersistentTTL), TTL: 60_000},
	)
	plain2 := proto.OpCreate
	if withStat {
		plain2 = proto.OpCreate2
	}
	got = append(got, r.multi(
		proto.MultiOp{Op: proto.OpCreate, Path: e.path("/5"), ACL: world(), Flags: int32(proto.ModeContainer)},
		proto.MultiOp{Op: proto.OpCreateContainer, Path: e.path("/6"), ACL: world(), Flags: int32(proto.ModePersistent)},
	)...)
	// With create2 among a multi's operations the opcode of the last one counts, and before only its flags do.
	for i, want := range []proto.Op{proto.OpCreate, plain2, proto.OpCreate2, proto.OpCreate2, proto.OpCreate2, plain2} {
		if got[i].Op != want || got[i].HasStat != (want == proto.OpCreate2) {
			e.Errorf("create %d is answered as %v, with Stat %v; want %v", i, got[i].Op, got[i].HasStat, want)
		}
	}
}

func multiReads(e *env) {
	r := e.raw()
	path := r.create(e.path("/a"), "data", proto.ModePersistent)
	r.create(e.path("/a/b"), "", proto.ModePersistent)
	body := proto.AppendMulti(nil, []proto.MultiOp{
		{Op: proto.OpGetData, Path: path}, {Op: proto.OpGetChildren, Path: path}, {Op: proto.OpGetData, Path: e.path("/no")},
		{Op: proto.OpGetChildren, Path: e.path("/no")},
	})
	flag := proto.MultiHeaderSize + 4 + len(path) // of the first read
	body[flag] = 1
	rep := r.ok(proto.OpMultiRead, bare(body), &multiBody{})
	var got multiBody
	r.decode(rep, &got)
	res := got.results
	equal(e, "data", string(res[0].Data), "data")
	equal(e, "children", res[1].Children, []string{"b"})
	equal(e, "codes", []proto.Code{res[0].Err, res[1].Err, res[2].Err, res[3].Err},
		[]proto.Code{0, 0, proto.ErrNoNode, proto.ErrNoNode})
	r.set(path, "new")
	e.events(r, "the flag in a multiRead")
}

func emptyMulti(e *env) {
	c, tp := e.client()
	results, err := c.Multi(e.ctx)
	e.must(err)
	equal(e, "results", len(results), 0)
	equal(e, "requests on the wire", len(tp.frames(sent(proto.OpMulti))), 0)
	r := e.raw()
	for _, op := range []proto.Op{proto.OpMulti, proto.OpMultiRead} {
		equal(e, "entries of the server's answer", len(r.parts(op, nil)), 0)
	}
}

func refusedMulti(e *env) {
	r := e.raw()
	set := proto.MultiOp{Op: proto.OpSetData, Path: e.root, Data: []byte("x"), Version: -1}
	read := proto.MultiOp{Op: proto.OpGetData, Path: e.root}
	for name, tc := range map[string]struct {
		op  proto.Op
		ops []proto.MultiOp
	}{
		"a read in a multi":            {proto.OpMulti, []proto.MultiOp{set, read}},
		"children in a multi":          {proto.OpMulti, []proto.MultiOp{{Op: proto.OpGetChildren, Path: e.root}}},
		"exists, which cannot be read": {proto.OpMultiRead, nil},
	} {
		body := proto.AppendMulti(nil, tc.ops)
		if tc.ops == nil { // by hand, since ours would not write it
			body = (&proto.MultiHeader{Type: int32(proto.OpExists), Err: -1}).AppendTo(nil)
			body = (&proto.ExistsRequest{Path: e.root}).AppendTo(body)
			body = proto.AppendMulti(body, nil)
		}
		equal(e, name, r.do(tc.op, bare(body)).code, proto.ErrMarshalling)
	}
	noEnd := proto.AppendMulti(nil, []proto.MultiOp{set})
	noEnd = noEnd[:len(noEnd)-proto.MultiHeaderSize]
	equal(e, "no end", r.code(proto.OpMulti, bare(noEnd)), proto.ErrMarshalling)
	equal(e, "a write among reads", r.code(proto.OpMultiRead, bare(proto.AppendMulti(nil, []proto.MultiOp{read, set}))), proto.ErrMarshalling)
	// The one error with a body (docs/protocol.md section 21, number 11).
	rep := r.do(proto.OpMultiRead, bare(proto.AppendMulti(nil, []proto.MultiOp{set, set})))
	equal(e, "a multiRead of writes", rep.code, proto.ErrMarshalling)
	equal(e, "its body", len(rep.body), proto.MultiHeaderSize)
	// In a multi the flags say what is created, and not the opcode (org.apache.zookeeper.Op.create).
	ttl := proto.MultiOp{Op: proto.OpCreate, Path: e.path("/ttl"), ACL: world(), Flags: int32(proto.ModePersistentTTL)}
	equal(e, "TTL flags by opcode 1", r.code(proto.OpMulti, bare(proto.AppendMulti(nil, []proto.MultiOp{set, ttl}))), proto.ErrMarshalling)
	none := proto.MultiOp{Op: proto.OpDelete, Path: e.path("/no"), Version: -1}
	const behind = "the same, behind a failure"
	if e.create2InMulti() { // and so the flags are looked at while it is read
		equal(e, behind, r.code(proto.OpMulti, bare(proto.AppendMulti(nil, []proto.MultiOp{none, ttl}))), proto.ErrMarshalling)
	} else {
		equal(e, behind, r.multi(none, ttl)[0].Err, proto.ErrNoNode)
	}
	_, st := r.get(e.root, false)
	equal(e, "version in the end", st.Version, 0)
}

func noGap(e *env) {
	c, _ := e.client()
	seq := client.CreateOp("/s-", nil, client.ModePersistentSequential, nil)
	_, err := c.Multi(e.ctx, seq, seq, client.CheckOp("/none", 0))
	e.fails("multi", err, client.ErrNoNode)
	results, err := c.Multi(e.ctx, seq, seq)
	e.must(err)
	equal(e, "paths", []string{results[0].Path, results[1].Path}, []string{"/s-0000000000", "/s-0000000001"})
	path, _, err := c.Create(e.ctx, "/s-", nil, client.ModePersistentSequential, nil)
	e.must(err)
	equal(e, "the next", path, "/s-0000000002")
}

func multiOrder(e *env) {
	r := e.raw()
	a := e.path("/a")
	rep := r.multi(
		proto.MultiOp{Op: proto.OpCreate, Path: a, ACL: world()},
		proto.MultiOp{Op: proto.OpCreate, Path: a + "/b", ACL: world()},
		proto.MultiOp{Op: proto.OpSetData, Path: a, Data: []byte("x"), Version: 0},
		proto.MultiOp{Op: proto.OpCheck, Path: a, Version: 1},
		proto.MultiOp{Op: proto.OpDelete, Path: a + "/b", Version: 0},
		proto.MultiOp{Op: proto.OpDelete, Path: a, Version: 1},
		proto.MultiOp{Op: proto.OpCreate, Path: a, ACL: world()},
	)
	equal(e, "results", len(rep), 7)
	st, top := r.stat(a), r.stat(e.root)
	equal(e, "version of the znode made anew", st.Version, 0)
	equal(e, "one zxid", []int64{st.Czxid, st.Mzxid, st.Pzxid}, []int64{top.Pzxid, top.Pzxid, top.Pzxid})
	equal(e, "cversion of its parent", top.Cversion, 3)
}
