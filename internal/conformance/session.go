package conformance

import (
	"net"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
)

func sessionEntries() []entry {
	return []entry{
		{"C70 F40", "the server restarts: same session, its ephemerals, its watches", []Ability{Restart}, restarted},
		{"C71 F22 F51", "no connection for longer than the timeout: expired once, ephemerals gone, watches end once", nil, cutTooLong},
		{"C71 C27 KILL", "the session is ended by the server: the client learns when it comes back, and begins another", nil, killed},
		{"C80", "id and password, used on another connection, are the same session with its ephemerals", nil, exported},
		{"C67 F33", "what is queued when the session ends was not sent; what is asked then belongs to the next", nil, queuedAtTheEnd},
		{"C72 F20", "cut again and again: the session stays the same, no expiry, reads never go back", nil, cutOften},
	}
}

// armed is a client's watches of all kinds, on znodes made for them.
type armed struct{ data, exists, missing, child *client.Watch }

func (e *env) arm(c *client.Client) armed {
	e.Helper()
	for _, path := range []string{"/data", "/exists", "/child"} {
		_, _, err := c.Create(e.ctx, path, nil, client.ModePersistent, nil)
		e.must(err)
	}
	var a armed
	var err error
	_, a.data, err = c.GetWatch(e.ctx, "/data")
	e.must(err)
	_, a.exists, err = c.ExistsWatch(e.ctx, "/exists")
	e.must(err)
	_, a.missing, err = c.ExistsWatch(e.ctx, "/missing")
	e.must(err)
	_, a.child, err = c.ChildrenWatch(e.ctx, "/child")
	e.must(err)
	return a
}

func (a armed) all() []*client.Watch { return []*client.Watch{a.data, a.exists, a.missing, a.child} }

// change makes the change that each of the watches waits for.
func (e *env) change(c *client.Client) {
	e.Helper()
	_, err := c.Set(e.ctx, "/data", []byte("new"), client.AnyVersion)
	e.must(err)
	e.must(c.Delete(e.ctx, "/exists", client.AnyVersion))
	for _, path := range []string{"/missing", "/child/x"} {
		_, _, err := c.Create(e.ctx, path, nil, client.ModePersistent, nil)
		e.must(err)
	}
}

// expect waits for the events of the changes.
func (e *env) expect(a armed) {
	e.Helper()
	for _, tc := range []struct {
		w    *client.Watch
		kind client.EventType
		path string
	}{
		{a.data, client.EventNodeDataChanged, "/data"}, {a.exists, client.EventNodeDeleted, "/exists"},
		{a.missing, client.EventNodeCreated, "/missing"}, {a.child, client.EventNodeChildrenChanged, "/child"},
	} {
		ev := e.event(tc.w)
		if ev.Type != tc.kind || ev.Path != tc.path || ev.Err != nil {
			e.Errorf("event %v, want %v of %s", ev, tc.kind, tc.path)
		}
	}
}

func restarted(e *env) {
	c, _ := e.roamer()
	w := e.follow(c)
	id := c.SessionID()
	_, _, err := c.Create(e.ctx, "/e", nil, client.ModeEphemeral, nil)
	e.must(err)
	a := e.arm(c)
	e.must(e.tg.Restart(e.ctx))
	w.until(client.StateDisconnected)
	equal(e, "session", w.until(client.StateConnected).SessionID, id)
	_, ok, err := c.Exists(e.ctx, "/e")
	e.must(err)
	equal(e, "the ephemeral exists", ok, true)
	for _, watch := range a.all() {
		equal(e, "fired by the restart", fired(watch), false)
	}
	other, _ := e.client()
	e.change(other)
	e.expect(a)
}

func cutTooLong(e *env) {
	other, _ := e.client()
	c, tp := e.client(e.short())
	w := e.follow(c)
	id := c.SessionID()
	_, _, err := c.Create(e.ctx, "/e", nil, client.ModeEphemeral, nil)
	e.must(err)
	a := e.arm(c)
	_, gone, err := other.ExistsWatch(e.ctx, "/e")
	e.must(err)
	tp.part()
	w.until(client.StateDisconnected)
	over := w.until(client.StateExpired)
	equal(e, "generation", over.Generation, 1)
	e.fails("end", over.Err, client.ErrSessionExpired)
	e.finished(a, client.ErrSessionExpired)
	equal(e, "event of the ephemeral", e.event(gone).Type, client.EventNodeDeleted)
	tp.refuse(false)
	next := w.until(client.StateConnected)
	equal(e, "generation", next.Generation, 2)
	equal(e, "another session", next.SessionID != id, true)
	equal(e, "expired events", w.count(client.StateExpired), 1)
	e.change(other)
	e.must(c.Sync(e.ctx, "/"))
	e.finished(a, client.ErrSessionExpired)
	equal(e, "setWatches requests", len(tp.frames(sent(proto.OpSetWatches))), 0)
}

// finished checks that watches have ended with an error, and nothing else.
func (e *env) finished(a armed, why error) {
	e.Helper()
	for _, watch := range a.all() {
		ev := e.event(watch)
		equal(e, "type", ev.Type, client.EventNone)
		e.fails("watch", ev.Err, why)
	}
}

func killed(e *env) {
	c, tp := e.client()
	w := e.follow(c)
	id := c.SessionID()
	_, _, err := c.Create(e.ctx, "/e", nil, client.ModeEphemeral, nil)
	e.must(err)
	a := e.arm(c)
	e.kill(tp)
	e.fails("end", w.until(client.StateExpired).Err, client.ErrSessionExpired)
	e.finished(a, client.ErrSessionExpired)
	equal(e, "another session", w.until(client.StateConnected).SessionID != id, true)
	_, ok, err := c.Exists(e.ctx, "/e")
	e.must(err)
	equal(e, "the ephemeral exists", ok, false)
	equal(e, "expired events", w.count(client.StateExpired), 1)
}

func exported(e *env) {
	first := e.raw()
	path := first.create(e.path("/e"), "", proto.ModeEphemeral)
	first.e.must(first.fc.Close())
	second := e.attach(first.again())
	equal(e, "owner", second.stat(path).EphemeralOwner, second.ss.SessionID)
	equal(e, "session", second.ss.SessionID, first.ss.SessionID)
	second.bye()
	equal(e, "exists after the close", e.raw().exists(path, false), proto.ErrNoNode)
}

func queuedAtTheEnd(e *env) {
	c, tp := e.client(e.short())
	w := e.follow(c)
	tp.part()
	w.until(client.StateDisconnected)
	queued := e.spawn(func() error { _, err := c.Set(e.ctx, "/", nil, client.AnyVersion); return err })
	err := e.result(queued)
	e.fails("set", err, client.ErrSessionExpired)
	e.fails("set", err, net.ErrClosed)
	e.outcome(err, client.OutcomeNotSent, false)
	next := e.spawn(func() error { _, err := c.Set(e.ctx, "/", nil, client.AnyVersion); return err })
	tp.refuse(false)
	e.must(e.result(next))
	equal(e, "setData requests on the wire", len(tp.frames(sent(proto.OpSetData))), 1)
}

func cutOften(e *env) {
	c, tp := e.roamer()
	w := e.follow(c)
	id := c.SessionID()
	_, _, err := c.Create(e.ctx, "/e", nil, client.ModeEphemeral, nil)
	e.must(err)
	writer := e.raw()
	last := int64(0)
	for range 20 {
		tp.cut()
		w.until(client.StateDisconnected)
		writer.set(e.root, "new")
		equal(e, "session", w.until(client.StateConnected).SessionID, id)
		_, st, err := c.Get(e.ctx, "/")
		e.must(err)
		if st.Mzxid < last {
			e.Errorf("mzxid %#x after %#x", st.Mzxid, last)
		}
		last = st.Mzxid
	}
	_, ok, err := c.Exists(e.ctx, "/e")
	e.must(err)
	equal(e, "the ephemeral exists", ok, true)
	equal(e, "expired events", w.count(client.StateExpired), 0)
}
