package recipes

import (
	"slices"

	"github.com/lockkeeper/lockkeeper/client"
)

// nearestPermits is the largest number of permits for which each waiter watches as many znodes as together keep it waiting. With more
// of them the waiters stand in a line (docs/locks.md A5, I16), so that what one of them costs does not grow with the permits:
//
// A waiter looks for itself, which means that it watches the children of the path and lists them after each event, if all ahead of it
// may hold, or if the nearest ahead has been written since its creation. Any other watches just that nearest one. Whoever is granted by
// a list that shows somebody behind it writes its own znode, once: so the one that waits behind it is told to look for itself. All grants
// are by a list. The argument, and what breaks without each part, is in DESIGN.md; it was model-checked.
const nearestPermits = 32

// lined says whether the waiters of this claim's queue stand in a line. The number of permits is in the names, so all agree. Where the
// path's znode says it they do not: after it was lowered, who is ahead and may not hold may be a holder, who tells nobody.
func (c claim) lined() bool { return c.kind == permit && c.capacity > nearestPermits }

// writable says whether an ACL, nil for the default, lets anybody write: if nobody can be told, permits that are free are not given out.
func writable(acl []client.ACL) bool {
	return acl == nil || slices.ContainsFunc(acl, func(a client.ACL) bool { return a.Perms&client.PermWrite != 0 })
}

// looks says whether a waiter in a line looks for itself.
func (ct *contender) looks() bool {
	if !ct.claim.lined() || !ct.blocked(ct.below) {
		return false
	}
	return ct.below <= ct.capacity || len(ct.ahead) > 0 && ct.ahead[0].written
}

// askKids adds the list to a flight, with a watch if ct looks for itself and has none.
func (ct *contender) askKids(g *client.Group) client.ChildrenCall {
	if !ct.looks() || ct.kidsSet {
		return g.Children(ct.b.dir)
	}
	ct.kids, ct.kidsSet = ct.watch(), true
	return g.ChildrenArmed(ct.b.dir, ct.kids)
}

// learnInLine is learn for a waiter in a line.
func (ct *contender) learnInLine() (again bool) {
	for i := range ct.ahead {
		again = again || ct.ahead[i].gone
	}
	return again || !ct.listed || ct.looks() && !ct.kidsSet
}

// nod writes the own znode, once and only if nobody else has: whoever waits just behind it need not wait for it any more. It costs
// nobody any time.
func (ct *contender) nod() {
	if !ct.nodded {
		ct.nodded = true
		ct.gen.Touch(new(client.Touch), ct.node, ct.b.nodeData(ct.gen))
	}
}
