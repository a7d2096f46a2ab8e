package conformance

import (
	"fmt"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// scripted is one random request.
type scripted struct {
	op   proto.Op
	rec  encoder
	text string
}

// answer returns the record of a good answer, nil when there is none.
func (q scripted) answer() decoder {
	switch q.op {
	case proto.OpCreate:
		return &proto.CreateResponse{}
	case proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		return &proto.Create2Response{}
	case proto.OpExists, proto.OpSetData, proto.OpSetACL:
		return &proto.ExistsResponse{}
	case proto.OpGetData:
		return &proto.GetDataResponse{}
	case proto.OpGetACL:
		return &proto.GetACLResponse{}
	case proto.OpGetChildren:
		return &proto.GetChildrenResponse{}
	case proto.OpGetChildren2:
		return &proto.GetChildren2Response{}
	case proto.OpSync:
		return &proto.SyncResponse{}
	case proto.OpMulti, proto.OpMultiRead:
		return &multiBody{}
	case proto.OpAddWatch:
		return &proto.ErrorResponse{}
	case proto.OpGetEphemerals:
		return &proto.GetEphemeralsResponse{}
	case proto.OpGetAllChildrenNumber:
		return &proto.GetAllChildrenNumberResponse{}
	case proto.OpWhoAmI:
		return &proto.WhoAmIResponse{}
	}
	return nil
}

// path returns a path below the run's znode; sometimes one that no client of ours would send.
func (s *script) path() string {
	if s.rnd.IntN(25) == 0 {
		return pick(s, "", "/", "a", "/zookeeper", "/zookeeper/quota", "/zookeeper/config", s.e.root+"/", s.e.root+"/a/",
			s.e.root+"//a", s.e.root+"/a/.", s.e.root+"/../a", s.e.root+"/a\x00", s.e.root+"/a\xff", s.e.root+"/\ue000")
	}
	return s.e.root + pick(s, "", "/a", "/a", "/a/b", "/a/b/c", "/b", "/b/c", "/e", "/e/f", "/s", "/s0000000003", "/s0000000005", "/a/s", "/a/s0000000001")
}

// acl returns a list, mostly the open one.
func (s *script) acl() []proto.ACL {
	id := func(perms int32, scheme, id string) proto.ACL {
		return proto.ACL{Perms: perms, ID: proto.ID{Scheme: scheme, ID: id}}
	}
	if s.rnd.IntN(4) > 0 {
		return world()
	}
	perms := int32(s.rnd.IntN(33))
	if !s.e.tg.Version.since(NewVersion(3, 8, 4), NewVersion(3, 9, 2)) {
		perms |= proto.PermRead // what happens to the events of unreadable znodes differs between builds of one version
	}
	return pick(s,
		nil,
		[]proto.ACL{},
		[]proto.ACL{id(perms, "world", "anyone")},
		[]proto.ACL{id(perms, "world", "someone")},
		[]proto.ACL{id(perms, "auth", "")},
		[]proto.ACL{id(perms, "auth", "x"), id(1, "world", "anyone")},
		[]proto.ACL{id(31, "digest", proto.DigestID("a", "pw")), id(perms, "world", "anyone")},
		[]proto.ACL{id(31, "digest", "a:b:c")},
		[]proto.ACL{id(perms, "ip", "127.0.0.1"), id(1, "world", "anyone")},
		[]proto.ACL{id(perms, "ip", "127.0.0.0/8")},
		[]proto.ACL{id(perms, "ip", "localhost")},
		[]proto.ACL{id(perms, "nosuch", "x")},
		[]proto.ACL{id(1, "world", "anyone"), id(1, "world", "anyone"), id(2, "world", "anyone")},
	)
}

func (s *script) data() []byte { return pick(s, nil, []byte{}, []byte("x"), []byte("some more data")) }

func (s *script) version() int32 { return pick[int32](s, -1, -1, -1, 0, 0, 1, 2, 3, -2) }

// create returns a create of any kind that a client may send; see modesByOpcode for those it may not.
func (s *script) create() proto.MultiOp {
	op := pick(s, proto.OpCreate, proto.OpCreate, proto.OpCreate2, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL)
	m := proto.MultiOp{Op: op, Path: s.path(), Data: s.data(), ACL: s.acl(), Flags: pick[int32](s, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, -1)}
	if op == proto.OpCreateTTL {
		m.Flags, m.TTL = pick(s, int32(proto.ModePersistentTTL), int32(proto.ModePersistentSequentialTTL)), pick[int64](s, 1, 60_000, 1<<40-1)
	}
	return m
}

// part returns an operation that may be in a multi.
func (s *script) part() proto.MultiOp {
	switch s.rnd.IntN(4) {
	case 0:
		return proto.MultiOp{Op: proto.OpDelete, Path: s.path(), Version: s.version()}
	case 1:
		return proto.MultiOp{Op: proto.OpSetData, Path: s.path(), Data: s.data(), Version: s.version()}
	case 2:
		return proto.MultiOp{Op: proto.OpCheck, Path: s.path(), Version: s.version()}
	}
	return s.create()
}

// request returns a random request.
func (s *script) request() scripted {
	q := s.whole()
	if q.text == "" {
		q.text = fmt.Sprintf("%+q", q.rec)
	}
	q.text = q.op.String() + " " + s.short(q.text)
	if q.op == proto.OpMulti || q.op == proto.OpMultiRead || q.op == proto.OpCreateTTL {
		return q
	}
	b := q.rec.AppendTo(nil)
	switch s.rnd.IntN(50) {
	case 0, 1:
		cut := s.rnd.IntN(len(b) + 1)
		return scripted{q.op, bare(b[:cut]), fmt.Sprintf("%s, %d bytes short", q.text, len(b)-cut)}
	case 2:
		if s.takesNullPath(q.op) {
			return scripted{q.op, bare(append([]byte{0xff, 0xff, 0xff, 0xff}, afterString(b)...)), q.text + ", with a null path"}
		}
	}
	return q
}

// takesNullPath reports whether the first field of the operation's record is a path that may be null. In requests about watches
// it may not before 3.9.0: there the answer depends on what exceptions of earlier ones have left behind.
func (s *script) takesNullPath(op proto.Op) bool {
	switch op {
	case proto.OpSetWatches, proto.OpSetWatches2, proto.OpWhoAmI, proto.OpReconfig:
		return false
	case proto.OpAddWatch, proto.OpCheckWatches, proto.OpRemoveWatches:
		return s.e.tg.Version >= NewVersion(3, 9, 0)
	}
	return true
}

// afterString returns what follows the string at the beginning of b.
func afterString(b []byte) []byte {
	r := jute.NewReader(b)
	r.StringBytes()
	return r.Rest()
}

func (s *script) whole() scripted {
	watch := s.rnd.IntN(3) == 0
	path := s.path()
	switch s.rnd.IntN(32) {
	case 0, 1, 2, 3, 4:
		return s.single(s.create())
	case 5, 6:
		return scripted{op: proto.OpDelete, rec: &proto.DeleteRequest{Path: path, Version: s.version()}}
	case 7, 8, 9:
		return scripted{op: proto.OpSetData, rec: &proto.SetDataRequest{Path: path, Data: s.data(), Version: s.version()}}
	case 10, 11:
		return scripted{op: proto.OpExists, rec: &proto.ExistsRequest{Path: path, Watch: watch}}
	case 12, 13:
		return scripted{op: proto.OpGetData, rec: &proto.GetDataRequest{Path: path, Watch: watch}}
	case 14:
		return scripted{op: proto.OpGetChildren, rec: &proto.GetChildrenRequest{Path: path, Watch: watch}}
	case 15:
		return scripted{op: proto.OpGetChildren2, rec: &proto.GetChildren2Request{Path: path, Watch: watch}}
	case 16:
		return scripted{op: proto.OpGetACL, rec: &proto.GetACLRequest{Path: path}}
	case 17:
		return scripted{op: proto.OpSetACL, rec: &proto.SetACLRequest{Path: path, ACL: s.acl(), Version: s.version()}}
	case 18, 19, 20:
		return s.several()
	case 21, 22:
		return s.setWatches()
	case 23, 24, 25, 26, 27:
		return s.watch()
	}
	return s.small(path)
}

// single makes a request of a create.
func (s *script) single(m proto.MultiOp) scripted {
	if m.Op == proto.OpCreateTTL {
		return scripted{op: m.Op, rec: &proto.CreateTTLRequest{Path: m.Path, Data: m.Data, ACL: m.ACL, Flags: m.Flags, TTL: m.TTL}}
	}
	return scripted{op: m.Op, rec: &proto.CreateRequest{Path: m.Path, Data: m.Data, ACL: m.ACL, Flags: m.Flags}}
}

// parts is a multi as a record.
type parts []proto.MultiOp

// AppendTo implements encoder.
func (p parts) AppendTo(dst []byte) []byte { return proto.AppendMulti(dst, p) }

// several returns a multi or a multiRead, now and then with what cannot be in it.
func (s *script) several() scripted {
	op, list := proto.OpMulti, parts{}
	reads := s.rnd.IntN(4) == 0
	if reads {
		op = proto.OpMultiRead
	}
	for range s.rnd.IntN(5) {
		if reads != (s.rnd.IntN(20) == 0) {
			list = append(list, proto.MultiOp{Op: pick(s, proto.OpGetData, proto.OpGetChildren), Path: s.path()})
		} else {
			list = append(list, s.part())
		}
	}
	return scripted{op: op, rec: list}
}

// watch adds, looks for, or removes a watch, on one of few paths, so that several kinds come together there.
func (s *script) watch() scripted {
	path := s.e.root + pick(s, "", "/a", "/a", "/a/b", "/s")
	kind := int32(s.rnd.IntN(7))
	switch s.rnd.IntN(8) {
	case 0, 1:
		return scripted{op: proto.OpAddWatch, rec: &proto.AddWatchRequest{Path: path, Mode: int32(s.rnd.IntN(2))}}
	case 2:
		return scripted{op: proto.OpCheckWatches, rec: &proto.CheckWatchesRequest{Path: path, Type: kind}}
	case 3, 4:
		return scripted{op: proto.OpRemoveWatches, rec: &proto.RemoveWatchesRequest{Path: path, Type: kind}}
	case 5:
		return scripted{op: proto.OpExists, rec: &proto.ExistsRequest{Path: path, Watch: true}}
	case 6:
		return scripted{op: proto.OpGetData, rec: &proto.GetDataRequest{Path: path, Watch: true}}
	}
	return scripted{op: proto.OpGetChildren, rec: &proto.GetChildrenRequest{Path: path, Watch: true}}
}

// setWatches returns a setWatches or setWatches2, with some path in several lists.
func (s *script) setWatches() scripted {
	list := func() (out []string) {
		for range s.rnd.IntN(4) {
			out = append(out, s.path())
		}
		return out
	}
	behind := int64(s.rnd.IntN(20))
	sw := proto.SetWatches{RelativeZxid: s.last - behind, DataWatches: list(), ExistWatches: list(), ChildWatches: list()}
	text := func(v any) string { return s.short(fmt.Sprintf("%v", v)) }
	if s.rnd.IntN(2) == 0 {
		return scripted{proto.OpSetWatches, bare(sw.AppendTo(nil)), text([]any{behind, sw.DataWatches, sw.ExistWatches, sw.ChildWatches})}
	}
	sw2 := proto.SetWatches2{RelativeZxid: sw.RelativeZxid, DataWatches: sw.DataWatches, ExistWatches: sw.ExistWatches,
		ChildWatches: sw.ChildWatches, PersistentWatches: list(), PersistentRecursiveWatches: list()}
	return scripted{proto.OpSetWatches2, bare(sw2.AppendTo(nil)), text([]any{behind, sw.DataWatches, sw.ExistWatches, sw.ChildWatches,
		sw2.PersistentWatches, sw2.PersistentRecursiveWatches})}
}

// small returns one of the less frequent requests.
func (s *script) small(path string) scripted {
	switch s.rnd.IntN(8) {
	case 0:
		return scripted{op: proto.OpAddWatch, rec: &proto.AddWatchRequest{Path: path, Mode: pick[int32](s, 0, 1, 1, 2, -1)}}
	case 1:
		return scripted{op: proto.OpCheckWatches, rec: &proto.CheckWatchesRequest{Path: path, Type: int32(s.rnd.IntN(7))}}
	case 2:
		return scripted{op: proto.OpRemoveWatches, rec: &proto.RemoveWatchesRequest{Path: path, Type: int32(s.rnd.IntN(7))}}
	case 3:
		return scripted{op: proto.OpGetEphemerals, rec: &proto.GetEphemeralsRequest{PrefixPath: path}}
	case 4:
		return scripted{op: proto.OpGetAllChildrenNumber, rec: &proto.GetAllChildrenNumberRequest{Path: path}}
	case 5:
		return scripted{op: proto.OpSync, rec: bare(jute.AppendString(nil, path))}
	case 6:
		return scripted{op: proto.OpReconfig, rec: &proto.ReconfigRequest{CurConfigID: int64(s.version())}}
	}
	return scripted{op: proto.OpWhoAmI, rec: none}
}
