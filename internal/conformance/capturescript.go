package conformance

import (
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
)

// captureRoot is the znode that captures work on. It is always the same, so that requests are.
const captureRoot = "/c"

// script has the conversation: every operation that a client may send, and every error that it can provoke on one server.
func (s *scribe) script() {
	c := s.connect("connect, new session")
	s.creates(c)
	s.nodes(c)
	s.oneShot(c)
	s.transactions(c)
	s.persistent(c)
	s.rest(c)
	s.refusals(c)
	s.reconnects(c)
	s.ok("closeSession", c.Close())
	s.lives()
	s.byHand()
	s.multisByHand()
	s.watchesByHand()
	s.ends()
}

// connect connects a client through the tap.
func (s *scribe) connect(name string, opts ...client.Option) *client.Client {
	s.e.Helper()
	c, err := client.Connect(s.e.ctx, s.e.tg.Addr, s.options(opts...)...)
	s.e.must(err)
	s.e.Cleanup(func() { _ = c.Close() }) // most are closed by then
	s.take(name)
	return c
}

func (s *scribe) options(opts ...client.Option) []client.Option {
	fixed := []client.Option{client.SessionTimeout(30 * time.Second), client.MinServer(s.e.tg.Version.String())}
	return s.e.options(s.tp, append(fixed, opts...))
}

// create makes a znode and takes the exchange.
func (s *scribe) create(c *client.Client, name, path, data string, mode client.CreateMode) {
	s.e.Helper()
	_, _, err := c.Create(s.e.ctx, path, []byte(data), mode, nil)
	s.ok(name, err)
}

func (s *scribe) creates(c *client.Client) {
	s.create(c, "create2, persistent", "/c", "d", client.ModePersistent)
	s.create(c, "create2, ephemeral", "/c/e", "", client.ModeEphemeral)
	s.create(c, "create2, ephemeral sequential", "/c/e-", "", client.ModeEphemeralSequential)
	s.create(c, "create2, persistent sequential", "/c/s-", "", client.ModePersistentSequential)
	s.create(c, "createContainer", "/c/k", "", client.ModeContainer)
	_, _, err := c.Create(s.e.ctx, "/c/z", nil, client.ModePersistent, nil)
	s.ok("create2, null data", err)
	_, _, err = c.CreateTTL(s.e.ctx, "/c/t", nil, client.ModePersistentTTL, time.Hour, nil)
	s.ok("createTTL, persistent with TTL", err)
	_, _, err = c.CreateTTL(s.e.ctx, "/c/t-", []byte{}, client.ModePersistentSequentialTTL, time.Hour, nil)
	s.ok("createTTL, persistent sequential with TTL", err)
}

func (s *scribe) nodes(c *client.Client) {
	ctx := s.e.ctx
	_, _, err := c.Exists(ctx, "/c")
	s.ok("exists", err)
	_, _, err = c.Exists(ctx, "/c/no")
	s.ok("exists, missing", err)
	_, _, err = c.Get(ctx, "/c")
	s.ok("getData", err)
	_, _, err = c.Get(ctx, "/c/z")
	s.ok("getData, null data", err)
	_, err = c.Set(ctx, "/c", []byte("d2"), 0)
	s.ok("setData", err)
	_, _, err = c.Children(ctx, "/c")
	s.ok("getChildren2", err)
	_, _, err = c.GetACL(ctx, "/c")
	s.ok("getACL", err)
	_, err = c.SetACL(ctx, "/c/z", client.WorldACL(client.PermWrite|client.PermAdmin), client.AnyVersion)
	s.ok("setACL", err)
	s.ok("sync", c.Sync(ctx, "/c"))
	s.ok("delete", c.Delete(ctx, "/c/k", client.AnyVersion))
}

func (s *scribe) oneShot(c *client.Client) {
	ctx := s.e.ctx
	_, _, err := c.GetWatch(ctx, "/c")
	s.ok("getData, with a watch", err)
	_, err = c.Set(ctx, "/c", []byte("d3"), client.AnyVersion)
	s.ok("setData, seen by the watch", err)
	_, _, err = c.ExistsWatch(ctx, "/c/n")
	s.ok("exists, with a watch, missing", err)
	s.create(c, "create2, seen by the watch", "/c/n", "", client.ModePersistent)
	_, _, err = c.ExistsWatch(ctx, "/c/n")
	s.ok("exists, with a watch", err)
	_, _, err = c.ChildrenWatch(ctx, "/c")
	s.ok("getChildren2, with a watch", err)
	s.ok("delete, seen by two watches", c.Delete(ctx, "/c/n", client.AnyVersion))

	_, w, err := c.GetWatch(ctx, "/c")
	s.ok("getData, with a watch that is given up", err)
	_, err = c.CheckWatches(ctx, "/c", client.WatcherData)
	s.ok("checkWatches, data", err)
	w.Close()
	s.await(replied(proto.OpRemoveWatches))
	s.take("removeWatches, data")
	_, err = c.CheckWatches(ctx, "/c", client.WatcherAny)
	s.ok("checkWatches, none", err)
}

func (s *scribe) transactions(c *client.Client) {
	ctx := s.e.ctx
	_, err := c.Multi(ctx,
		client.CreateOp("/c/m", []byte("m"), client.ModePersistent, nil), client.CheckOp("/c/m", 0),
		client.SetOp("/c/m", []byte("m2"), 0), client.CreateOp("/c/m/s-", nil, client.ModePersistentSequential, nil),
		client.DeleteOp("/c/m/s-0000000000", client.AnyVersion), client.CreateOp("/c/m/k", nil, client.ModeContainer, nil),
		client.CreateTTLOp("/c/m/t", nil, client.ModePersistentTTL, time.Hour, nil))
	s.ok("multi", err)
	_, err = c.Multi(ctx, client.SetOp("/c/m", nil, client.AnyVersion), client.DeleteOp("/c/no", client.AnyVersion), client.CheckOp("/c/m", 0))
	s.refused("multi, no node in the middle", err, client.ErrNoNode)
	_, err = c.Multi(ctx, client.CheckOp("/c/m", 9), client.DeleteOp("/c/m", client.AnyVersion))
	s.refused("multi, bad version", err, client.ErrBadVersion)
	_, err = c.Multi(ctx, client.DeleteOp("/c/m", client.AnyVersion))
	s.refused("multi, not empty", err, client.ErrNotEmpty)
	_, err = c.MultiRead(ctx, client.GetOp("/c/m"), client.ChildrenOp("/c/m"))
	s.ok("multiRead", err)
	_, err = c.MultiRead(ctx, client.GetOp("/c/no"), client.GetOp("/c/m"), client.ChildrenOp("/c/no"))
	s.ok("multiRead, two missing", err)
}

func (s *scribe) persistent(c *client.Client) {
	ctx := s.e.ctx
	p, err := c.Watch(ctx, "/c/w", client.Persistent)
	s.ok("addWatch, persistent", err)
	r, err := c.Watch(ctx, "/c/r", client.Recursive)
	s.ok("addWatch, recursive", err)
	s.create(c, "create2, seen by the persistent watch", "/c/w", "", client.ModePersistent)
	s.create(c, "create2 of a child, seen by the persistent watch", "/c/w/x", "", client.ModePersistent)
	s.create(c, "create2, seen by the recursive watch", "/c/r", "", client.ModePersistent)
	s.create(c, "create2 of a child, seen by the recursive watch", "/c/r/x", "", client.ModePersistent)
	_, err = c.Multi(ctx, client.SetOp("/c/w", nil, client.AnyVersion), client.DeleteOp("/c/r/x", client.AnyVersion))
	s.ok("multi, seen by both", err)
	_, err = c.CheckWatches(ctx, "/c/r", client.WatcherAny)
	s.ok("checkWatches, any", err)
	for _, w := range []*client.Watcher{p, r} {
		w.Close()
		s.await(replied(proto.OpRemoveWatches))
		s.take("removeWatches, any, " + w.Path())
	}
}

func (s *scribe) rest(c *client.Client) {
	ctx := s.e.ctx
	_, _, err := c.GetConfig(ctx)
	s.ok("getData, the configuration of no ensemble", err)
	_, err = c.GetEphemerals(ctx, "/c")
	s.ok("getEphemerals", err)
	_, err = c.GetAllChildrenNumber(ctx, "/c")
	s.ok("getAllChildrenNumber", err)
	_, err = c.WhoAmI(ctx)
	s.ok("whoAmI", err)
	s.ok("auth, digest", c.AddAuth(ctx, "digest", []byte("user:password")))
	_, err = c.WhoAmI(ctx)
	s.ok("whoAmI, with a digest", err)
	_, _, err = c.Create(ctx, "/c/a", nil, client.ModePersistent, client.CreatorACL(client.PermAll))
	s.ok("create2, for its creator", err)
	_, _, err = c.GetACL(ctx, "/c/a")
	s.ok("getACL, of the creator", err)
}

func (s *scribe) refusals(c *client.Client) {
	ctx := s.e.ctx
	try := func(name, path string, mode client.CreateMode, acl []client.ACL, want error) {
		s.e.Helper()
		_, _, err := c.Create(ctx, path, nil, mode, acl)
		s.refused(name, err, want)
	}
	try("create2, no parent", "/c/no/x", client.ModePersistent, nil, client.ErrNoNode)
	try("create2, exists", "/c/m", client.ModePersistent, nil, client.ErrNodeExists)
	try("create2, below an ephemeral", "/c/e/x", client.ModePersistent, nil, client.ErrNoChildrenForEphemerals)
	try("create2, empty ACL", "/c/x", client.ModePersistent, []client.ACL{}, client.ErrInvalidACL)
	_, _, err := c.Get(ctx, "/c/no")
	s.refused("getData, no node", err, client.ErrNoNode)
	_, _, err = c.Get(ctx, "/c/z")
	s.refused("getData, not authorized", err, client.ErrNoAuth)
	_, err = c.Set(ctx, "/c/m", nil, 9)
	s.refused("setData, bad version", err, client.ErrBadVersion)
	_, err = c.SetACL(ctx, "/c/m", client.WorldACL(client.PermAll), 9)
	s.refused("setACL, bad version", err, client.ErrBadVersion)
	s.refused("delete, not empty", c.Delete(ctx, "/c", client.AnyVersion), client.ErrNotEmpty)
	_, _, err = c.Reconfig(ctx, client.Reconfiguration{Members: []string{"server.1=a:1:2;3"}, Version: client.AnyConfigVersion})
	s.refused("reconfig, switched off", err, client.ErrReconfigDisabled)
}

// reconnects cuts the connection twice: once with watches of one event each, and once with persistent ones besides.
func (s *scribe) reconnects(c *client.Client) {
	ctx := s.e.ctx
	other := s.e.raw()
	_, _, err := c.GetWatch(ctx, "/c/m")
	s.e.must(err)
	_, _, err = c.ExistsWatch(ctx, "/c/n")
	s.e.must(err)
	_, _, err = c.ChildrenWatch(ctx, "/c")
	s.ok("getData, exists and getChildren2, with watches", err)
	s.tp.part()
	other.set("/c/m", "m3")
	s.tp.refuse(false)
	s.await(replied(proto.OpSetWatches))
	s.take("reconnect: handshake, auth, setWatches with an event that was missed")

	_, err = c.Watch(ctx, "/c/w", client.Persistent)
	s.e.must(err)
	_, err = c.Watch(ctx, "/c/r", client.Recursive)
	s.ok("addWatch, persistent and recursive", err)
	s.tp.part()
	other.delete("/c/w/x") // persistent watches are not told
	s.tp.refuse(false)
	s.await(replied(proto.OpSetWatches2))
	s.take("reconnect: handshake, auth, setWatches2")
	s.create(c, "create2, seen by a watch that was set again", "/c/n", "", client.ModePersistent)
	other.bye()
}

// lives has sessions go on with other clients, and end.
func (s *scribe) lives() {
	c := s.connect("connect, with a credential", client.Auth("digest", []byte("user:password")))
	ticket, err := c.Detach()
	s.e.must(err)
	c = s.connect("connect, to go on with a session", client.Attach(ticket))
	s.ok("closeSession, again", c.Close())
	_, err = client.Connect(s.e.ctx, s.e.tg.Addr, s.options(client.Attach(ticket), client.FinalExpiry())...)
	s.refused("connect, to a session that is over", err, client.ErrSessionExpired)

	c = s.connect("connect, with a short session timeout", client.SessionTimeout(2*s.e.tg.Tick))
	s.await(replied(proto.OpPing))
	first := map[bool]bool{}
	s.note("ping", func(f *frame) bool {
		again := first[f.out] || f.op != proto.OpPing
		first[f.out] = first[f.out] || !again
		return !again
	})
	s.ok("closeSession, once more", c.Close())
}
