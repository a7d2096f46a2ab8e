package session

import (
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
)

// Touch makes sure that a znode has been written since its creation: a setData in the hands of the session, which does nothing if
// anybody has written the znode before. It is repeated until the server has answered, or the session ends. The zero value is ready for
// Session.Touch, which may be called once.
type Touch struct {
	s    *Session
	g    *Group
	path string
	data []byte
	last time.Time // when the request was lost; for the session's goroutines, one after the other
}

// Touch starts t: path, as sent to the server, is to have been written, and gets data if it was not. The slice must not change any
// more. Touch does not block.
func (s *Session) Touch(t *Touch, path string, data []byte) {
	t.s, t.path, t.data, t.g = s, path, data, NewGroup()
	s.cleaner.send(t)
}

func (t *Touch) group() *Group { return t.g }

func (t *Touch) end(error) {}

func (t *Touch) prepare() {
	t.g.Reset()
	t.g.End((&proto.SetDataRequest{Path: t.path, Data: t.data, Version: 0}).AppendTo(t.g.Begin(proto.OpSetData)), nil)
}

// receive is told OK, "bad version" if it was written before, perhaps by a request of ours whose reply was lost, or "no node", all
// of which are as good; or that it may not be written, which whoever may create znodes there is expected to see to.
func (t *Touch) receive(g *Group) {
	switch _, err := g.Result(0); {
	case err == error(proto.ErrThrottled):
		t.s.cleaner.later(t)
	case err == ErrConnectionLoss:
		now := time.Now()
		soon := now.Sub(t.last) < lossSoon
		if t.last = now; soon { // it may be the request that breaks the connection
			t.s.cleaner.later(t)
		} else {
			t.s.cleaner.park(t)
		}
	}
}
