package zktest_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// eventAt is a notification with its zxid.
type eventAt struct {
	event
	Zxid int64
}

// eventsAt is events with their zxids.
func (w *wire) eventsAt() []eventAt {
	w.t.Helper()
	synctest.Wait()
	w.write(request(proto.XidPing, proto.OpPing, none{}))
	var out []eventAt
	for {
		rep := w.recv()
		if rep.Xid == proto.XidPing {
			return out
		}
		require.Equal(w.t, proto.XidNotification, rep.Xid)
		at := eventAt{Zxid: rep.Zxid}
		rep.Zxid = -1
		at.event = decodeEvent(w.t, rep)
		out = append(out, at)
	}
}

// bubble39 is bubble with a server that behaves as 3.9.3.
func bubble39(t *testing.T, f func(t *testing.T, srv *zktest.Server)) {
	t.Helper()
	bubble(t, f, zktest.Imitate(zktest.Version393))
}

func TestVersionNames(t *testing.T) {
	assert.Equal(t, "3.8.0", zktest.Version380.String())
	assert.Equal(t, "3.9.3", zktest.Version393.String())
}

// What several watches on one path make of each other: the newest counts, or all do.
func TestModesOfOnePath(t *testing.T) {
	plain := func(w *wire) { w.get("/a", true) }
	kids := func(w *wire) { w.children("/a", true) }
	persistent := func(w *wire) { w.addWatch("/a", proto.AddWatchPersistent) }
	recursive := func(w *wire) { w.addWatch("/a", proto.AddWatchPersistentRecursive) }
	for _, test := range []struct {
		name       string
		watches    []func(*wire)
		of38, of39 []event // of: set, set, create of a child
	}{
		{"persistent, plain", []func(*wire){persistent, plain},
			[]event{{changed, "/a"}, {children, "/a"}},
			[]event{{changed, "/a"}, {changed, "/a"}, {children, "/a"}}},
		{"recursive, plain", []func(*wire){recursive, plain},
			[]event{{changed, "/a"}},
			[]event{{changed, "/a"}, {changed, "/a"}, {created, "/a/x"}}},
		{"recursive, persistent", []func(*wire){recursive, persistent},
			[]event{{changed, "/a"}, {changed, "/a"}, {children, "/a"}},
			[]event{{changed, "/a"}, {changed, "/a"}, {created, "/a/x"}, {children, "/a"}}},
		{"persistent, children", []func(*wire){persistent, kids},
			[]event{{changed, "/a"}, {changed, "/a"}, {children, "/a"}},
			[]event{{changed, "/a"}, {changed, "/a"}, {children, "/a"}}},
		{"recursive, children", []func(*wire){recursive, kids},
			[]event{{changed, "/a"}, {changed, "/a"}, {created, "/a/x"}, {children, "/a"}},
			[]event{{changed, "/a"}, {changed, "/a"}, {created, "/a/x"}, {children, "/a"}}},
	} {
		for version, want := range map[zktest.Version][]event{zktest.Version380: test.of38, zktest.Version393: test.of39} {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				w, other := open(t, srv), open(t, srv)
				other.create("/a", proto.ModePersistent)
				for _, watch := range test.watches {
					watch(w)
				}
				other.set("/a", "1")
				other.set("/a", "2")
				other.create("/a/x", proto.ModePersistent)
				var got []event
				for _, ev := range w.eventsAt() {
					got = append(got, ev.event)
				}
				assert.Equal(t, want, got, "%s in %s", test.name, version)
			}, zktest.Imitate(version))
		}
	}
}

func TestWatchesOfOnePathAreListed(t *testing.T) {
	bubble39(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/a", proto.ModePersistent)
		for _, watch := range watchers {
			watch(w)
		}
		w.exists("/a", true)
		var kinds []zktest.WatchKind
		for _, watch := range srv.Watches() {
			assert.Equal(t, "/a", watch.Path)
			kinds = append(kinds, watch.Kind)
		}
		assert.Equal(t, []zktest.WatchKind{zktest.WatchData, zktest.WatchChild, zktest.WatchPersistent, zktest.WatchRecursive}, kinds)
		require.NoError(t, w.fc.Close())
		synctest.Wait()
		assert.Empty(t, srv.Watches())
	})
}

func TestEventsCarryZxids(t *testing.T) {
	bubble39(t, func(t *testing.T, srv *zktest.Server) {
		w, other := open(t, srv), open(t, srv)
		other.create("/a", proto.ModePersistent)
		other.create("/a/e", proto.ModeEphemeral)
		w.addWatch("/a", proto.AddWatchPersistentRecursive)
		set := other.set("/a", "x").Mzxid
		other.multi(proto.OpMulti, proto.MultiOp{Op: proto.OpSetData, Path: "/a", Version: -1}, proto.MultiOp{Op: proto.OpCreate, Path: "/a/x", ACL: proto.WorldACL(31)})
		assert.Equal(t, []eventAt{{event{changed, "/a"}, set}, {event{changed, "/a"}, set + 1}, {event{created, "/a/x"}, set + 1}}, w.eventsAt())
		require.True(t, srv.ExpireSession(other.ss.SessionID))
		assert.Equal(t, []eventAt{{event{deleted, "/a/e"}, set + 2}}, w.eventsAt())
		xid := w.send(proto.OpSetWatches, &proto.SetWatches{DataWatches: []string{"/a", "/gone"}})
		assert.Equal(t, event{changed, "/a"}, decodeEvent(t, w.recv()), "made up, and so without")
		assert.Equal(t, event{deleted, "/gone"}, decodeEvent(t, w.recv()))
		assert.Equal(t, xid, w.recv().Xid)
	})
}

// Types 4 and 5 are known, a type means its mode alone, and nobody else's watches count.
func TestWatchesByType(t *testing.T) {
	const no = proto.ErrNoWatcher
	for watch, want := range map[string][5]proto.Code{ // children, data, any, persistent, recursive
		"data":       {no, 0, 0, no, no},
		"child":      {0, no, 0, no, no},
		"persistent": {no, no, 0, 0, no},
		"recursive":  {no, no, 0, no, 0},
		"none":       {no, no, no, no, no},
	} {
		for i, code := range want {
			bubble39(t, func(t *testing.T, srv *zktest.Server) {
				w, other := open(t, srv), open(t, srv)
				w.create("/a", proto.ModePersistent)
				watchers[watch](w)
				check, remove := &proto.CheckWatchesRequest{Path: "/a", Type: int32(i + 1)}, &proto.RemoveWatchesRequest{Path: "/a", Type: int32(i + 1)}
				assert.Equal(t, code, w.code(proto.OpCheckWatches, check), "%s %d", watch, i+1)
				assert.Equal(t, no, other.code(proto.OpCheckWatches, check))
				assert.Equal(t, no, other.code(proto.OpRemoveWatches, remove))
				assert.Equal(t, code, w.code(proto.OpRemoveWatches, remove))
				if code == 0 {
					assert.Zero(t, srv.Snapshot().Watches.Total())
				}
			})
		}
	}
	bubble39(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		for _, kind := range []int32{0, 6} {
			assert.Equal(t, proto.ErrMarshalling, w.code(proto.OpCheckWatches, &proto.CheckWatchesRequest{Path: "/a", Type: kind}))
		}
		assert.Zero(t, w.code(proto.OpAddWatch, nullPath{}), "a null path is one like others")
		assert.Equal(t, no, w.code(proto.OpCheckWatches, &proto.CheckWatchesRequest{Path: "a", Type: 3}))
	})
}

// Removing one mode leaves the others.
func TestRemoveOneMode(t *testing.T) {
	bubble39(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/a", proto.ModePersistent)
		w.get("/a", true)
		w.addWatch("/a", proto.AddWatchPersistent)
		w.addWatch("/a", proto.AddWatchPersistentRecursive)
		assert.Zero(t, w.code(proto.OpRemoveWatches, &proto.RemoveWatchesRequest{Path: "/a", Type: int32(proto.WatcherPersistent)}))
		assert.Equal(t, zktest.WatchCounters{Data: 1, Recursive: 1}, srv.Snapshot().Watches)
		assert.Zero(t, w.code(proto.OpRemoveWatches, &proto.RemoveWatchesRequest{Path: "/a", Type: int32(proto.WatcherPersistentRecursive)}))
		srv.Set("/a", nil)
		_, err := srv.Create("/a/x", nil, proto.ModePersistent)
		require.NoError(t, err)
		assert.Len(t, w.eventsAt(), 1, "of the plain one")
		assert.Empty(t, srv.Watches())
	})
}

func TestMultiOf39(t *testing.T) {
	bubble39(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		op := func(op proto.Op, path string, mode proto.CreateMode) proto.MultiOp {
			return proto.MultiOp{Op: op, Path: path, ACL: proto.WorldACL(proto.PermAll), Flags: int32(mode)}
		}
		got := w.multi(proto.OpMulti, op(proto.OpCreate, "/1", 0), op(proto.OpCreate2, "/2", 0), op(proto.OpCreate, "/c", proto.ModeContainer),
			op(proto.OpCreateContainer, "/o", 0), op(proto.OpCreate, "/c/x", 0), op(proto.OpCreate, "/o/x", 0))
		for i, want := range []proto.Op{proto.OpCreate, proto.OpCreate2, proto.OpCreate2, proto.OpCreate2} {
			assert.Equal(t, want, got[i].Op, i)
			assert.Equal(t, want == proto.OpCreate2, got[i].HasStat, i)
		}
		w.delete("/c/x")
		w.delete("/o/x")
		assert.Equal(t, 2, srv.Sweep(), "containers by flags or by operation")

		zxid := srv.Snapshot().Zxid
		gone := proto.MultiOp{Op: proto.OpDelete, Path: "/no", Version: -1}
		for i, bad := range []proto.MultiOp{op(proto.OpCreate, "/q", 7), op(proto.OpCreate, "/q", -1), op(proto.OpCreate, "/q", proto.ModePersistentTTL)} {
			assert.Equal(t, reply{Xid: w.xid + 1, Zxid: zxid + int64(i) + 1, Err: proto.ErrMarshalling}, w.do(proto.OpMulti, ops{gone, bad}), "flags %d", bad.Flags)
		}
		nullACL := append([]byte("\x00\x00\x00\x01\x00\xff\xff\xff\xff\x00\x00\x00\x02/q\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00"), proto.AppendMulti(nil, nil)...)
		assert.Equal(t, reply{Xid: w.xid + 1, Zxid: zxid + 3, Err: proto.ErrMarshalling}, w.do(proto.OpMulti, rawBytes(nullACL)), "and takes no zxid")
	})
}

// rawBytes is a record as it is on the wire.
type rawBytes []byte

func (r rawBytes) AppendTo(b []byte) []byte { return append(b, r...) }

func TestUnreadableWritesOf39(t *testing.T) {
	for version, taken := range map[zktest.Version]int64{zktest.Version380: 1, zktest.Version393: 0} {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			w := open(t, srv)
			for _, op := range []proto.Op{proto.OpCreate, proto.OpDelete, proto.OpSetData, proto.OpSetACL} {
				before := srv.Snapshot().Zxid
				assert.Equal(t, reply{Xid: w.xid + 1, Zxid: before + taken, Err: proto.ErrMarshalling}, w.do(op, rawBytes("ab")), "%v in %s", op, version)
			}
			before := srv.Snapshot().Zxid
			assert.Equal(t, reply{Xid: w.xid + 1, Zxid: before, Err: proto.ErrMarshalling}, w.do(proto.OpReconfig, rawBytes("ab")))
			assert.Equal(t, reply{Xid: w.xid + 1, Zxid: before + 1, Err: proto.ErrReconfigDisabled}, w.do(proto.OpReconfig, &proto.ReconfigRequest{CurConfigID: -1}))
		}, zktest.Imitate(version))
	}
}

func TestExistsNeedsREAD(t *testing.T) {
	for version, want := range map[zktest.Version]proto.Code{zktest.Version380: 0, zktest.Version393: proto.ErrNoAuth} {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			w := open(t, srv)
			w.create("/a", proto.ModePersistent)
			require.NoError(t, srv.SetACL("/a", proto.WorldACL(proto.PermAll&^proto.PermRead)))
			assert.Equal(t, want, w.exists("/a", true), version.String())
			assert.Equal(t, want == 0, srv.Snapshot().Watches.Data == 1, "a watch is left with an answer only")
			assert.Equal(t, proto.ErrNoNode, w.exists("/b", false))
		}, zktest.Imitate(version))
	}
}

func TestCheckAloneIsUnknown(t *testing.T) {
	bubble39(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		rep := w.do(proto.OpCheck, &proto.CheckVersionRequest{Path: "/", Version: 7})
		assert.Equal(t, reply{Xid: 1, Zxid: -1, Err: proto.ErrUnimplemented}, rep)
		w.closed()
	})
}
