package conformance

import (
	"context"
	"errors"
	"strings"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
)

func watcherEntries() []entry {
	return []entry{
		{"C89 persistent", "persistent and recursive watchers: exactly the events of the table, in order", nil, watcherTable},
		{"C95", "recursive watchers on a znode and on one above it: each has each event once", nil, nestedWatchers},
		{"C96", "persistent, recursive and one-shot watches on one path, in every order: each as specified", nil, mixedWatchers},
		{"C98 C102 F52", "after a cut a watcher has a gap event, and goes on; it is set again by opcode 105", nil, watcherGap},
		{"C106", "watches closed while disconnected are not set again", nil, closedWhileDisconnected},
		{"C107 C106", "the last watch that is closed frees the server, and no other touches anybody", nil, freedWatches},
		{"C109", "configuration and its watch: never below a chroot", nil, configWatch},
		{"C71 persistent", "watchers end with their session, once, with its error", nil, watcherExpiry},
		{"C88 persistent", "the event of one's own write is there when the write returns", nil, ownEvents},
	}
}

// watcher sets a watcher that is closed at the end.
func (e *env) watcher(c *client.Client, path string, mode client.WatchMode) *client.Watcher {
	e.Helper()
	w, err := c.Watch(e.ctx, path, mode)
	e.must(err)
	e.Cleanup(w.Close)
	return w
}

// heard checks the events that w has got up to now: a sync of c has brought everything that was committed before.
func (e *env) heard(c *client.Client, w *client.Watcher, what string, want ...string) {
	e.Helper()
	e.must(c.Sync(e.ctx, "/"))
	got := []string{}
	for {
		ev, ok, err := w.TryNext()
		e.must(err)
		if !ok {
			break
		}
		if e.tg.Version >= NewVersion(3, 9, 0) != (ev.Zxid > 0) && ev.Type != client.EventGap {
			e.Errorf("%s: event with zxid %#x", what, ev.Zxid)
		}
		got = append(got, word(ev.Type)+" "+ev.Path)
	}
	equal(e, what, got, append([]string{}, want...))
}

func word(t client.EventType) string {
	switch t {
	case client.EventNodeCreated:
		return "created"
	case client.EventNodeDeleted:
		return "deleted"
	case client.EventNodeDataChanged:
		return "changed"
	case client.EventNodeChildrenChanged:
		return "children"
	}
	return t.String()
}

// lifeOf creates, changes and deletes a znode with a child.
func (e *env) lifeOf(c *client.Client, path string) {
	e.Helper()
	for _, p := range []string{path, path + "/x"} {
		_, _, err := c.Create(e.ctx, p, nil, client.ModePersistent, nil)
		e.must(err)
	}
	for _, p := range []string{path + "/x", path} {
		_, err := c.Set(e.ctx, p, nil, client.AnyVersion)
		e.must(err)
		_, err = c.SetACL(e.ctx, p, world(), client.AnyVersion) // which nobody hears of
		e.must(err)
	}
	for _, p := range []string{path + "/x", path} {
		e.must(c.Delete(e.ctx, p, client.AnyVersion))
	}
}

func persistentLife(path string) []string {
	return []string{"created " + path, "children " + path, "changed " + path, "children " + path, "deleted " + path}
}

func recursiveLife(path string) []string {
	return []string{"created " + path, "created " + path + "/x", "changed " + path + "/x", "changed " + path, "deleted " + path + "/x", "deleted " + path}
}

func watcherTable(e *env) {
	c, _ := e.client()
	other, _ := e.client()
	p, r := e.watcher(c, "/p", client.Persistent), e.watcher(c, "/r", client.Recursive)
	for range 2 {
		e.lifeOf(other, "/p")
		e.lifeOf(other, "/r")
		e.lifeOf(other, "/rest") // begins alike
		e.heard(c, p, "persistent", persistentLife("/p")...)
		e.heard(c, r, "recursive", recursiveLife("/r")...)
	}
}

func nestedWatchers(e *env) {
	c, tp := e.client()
	other, _ := e.client()
	top, a, again := e.watcher(c, "/", client.Recursive), e.watcher(c, "/a", client.Recursive), e.watcher(c, "/a", client.Recursive)
	equal(e, "addWatch requests", len(tp.frames(sent(proto.OpAddWatch))), 2)
	e.lifeOf(other, "/a")
	e.lifeOf(other, "/b")
	e.heard(c, top, "above", append(recursiveLife("/a"), recursiveLife("/b")...)...)
	e.heard(c, a, "on it", recursiveLife("/a")...)
	e.heard(c, again, "a second one on it", recursiveLife("/a")...)
}

// mixedWatchers sets the kinds on one path in all orders and takes them off in all orders.
func mixedWatchers(e *env) {
	c, _ := e.client()
	other, _ := e.client()
	for _, order := range []string{"prd", "pdr", "rpd", "rdp", "dpr", "drp"} {
		path := "/" + order
		var p, r *client.Watcher
		var data, kids *client.Watch
		_, _, err := other.Create(e.ctx, path, nil, client.ModePersistent, nil)
		e.must(err)
		for _, kind := range order {
			switch kind {
			case 'p':
				p = e.watcher(c, path, client.Persistent)
			case 'r':
				r = e.watcher(c, path, client.Recursive)
			case 'd':
				_, data, err = c.GetWatch(e.ctx, path)
				e.must(err)
				_, kids, err = c.ChildrenWatch(e.ctx, path)
				e.must(err)
			}
		}
		for range 2 { // the one-shot watches fire once, the others each time
			_, _, err = other.Create(e.ctx, path+"/x", nil, client.ModePersistent, nil)
			e.must(err)
			_, err = other.Set(e.ctx, path, nil, client.AnyVersion)
			e.must(err)
			e.must(other.Delete(e.ctx, path+"/x", client.AnyVersion))
			e.heard(c, p, order+": persistent", "children "+path, "changed "+path, "children "+path)
			e.heard(c, r, order+": recursive", "created "+path+"/x", "changed "+path, "deleted "+path+"/x")
			equal(e, order+": data", e.event(data).Type, client.EventNodeDataChanged)
			equal(e, order+": children", e.event(kids).Type, client.EventNodeChildrenChanged)
		}
		_, data, err = c.GetWatch(e.ctx, path)
		e.must(err)
		rest := map[rune]func(){
			'p': func() { e.heard(c, p, order+": persistent, last", "changed "+path) },
			'r': func() { e.heard(c, r, order+": recursive, last", "changed "+path) },
			'd': func() { equal(e, order+": data", e.event(data).Type, client.EventNodeDataChanged) },
		}
		for _, kind := range order[:2] { // the first two of the order go, the last must not be touched
			delete(rest, kind)
			map[rune]func(){'p': p.Close, 'r': r.Close, 'd': data.Close}[kind]()
		}
		_, err = other.Set(e.ctx, path, nil, client.AnyVersion)
		e.must(err)
		e.must(c.Sync(e.ctx, "/"))
		for _, check := range rest {
			check()
		}
		p.Close()
		r.Close()
		e.free(c, path)
	}
}

// free checks that the server has no watch of c on path.
func (e *env) free(c *client.Client, path string) {
	e.Helper()
	found, err := c.CheckWatches(e.ctx, path, client.WatcherAny)
	e.must(err)
	equal(e, "watches left on "+path, found, false)
}

func watcherGap(e *env) {
	c, tp := e.client()
	other, _ := e.client()
	p, r := e.watcher(c, "/a", client.Persistent), e.watcher(c, "/", client.Recursive)
	_, missing, err := c.ExistsWatch(e.ctx, "/a/x")
	e.must(err)
	tp.part()
	for _, path := range []string{"/a", "/a/x"} {
		_, _, err := other.Create(e.ctx, path, nil, client.ModePersistent, nil)
		e.must(err)
	}
	tp.refuse(false)
	equal(e, "one-shot watch", e.event(missing).Type, client.EventNodeCreated)
	e.gap(p)
	e.gap(r)
	again := tp.frames(sent(proto.OpSetWatches2))
	equal(e, "setWatches2 requests", len(again), 1)
	equal(e, "setWatches requests", len(tp.frames(sent(proto.OpSetWatches))), 0)
	_, err = other.Set(e.ctx, "/a", nil, client.AnyVersion)
	e.must(err)
	e.must(other.Delete(e.ctx, "/a/x", client.AnyVersion))
	e.heard(c, p, "persistent, later", "changed /a", "children /a")
	e.heard(c, r, "recursive, later", "changed /a", "deleted /a/x")
}

// gap waits for an event, which must be a gap.
func (e *env) gap(w *client.Watcher) {
	e.Helper()
	ev, err := w.Next(e.ctx)
	e.must(err)
	equal(e, "event of "+w.Path(), ev.Type, client.EventGap)
}

func closedWhileDisconnected(e *env) {
	c, tp := e.client()
	w, keep := e.watcher(c, "/a", client.Recursive), e.watcher(c, "/b", client.Persistent)
	_, one, err := c.ExistsWatch(e.ctx, "/c")
	e.must(err)
	tp.part()
	w.Close()
	one.Close()
	tp.refuse(false)
	e.gap(keep)
	e.free(c, "/a")
	e.free(c, "/c")
	found, err := c.CheckWatches(e.ctx, "/b", client.WatcherAny)
	e.must(err)
	equal(e, "the other one is set", found, true)
}

func freedWatches(e *env) {
	c, tp := e.client()
	_, _, err := c.Create(e.ctx, "/a", nil, client.ModePersistent, nil)
	e.must(err)
	get := func() *client.Watch {
		_, w, err := c.GetWatch(e.ctx, "/a")
		e.must(err)
		return w
	}
	_, kids, err := c.ChildrenWatch(e.ctx, "/a")
	e.must(err)
	first, second := get(), get()
	first.Close()
	equal(e, "removeWatches while another needs it", len(tp.frames(sent(proto.OpRemoveWatches))), 0)
	second.Close()
	for t, want := range map[client.WatcherType]bool{client.WatcherData: false, client.WatcherChildren: true} {
		found, err := c.CheckWatches(e.ctx, "/a", t)
		e.must(err)
		equal(e, "watch of type "+word(client.EventType(t)), found, want)
	}
	w, again := e.watcher(c, "/a", client.Persistent), e.watcher(c, "/a", client.Persistent)
	w.Close()
	kids.Close()
	found, err := c.CheckWatches(e.ctx, "/a", client.WatcherAny)
	e.must(err)
	equal(e, "the second watcher's", found, true)
	_, err = c.Set(e.ctx, "/a", nil, client.AnyVersion)
	e.must(err)
	e.heard(c, again, "the second watcher", "changed /a")
	again.Close()
	e.free(c, "/a")

	// One that is given up while the request is under way.
	for range 20 {
		ctx, cancel := context.WithCancel(e.ctx)
		result := e.spawn(func() error {
			w, err := c.Watch(ctx, "/a", client.Recursive)
			w.Close()
			return err
		})
		cancel()
		if err := e.result(result); err != nil && !errors.Is(err, context.Canceled) {
			e.Fatal(err)
		}
	}
	e.free(c, "/a")
}

func configWatch(e *env) {
	c, tp := e.client()
	cfg, w, err := c.ConfigWatch(e.ctx)
	e.must(err)
	same, st, err := c.GetConfig(e.ctx)
	e.must(err)
	equal(e, "configuration", same, cfg)
	members := strings.FieldsFunc(e.tg.Members, func(r rune) bool { return r == ',' })
	equal(e, "servers", len(cfg.Servers), len(members))
	if len(members) == 0 {
		equal(e, "standalone: data, version, Aversion", []any{len(cfg.Data), cfg.Version, st.Aversion}, []any{0, int64(-1), int32(-1)})
		_, _, err := c.Reconfig(e.ctx, client.Reconfiguration{Joining: []string{"server.9=127.0.0.1:2:3;4"}, Version: client.AnyConfigVersion})
		if !errors.Is(err, client.ErrUnimplemented) && !errors.Is(err, client.ErrReconfigDisabled) {
			e.Errorf("reconfiguration of a standalone server: %v", err)
		}
		e.outcome(err, client.OutcomeRejected, false)
	}
	for _, f := range tp.frames(sent(proto.OpGetData)) {
		equal(e, "path on the wire", f.path, "/zookeeper/config")
	}
	many := e.watcher(c, "/zookeeper/config", client.Persistent)
	w.Close()
	many.Close()
	e.free(c, "/zookeeper/config")
}

func watcherExpiry(e *env) {
	c, tp := e.client(e.short())
	w, r := e.watcher(c, "/a", client.Persistent), e.watcher(c, "/", client.Recursive)
	states := e.follow(c)
	tp.part()
	states.until(client.StateExpired)
	tp.refuse(false)
	for _, w := range []*client.Watcher{w, r, w} {
		_, err := w.Next(e.ctx)
		e.fails("event of "+w.Path(), err, client.ErrSessionExpired)
	}
	states.until(client.StateConnected)
	e.free(c, "/a")
	e.free(c, "/")
}

func ownEvents(e *env) {
	c, _ := e.client()
	w := e.watcher(c, "/", client.Recursive)
	for _, path := range strings.Fields("/a /a/b /a/b/c") {
		_, _, err := c.Create(e.ctx, path, nil, client.ModePersistent, nil)
		e.must(err)
		ev, ok, err := w.TryNext()
		e.must(err)
		if !ok || ev.Type != client.EventNodeCreated || ev.Path != path {
			e.Errorf("after the create of %s: %v, %v", path, ev, ok)
		}
	}
}
