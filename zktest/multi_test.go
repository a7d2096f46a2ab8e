package zktest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// ops is the body of a multi.
type ops []proto.MultiOp

func (o ops) AppendTo(b []byte) []byte { return proto.AppendMulti(b, o) }

func create(path string, mode proto.CreateMode) proto.MultiOp {
	return proto.MultiOp{Op: mode.Op(), Path: path, ACL: proto.WorldACL(31), Flags: int32(mode)}
}

func (w *wire) multi(op proto.Op, o ...proto.MultiOp) []proto.MultiResult {
	w.t.Helper()
	rep := w.ok(op, ops(o), nil)
	r := jute.NewReader(rep.Body)
	out := proto.ReadMultiReply(&r, nil)
	assert.NoError(w.t, r.Err())
	assert.Zero(w.t, r.Remaining())
	return out
}

func TestMultiAnswerTypes(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		one := create("/one", proto.ModePersistent)
		one.Op = proto.OpCreate
		ttl := create("/ttl", proto.ModePersistentTTL)
		ttl.TTL = 1000
		got := w.multi(proto.OpMulti, one, create("/two", proto.ModePersistent), create("/c", proto.ModeContainer), ttl,
			proto.MultiOp{Op: proto.OpSetData, Path: "/one", Data: []byte("abc"), Version: 0},
			proto.MultiOp{Op: proto.OpCheck, Path: "/one", Version: 1},
			proto.MultiOp{Op: proto.OpDelete, Path: "/two", Version: -1})
		var types []proto.Op
		for _, r := range got {
			types = append(types, r.Op)
			assert.Zero(t, r.Err)
		}
		assert.Equal(t, []proto.Op{proto.OpCreate, proto.OpCreate, proto.OpCreate2, proto.OpCreate2, proto.OpSetData,
			proto.OpCheck, proto.OpDelete}, types, "create2 comes back as create on 3.8.0")
		assert.Equal(t, int32(3), got[4].Stat.DataLength)
		zxid := srv.Snapshot().Zxid
		for _, path := range []string{"/one", "/c", "/ttl"} {
			_, st := w.get(path, false)
			assert.Equal(t, zxid, st.Czxid, "one zxid for all")
		}
	})
}

func TestMultiSeesItsOwnEffects(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		got := w.multi(proto.OpMulti, create("/p", proto.ModePersistent),
			create("/p/a", proto.ModeEphemeralSequential), create("/p/b", proto.ModePersistentSequential))
		assert.Equal(t, "/p/a0000000000", got[1].Path)
		assert.Equal(t, "/p/b0000000001", got[2].Path)
		_, st := w.get(got[1].Path, false)
		assert.Equal(t, w.ss.SessionID, st.EphemeralOwner)
	})
}

func TestMultiRollback(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/p", proto.ModePersistent)
		w.create("/p/x", proto.ModePersistent)
		w.create("/p/e", proto.ModeEphemeral)
		before := dump(srv)
		w.addWatch("/", proto.AddWatchPersistentRecursive)
		got := w.multi(proto.OpMulti,
			proto.MultiOp{Op: proto.OpDelete, Path: "/p/x", Version: -1},
			proto.MultiOp{Op: proto.OpDelete, Path: "/p/e", Version: -1},
			create("/p/new-", proto.ModeEphemeralSequential), create("/p/x", proto.ModePersistent),
			create("/p/x/y", proto.ModePersistent),
			proto.MultiOp{Op: proto.OpSetData, Path: "/p", Data: []byte("changed"), Version: -1},
			proto.MultiOp{Op: proto.OpCheck, Path: "/p", Version: 9},
			create("/never", proto.ModePersistent))
		var codes []proto.Code
		for _, r := range got {
			assert.Equal(t, proto.OpError, r.Op)
			codes = append(codes, r.Err)
		}
		assert.Equal(t, []proto.Code{0, 0, 0, 0, 0, 0, proto.ErrBadVersion, proto.ErrRuntimeInconsistency}, codes)
		assert.Equal(t, before, dump(srv))
		assert.Empty(t, w.events())
		assert.Equal(t, []string{"/p/e"}, srv.Sessions()[0].Ephemerals)
		open(t, srv).multi(proto.OpMulti, proto.MultiOp{Op: proto.OpDelete, Path: "/p/x", Version: -1},
			create("/p/n-", proto.ModeEphemeralSequential))
		assert.Equal(t, []event{{deleted, "/p/x"}, {created, "/p/n-0000000002"}}, w.events(), "the counter was rolled back")
	})
}

// dump is the tree with all Stats.
func dump(srv *zktest.Server) map[string]proto.Stat {
	out := make(map[string]proto.Stat)
	var walk func(path, prefix string)
	walk = func(path, prefix string) {
		_, st, _ := srv.Get(path)
		out[path] = st
		for _, name := range srv.Children(path) {
			walk(prefix+"/"+name, prefix+"/"+name)
		}
	}
	walk("/", "")
	return out
}

func TestMultiRefusals(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		assert.Empty(t, w.multi(proto.OpMulti))
		zxid := srv.Snapshot().Zxid
		read := proto.MultiOp{Op: proto.OpGetData, Path: "/"}
		assert.Equal(t, proto.ErrMarshalling, w.code(proto.OpMulti, ops{read}))
		assert.Equal(t, proto.ErrMarshalling, w.code(proto.OpMulti, cut{ops{create("/x", 0)}, 9}), "no terminator")
		assert.Equal(t, zxid+2, srv.Snapshot().Zxid)
		assert.False(t, srv.Exists("/x"))
		rep := w.do(proto.OpMultiRead, ops{create("/y", 0), create("/x", 0)})
		assert.Equal(t, proto.ErrMarshalling, rep.Err)
		assert.Len(t, rep.Body, 9, "the one error answer with a body: writes only")
		assert.Equal(t, proto.ErrMarshalling, w.code(proto.OpMultiRead, ops{read, create("/x", 0)}), "mixed")
		assert.Equal(t, proto.ErrMarshalling, w.code(proto.OpMultiRead, cut{ops{read}, 9}))
	})
}

// cut is a record without its last bytes.
type cut struct {
	encoder
	less int
}

func (c cut) AppendTo(b []byte) []byte {
	b = c.encoder.AppendTo(b)
	return b[:len(b)-c.less]
}

func TestMultiRead(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/a", proto.ModePersistent)
		got := w.multi(proto.OpMultiRead, proto.MultiOp{Op: proto.OpGetData, Path: "/a"},
			proto.MultiOp{Op: proto.OpGetChildren, Path: "/nowhere"}, proto.MultiOp{Op: proto.OpGetChildren, Path: "/"})
		assert.Equal(t, "d", string(got[0].Data))
		assert.Equal(t, proto.ErrNoNode, got[1].Err)
		assert.ElementsMatch(t, []string{"a", "zookeeper"}, got[2].Children)
	})
}

func TestCheckAlone(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/a", proto.ModePersistent)
		assert.Equal(t, proto.ErrBadVersion, w.code(proto.OpCheck, &proto.CheckVersionRequest{Path: "/a", Version: 4}))
		w.send(proto.OpCheck, &proto.CheckVersionRequest{Path: "/a", Version: 0})
		assert.Empty(t, w.events(), "one that succeeds is never answered")
	})
}
