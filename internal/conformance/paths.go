package conformance

import (
	"errors"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
)

func pathEntries() []entry {
	return []entry{
		{"C118 F65", "paths that the client refuses, each line of the rules, and nothing is written", nil, refusedPaths},
		{"C118 raw P15", "what the server itself answers to odd paths", nil, oddPaths},
		{"C119 F62", "with a chroot all paths in and out are below it, on component boundaries", nil, chroot},
	}
}

// badPaths breaks each rule of docs/protocol.md section 15.
func badPaths() []string {
	return []string{
		"", "a", "a/b", "//", "/a/", "/a//b", "/.", "/..", "/a/.", "/a/../b", "/a/./b", "/a\x00", "/a\x01", "/\x1f", "/a\x7f",
		"/\u0080", "/\u009f", "/\ue000", "/\uf8ff", "/\ufff0", "/\uffff", "/\U0001f600", "/\xff", "/a\xc3", "/\xed\xa0\x80",
	}
}

// goodPaths look like bad ones.
func goodPaths() []string {
	return []string{"/a.b", "/...", "/..a", "/ ", "/\u00e9", "/\u00a0", "/\ud7ff", "/\uf900", "/\uffef"}
}

func refusedPaths(e *env) {
	c, tp := e.client()
	before := len(tp.frames(anySent))
	for _, path := range badPaths() {
		for what, err := range map[string]error{
			"create": func() error { _, _, err := c.Create(e.ctx, path, nil, client.ModePersistent, nil); return err }(),
			"get":    func() error { _, _, err := c.Get(e.ctx, path); return err }(),
			"exists": func() error { _, _, err := c.ExistsWatch(e.ctx, path); return err }(),
			"delete": c.Delete(e.ctx, path, client.AnyVersion),
			"multi":  func() error { _, err := c.Multi(e.ctx, client.CheckOp(path, 0)); return err }(),
		} {
			var pe *client.PathError
			if !errors.As(err, &pe) {
				e.Errorf("%s %q: %v, want a *PathError", what, path, err)
				continue
			}
			e.outcome(err, client.OutcomeNotSent, false)
		}
	}
	equal(e, "requests written", len(tp.frames(anySent))-before, 0)
	for _, path := range goodPaths() {
		got, _, err := c.Create(e.ctx, path, nil, client.ModePersistent, nil)
		if err != nil || got != path {
			e.Errorf("create %q: %q, %v", path, got, err)
		}
	}
}

// oddPaths is the second table of docs/protocol.md section 15, and every path that the client refuses.
func oddPaths(e *env) {
	r := e.raw()
	for _, rest := range badPaths() {
		if rest == "" || rest[0] != '/' {
			continue
		}
		want := proto.ErrBadArguments
		switch rest {
		case "//", "/a//b", "/a/../b", "/a/./b", "/a/.", "/a/": // the parent is looked up first
			want = proto.ErrNoNode
		}
		if code := r.createCode(e.path(rest)); code != want {
			e.Errorf("create %q below a znode: %v, want %v", rest, code, want)
		}
	}
	for path, want := range map[string]proto.Code{
		"": proto.ErrBadArguments, "a": proto.ErrBadArguments, "//a": proto.ErrBadArguments, "/": proto.ErrNodeExists,
		e.root + "/": proto.ErrBadArguments, e.root + "/.": proto.ErrBadArguments, e.root + "/../x": proto.ErrNoNode,
	} {
		equal(e, "create "+path, r.createCode(path), want)
	}
	for path, want := range map[string]proto.Code{"a": proto.ErrNoNode, e.root + "/": proto.ErrNoNode, "": 0, "/": 0} {
		equal(e, "getData "+path, r.do(proto.OpGetData, &proto.GetDataRequest{Path: path}).code, want)
		equal(e, "getChildren "+path, r.do(proto.OpGetChildren, &proto.GetChildrenRequest{Path: path}).code, want)
	}
	equal(e, "exists with NUL", r.exists(e.path("/\x00"), false), proto.ErrBadArguments)
	for _, path := range []string{"a", "", "/", "/zookeeper"} {
		if path != "/" && path != "/zookeeper" {
			equal(e, "setData "+path, r.code(proto.OpSetData, &proto.SetDataRequest{Path: path, Version: 99}), proto.ErrBadArguments)
		}
		equal(e, "delete "+path, r.code(proto.OpDelete, &proto.DeleteRequest{Path: path, Version: 99}), proto.ErrBadArguments)
	}
}

func chroot(e *env) {
	top := e.raw()
	for _, path := range []string{"/app", "/application", "/app/app"} {
		top.create(e.path(path), path, proto.ModePersistent)
	}
	connect := func(root string) *client.Client {
		c, err := client.Connect(e.ctx, e.tg.Addr+e.root+root, e.options(e.tap(), nil)...)
		e.must(err)
		e.Cleanup(func() { _ = c.Close() }) // closed or not, the entry is over
		return c
	}
	c := connect("/app")
	path, _, err := c.Create(e.ctx, "/a", nil, client.ModePersistent, nil)
	e.must(err)
	equal(e, "path", path, "/a")
	path, _, err = c.Create(e.ctx, "/a/s-", nil, client.ModeEphemeralSequential, nil)
	e.must(err)
	equal(e, "sequential path", path, "/a/s-0000000000")
	results, err := c.Multi(e.ctx, client.CreateOp("/m", nil, client.ModePersistent, nil), client.SetOp("/app", nil, -1))
	e.must(err)
	equal(e, "paths of a multi", []string{results[0].Path, results[1].Path}, []string{"/m", "/app"})
	e.must(c.Sync(e.ctx, "/a"))
	data, _, err := c.Get(e.ctx, "/")
	e.must(err)
	equal(e, "data of the root", string(data), "/app")
	names, _, err := c.Children(e.ctx, "/")
	e.must(err)
	equal(e, "children of the root", len(names), 3)
	equal(e, "on the server", top.exists(e.path("/app/a/s-0000000000"), false), 0)

	missing := connect("/none")
	_, _, err = missing.Create(e.ctx, "/a", nil, client.ModePersistent, nil)
	e.fails("create below a missing chroot", err, client.ErrNoNode)
	_, ok, err := missing.Exists(e.ctx, "/")
	e.must(err)
	equal(e, "the missing chroot exists", ok, false)
	e.chrootEvents(top, c)
}

// chrootEvents checks the paths of events.
func (e *env) chrootEvents(top *raw, c *client.Client) {
	e.Helper()
	_, w, err := c.GetWatch(e.ctx, "/app")
	e.must(err)
	_, self, err := c.GetWatch(e.ctx, "/")
	e.must(err)
	top.set(e.path("/application"), "is another")
	top.set(e.path("/app/app"), "new")
	equal(e, "path of the event", e.event(w).Path, "/app")
	equal(e, "event of the root", fired(self), false)
	top.set(e.path("/app"), "new")
	equal(e, "path of the root's event", e.event(self).Path, "/")
}
