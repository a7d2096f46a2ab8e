package conformance

import (
	"slices"
	"strconv"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
)

func watchEntries() []entry {
	return []entry{
		{"C88 F44", "the event of an own change is there before its result", nil, ownChange},
		{"C89", "each kind of watch and each change: exactly the events of the table, in order", nil, watchTable},
		{"C89 P17", "the end of a session fires watches as deletes of its ephemerals do", nil, closeFires},
		{"C90 F45", "several watches on one znode, deleted: one frame, and one event for each watcher", nil, oneFrame},
		{"C91", "exists on a missing znode leaves a watch, get and children leave none", nil, missingNode},
		{"C91 wchp", "and the server keeps none for them, and one for a closed watcher", []Ability{Watches}, serverSide},
		{"C92 F44", "an event in one piece with the reply that set its watch is not lost", nil, gluedEvent},
		{"C107 F48", "a closed watch is forgotten, by the server too, and it is not set again", nil, closedWatch},
		{"C108 G3", "events and replies come out of one queue in the order of the wire", nil, queueOrder},
	}
}

func ownChange(e *env) {
	c, _ := e.client()
	for i := range 50 {
		_, w, err := c.GetWatch(e.ctx, "/")
		e.must(err)
		equal(e, "fired before the change", fired(w), false)
		_, err = c.Set(e.ctx, "/", []byte(strconv.Itoa(i)), client.AnyVersion)
		e.must(err)
		if !fired(w) {
			e.Fatal("the result was there before the event")
		}
	}
}

func watchTable(e *env) {
	other := e.raw()
	for i, tc := range watchCases() {
		top := e.path("/" + strconv.Itoa(i))
		for _, path := range []string{"", "/a", "/a/b", "/e"} {
			other.create(top+path, "", proto.ModePersistent)
		}
		r := e.raw()
		r.watch(tc.kind, top+tc.path)
		other.change(tc.change, top+tc.target)
		var want []seen
		for _, ev := range tc.events {
			want = append(want, seen{ev.Kind, top + ev.Path})
		}
		equal(e, tc.kind+" watch on "+tc.path+", "+tc.change+" "+tc.target, r.events(), want)
		r.bye()
	}
}

// closeFires has a session end while its ephemerals are watched.
func closeFires(e *env) {
	owner, r := e.raw(), e.raw()
	path := owner.create(e.path("/e"), "", proto.ModeEphemeral)
	r.watch("data", path)
	r.watch("child", e.root)
	owner.bye()
	equal(e, "events", r.events(), []seen{{deleted, path}, {children, e.root}})
}

func oneFrame(e *env) {
	c, tp := e.client()
	for _, path := range []string{"/a", "/b", "/c"} {
		_, _, err := c.Create(e.ctx, path, nil, client.ModePersistent, nil)
		e.must(err)
	}
	watches := map[string][]*client.Watch{}
	for _, path := range []string{"/a", "/b", "/c"} {
		_, data, err := c.GetWatch(e.ctx, path)
		e.must(err)
		_, exists, err := c.ExistsWatch(e.ctx, path)
		e.must(err)
		_, child, err := c.ChildrenWatch(e.ctx, path)
		e.must(err)
		watches[path] = []*client.Watch{data, exists, child}
	}
	e.must(c.Delete(e.ctx, "/a", client.AnyVersion))
	_, err := c.Set(e.ctx, "/b", nil, client.AnyVersion)
	e.must(err)
	_, _, err = c.Create(e.ctx, "/c/x", nil, client.ModePersistent, nil)
	e.must(err)
	want := map[string][]client.EventType{
		"/a": {deleted, deleted, deleted}, "/b": {changed, changed, 0}, "/c": {0, 0, children},
	}
	for path, list := range watches {
		for i, w := range list {
			equal(e, path+" watcher "+strconv.Itoa(i), w.Event().Type, want[path][i])
		}
	}
	equal(e, "frames", len(tp.frames(anEvent)), 3)
}

func missingNode(e *env) {
	c, tp := e.client()
	_, w, err := c.GetWatch(e.ctx, "/n")
	e.fails("get", err, client.ErrNoNode)
	equal(e, "watch of get", w == nil, true)
	_, w, err = c.ChildrenWatch(e.ctx, "/n")
	e.fails("children", err, client.ErrNoNode)
	equal(e, "watch of children", w == nil, true)
	_, _, err = c.Create(e.ctx, "/n", nil, client.ModePersistent, nil)
	e.must(err)
	e.must(c.Delete(e.ctx, "/n", client.AnyVersion))
	equal(e, "events without a watch", len(tp.frames(anEvent)), 0)
	g := c.Generation().Group()
	armed := g.GetArmed("/n", &client.OneShot{Sink: client.NewQueue()})
	_ = g.Do(e.ctx) // the call's own error is looked at
	e.fails("armed get", armed.Err(), client.ErrNoNode)
	e.blink(c, tp)
	_, _, err = c.Exists(e.ctx, "/n")
	e.must(err)
	equal(e, "watches set again", len(tp.frames(sent(proto.OpSetWatches))), 0)

	node, w, err := c.ExistsWatch(e.ctx, "/n")
	e.must(err)
	equal(e, "exists", node.Exists, false)
	_, _, err = c.Create(e.ctx, "/n", nil, client.ModePersistent, nil)
	e.must(err)
	equal(e, "event", e.event(w).Type, client.EventNodeCreated)
}

func serverSide(e *env) {
	c, _ := e.client()
	_, _, err := c.GetWatch(e.ctx, "/n")
	e.fails("get", err, client.ErrNoNode)
	_, closed, err := c.ExistsWatch(e.ctx, "/m")
	e.must(err)
	closed.Close()
	_, again, err := c.ExistsWatch(e.ctx, "/m")
	e.must(err)
	defer again.Close()
	watches, err := e.tg.Watches(e.ctx)
	e.must(err)
	equal(e, "watches on the missing znode", len(watches[e.path("/n")]), 0)
	equal(e, "watches on the one waited for", watches[e.path("/m")], []int64{c.SessionID()})
}

func gluedEvent(e *env) {
	c, tp := e.client()
	other := e.raw()
	tp.hold()
	var w *client.Watch
	armed := e.spawn(func() (err error) { _, w, err = c.GetWatch(e.ctx, "/"); return err })
	tp.await(e, 1, replied(proto.OpGetData))
	other.set(e.root, "new")
	tp.await(e, 1, anEvent)
	tp.release()
	e.must(e.result(armed))
	equal(e, "event", e.event(w).Type, client.EventNodeDataChanged)
}

func closedWatch(e *env) {
	c, tp := e.client()
	_, closed, err := c.GetWatch(e.ctx, "/")
	e.must(err)
	closed.Close()
	e.fails("closed watch", e.event(closed).Err, client.ErrWatchClosed)
	_, err = c.Set(e.ctx, "/", nil, client.AnyVersion)
	e.must(err)
	equal(e, "events on the wire", len(tp.frames(anEvent)), 0) // since the server has forgotten it too
	e.fails("after the change", e.event(closed).Err, client.ErrWatchClosed)

	_, closed, err = c.GetWatch(e.ctx, "/")
	e.must(err)
	closed.Close()
	e.blink(c, tp)
	_, _, err = c.Get(e.ctx, "/")
	e.must(err)
	equal(e, "setWatches requests", len(tp.frames(sent(proto.OpSetWatches))), 0)
}

// queueOrder compares what a queue yields with what was on the wire.
func queueOrder(e *env) {
	const n = 40
	c, tp := e.client()
	other := e.raw()
	q := client.NewQueue()
	for i := range n {
		other.create(e.path("/"+strconv.Itoa(i)), "", proto.ModePersistent)
	}
	arm := c.Generation().Group()
	for i := range n {
		arm.GetArmed("/"+strconv.Itoa(i), &client.OneShot{Sink: q, Tag: uint32(1000 + i)})
	}
	e.must(arm.Do(e.ctx))
	before := len(arrivals(tp))
	groups := make([]*client.Group, n)
	for i := range n { // the others' changes and the own requests meet on the server
		groups[i] = c.Generation().Group()
		if i%2 == 0 {
			groups[i].Set("/"+strconv.Itoa(i), nil, client.AnyVersion)
		} else {
			other.send(proto.OpSetData, &proto.SetDataRequest{Path: e.path("/" + strconv.Itoa(i)), Version: -1})
			groups[i].Exists("/" + strconv.Itoa(i))
		}
		e.must(groups[i].Submit(e.ctx, q, uint32(i)))
	}
	var got []string
	for range 2 * n {
		it, err := q.Next(e.ctx)
		e.must(err)
		if it.Kind == client.ItemEvent {
			got = append(got, "event "+it.Event.Path)
		} else {
			got = append(got, "reply "+e.path("/"+strconv.Itoa(int(it.Tag))))
		}
	}
	if want := arrivals(tp)[before:]; !slices.Equal(got, want) {
		e.Errorf("out of the queue:\n%q\non the wire:\n%q", got, want)
	}
}

// arrivals lists the events and the replies that have come, as words such as "event /a".
func arrivals(tp *tap) (list []string) {
	for _, f := range tp.frames(func(f *frame) bool { return !f.out && f.path != "" }) {
		if anEvent(&f) {
			list = append(list, "event "+f.path)
		} else {
			list = append(list, "reply "+f.path)
		}
	}
	return list
}
