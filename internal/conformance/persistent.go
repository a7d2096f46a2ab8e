package conformance

import (
	"github.com/lockkeeper/lockkeeper/proto"
)

func persistentEntries() []entry {
	return []entry{
		{"C95 raw", "recursive watches on a znode and on one above it: one frame for each event", nil, nestedRecursive},
		{"C96 raw", "a persistent and a one-shot watch on one path: as this version of the server does it", nil, mixedModes},
		{"C106 raw E10 E12", "addWatch, checkWatches and removeWatches, with the types this version knows", nil, watchTypes},
	}
}

func nestedRecursive(e *env) {
	r, other := e.raw(), e.raw()
	other.create(e.path("/a"), "", proto.ModePersistent)
	r.addWatch(e.root, proto.AddWatchPersistentRecursive)
	r.addWatch(e.path("/a"), proto.AddWatchPersistentRecursive)
	r.children(e.path("/a"), true) // in the same table, on 3.8 in place of the recursive one
	r.addWatch(e.path("/a"), proto.AddWatchPersistentRecursive)
	other.create(e.path("/a/b"), "", proto.ModePersistent)
	other.set(e.path("/a/b"), "new")
	other.set(e.path("/a"), "new")
	other.delete(e.path("/a/b"))
	want := []string{"created /a/b", "changed /a/b", "changed /a", "deleted /a/b"}
	if e.tg.Version >= NewVersion(3, 9, 0) { // there the plain watch is still set
		want = append([]string{"created /a/b", "children /a"}, want[1:]...)
	}
	e.events(r, "recursive", want...)
}

// mixedModes is the table at the end of docs/protocol.md section 11.
func mixedModes(e *env) {
	r, other := e.raw(), e.raw()
	for _, path := range []string{"/d", "/r", "/r/x"} {
		other.create(e.path(path), "", proto.ModePersistent)
	}
	adds := e.tg.Version >= NewVersion(3, 9, 0) // modes of one path add up
	want := func(old, added []string) []string {
		if adds {
			return added
		}
		return old
	}
	r.addWatch(e.path("/d"), proto.AddWatchPersistent)
	r.get(e.path("/d"), true)
	other.change("set twice", e.path("/d"))
	e.events(r, "persistent, then plain", want([]string{"changed /d"}, []string{"changed /d", "changed /d"})...)

	r.code(proto.OpRemoveWatches, &proto.RemoveWatchesRequest{Path: e.path("/d"), Type: int32(proto.WatcherAny)})
	r.addWatch(e.path("/d"), proto.AddWatchPersistentRecursive)
	r.get(e.path("/d"), true)
	other.create(e.path("/d/x"), "", proto.ModePersistent)
	other.change("set twice", e.path("/d"))
	e.events(r, "recursive, then plain", want([]string{"changed /d"}, []string{"created /d/x", "changed /d", "changed /d"})...)

	r.addWatch(e.path("/r"), proto.AddWatchPersistentRecursive)
	r.addWatch(e.path("/r"), proto.AddWatchPersistent)
	other.set(e.path("/r/x"), "new")
	other.create(e.path("/r/y"), "", proto.ModePersistent)
	other.set(e.path("/r"), "new")
	e.events(r, "recursive, then persistent", want([]string{"children /r", "changed /r"},
		[]string{"changed /r/x", "created /r/y", "children /r", "changed /r"})...)
}

func watchTypes(e *env) {
	r := e.raw()
	path := e.path("/w")
	r.create(path, "", proto.ModePersistent)
	check := func(what string, op proto.Op, t proto.WatcherType, want proto.Code) {
		e.Helper()
		equal(e, what, r.code(op, &proto.CheckWatchesRequest{Path: path, Type: int32(t)}), want)
	}
	for _, op := range []proto.Op{proto.OpCheckWatches, proto.OpRemoveWatches} {
		for _, t := range []proto.WatcherType{proto.WatcherChildren, proto.WatcherData, proto.WatcherAny} {
			check("nothing set", op, t, proto.ErrNoWatcher)
		}
		check("no such type", op, 9, proto.ErrMarshalling)
		check("type 0", op, 0, proto.ErrMarshalling)
	}
	r.get(path, true)
	check("data set", proto.OpCheckWatches, proto.WatcherData, 0)
	check("data set", proto.OpCheckWatches, proto.WatcherAny, 0)
	check("data set", proto.OpCheckWatches, proto.WatcherChildren, proto.ErrNoWatcher)
	check("remove children", proto.OpRemoveWatches, proto.WatcherChildren, proto.ErrNoWatcher)
	check("remove data", proto.OpRemoveWatches, proto.WatcherData, 0)
	check("remove data again", proto.OpRemoveWatches, proto.WatcherData, proto.ErrNoWatcher)
	r.addWatch(path, proto.AddWatchPersistent)
	old := e.tg.Version < NewVersion(3, 9, 0)
	persistent := proto.Code(0)
	if old {
		persistent = proto.ErrMarshalling
	}
	check("persistent set", proto.OpCheckWatches, proto.WatcherPersistent, persistent)
	check("remove any", proto.OpRemoveWatches, proto.WatcherAny, 0)
	r.set(path, "new")
	e.events(r, "after removal")
	equal(e, "no such mode", r.code(proto.OpAddWatch, &proto.AddWatchRequest{Path: path, Mode: 2}), proto.ErrMarshalling)
	r.addWatch("not a path", proto.AddWatchPersistent)
	r.addWatch("", proto.AddWatchPersistentRecursive)
}
