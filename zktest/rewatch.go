package zktest

import (
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// reg is the list of a setWatches that a one-shot watch belongs to.
type reg uint8

const (
	regData reg = iota
	regExist
	regChild
)

// lateReg is a watch that was set while the member saw an old tree.
type lateReg struct {
	how  reg
	path string
}

// setWatches serves setWatches and setWatches2: what changed behind relativeZxid is told at once, and everything else is
// armed (docs/protocol.md section 12).
func (q *request) setWatches() {
	t := q.c.viewLocked()
	relative := q.r.Long()
	var lists [5][]string
	count := 3
	if q.op == proto.OpSetWatches2 {
		count = 5
	}
	for i := range count {
		lists[i] = readStrings(q.r)
	}
	if q.r.Err() != nil {
		q.fail(t.zxid, proto.ErrMarshalling)
		return
	}
	for how := regData; how <= regChild; how++ {
		for _, path := range lists[how] {
			q.s.rewatchLocked(q.c, t, how, path, relative)
		}
	}
	for i, mode := range []watchMode{watchPersistent, watchRecursive} {
		for _, path := range lists[3+i] {
			q.s.watches[childSide].add(q.c, path, mode)
			q.s.watches[dataSide].add(q.c, path, mode)
		}
	}
	q.c.replyLocked(q.xid, t.zxid, 0)
}

// rewatchLocked tells c about a path, or arms the watch (DataTree.setWatches).
func (s *Server) rewatchLocked(c *connection, t *tree, how reg, path string, relative int64) {
	n := t.nodes[path]
	kind := proto.EventType(0)
	switch {
	case how == regExist && n != nil:
		kind = proto.EventNodeCreated
	case how == regExist:
	case n == nil:
		kind = proto.EventNodeDeleted
	case how == regData && n.mzxid > relative:
		kind = proto.EventNodeDataChanged
	case how == regChild && n.pzxid > relative:
		kind = proto.EventNodeChildrenChanged
	}
	if kind != 0 {
		s.eventLocked(c, kind, path)
		return
	}
	side := dataSide
	if how == regChild {
		side = childSide
	}
	s.watches[side].add(c, path, watchOnce)
	if c.member.cut {
		c.lateRegs = append(c.lateRegs, lateReg{how, path})
	}
}

// readStrings reads a vector of strings.
func readStrings(r *jute.Reader) []string {
	count, _ := r.Count(4)
	out := make([]string, 0, count)
	for range count {
		out = append(out, r.String())
	}
	return out
}

// changeWatches serves addWatch, checkWatches and removeWatches, the last two with the types of servers before 3.9.
func (q *request) changeWatches() {
	zxid := q.c.viewLocked().zxid
	path := q.r.NullableString()
	number := q.r.Int()
	if q.r.Err() != nil || !path.Valid {
		q.fail(zxid, proto.ErrMarshalling)
		return
	}
	if q.op == proto.OpAddWatch {
		q.addWatch(zxid, path.String, proto.AddWatchMode(number))
		return
	}
	data, child := false, false
	switch proto.WatcherType(number) {
	case proto.WatcherChildren:
		child = true
	case proto.WatcherData:
		data = true
	case proto.WatcherAny:
		data, child = true, true
	default:
		q.fail(zxid, proto.ErrMarshalling)
		return
	}
	found := false
	for side, wanted := range [sides]bool{dataSide: data, childSide: child} {
		w := &q.s.watches[side]
		if wanted && w.has(q.c, path.String) {
			found = true
			if q.op == proto.OpRemoveWatches {
				w.remove(q.c, path.String)
			}
		}
	}
	if !found {
		q.fail(zxid, proto.ErrNoWatcher)
		return
	}
	q.c.replyLocked(q.xid, zxid, 0)
}

// addWatch leaves a persistent watch. It looks neither at the znode nor at the form of the path.
func (q *request) addWatch(zxid int64, path string, mode proto.AddWatchMode) {
	var m watchMode
	switch mode {
	case proto.AddWatchPersistent:
		m = watchPersistent
	case proto.AddWatchPersistentRecursive:
		m = watchRecursive
	default:
		q.fail(zxid, proto.ErrMarshalling)
		return
	}
	for i := range q.s.watches {
		q.s.watches[i].add(q.c, path, m)
	}
	q.c.beginLocked(q.xid, zxid)
	q.c.out = jute.AppendInt(q.c.out, 0)
	q.c.endLocked()
}
