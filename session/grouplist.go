package session

// groupList is the queue of groups of which nothing has been written. The session's mu guards it.
type groupList struct {
	first, last *Group
	n           int // groups
}

func (l *groupList) push(g *Group) {
	l.n++
	g.queued, g.prev, g.next = true, l.last, nil
	if l.last == nil {
		l.first = g
	} else {
		l.last.next = g
	}
	l.last = g
}

// pushFront puts g before everything else.
func (l *groupList) pushFront(g *Group) {
	l.n++
	g.queued, g.prev, g.next = true, nil, l.first
	if l.first == nil {
		l.last = g
	} else {
		l.first.prev = g
	}
	l.first = g
}

func (l *groupList) remove(g *Group) {
	l.n--
	if g.prev == nil {
		l.first = g.next
	} else {
		g.prev.next = g.next
	}
	if g.next == nil {
		l.last = g.prev
	} else {
		g.next.prev = g.prev
	}
	g.queued, g.prev, g.next = false, nil, nil
}
