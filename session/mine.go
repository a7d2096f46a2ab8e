package session

import (
	"bytes"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// mine is what a Cleanup knows that tells its znodes by their data.
type mine struct {
	mark       string   // what the data ends in
	node       string   // one that is known, "" if none is: it is deleted whatever its data is now
	candidates []string // names that are left to be read
	reading    int      // how many of them are in flight
	found      []string // names of those that are ours
	refused    error    // why one could not be read
}

// readBatch is how many znodes are read in one flight.
const readBatch = 100

// begin forgets what an earlier search was about, and adds what goes out ahead of a new one.
func (m *mine) begin(g *Group) {
	m.candidates, m.reading, m.found, m.refused = nil, 0, nil, nil
	if m.node != "" {
		appendDelete(g, m.node)
	}
}

// deleted says whether the group of a search has deleted the znode that is known.
func (m *mine) deleted(g *Group) bool {
	if m.node == "" {
		return false
	}
	o, _ := g.Result(0)
	return o == Replied
}

// readNext asks for the next candidates, or, when all have been read, deletes those that are ours.
func (c *Cleanup) readNext() {
	m := c.mine()
	m.reading = min(len(m.candidates), readBatch)
	if m.reading == 0 {
		found := m.found
		m.found = nil
		c.remove(found)
		return
	}
	g := c.g
	g.Reset()
	for _, name := range m.candidates[:m.reading] {
		g.End((&proto.GetDataRequest{Path: join(c.path, name)}).AppendTo(g.Begin(proto.OpGetData)), nil)
	}
	c.s.cleaner.enqueue(c)
}

// judge takes the answers about candidates; that the session has ended the next request will say. Only the data and the session
// together tell that one is ours: the end of the data could be copied, and another call in this session has a mark of its own
// (docs/locks.md A4).
func (c *Cleanup) judge() {
	m, busy := c.mine(), false
	for i, name := range m.candidates[:m.reading] {
		switch o, err := c.g.Result(i); {
		case o == Replied:
			var node proto.GetDataResponse
			r := jute.NewReader(c.g.Body(i))
			node.ReadFrom(&r)
			if r.Err() == nil && node.Stat.EphemeralOwner == c.s.ID() && bytes.HasSuffix(node.Data, []byte(m.mark)) {
				m.found = append(m.found, name)
			}
		case err == error(proto.ErrNoNode):
		case err == error(proto.ErrThrottled):
			busy = true
		default:
			m.refused = err
		}
	}
	m.candidates, m.reading = m.candidates[m.reading:], 0
	if busy {
		c.s.cleaner.later(c)
		return
	}
	c.readNext()
}
