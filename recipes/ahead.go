package recipes

import (
	"bytes"

	"github.com/lockkeeper/lockkeeper/client"
)

// rival is a contender ahead of ours that is watched: the nearest one, and with look-ahead the one before it, whose end tells
// in time that the nearest is the last (docs/locks.md I5). The zero rival is nobody.
type rival struct {
	path    string
	kind    kind
	watch   *client.OneShot // the newest
	set     bool            // watch is armed
	gone    bool            // it was told that the znode is gone
	foreign bool            // it belongs to another session: its end may be trusted by event (rule 5)
}

func (r *rival) none() bool { return r.path == "" }

// drop takes the watch back, and what it has told.
func (r *rival) drop(gen client.Generation) {
	if r.watch != nil {
		gen.Unwatch(r.watch)
	}
	r.watch, r.set, r.gone = nil, false, false
}

// scan reads a list of children: how many are ahead, and which are nearest. It says whether the own znode is among them.
// Other znodes that carry our prefix are what became of a create whose outcome was unknown, perhaps long after
// (ZOOKEEPER-4907): they are returned.
func (ct *contender) scan(kids client.ChildrenCall) (found bool, strays []string, err error) {
	sc, err := kids.Scan()
	if err != nil {
		return false, nil, err
	}
	var near [2]nearest
	below := 0
	for name, ok := sc.Next(); ok; name, ok = sc.Next() {
		seq, other, ok := ct.kind.parse(name)
		switch {
		case string(name) == ct.name:
			found = true
		case ct.unknown && bytes.HasPrefix(name, ct.prefix):
			strays = append(strays, string(name))
		case ok && older(seq, ct.seq) && ct.kind.waitsFor(other):
			below++
			if near[0].name == nil || older(near[0].seq, seq) {
				near[0], near[1] = nearest{name, seq, other}, near[0]
			} else if near[1].name == nil || older(near[1].seq, seq) {
				near[1] = nearest{name, seq, other}
			}
		}
	}
	if err := sc.Err(); err != nil {
		return false, nil, err
	}
	if ct.b.noAhead {
		near[1] = nearest{}
	}
	ct.below = below
	ct.meet(near)
	return found, strays, nil
}

// nearest is a contender ahead in a list that is being read; the name lies in the reply.
type nearest struct {
	name []byte
	seq  int32
	kind kind
}

// meet makes those of a new list the ones that are watched. Whoever is watched already stays so, unless an event has said
// that it is gone, in which case the list is the newer news.
func (ct *contender) meet(near [2]nearest) {
	old := ct.ahead
	ct.ahead = [2]rival{}
	for i, n := range near {
		if n.name == nil {
			continue
		}
		for j := range old {
			if !old[j].gone && ct.isChild(old[j].path, n.name) {
				ct.ahead[i], old[j] = old[j], rival{}
			}
		}
		if ct.ahead[i].none() {
			ct.ahead[i] = rival{path: child(ct.b.dir, n.name), kind: n.kind}
		}
	}
	for i := range old {
		old[i].drop(ct.gen)
	}
}

// isChild says whether path is that of the child of this name.
func (ct *contender) isChild(path string, name []byte) bool {
	return len(path) > len(name) && path[len(path)-len(name)-1] == '/' && path[len(path)-len(name):] == string(name)
}

// learn takes what the events have told off the known set, and says whether the set has to be read again: because it is not
// known any more, or because it is and the one before the nearest is not.
//
// The end of one ahead is taken for what it is only if the list is from this connection, our own znode's watch is armed
// and the one that is gone belonged to another session (rules 1, 2, 4, 5). A writer that has lost a writer must look: one
// that has turned into a reader is still there, in the same place (rule 6).
func (ct *contender) learn() (again bool) {
	trust := ct.listed && (ct.ownSet || ct.b.noOwn) && !ct.b.relist
	again = !ct.listed
	for i := range ct.ahead {
		r := &ct.ahead[i]
		switch {
		case !r.gone:
		case trust && r.foreign && !(ct.kind == writer && r.kind == writer):
			ct.below--
			*r = rival{}
		default:
			again = true
		}
	}
	if ct.ahead[0].none() {
		ct.ahead[0], ct.ahead[1] = ct.ahead[1], rival{}
	}
	known := 0
	for i := range ct.ahead {
		if !ct.ahead[i].none() {
			known++
		}
	}
	return again || known < ct.below && known < ct.looks()
}

// looks is how many contenders ahead are watched, if there are as many.
func (ct *contender) looks() int {
	if ct.b.noAhead {
		return 1
	}
	return len(ct.ahead)
}
