package conformance

import (
	"strconv"
	"strings"
	"sync"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

func rewatchEntries() []entry {
	return []entry{
		{"C98 E13", "setWatches: the missed-change table, events in list order, what has fired is not armed", nil, missedTable},
		{"C98 F40", "the client's watches after a cut: missed changes are told, the rest stays armed", nil, missedByClient},
		{"C98 P21.21", "a null list makes setWatches fail, behind the events of the lists before it", nil, nullWatchList},
		{"C100 C99", "a multi of three changes, cut behind the first event: the others come after the reconnect", nil, cutBehindEvent},
		{"C101 C102 F41", "10,000 watches are set again in chunks by opcode 101, all of them", nil, manyWatches},
		{"C104", "a watch whose request was in flight at the cut gets no event and is not set again", nil, armedInFlight},
	}
}

// missedTable goes through docs/protocol.md section 12: three lists, and znodes that are missing, changed and unchanged.
func missedTable(e *env) {
	other, r := e.raw(), e.raw()
	for _, path := range []string{"/changed", "/same", "/children", "/still"} {
		other.create(e.path(path), "", proto.ModePersistent)
	}
	relative := other.create2("/mark", e)
	other.set(e.path("/changed"), "new")
	other.create(e.path("/children/x"), "", proto.ModePersistent)
	sw := proto.SetWatches{
		RelativeZxid: relative,
		DataWatches:  e.paths("/missing", "/changed", "/same"),
		ExistWatches: e.paths("/missing", "/same", "/changed"),
		ChildWatches: e.paths("/missing", "/children", "/still"),
	}
	sw2 := proto.SetWatches2{
		RelativeZxid:               relative,
		PersistentWatches:          e.paths("/changed", "/gone"),
		PersistentRecursiveWatches: e.paths("/children"),
	}
	r.ok(proto.OpSetWatches, &sw, nil)
	e.events(r, "at once", "deleted /missing", "changed /changed", "created /same", "created /changed",
		"deleted /missing", "children /children")
	// What had no event is armed: /same for data, /still for children, /missing for creation; and nothing else is.
	for _, path := range []string{"/changed", "/same"} {
		other.set(e.path(path), "newer")
	}
	other.create(e.path("/children/y"), "", proto.ModePersistent)
	other.create(e.path("/still/y"), "", proto.ModePersistent)
	other.create(e.path("/missing"), "", proto.ModePersistent)
	e.events(r, "later", "changed /same", "children /still", "created /missing")

	r.ok(proto.OpSetWatches2, &sw2, nil)
	e.events(r, "persistent, at once")
	other.set(e.path("/changed"), "again")
	other.create(e.path("/gone"), "", proto.ModePersistent)
	other.create(e.path("/children/z"), "", proto.ModePersistent)
	e.events(r, "persistent, later", "changed /changed", "created /gone", "created /children/z")
}

// create2 makes a znode and returns its zxid.
func (r *raw) create2(path string, e *env) int64 {
	r.e.Helper()
	var rep proto.Create2Response
	r.ok(proto.OpCreate2, newNode(e.path(path), "", proto.ModePersistent), &rep)
	return rep.Stat.Czxid
}

// paths are paths of the server below the entry's znode.
func (e *env) paths(rest ...string) []string {
	out := make([]string, len(rest))
	for i, p := range rest {
		out[i] = e.path(p)
	}
	return out
}

// events checks the events that r has got, as words such as "changed /a".
func (e *env) events(r *raw, what string, want ...string) {
	e.Helper()
	names := map[proto.EventType]string{created: "created", deleted: "deleted", changed: "changed", children: "children"}
	got := []string{}
	for _, ev := range r.events() {
		got = append(got, names[ev.Kind]+" "+strings.TrimPrefix(ev.Path, e.root))
	}
	equal(e, what, got, append([]string{}, want...))
}

func missedByClient(e *env) {
	other, _ := e.client()
	c, tp := e.client()
	missed := e.arm(c)
	for _, path := range []string{"/data2", "/child2"} {
		_, _, err := c.Create(e.ctx, path, nil, client.ModePersistent, nil)
		e.must(err)
	}
	_, data, err := c.GetWatch(e.ctx, "/data2")
	e.must(err)
	_, child, err := c.ChildrenWatch(e.ctx, "/child2")
	e.must(err)
	_, missing, err := c.ExistsWatch(e.ctx, "/missing2")
	e.must(err)
	tp.part()
	e.change(other)
	tp.refuse(false)
	e.expect(missed)
	for what, w := range map[string]*client.Watch{"data": data, "child": child, "missing": missing} {
		equal(e, what+" fired without a change", fired(w), false)
	}
	_, err = other.Set(e.ctx, "/data2", nil, client.AnyVersion)
	e.must(err)
	for _, path := range []string{"/child2/x", "/missing2"} {
		_, _, err = other.Create(e.ctx, path, nil, client.ModePersistent, nil)
		e.must(err)
	}
	equal(e, "data", e.event(data).Type, client.EventNodeDataChanged)
	equal(e, "child", e.event(child).Type, client.EventNodeChildrenChanged)
	equal(e, "missing", e.event(missing).Type, client.EventNodeCreated)
}

func nullWatchList(e *env) {
	r := e.raw()
	b := jute.AppendLong(nil, 0)
	b = jute.AppendCount(b, 1)
	b = jute.AppendString(b, e.root) // changed after zxid 0, so it has an event
	b = jute.AppendInt(b, -1)
	b = jute.AppendCount(b, 0)
	equal(e, "code", r.code(proto.OpSetWatches, bare(b)), proto.ErrMarshalling)
	equal(e, "events", r.events(), []seen{{changed, e.root}})
}

func cutBehindEvent(e *env) {
	c, tp := e.client()
	other, _ := e.client()
	paths := []string{"/a", "/b", "/c"}
	var ops []client.Op
	var watches []*client.Watch
	for _, path := range paths {
		_, _, err := c.Create(e.ctx, path, nil, client.ModePersistent, nil)
		e.must(err)
		_, w, err := c.GetWatch(e.ctx, path)
		e.must(err)
		watches = append(watches, w)
		ops = append(ops, client.SetOp(path, []byte("new"), client.AnyVersion))
	}
	tp.on(anEvent, cut)
	_, err := other.Multi(e.ctx, ops...)
	e.must(err)
	for i, w := range watches {
		ev := e.event(w)
		equal(e, paths[i], ev.Type, client.EventNodeDataChanged)
	}
	before := tp.frames(func(f *frame) bool { return f.conn == 1 && f.zxid > 0 && !anEvent(f) && f.xid > 0 })
	again := tp.await(e, 1, sent(proto.OpSetWatches))[0]
	r := jute.NewReader(again.body)
	equal(e, "relativeZxid", r.Long(), before[len(before)-1].zxid)
	// A member that is behind what the client has seen refuses it until it has caught up, so there may be more of them.
	if _, conns := tp.counts(); conns < 2 {
		e.Errorf("%d connections", conns)
	}
}

func manyWatches(e *env) {
	const n = 10_000
	c, tp := e.client()
	pad := strings.Repeat("x", max(110-len(e.root)-7, 1))
	path := func(i int) string { return "/" + pad + strconv.Itoa(100_000+i) }
	watches := e.armMany(c, n, path)
	e.blink(c, tp)
	_, _, err := c.Create(e.ctx, path(n/2), nil, client.ModePersistent, nil)
	e.must(err)
	equal(e, "event", e.event(watches[n/2]).Type, client.EventNodeCreated)
	set := map[string]bool{}
	chunks := tp.frames(sent(proto.OpSetWatches))
	for _, f := range chunks {
		var sw proto.SetWatches
		r := jute.NewReader(f.body)
		sw.ReadFrom(&r)
		e.must(r.Err())
		if len(f.body) > 130<<10 {
			e.Errorf("chunk of %d bytes", len(f.body))
		}
		for _, p := range sw.ExistWatches {
			set[p] = true
		}
	}
	equal(e, "watches set again", len(set), n)
	equal(e, "replies to the chunks", len(tp.frames(replied(proto.OpSetWatches))), len(chunks))
	equal(e, "requests by opcode 105", len(tp.frames(sent(proto.OpSetWatches2))), 0)
}

// armMany sets watches on n missing znodes.
func (e *env) armMany(c *client.Client, n int, path func(int) string) []*client.Watch {
	e.Helper()
	watches := make([]*client.Watch, n)
	var arming sync.WaitGroup
	for w := range 64 {
		arming.Go(func() {
			for i := w; i < n; i += 64 {
				var err error
				if _, watches[i], err = c.ExistsWatch(e.ctx, path(i)); err != nil {
					e.Error(err)
					return
				}
			}
		})
	}
	arming.Wait()
	if e.Failed() {
		e.FailNow()
	}
	return watches
}

func armedInFlight(e *env) {
	c, tp := e.client()
	other := e.raw()
	tp.on(replied(proto.OpGetData), drop|cut)
	_, w, err := c.GetWatch(e.ctx, "/")
	e.outcome(err, client.OutcomeUnknown, false)
	equal(e, "a watch", w != nil, false)
	_, _, err = c.Exists(e.ctx, "/")
	e.must(err)
	other.set(e.root, "new")
	e.must(c.Sync(e.ctx, "/"))
	equal(e, "events", len(tp.frames(anEvent)), 0)
	equal(e, "setWatches requests", len(tp.frames(sent(proto.OpSetWatches))), 0)
}
