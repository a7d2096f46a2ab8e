package conformance

import (
	"slices"
	"strings"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
)

func apiEntries() []entry {
	return []entry{
		{"C121", "versions -1, right, wrong and -2, for set, delete, setACL and check", nil, versions},
		{"C122 F15", "each error a client can provoke: its own value, a text with operation and path", nil, provokedErrors},
		{"C124 raw E20 E21 E22", "whoAmI, getEphemerals, getAllChildrenNumber, config, reconfig alone", nil, smallOperations},
		{"C125 E17", "sync, then a read: shows what was acknowledged to another before", nil, syncThenRead},
		{"P14", "sync takes and echoes any path, and looks at none", nil, syncEcho},
	}
}

func versions(e *env) {
	c, _ := e.client()
	for _, tc := range []struct {
		name    string
		version int32
		want    error
	}{
		{"any", -1, nil}, {"right", 1, nil}, {"wrong", 0, client.ErrBadVersion}, {"-2", -2, client.ErrBadVersion},
	} {
		path := "/" + strings.TrimPrefix(tc.name, "-")
		_, _, err := c.Create(e.ctx, path, nil, client.ModePersistent, nil)
		e.must(err)
		st, err := c.Set(e.ctx, path, nil, 0)
		e.must(err)
		equal(e, "version", st.Version, 1)
		_, err = c.SetACL(e.ctx, path, world(), client.AnyVersion)
		e.must(err)
		match := func(what string, err error) {
			e.Helper()
			if tc.want == nil {
				e.must(err)
			} else {
				e.fails(what+" with version "+tc.name, err, tc.want)
				e.outcome(err, client.OutcomeRejected, false)
			}
		}
		_, err = c.Multi(e.ctx, client.CheckOp(path, tc.version))
		match("check", err)
		_, err = c.SetACL(e.ctx, path, world(), tc.version)
		match("setACL", err)
		st, err = c.Set(e.ctx, path, nil, tc.version)
		match("set", err)
		version := tc.version
		if version == 1 {
			version = st.Version
		}
		match("delete", c.Delete(e.ctx, path, version))
	}
}

// provoked is an error, and what brings it about.
type provoked struct {
	what string
	do   func(e *env, c *client.Client) error
	want client.Code
	text []string // what the text must have
}

// provocations lists the errors of docs/protocol.md section 9 that a client can have from one server.
func provocations() []provoked {
	create := func(path string, mode client.CreateMode, acl []client.ACL) func(*env, *client.Client) error {
		return func(e *env, c *client.Client) error { _, _, err := c.Create(e.ctx, path, nil, mode, acl); return err }
	}
	get := func(e *env, c *client.Client) error { _, _, err := c.Get(e.ctx, "/secret"); return err }
	return []provoked{
		{"no node", func(e *env, c *client.Client) error { _, _, err := c.Get(e.ctx, "/no"); return err }, client.ErrNoNode, []string{"get", "/no"}},
		{"no parent", create("/no/x", client.ModePersistent, nil), client.ErrNoNode, []string{"create", "/no/x"}},
		{"exists", create("/a", client.ModePersistent, nil), client.ErrNodeExists, []string{"create", "/a"}},
		{"the root exists", create("/", client.ModePersistent, nil), client.ErrNodeExists, []string{"create", "/"}},
		{"no auth", get, client.ErrNoAuth, []string{"get", "/secret"}},
		{"bad version", func(e *env, c *client.Client) error { return c.Delete(e.ctx, "/a", 9) }, client.ErrBadVersion, []string{"delete", "/a"}},
		{"not empty", func(e *env, c *client.Client) error { return c.Delete(e.ctx, "/a", -1) }, client.ErrNotEmpty, []string{"delete", "/a"}},
		{"below an ephemeral", create("/e/x", client.ModePersistent, nil), client.ErrNoChildrenForEphemerals, []string{"create", "/e/x"}},
		{"empty ACL", create("/b", client.ModePersistent, []client.ACL{}), client.ErrInvalidACL, []string{"create", "/b"}},
		{"nobody's ACL", create("/b", client.ModePersistent, client.CreatorACL(client.PermAll)), client.ErrInvalidACL, []string{"create", "/b"}},
		{"empty ACL to set", func(e *env, c *client.Client) error { _, err := c.SetACL(e.ctx, "/a", nil, -1); return err },
			client.ErrInvalidACL, []string{"setACL", "/a"}},
	}
}

func provokedErrors(e *env) {
	c, _ := e.client()
	for path, mode := range map[string]client.CreateMode{"/a": client.ModePersistent, "/e": client.ModeEphemeral} {
		_, _, err := c.Create(e.ctx, path, nil, mode, nil)
		e.must(err)
	}
	_, _, err := c.Create(e.ctx, "/a/x", nil, client.ModePersistent, nil)
	e.must(err)
	_, _, err = c.Create(e.ctx, "/secret", nil, client.ModePersistent, client.WorldACL(client.PermWrite|client.PermAdmin))
	e.must(err)
	for _, p := range provocations() {
		err := p.do(e, c)
		e.fails(p.what, err, p.want)
		e.outcome(err, client.OutcomeRejected, false)
		for _, word := range p.text {
			if !strings.Contains(err.Error(), word) {
				e.Errorf("%s: text %q lacks %q", p.what, err, word)
			}
		}
	}
}

func smallOperations(e *env) {
	r := e.raw()
	equal(e, "auth", r.auth("digest", "bob:secret"), 0)
	equal(e, "auth", r.auth("digest", "bob2:secret"), 0)
	equal(e, "auth again", r.auth("digest", "bob:secret"), 0)
	var who proto.WhoAmIResponse
	r.ok(proto.OpWhoAmI, none, &who)
	sortClients(who.ClientInfo)
	equal(e, "whoAmI", who.ClientInfo, []proto.ClientInfo{
		{AuthScheme: "digest", User: "bob"}, {AuthScheme: "digest", User: "bob2"}, {AuthScheme: "ip", User: "127.0.0.1"},
	})
	for _, path := range []string{"/ab", "/ac", "/b"} {
		r.create(e.path(path), "", proto.ModeEphemeral)
	}
	r.create(e.path("/p"), "", proto.ModePersistent)
	r.create(e.path("/p/q"), "", proto.ModePersistent)
	for prefix, want := range map[string]int{e.path("/a"): 2, e.path("/ab"): 1, e.path("/x"): 0, e.root: 3, "/": 3, "": 3, " ": 3} {
		var list proto.GetEphemeralsResponse
		r.ok(proto.OpGetEphemerals, &proto.GetEphemeralsRequest{PrefixPath: prefix}, &list)
		equal(e, "ephemerals with prefix "+prefix, len(list.Ephemerals), want)
	}
	for path, want := range map[string]int32{e.root: 5, e.path("/p"): 1, e.path("/p/q"): 0} {
		var n proto.GetAllChildrenNumberResponse
		r.ok(proto.OpGetAllChildrenNumber, &proto.GetAllChildrenNumberRequest{Path: path}, &n)
		equal(e, "znodes below "+path, n.TotalNumber, want)
	}
	equal(e, "of a missing one", r.code(proto.OpGetAllChildrenNumber, &proto.GetAllChildrenNumberRequest{Path: e.path("/no")}), proto.ErrNoNode)
	names := r.children("/zookeeper", false)
	equal(e, "below /zookeeper", names, []string{"config", "quota"})
	if data, st := r.get("/zookeeper/config", false); data == "" { // no ensemble
		equal(e, "versions of its config", []int32{st.Version, st.Aversion}, []int32{0, -1})
		rec := proto.ReconfigRequest{CurConfigID: -1}
		if code := r.code(proto.OpReconfig, &rec); code != proto.ErrReconfigDisabled && code != proto.ErrUnimplemented {
			e.Errorf("reconfig: %v", code)
		}
	}
	equal(e, "still there", slices.Contains(r.children("/", false), strings.TrimPrefix(e.root, "/")), true)
}

func syncThenRead(e *env) {
	writer, _ := e.client()
	reader, _ := e.client()
	for i := range 20 {
		st, err := writer.Set(e.ctx, "/", nil, client.AnyVersion)
		e.must(err)
		g := reader.Group()
		s, d := g.Sync("/"), g.Get("/", nil)
		e.must(g.Do(e.ctx))
		e.must(s.Err())
		_, seen, err := d.Data()
		e.must(err)
		if seen.Version < st.Version {
			e.Errorf("round %d: read version %d after %d", i, seen.Version, st.Version)
		}
	}
}

func syncEcho(e *env) {
	r := e.raw()
	for _, path := range []string{"/", e.root, "/no/such", "no path", ""} {
		var rep proto.SyncResponse
		r.ok(proto.OpSync, &proto.SyncRequest{Path: path}, &rep)
		equal(e, "echo", rep.Path, path)
	}
}
