package cache

import (
	"math"

	"github.com/lockkeeper/lockkeeper/client"
)

// want says what is to be read of a znode.
type want uint8

const (
	wantStat want = 1 << iota
	wantData      // with the Stat
	wantList      // the children, with the Stat
)

// unknown is the zxid of a change whose event does not tell it, as before 3.9.
const unknown = math.MaxInt64

// need is what is to be read of a znode, and why.
type need struct {
	what   want
	full   bool   // after a gap: until it is met the tree is not known
	turn   uint64 // of the newest reason
	oldest uint64 // of the oldest
	zxid   int64  // of the newest event, or unknown
}

// want notes that a znode is to be read.
func (f *follower) want(path string, n need) {
	old, ok := f.needs[path]
	if ok {
		n.what |= old.what
		n.full = n.full || old.full
		n.turn = max(n.turn, old.turn)
		n.oldest = min(n.oldest, old.oldest)
		n.zxid = max(n.zxid, old.zxid)
	}
	if n.full && !old.full {
		f.fulls++
	}
	f.needs[path] = n
}

// drop forgets a need.
func (f *follower) drop(path string, n need) {
	if n.full {
		f.fulls--
	}
	delete(f.needs, path)
}

// wantAll has everything read again, because there may be changes that no event tells. Of a znode whose Mzxid is the same the
// data is not asked for. A sync goes first, so that what is read is not older than anything that was ever read: a new session
// may be with a server that is behind.
func (f *follower) wantAll() {
	f.syncDue = true
	n := need{full: true, turn: f.turn, oldest: f.turn, zxid: unknown}
	n.what = wantData | wantList
	if f.c.opts.depth == 0 {
		n.what = wantData
	}
	f.want(f.c.path, n)
	if f.flying { // these replies may be of before the gap, and what they are about need not be in the tree yet
		for i := range f.tasks {
			n.what = f.tasks[i].what
			f.want(f.tasks[i].path, n)
		}
	}
	f.tree.root.walk(func(e *entry) bool {
		switch {
		case e.node.Err != nil:
			n.what = wantData
		case e.kids != nil || e.node.ChildrenErr != nil:
			n.what = wantList
		default:
			n.what = wantStat
		}
		if e != f.tree.root {
			f.want(e.path, n)
		}
		return true
	})
}

// event notes what is to be read because of an event. Also where the event says it all, as with a deletion, something is
// read: the events of one transaction come one after the other, but not all at once, and the reply to a read comes after
// the last of them.
func (f *follower) event(ev client.Event) {
	tooMany := len(f.needs) > maxNeeds+2*f.tree.root.size()
	if tooMany {
		clear(f.needs)
		f.fulls = 0
	}
	if tooMany || ev.Type == client.EventGap {
		f.wantAll()
		f.become(false)
		f.tell(f.snap)
		return
	}
	if !within(ev.Path, f.c.path) {
		return
	}
	f.zxid = max(f.zxid, ev.Zxid)
	n := need{turn: f.turn, oldest: f.turn, zxid: ev.Zxid}
	if ev.Zxid <= 0 {
		n.zxid = unknown
	}
	depth := f.tree.depth(ev.Path)
	if depth <= f.c.opts.depth {
		n.what = wantData
		if ev.Type == client.EventNodeChildrenChanged {
			n.what = wantStat
		}
		f.want(ev.Path, n)
	}
	if changesParent := ev.Type == client.EventNodeCreated || ev.Type == client.EventNodeDeleted; changesParent &&
		depth > 0 && depth-1 <= f.c.opts.depth {
		n.what = wantStat
		f.want(parentOf(ev.Path), n)
	}
}

// maxNeeds bounds, with the number of znodes, how much may be left to be read before it is less to read all.
const maxNeeds = 1 << 16

// verify compares the numbers of children with those in the Stats that events made us read: servers do not tell of the creation
// of a znode that may not be read (from 3.8.4 on), nor of its deletion.
func (f *follower) verify() {
	for path := range f.touched {
		e := f.tree.root.find(path)
		if e == nil || e.node.Err != nil || e.node.ChildrenErr != nil || f.tree.depth(path) >= f.c.opts.depth {
			continue
		}
		n, _ := e.kids.counts()
		if path == "/" && f.nameless {
			n++
		}
		if n != int(e.node.Stat.NumChildren) {
			f.want(path, need{what: wantList, turn: f.turn, oldest: f.turn, zxid: unknown})
		}
	}
	clear(f.touched)
}
