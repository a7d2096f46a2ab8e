package zktest

import (
	"encoding/binary"
	"strings"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// watchMode is how long a watch lives and what it covers; several are a set. A connection has one mode per path and table,
// the newest, in servers before 3.9.0, and then as many as it asked for (docs/protocol.md section 11).
type watchMode uint8

const (
	watchOnce watchMode = 1 << iota
	watchPersistent
	watchRecursive

	watchAny = watchOnce | watchPersistent | watchRecursive
)

// watchTable holds the watches of one side: data and existence, or children. Guarded by Server.mu.
type watchTable struct {
	side      int  // index in connection.watches
	addsUp    bool // modes of one connection and path add up; else the newest counts
	byPath    map[string][]watchRef
	recursive int // number of recursive watches: without any, ancestors need no look
}

type watchRef struct {
	c     *connection
	modes watchMode // never empty
}

// The two sides of watches, and of connection.watches.
const (
	dataSide = iota
	childSide
	sides
)

func newWatchTable(side int, v Version) watchTable {
	return watchTable{side: side, addsUp: v >= Version393, byPath: make(map[string][]watchRef)}
}

// add registers a watch of c on path: besides the earlier ones there, or in place of them.
func (w *watchTable) add(c *connection, path string, mode watchMode) {
	if c.gone {
		return
	}
	for i, ref := range w.of(c, path) {
		if ref.c == c {
			modes := mode
			if w.addsUp {
				modes |= ref.modes
			}
			w.count(ref.modes, modes)
			w.byPath[path][i].modes = modes
			return
		}
	}
	if c.watches[w.side] == nil {
		c.watches[w.side] = make(map[string]struct{})
	}
	c.watches[w.side][path] = struct{}{}
	w.count(0, mode)
	w.byPath[path] = append(w.byPath[path], watchRef{c, mode})
}

// count keeps the number of recursive watches.
func (w *watchTable) count(old, now watchMode) {
	w.recursive += int(now&watchRecursive)/int(watchRecursive) - int(old&watchRecursive)/int(watchRecursive)
}

// of returns everybody's watches on path if c is among their owners.
func (w *watchTable) of(c *connection, path string) []watchRef {
	if _, ok := c.watches[w.side][path]; !ok {
		return nil
	}
	return w.byPath[path]
}

// has reports whether c watches path in one of the modes.
func (w *watchTable) has(c *connection, path string, modes watchMode) bool {
	for _, ref := range w.of(c, path) {
		if ref.c == c {
			return ref.modes&modes != 0
		}
	}
	return false
}

// remove takes the watches of c on path that have one of the modes away and reports whether there was one.
func (w *watchTable) remove(c *connection, path string, modes watchMode) bool {
	refs := w.of(c, path)
	for i, ref := range refs {
		if ref.c != c {
			continue
		}
		left := ref.modes &^ modes
		w.count(ref.modes, left)
		if refs[i].modes = left; left == 0 {
			delete(c.watches[w.side], path)
			w.store(path, append(refs[:i], refs[i+1:]...))
		}
		return left != ref.modes
	}
	return false
}

// removeAll takes all watches of c away.
func (w *watchTable) removeAll(c *connection) {
	for path := range c.watches[w.side] {
		w.remove(c, path, watchAny)
	}
}

func (w *watchTable) store(path string, refs []watchRef) {
	if len(refs) == 0 {
		delete(w.byPath, path)
		return
	}
	w.byPath[path] = refs
}

// trigger collects, in s.hit, the connections that an event of this kind on path goes to, each once per stamp, and drops
// the one-shot watches that it uses up (WatchManager.triggerWatch).
func (s *Server) triggerLocked(w *watchTable, kind proto.EventType, path string) {
	if refs := w.byPath[path]; len(refs) > 0 {
		kept := refs[:0]
		for _, ref := range refs {
			if ref.modes != watchRecursive || kind != proto.EventNodeChildrenChanged {
				s.hitLocked(ref.c)
			}
			if ref.modes &^= watchOnce; ref.modes != 0 {
				kept = append(kept, ref)
			} else {
				delete(ref.c.watches[w.side], path)
			}
		}
		clear(refs[len(kept):])
		w.store(path, kept)
	}
	if w.recursive == 0 || kind == proto.EventNodeChildrenChanged {
		return
	}
	for up := path; up != "/" && up != ""; {
		up = up[:max(strings.LastIndexByte(up, '/'), 0)]
		if up == "" {
			up = "/"
		}
		for _, ref := range w.byPath[up] {
			if ref.modes&watchRecursive != 0 {
				s.hitLocked(ref.c)
			}
		}
	}
}

func (s *Server) hitLocked(c *connection) {
	if c.stamp != s.stamp && c.member.service == ReadWrite {
		c.stamp = s.stamp
		s.hit = append(s.hit, c)
	}
}

// fireLocked sends the events of one change, made by the transaction zxid: one frame per connection, event and path (DataTree.createNode, deleteNode,
// setData). Watches are used up whether their connection may read the znode, and so hears of it, or not (CVE-2024-23944:
// servers from 3.8.4 and 3.9.2 on, and Debian's 3.8.0).
func (s *Server) fireLocked(e change, zxid int64) {
	s.stamp++
	s.triggerLocked(&s.watches[dataSide], e.kind, e.path)
	if e.kind == proto.EventNodeDeleted {
		s.triggerLocked(&s.watches[childSide], e.kind, e.path)
	}
	s.notifyLocked(e.kind, e.path, e.acl, zxid)
	if e.parent != "" {
		s.stamp++
		s.triggerLocked(&s.watches[childSide], proto.EventNodeChildrenChanged, e.parent)
		s.notifyLocked(proto.EventNodeChildrenChanged, e.parent, e.parentACL, zxid)
	}
}

// notifyLocked sends one event to those connections in s.hit that may read the znode, and empties it.
func (s *Server) notifyLocked(kind proto.EventType, path string, acl []proto.ACL, zxid int64) {
	for _, c := range s.hit {
		if c.may(acl, proto.PermRead) {
			s.eventLocked(c, kind, path, zxid)
		}
	}
	clear(s.hit)
	s.hit = s.hit[:0]
}

// stateSyncConnected is the state in every WatcherEvent a server sends.
const stateSyncConnected = 3

// noZxid is the zxid of notifications before 3.9.0, and of those that no transaction caused.
const noZxid = -1

// eventLocked queues a notification for c. A connection whose member is cut off gets it when the member is back.
func (s *Server) eventLocked(c *connection, kind proto.EventType, path string, zxid int64) {
	s.stats.notifications++
	if !s.is39() {
		zxid = noZxid
	}
	dst := &c.out
	if c.member.cut {
		dst = &c.late
	}
	at := len(*dst)
	b := append(*dst, 0, 0, 0, 0)
	b = jute.AppendInt(b, proto.XidNotification)
	b = jute.AppendLong(b, zxid)
	b = jute.AppendInt(b, 0)
	b = jute.AppendInt(b, int32(kind))
	b = jute.AppendInt(b, stateSyncConnected)
	b = jute.AppendString(b, path)
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	*dst = b
	s.dirtyLocked(c)
}
