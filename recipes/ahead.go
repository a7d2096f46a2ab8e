package recipes

import (
	"slices"

	"github.com/lockkeeper/lockkeeper/client"
)

// rival is a contender ahead of ours that is watched: one of the nearest, who keep us waiting as long as all of them are there,
// and with look-ahead the one before them, whose end tells in time that the nearest is the last (docs/locks.md I5, A5).
type rival struct {
	path    string
	claim   claim
	watch   *client.OneShot // the newest
	set     bool            // watch is armed
	gone    bool            // it was told that the znode is gone
	written bool            // it has been written since its creation; known only of one that is watched
	foreign bool            // it belongs to another session: its end may be trusted by event (rule 5)
	asked   bool            // call is a request of the flight, or of one whose answer was not looked at
	call    client.GetCall
}

// drop takes the watch back, and what it has told.
func (r *rival) drop(gen client.Generation) {
	if r.watch != nil {
		gen.Unwatch(r.watch)
	}
	r.watch, r.set, r.gone, r.asked = nil, false, false, false
}

// nearest is a contender ahead in a list that is being read; the name lies in the reply.
type nearest struct {
	name  []byte
	seq   int32
	claim claim
}

// scan reads a list of children: how many are ahead, and which are nearest. It says whether the own znode is among them.
// Other znodes that carry our prefix are what became of a create whose outcome was unknown, perhaps long after
// (ZOOKEEPER-4907): they are returned. Of plain names those that may be are suspects, until they have been read.
func (ct *contender) scan(kids client.ChildrenCall) (found bool, strays []string, err error) {
	sc, err := kids.Scan()
	if err != nil {
		return false, nil, err
	}
	ct.below, ct.followed, ct.suspects = 0, false, nil
	near := ct.near[:0]
	for name, ok := sc.Next(); ok; name, ok = sc.Next() {
		seq, other, ok := ct.claim.parse(name)
		switch {
		case string(name) == ct.name:
			found = true
		case ct.unknown && ct.stray(name, ok):
			strays = append(strays, string(name))
		case ok && ct.claim.behind(ct.seq, seq) && ct.claim.waitsFor(other):
			if other.capacity != ct.claim.capacity {
				return false, nil, &CapacityError{child(ct.b.dir, name), ct.claim.capacity, other.capacity}
			}
			ct.below += other.weight
			near = ct.closer(near, nearest{name, seq, other})
		case ok:
			ct.followed = true
		}
	}
	if err := sc.Err(); err != nil {
		return false, nil, err
	}
	ct.meet(near)
	clear(near) // the names are the reply's
	ct.near = near[:0]
	return found, strays, nil
}

// behind says whether a contender with the number own stands behind the one with the number seq. Of Curator's leases
// only how many there are counts.
func (c claim) behind(own, seq int32) bool { return c.kind == lease || older(seq, own) }

// closer adds n to the nearest, the nearest first, and leaves out those that need not be watched then.
func (ct *contender) closer(near []nearest, n nearest) []nearest {
	i := len(near)
	for i > 0 && older(near[i-1].seq, n.seq) {
		i--
	}
	near = slices.Insert(near, i, n)
	for len(near) > 1 && ct.enough(len(near)-1, func(i int) int { return near[i].claim.weight }) {
		near = near[:len(near)-1]
	}
	return near
}

// blocked says whether there is no room for us beside weight.
func (ct *contender) blocked(weight int) bool { return weight+ct.claim.weight > ct.capacity }

// enough says whether the n nearest, of whom the weights are given, are as many as have to be watched: as long as all of them
// are there we cannot be granted. With look-ahead it takes one more.
func (ct *contender) enough(n int, weight func(i int) int) bool {
	if ct.claim.lined() {
		return n > 0
	}
	sum := 0
	for i := range n {
		if sum += weight(i); ct.blocked(sum) {
			return n >= i+1+ct.extra()
		}
	}
	return false
}

// extra is how many are watched beyond those that have to be. Of semaphores none is: each release would wake one more.
func (ct *contender) extra() int {
	if ct.b.noAhead || ct.capacity > 1 || ct.claim.kind == lease {
		return 0
	}
	return 1
}

// meet makes those of a new list the ones that are watched. Whoever is watched already stays so, unless an event has said
// that it is gone, in which case the list is the newer news.
func (ct *contender) meet(near []nearest) {
	ct.before, ct.ahead = ct.ahead, ct.before[:0]
	for _, n := range near {
		r := rival{path: "", claim: n.claim}
		for j := range ct.before {
			if o := &ct.before[j]; !o.gone && ct.isChild(o.path, n.name) {
				r, *o = *o, rival{}
			}
		}
		if r.path == "" {
			r.path = child(ct.b.dir, n.name)
		}
		ct.ahead = append(ct.ahead, r)
	}
	for j := range ct.before {
		ct.before[j].drop(ct.gen)
	}
	clear(ct.before)
}

// isChild says whether path is that of the child of this name.
func (ct *contender) isChild(path string, name []byte) bool {
	return len(path) > len(name) && path[len(path)-len(name)-1] == '/' && path[len(path)-len(name):] == string(name)
}

// learn takes what the events have told off the known set, and says whether the set has to be read again: because it is not
// known any more, because not enough of it is watched, or because the number of permits is not.
//
// The end of one ahead is taken for what it is only if the list is from this connection, our own znode's watch is armed
// and the one that is gone belonged to another session (rules 1, 2, 4, 5). A writer that has lost a writer must look: one
// that has turned into a reader is still there, in the same place (rule 6).
func (ct *contender) learn() (again bool) {
	if ct.claim.lined() {
		return ct.learnInLine()
	}
	trust := ct.listed && (ct.ownSet || ct.b.noOwn) && !ct.b.relist
	again = !ct.listed || !ct.limitSet && ct.claim.capacity == 0
	rest, watched := ct.ahead[:0], 0
	for _, r := range ct.ahead {
		switch {
		case !r.gone:
			rest = append(rest, r)
			watched += r.claim.weight
		case trust && r.foreign && !(ct.claim.kind == writer && r.claim.kind == writer):
			ct.below -= r.claim.weight
		default:
			again = true
			rest = append(rest, r)
		}
	}
	clear(ct.ahead[len(rest):])
	ct.ahead = rest
	if again || !ct.blocked(ct.below) {
		return again
	}
	return watched < ct.below && !ct.enough(len(rest), func(i int) int { return rest[i].claim.weight })
}
