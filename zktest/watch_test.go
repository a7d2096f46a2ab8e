package zktest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// Short names for the tables.
const (
	created  = proto.EventNodeCreated
	deleted  = proto.EventNodeDeleted
	changed  = proto.EventNodeDataChanged
	children = proto.EventNodeChildrenChanged
)

func (w *wire) addWatch(path string, mode proto.AddWatchMode) {
	w.t.Helper()
	w.ok(proto.OpAddWatch, &proto.AddWatchRequest{Path: path, Mode: int32(mode)}, &proto.ErrorResponse{})
}

// watchers are the ways to watch /a.
var watchers = map[string]func(w *wire){
	"data":       func(w *wire) { w.get("/a", true) },
	"exists":     func(w *wire) { w.exists("/a", true) },
	"child":      func(w *wire) { w.children("/a", true) },
	"child2":     func(w *wire) { w.ok(proto.OpGetChildren2, &proto.GetChildren2Request{Path: "/a", Watch: true}, nil) },
	"persistent": func(w *wire) { w.addWatch("/a", proto.AddWatchPersistent) },
	"recursive":  func(w *wire) { w.addWatch("/a", proto.AddWatchPersistentRecursive) },
	"none":       func(w *wire) { w.get("/a", false) },
}

func TestWatchTable(t *testing.T) {
	for _, test := range []struct {
		watch, change string
		want          []event
	}{
		{"data", "set", []event{{changed, "/a"}}},
		{"data", "delete", []event{{deleted, "/a"}}},
		{"data", "child", nil},
		{"data", "acl", nil},
		{"exists", "set", []event{{changed, "/a"}}},
		{"exists", "delete", []event{{deleted, "/a"}}},
		{"exists", "child", nil},
		{"child", "set", nil},
		{"child", "delete", []event{{deleted, "/a"}}},
		{"child", "child", []event{{children, "/a"}}},
		{"child", "child deleted", []event{{children, "/a"}}},
		{"child", "grandchild", nil},
		{"child", "child set", nil},
		{"child2", "child", []event{{children, "/a"}}},
		{"persistent", "set", []event{{changed, "/a"}}},
		{"persistent", "delete", []event{{deleted, "/a"}}},
		{"persistent", "child", []event{{children, "/a"}}},
		{"persistent", "child set", nil},
		{"persistent", "grandchild", nil},
		{"persistent", "acl", nil},
		{"recursive", "set", []event{{changed, "/a"}}},
		{"recursive", "delete", []event{{deleted, "/a"}}},
		{"recursive", "child", []event{{created, "/a/new"}}},
		{"recursive", "child deleted", []event{{deleted, "/a/old"}}},
		{"recursive", "child set", []event{{changed, "/a/kid"}}},
		{"recursive", "grandchild", []event{{created, "/a/kid/x"}}},
		{"recursive", "sibling", nil},
		{"none", "set", nil},
	} {
		t.Run(test.watch+" "+test.change, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				w, other := open(t, srv), open(t, srv)
				other.create("/a", proto.ModePersistent)
				if test.change != "delete" {
					other.create("/a/kid", proto.ModePersistent)
					other.create("/a/old", proto.ModePersistent)
				}
				watchers[test.watch](w)
				change(other, test.change)
				assert.Equal(t, test.want, w.events())
			})
		})
	}
}

// change changes /a, or what is around it.
func change(w *wire, how string) {
	switch how {
	case "set":
		w.set("/a", "new")
	case "delete":
		w.delete("/a")
	case "child":
		w.create("/a/new", proto.ModePersistent)
	case "child deleted":
		w.delete("/a/old")
	case "child set":
		w.set("/a/kid", "new")
	case "grandchild":
		w.create("/a/kid/x", proto.ModePersistent)
	case "sibling":
		w.create("/aa", proto.ModePersistent)
	case "acl":
		w.ok(proto.OpSetACL, &proto.SetACLRequest{Path: "/a", ACL: proto.WorldACL(31), Version: -1}, nil)
	}
}

func TestOneShotAndPersistent(t *testing.T) {
	for watch, want := range map[string][]event{
		"data":       {{changed, "/a"}},
		"child":      {{deleted, "/a"}},
		"persistent": {{changed, "/a"}, {changed, "/a"}, {deleted, "/a"}, {created, "/a"}},
		"recursive":  {{changed, "/a"}, {changed, "/a"}, {deleted, "/a"}, {created, "/a"}},
	} {
		t.Run(watch, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				w, other := open(t, srv), open(t, srv)
				other.create("/a", proto.ModePersistent)
				watchers[watch](w)
				other.set("/a", "1")
				other.set("/a", "2")
				other.delete("/a")
				other.create("/a", proto.ModePersistent)
				assert.Equal(t, want, w.events())
			})
		})
	}
}

func TestExistWatch(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w, other := open(t, srv), open(t, srv)
		assert.Equal(t, proto.ErrNoNode, w.exists("/a", true))
		assert.Equal(t, proto.ErrNoNode, w.code(proto.OpGetData, &proto.GetDataRequest{Path: "/b", Watch: true}))
		assert.Equal(t, proto.ErrNoNode, w.code(proto.OpGetChildren, &proto.GetChildrenRequest{Path: "/b", Watch: true}))
		other.create("/b", proto.ModePersistent)
		assert.Empty(t, w.events(), "only exists leaves a watch where nothing is")
		other.create("/a", proto.ModePersistent)
		other.set("/a", "x")
		assert.Equal(t, []event{{created, "/a"}}, w.events())
	})
}

func TestOneFramePerEvent(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w, other := open(t, srv), open(t, srv)
		other.create("/r", proto.ModePersistent)
		other.create("/r/a", proto.ModePersistent)
		w.get("/r/a", true)
		w.exists("/r/a", true)
		w.children("/r/a", true)
		w.addWatch("/r", proto.AddWatchPersistentRecursive)
		w.addWatch("/", proto.AddWatchPersistentRecursive)
		other.delete("/r/a")
		assert.Equal(t, []event{{deleted, "/r/a"}}, w.events())
		other.create("/x", proto.ModePersistent)
		assert.Equal(t, []event{{created, "/x"}}, w.events())
	})
}

func TestOneModePerPath(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w, other := open(t, srv), open(t, srv)
		for _, path := range []string{"/p", "/q", "/r"} {
			other.create(path, proto.ModePersistent)
		}
		w.addWatch("/p", proto.AddWatchPersistent)
		w.get("/p", true)
		w.addWatch("/q", proto.AddWatchPersistentRecursive)
		w.get("/q", true)
		w.addWatch("/r", proto.AddWatchPersistentRecursive)
		w.addWatch("/r", proto.AddWatchPersistent)
		other.set("/p", "1")
		other.set("/p", "2")
		other.create("/q/x", proto.ModePersistent)
		other.set("/q", "1")
		other.set("/q", "2")
		other.create("/r/x", proto.ModePersistent)
		other.set("/r/x", "1")
		assert.Equal(t, []event{{changed, "/p"}, {changed, "/q"}, {children, "/r"}}, w.events())
	})
}

func TestEventBeforeOwnReply(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/a", proto.ModePersistent)
		w.get("/a", true)
		xid := w.send(proto.OpSetData, &proto.SetDataRequest{Path: "/a", Version: -1})
		assert.Equal(t, event{changed, "/a"}, decodeEvent(t, w.recv()))
		assert.Equal(t, xid, w.recv().Xid)
	})
}

func TestAddWatchLooksAtNothing(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.addWatch("rz", proto.AddWatchPersistent)
		assert.Equal(t, proto.ErrMarshalling, w.code(proto.OpAddWatch, &proto.AddWatchRequest{Path: "/", Mode: 2}))
	})
}

func TestRemoveWatches(t *testing.T) {
	type kinds map[proto.WatcherType]proto.Code
	const no = proto.ErrNoWatcher
	for watch, want := range map[string]kinds{
		"data":       {proto.WatcherData: 0, proto.WatcherChildren: no, proto.WatcherAny: 0},
		"child":      {proto.WatcherData: no, proto.WatcherChildren: 0, proto.WatcherAny: 0},
		"persistent": {proto.WatcherData: 0, proto.WatcherChildren: 0, proto.WatcherAny: 0, proto.WatcherPersistent: proto.ErrMarshalling},
		"none":       {proto.WatcherData: no, proto.WatcherChildren: no, proto.WatcherAny: no},
	} {
		for kind, code := range want {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				w := open(t, srv)
				w.create("/a", proto.ModePersistent)
				watchers[watch](w)
				before := srv.Snapshot().Watches.Total()
				assert.Equal(t, code, w.code(proto.OpCheckWatches, &proto.CheckWatchesRequest{Path: "/a", Type: int32(kind)}))
				assert.Equal(t, before, srv.Snapshot().Watches.Total())
				assert.Equal(t, code, w.code(proto.OpRemoveWatches, &proto.RemoveWatchesRequest{Path: "/a", Type: int32(kind)}), "%s %d", watch, kind)
				if code == 0 && kind == proto.WatcherAny {
					assert.Zero(t, srv.Snapshot().Watches.Total())
					w.create("/a/x", proto.ModePersistent)
					w.set("/a", "x")
					assert.Empty(t, w.events())
				}
			})
		}
	}
}

func TestSetWatchesTable(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		for _, path := range []string{"/old", "/new", "/kids", "/gone", "/tree"} {
			w.create(path, proto.ModePersistent)
		}
		relative := srv.Snapshot().Zxid
		w.set("/new", "x")
		w.create("/kids/x", proto.ModePersistent)
		w.delete("/gone")
		lists := proto.SetWatches2{
			RelativeZxid: relative, DataWatches: []string{"/old", "/new", "/gone"}, ExistWatches: []string{"/gone", "/old"},
			ChildWatches: []string{"/old", "/kids", "/gone"}, PersistentWatches: []string{"/tree"},
			PersistentRecursiveWatches: []string{"/tree/deep"},
		}
		v := w.again(srv, member)
		v.write(request(proto.XidSetWatches, proto.OpSetWatches2, &lists))
		for _, want := range []event{
			{changed, "/new"}, {deleted, "/gone"}, {created, "/old"}, {children, "/kids"}, {deleted, "/gone"},
		} {
			assert.Equal(t, want, decodeEvent(t, v.recv()))
		}
		rep := v.recv()
		assert.Equal(t, proto.XidSetWatches, rep.Xid)
		assert.Equal(t, srv.Snapshot().Zxid, rep.Zxid)
		assert.Equal(t, zktest.WatchCounters{Data: 2, Child: 1, Persistent: 1, Recursive: 1}, srv.Snapshot().Watches)

		other := open(t, srv)
		other.set("/new", "used up")
		other.set("/old", "armed")
		other.create("/old/x", proto.ModePersistent)
		other.create("/gone", proto.ModePersistent)
		other.create("/tree/x", proto.ModePersistent)
		other.create("/tree/deep", proto.ModePersistent)
		assert.Equal(t, []event{
			{changed, "/old"}, {children, "/old"}, {created, "/gone"}, {children, "/tree"}, {created, "/tree/deep"}, {children, "/tree"},
		}, v.events())
	})
}

func TestSetWatchesOldForm(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.ok(proto.OpSetWatches, &proto.SetWatches{DataWatches: []string{"/"}, ExistWatches: []string{"/x"}}, nil)
		w.send(proto.OpCreate, &proto.CreateRequest{Path: "/x", ACL: proto.WorldACL(31)})
		assert.Equal(t, event{created, "/x"}, decodeEvent(t, w.recv()))
		assert.Equal(t, proto.Code(0), w.recv().Err)
	})
}

func TestWatchesBelongToTheConnection(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/a", proto.ModePersistent)
		w.get("/a", true)
		w.children("/a", true)
		w.addWatch("/b", proto.AddWatchPersistent)
		id := w.ss.SessionID
		assert.Equal(t, []zktest.Watch{
			{Path: "/a", Kind: zktest.WatchData, SessionID: id, Conn: 1},
			{Path: "/a", Kind: zktest.WatchChild, SessionID: id, Conn: 1},
			{Path: "/b", Kind: zktest.WatchPersistent, SessionID: id, Conn: 1},
		}, srv.Watches())
		assert.Equal(t, "persistent", srv.Watches()[2].Kind.String())
		v := w.again(srv, member)
		assert.Empty(t, srv.Watches())
		v.set("/a", "x")
		assert.Empty(t, v.events())
	})
}
