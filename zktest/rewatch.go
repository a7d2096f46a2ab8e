package zktest

import (
	"unicode/utf8"

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
	count, null := 3, len(lists)
	if q.op == proto.OpSetWatches2 {
		count = 5
	}
	for i := range count {
		var isNull bool
		if lists[i], isNull = readStrings(q.r); isNull {
			null = min(null, i)
		}
	}
	if q.r.Err() != nil {
		q.fail(t.zxid, proto.ErrMarshalling)
		return
	}
	for i, list := range lists[:null] {
		for _, path := range list {
			q.rewatch(t, i, path, relative)
		}
	}
	if null < len(lists) { // what stands before a null list has happened (docs/protocol.md section 21, number 21)
		q.fail(t.zxid, proto.ErrMarshalling)
		return
	}
	q.c.replyLocked(q.xid, t.zxid, 0)
}

// rewatch does what a path in list i asks for.
func (q *request) rewatch(t *tree, i int, path string, relative int64) {
	if i <= int(regChild) {
		q.s.rewatchLocked(q.c, t, reg(i), path, relative)
		return
	}
	q.addPersistent(path, watchPersistent<<(i-int(regChild)-1))
}

// addPersistent leaves a watch that stays. Since 3.9.0 a recursive one is of the data side alone (DataTree.addWatch).
func (q *request) addPersistent(path string, mode watchMode) {
	q.s.watches[dataSide].add(q.c, path, mode)
	if mode != watchRecursive || !q.s.is39() {
		q.s.watches[childSide].add(q.c, path, mode)
	}
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
		s.eventLocked(c, kind, path, noZxid)
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
func readStrings(r *jute.Reader) (list []string, isNull bool) {
	count, isNull := readCount(r, 4)
	list = make([]string, 0, count)
	for range count {
		list = append(list, javaText(r.StringBytes()))
	}
	return list, isNull
}

// javaText is what a Java server makes of a string: what is no UTF-8 becomes U+FFFD.
func javaText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}

// readCount reads the count of a vector whose elements take at least elem bytes. Like the Java reader, and unlike ours, it
// takes counts below -1 for an empty vector (docs/protocol.md section 2).
func readCount(r *jute.Reader, elem int) (n int, isNull bool) {
	n = int(r.Int())
	switch {
	case n < 0:
		return 0, n == -1
	case n*elem > r.Remaining():
		r.Fail("vector", jute.ErrCount)
		return 0, false
	}
	return n, false
}

// changeWatches serves addWatch, checkWatches and removeWatches. A null path is an exception before 3.9.0, and a path like
// others since then.
func (q *request) changeWatches() {
	zxid := q.c.viewLocked().zxid
	path := q.r.NullableString()
	number := q.r.Int()
	if q.r.Err() != nil || !path.Valid && !q.s.is39() {
		q.fail(zxid, proto.ErrMarshalling)
		return
	}
	name := path.String
	if !path.Valid {
		name = nullPath
	}
	if q.op == proto.OpAddWatch {
		q.addWatch(zxid, name, proto.AddWatchMode(number))
		return
	}
	wanted, ok := watcherModes(proto.WatcherType(number), q.s.is39())
	switch {
	case !ok:
		q.fail(zxid, proto.ErrMarshalling)
		return
	case q.op == proto.OpCheckWatches && !q.s.is39():
		q.checkAnybodys(zxid, name, wanted)
		return
	}
	found := false
	for side, modes := range wanted {
		if q.op == proto.OpCheckWatches {
			found = q.s.watches[side].has(q.c, name, modes) || found
		} else {
			found = q.s.watches[side].remove(q.c, name, modes) || found
		}
	}
	if !found {
		q.fail(zxid, proto.ErrNoWatcher)
		return
	}
	q.c.replyLocked(q.xid, zxid, 0)
}

// nullPath stands for the null path in watch tables; no znode has it as a path.
const nullPath = "\x00null"

// watcherModes returns which modes a type means on each side. Before 3.9.0 there are types 1 to 3, and they mean a side with
// whatever is on it (DataTree.containsWatcher, DataTree.removeWatch).
func watcherModes(t proto.WatcherType, is39 bool) (wanted [sides]watchMode, ok bool) {
	one := watchAny
	if is39 {
		one = watchOnce
	}
	switch {
	case t == proto.WatcherChildren:
		wanted[childSide] = one
	case t == proto.WatcherData:
		wanted[dataSide] = one
	case t == proto.WatcherAny:
		wanted = [sides]watchMode{watchAny, watchAny}
	case t == proto.WatcherPersistent && is39:
		wanted = [sides]watchMode{watchPersistent, watchPersistent}
	case t == proto.WatcherPersistentRecursive && is39:
		wanted[dataSide] = watchRecursive
	default:
		return wanted, false
	}
	return wanted, true
}

// checkAnybodys answers, as 3.6 to 3.8 do, whether there is a watch on a path: anybody's will do, and on a path that does not
// begin with a slash none is an exception (WatchManager.containsWatcher).
func (q *request) checkAnybodys(zxid int64, path string, wanted [sides]watchMode) {
	found := false
	for side := range q.s.watches {
		switch there := len(q.s.watches[side].byPath[path]) > 0; {
		case wanted[side] == 0, path == "":
		case there:
			found = true
		case path[0] != '/':
			q.fail(zxid, proto.ErrMarshalling)
			return
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
	q.addPersistent(path, m)
	q.c.beginLocked(q.xid, zxid)
	q.c.out = jute.AppendInt(q.c.out, 0)
	q.c.endLocked()
}
