package recipes

import "github.com/lockkeeper/lockkeeper/client"

// stake is what a lease has on the server: how the hold is told from others there, and how it ends.
type stake interface {
	// guard returns the operation that makes a multi fail unless the hold stands, as far as one can tell.
	guard(l *Lease) client.Op
	// beside returns what has to be checked as well for certainty.
	beside(l *Lease) []client.Op
	// remove gives the deletion to the session. The entrant lends its memory; it is nil when a deletion that was refused is
	// tried again.
	remove(l *Lease, c *client.Cleanup, by *entrant)
	// refused is called when the first deletion was.
	refused(l *Lease, by *entrant)
}

// nodeStake is the stake of a znode in a queue, which has a name of its own.
type nodeStake struct{}

func (nodeStake) guard(l *Lease) client.Op {
	l.mu.Lock()
	node, version := l.node, int32(client.AnyVersion)
	if l.b.guarded {
		version = int32(l.token.Hand)
	}
	l.mu.Unlock()
	return l.b.c.GuardOp(node, version)
}

func (nodeStake) beside(*Lease) []client.Op { return nil }

func (nodeStake) remove(l *Lease, c *client.Cleanup, by *entrant) {
	if by == nil {
		l.gen.Delete(c, l.Node(), nil)
		return
	}
	ct := by.contender()
	if ct.several(l) {
		ct.search(c, l.Node())
	} else {
		l.gen.Delete(c, l.Node(), ct.g)
	}
}

func (nodeStake) refused(l *Lease, by *entrant) {
	if by.contender().several(l) {
		l.gen.Delete(new(client.Cleanup), l.Node(), nil) // the search was refused; the name of this one is known
	}
}

// several says whether more than one znode may be the lease's.
func (ct *contender) several(l *Lease) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return ct.unknown || l.rare != nil && l.rare.both
}
