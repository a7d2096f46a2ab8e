package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
)

func operationEntries() []entry {
	return []entry{
		{"C112 client", "creates of every kind in one multi of the client, TTL znodes too", nil, multiOfCreates},
		{"C113 client", "multiRead: good entries are usable, a bad one has its own error", nil, clientMultiRead},
		{"C119 client", "with a chroot: ephemerals, counts, multiRead, ACL, errors; /zookeeper is the server's own", nil, chrootOperations},
		{"C119 views", "several chroots on one session", nil, views},
		{"C120 P8.ttl", "TTL znodes: opcode and TTL on the wire, bounds refused before anything is built", nil, ttlCreates},
		{"C124 client", "whoAmI, getEphemerals, getAllChildrenNumber, checkWatches, and an ACL whose digests are hidden", nil, clientOperations},
		{"P6.versions", "what the promised version of the servers may not know is never sent", nil, versionPromise},
		{"P8.reaped", "TTL znodes and containers are removed by the server, and a container that is gone takes no child", []Ability{Sweep}, reaped},
	}
}

// all37 promises servers that know every operation.
func all37() client.Option { return client.MinServer("3.7") }

func multiOfCreates(e *env) {
	c, _ := e.client()
	results, err := c.Multi(e.ctx,
		client.CreateOp("/p", []byte("x"), client.ModePersistent, nil), client.CreateOp("/c", nil, client.ModeContainer, nil),
		client.CreateTTLOp("/t", nil, client.ModePersistentTTL, time.Hour, nil),
		client.CreateTTLOp("/ts-", nil, client.ModePersistentSequentialTTL, time.Hour, nil),
		client.CreateOp("/e", nil, client.ModeEphemeral, nil))
	e.must(err)
	var paths []string
	for i, res := range results {
		paths = append(paths, res.Path)
		if i == 1 || i == 2 || i == 3 {
			equal(e, res.Path+" has a Stat", res.HasStat, true)
		}
	}
	equal(e, "paths", paths, []string{"/p", "/c", "/t", "/ts-0000000003", "/e"})
	_, err = c.Multi(e.ctx, client.CreateTTLOp("/u", nil, client.ModePersistentTTL, 0, nil))
	var te *client.TTLError
	if !errors.As(err, &te) {
		e.Errorf("TTL of 0: %v, want a *TTLError", err)
	}
	e.outcome(err, client.OutcomeNotSent, false)
}

func clientMultiRead(e *env) {
	c, tp := e.client()
	for _, path := range []string{"/a", "/a/b", "/a/c"} {
		_, _, err := c.Create(e.ctx, path, []byte("data of "+path), client.ModePersistent, nil)
		e.must(err)
	}
	secret := client.WorldACL(client.PermAdmin)
	_, _, err := c.Create(e.ctx, "/secret", nil, client.ModePersistent, secret)
	e.must(err)
	results, err := c.MultiRead(e.ctx, client.GetOp("/a"), client.ChildrenOp("/a"), client.GetOp("/none"), client.ChildrenOp("/secret"), client.GetOp("/a/c"))
	e.must(err)
	equal(e, "results", len(results), 5)
	equal(e, "data", string(results[0].Data)+string(results[4].Data), "data of /adata of /a/c")
	equal(e, "version", results[0].Stat.NumChildren, 2)
	slices.Sort(results[1].Children)
	equal(e, "children", results[1].Children, []string{"b", "c"})
	e.fails("a missing znode", results[2].Err, client.ErrNoNode)
	e.fails("a secret znode", results[3].Err, client.ErrNoAuth)
	results, err = c.MultiRead(e.ctx)
	e.must(err)
	equal(e, "results of none", len(results), 0)
	equal(e, "requests on the wire", len(tp.frames(sent(proto.OpMultiRead))), 1)
}

// ephemerals returns the sorted paths at prefix and below.
func (e *env) ephemerals(c *client.Client, prefix string) []string {
	e.Helper()
	paths, err := c.GetEphemerals(e.ctx, prefix)
	e.must(err)
	slices.Sort(paths)
	return paths
}

func chrootOperations(e *env) {
	c, _ := e.client()
	for path, mode := range map[string]client.CreateMode{"/a": client.ModeEphemeral, "/ab": client.ModeEphemeral, "/d": client.ModePersistent} {
		_, _, err := c.Create(e.ctx, path, nil, mode, nil)
		e.must(err)
	}
	_, _, err := c.Create(e.ctx, "/d/s-", nil, client.ModeEphemeralSequential, nil)
	e.must(err)
	equal(e, "ephemerals", e.ephemerals(c, "/"), []string{"/a", "/ab", "/d/s-0000000000"})
	equal(e, "ephemerals at /a", e.ephemerals(c, "/a"), []string{"/a"})
	n, err := c.GetAllChildrenNumber(e.ctx, "/")
	e.must(err)
	equal(e, "znodes below the chroot", n, 4)
	results, err := c.MultiRead(e.ctx, client.ChildrenOp("/d"), client.GetOp("/none"))
	e.must(err)
	equal(e, "children", results[0].Children, []string{"s-0000000000"})
	_, _, err = c.Get(e.ctx, "/none")
	if err == nil || strings.Contains(err.Error(), e.root) {
		e.Errorf("error %v names the chroot", err)
	}
	_, err = c.Multi(e.ctx, client.DeleteOp("/none", client.AnyVersion))
	if err == nil || strings.Contains(err.Error(), e.root) {
		e.Errorf("error %v names the chroot", err)
	}

	names, _, err := c.Children(e.ctx, "/zookeeper")
	e.must(err)
	slices.Sort(names)
	equal(e, "below /zookeeper", names, []string{"config", "quota"})
	results, err = c.MultiRead(e.ctx, client.ChildrenOp("/zookeeper"))
	e.must(err)
	equal(e, "the same by multiRead", len(results[0].Children), 2)
	_, ok, err := c.Exists(e.ctx, "/zookeepers")
	e.must(err)
	equal(e, "what only begins alike", ok, false)
}

func views(e *env) {
	c, tp := e.client()
	for _, path := range []string{"/a", "/b"} {
		_, _, err := c.Create(e.ctx, path, nil, client.ModePersistent, nil)
		e.must(err)
	}
	a, err := c.View("/a")
	e.must(err)
	b, err := c.View("/b")
	e.must(err)
	equal(e, "session of a view", a.SessionID(), c.SessionID())
	wa, wb, top := e.watcher(a, "/", client.Recursive), e.watcher(b, "/", client.Persistent), e.watcher(c, "/", client.Recursive)
	path, _, err := a.Create(e.ctx, "/x", nil, client.ModeEphemeral, nil)
	e.must(err)
	equal(e, "path", path, "/x")
	_, _, err = b.Create(e.ctx, "/x", nil, client.ModePersistent, nil)
	e.must(err)
	e.heard(a, wa, "of a", "created /x")
	e.heard(b, wb, "of b", "children /")
	e.heard(c, top, "of both", "created /a/x", "created /b/x")
	equal(e, "ephemerals of the session, as b names them", len(e.ephemerals(b, "/")), 0)
	e.must(a.Close())
	_, ok, err := c.Exists(e.ctx, "/a/x")
	e.must(err)
	equal(e, "after a view was closed", ok, true)
	_, conns := tp.counts()
	equal(e, "connections", conns, 1)
}

func ttlCreates(e *env) {
	c, tp := e.client()
	for _, tc := range []struct {
		mode client.CreateMode
		ttl  time.Duration
	}{
		{client.ModePersistentTTL, time.Millisecond * 60_000}, {client.ModePersistentSequentialTTL, time.Hour},
		{client.ModePersistentTTL, (1<<40 - 1) * time.Millisecond},
	} {
		path := fmt.Sprintf("/%d-%d-", tc.mode, tc.ttl.Milliseconds())
		got, st, err := c.CreateTTL(e.ctx, path, []byte("x"), tc.mode, tc.ttl, nil)
		e.must(err)
		equal(e, "sequential", len(got) == len(path)+10, tc.mode.IsSequential())
		same, ok, err := c.Exists(e.ctx, got)
		e.must(err)
		equal(e, "exists", ok, true)
		equal(e, "stat", st, same)
		equal(e, "owner", st.EphemeralOwner, 0)
		f := tp.frames(all(anySent, at(e.path(path))))[0]
		equal(e, "opcode", f.op, proto.OpCreateTTL)
		var req proto.CreateTTLRequest
		r := proto.NewReader(f.body)
		req.ReadFrom(&r)
		e.must(r.Err())
		equal(e, "TTL on the wire", req.TTL, tc.ttl.Milliseconds())
	}
	for _, tc := range []struct {
		mode client.CreateMode
		ttl  time.Duration
	}{
		{client.ModePersistentTTL, 0}, {client.ModePersistentTTL, -time.Second}, {client.ModePersistentTTL, 1 << 40 * time.Millisecond},
		{client.ModePersistent, time.Hour}, {client.ModeEphemeral, time.Hour}, {client.ModeContainer, time.Hour}, {7, time.Hour}, {-1, time.Hour},
	} {
		_, _, err := c.CreateTTL(e.ctx, "/refused", nil, tc.mode, tc.ttl, nil)
		var te *client.TTLError
		var me *client.ModeError
		if !errors.As(err, &te) && !errors.As(err, &me) {
			e.Errorf("mode %d, TTL %v: %v, want a *TTLError or *ModeError", tc.mode, tc.ttl, err)
		}
		e.outcome(err, client.OutcomeNotSent, false)
	}
	equal(e, "requests for them", len(tp.frames(all(anySent, at(e.path("/refused"))))), 0)
}

func clientOperations(e *env) {
	c, _ := e.client(all37())
	e.must(c.AddAuth(e.ctx, "digest", []byte("user:password")))
	ids, err := c.WhoAmI(e.ctx)
	e.must(err)
	slices.SortFunc(ids, func(a, b client.Identity) int { return strings.Compare(a.Scheme, b.Scheme) })
	equal(e, "whoAmI", ids, []client.Identity{{Scheme: "digest", User: "user"}, {Scheme: "ip", User: "127.0.0.1"}})

	_, _, err = c.Create(e.ctx, "/acl", nil, client.ModePersistent, append(client.DigestACL(client.PermAll, "user", "password"),
		client.WorldACL(client.PermRead)...))
	e.must(err)
	acl, _, err := c.GetACL(e.ctx, "/acl")
	e.must(err)
	equal(e, "as its administrator sees it", acl[0].ID, client.ID{Scheme: "digest", ID: client.DigestID("user", "password")})
	other, _ := e.client()
	acl, _, err = other.GetACL(e.ctx, "/acl")
	e.must(err)
	equal(e, "as others see it", acl[0].ID, client.ID{Scheme: "digest", ID: "user:x"})
	_, err = other.Set(e.ctx, "/acl", nil, client.AnyVersion)
	e.fails("set by others", err, client.ErrNoAuth)

	n, err := c.GetAllChildrenNumber(e.ctx, "/acl")
	e.must(err)
	equal(e, "znodes below", n, 0)
	_, err = c.GetAllChildrenNumber(e.ctx, "/none")
	e.fails("of a missing one", err, client.ErrNoNode)
	found, err := c.CheckWatches(e.ctx, "/acl", client.WatcherData)
	e.must(err)
	equal(e, "a watch", found, false)
	_, w, err := c.GetWatch(e.ctx, "/acl")
	e.must(err)
	found, err = c.CheckWatches(e.ctx, "/acl", client.WatcherData)
	e.must(err)
	equal(e, "the same, set", found, true)
	w.Close()
}

func versionPromise(e *env) {
	c, tp := e.client()
	old, oldTap := e.client(client.MinServer("3.5"))
	before := len(oldTap.frames(anySent))
	refused := map[string]error{
		"multiRead": func() error { _, err := old.MultiRead(e.ctx, client.GetOp("/")); return err }(),
		"ephemerals": func() error {
			_, err := old.GetEphemerals(e.ctx, "/")
			return err
		}(),
		"number": func() error { _, err := old.GetAllChildrenNumber(e.ctx, "/"); return err }(),
		"watch":  func() error { _, err := old.Watch(e.ctx, "/", client.Recursive); return err }(),
		"whoAmI": func() error { _, err := c.WhoAmI(e.ctx); return err }(),
		"TTL": func() error {
			_, _, err := old.CreateTTL(e.ctx, "/t", nil, client.ModePersistentTTL, time.Hour, nil)
			return err
		}(),
		"type 4": func() error { _, err := c.CheckWatches(e.ctx, "/", client.WatcherPersistent); return err }(),
		"in multi": func() error {
			_, err := old.Multi(e.ctx, client.CreateOp("/c", nil, client.ModeContainer, nil))
			return err
		}(),
	}
	for what, err := range refused {
		var ve *client.VersionError
		if !errors.As(err, &ve) {
			e.Errorf("%s: %v, want a *VersionError", what, err)
			continue
		}
		e.outcome(err, client.OutcomeNotSent, false)
	}
	equal(e, "requests of them", len(oldTap.frames(anySent))-before, 0)
	equal(e, "whoAmI requests", len(tp.frames(sent(proto.OpWhoAmI))), 0)
}

// reaped waits for the server to remove what nobody needs.
func reaped(e *env) {
	c, _ := e.client()
	w := e.watcher(c, "/", client.Recursive)
	_, _, err := c.CreateTTL(e.ctx, "/t", nil, client.ModePersistentTTL, time.Millisecond, nil)
	e.must(err)
	_, _, err = c.CreateTTL(e.ctx, "/long", nil, client.ModePersistentTTL, 24*time.Hour, nil)
	e.must(err)
	_, _, err = c.Create(e.ctx, "/c", nil, client.ModeContainer, nil)
	e.must(err)
	_, _, err = c.Create(e.ctx, "/c/x", nil, client.ModePersistent, nil)
	e.must(err)
	e.must(c.Delete(e.ctx, "/c/x", client.AnyVersion))
	gone := map[string]bool{}
	e.after(2*time.Millisecond, func() { e.must(e.tg.Sweep(e.ctx)) })
	for len(gone) < 3 {
		ev, err := w.Next(e.ctx)
		e.must(err)
		if ev.Type == client.EventNodeDeleted {
			gone[ev.Path] = true
		}
	}
	equal(e, "deleted", gone, map[string]bool{"/t": true, "/c": true, "/c/x": true})
	_, _, err = c.Create(e.ctx, "/c/y", nil, client.ModePersistent, nil)
	e.fails("a child of the container that is gone", err, client.ErrNoNode)
	_, ok, err := c.Exists(e.ctx, "/long")
	e.must(err)
	equal(e, "what still has time", ok, true)
}

// after waits and calls f: for what is due by then on the server's clock.
func (e *env) after(d time.Duration, f func()) {
	e.Helper()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		f()
	case <-e.ctx.Done():
		e.Fatal("no time left")
	}
}
