package session

import (
	"sync"
	"time"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// NodeWatch tells when a znode is gone. Unlike a Watch it is set again after every change and every lost request, until the
// znode is gone, Stop is called, or the session ends. Where the znode cannot be read it has nothing to tell. Set the
// exported fields, then give it to Session.WatchNode once.
type NodeWatch struct {
	Path string // as sent to the server
	Gone func() // called at most once, on the session's goroutines: it must not block
	// Czxid, if not 0, is that of the znode that is meant: another one at its path is not it.
	Czxid int64
	// Changed, if set, is called with the data when the watch begins and after every change that was noticed, on the session's
	// goroutines: it must not block, nor keep the data.
	Changed func(data []byte)

	s    *Session
	g    *Group
	lost time.Time // when the request was lost; for the session's goroutines, one after the other

	mu   sync.Mutex // guards what follows; innermost, never held while calling anything
	w    *Watch
	over bool // nothing more is to be told
}

// WatchNode starts n. It does not block; one request goes out, and one more after each change of the znode's data.
func (s *Session) WatchNode(n *NodeWatch) {
	n.s = s
	s.cleaner.send(n)
}

// Stop ends n: Gone will not be called any more, unless that is happening at this moment.
func (n *NodeWatch) Stop() {
	n.mu.Lock()
	n.over = true
	s, w := n.s, n.w
	n.mu.Unlock()
	if s != nil && w != nil {
		s.Unwatch(w)
	}
}

func (n *NodeWatch) group() *Group { return n.g }

func (n *NodeWatch) end(error) {}

// prepare builds a getData with a watch: unlike exists it leaves none on a znode that is gone.
func (n *NodeWatch) prepare() {
	w := &Watch{Kind: WatchData, Path: n.Path, Sink: n}
	n.mu.Lock()
	n.w = w
	n.mu.Unlock()
	n.g = NewGroup() // the event may overtake the completion of the group that set the watch, which is still to be received
	b := jute.AppendString(n.g.Begin(proto.OpGetData), n.Path)
	n.g.End(jute.AppendBool(b, true), w)
}

func (n *NodeWatch) receive(g *Group) {
	_, err := g.Result(0)
	switch {
	case err == error(proto.ErrNoNode):
		n.gone()
	case n.isOver() && err != nil:
	case err == ErrConnectionLoss:
		now := time.Now()
		soon := now.Sub(n.lost) < lossSoon
		n.lost = now
		if soon { // it may be the request that breaks the connection
			n.s.cleaner.later(n)
		} else {
			n.s.cleaner.park(n)
		}
	case err == error(proto.ErrThrottled):
		n.s.cleaner.later(n)
	case err == nil && n.isOver():
		n.Stop() // it was stopped while the request was under way
	case err == nil:
		n.read(g.Body(0))
	}
}

// read takes the answer to a getData.
func (n *NodeWatch) read(body []byte) {
	r := jute.NewReader(body)
	data := r.Buffer()
	var stat proto.Stat
	if n.Czxid != 0 {
		stat.ReadFrom(&r)
	}
	switch {
	case r.Err() != nil:
	case n.Czxid != stat.Czxid:
		n.gone()
		n.Stop() // what is watched is another one
	case n.Changed != nil:
		n.Changed(data)
	}
}

// WatchEvent is called by the session. It is not for users.
func (n *NodeWatch) WatchEvent(_ *Watch, ev Event, _ uint64) {
	switch {
	case ev.Err != nil, n.isOver():
	case ev.Type == proto.EventNodeDeleted:
		n.gone()
	default:
		n.s.cleaner.send(n)
	}
}

func (n *NodeWatch) gone() {
	n.mu.Lock()
	over := n.over
	n.over = true
	n.mu.Unlock()
	if !over {
		n.Gone()
	}
}

func (n *NodeWatch) isOver() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.over
}
