package session

import (
	"context"
	"errors"
	"slices"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/proto"
)

// checkQuiet checks a session that has a good server and nothing to do.
func (s *schedule) checkQuiet() {
	synctest.Wait()
	ss := s.k.Current()
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.over == nil && !ss.closing && (ss.calls != 0 || ss.bytes != 0 || ss.queue.first != nil || ss.cx == nil) {
		s.t.Errorf("after a minute with a good server: %d calls, %d bytes, connection %v", ss.calls, ss.bytes, ss.cx != nil)
	}
}

// check looks at everything when all is over.
func (s *schedule) check() {
	for it, ok := s.queue.TryNext(); ok; it, ok = s.queue.TryNext() {
		if it.Kind != ItemReply || it.Tag == 0 || int(it.Tag) > len(s.calls) {
			s.t.Fatalf("item %+v", it)
		}
		s.calls[it.Tag-1].items++
	}
	for _, c := range s.calls {
		s.checkCall(c)
	}
	for _, c := range s.cleanups {
		s.checkCleanup(c)
	}
	for _, h := range s.holds {
		if h.strange != "" || (h.lost == 1) == h.taken {
			s.t.Errorf("hold: lost %d times, taken back: %v, %s", h.lost, h.taken, h.strange)
		}
	}
	for _, n := range s.nodes {
		if n.gone > 1 {
			s.t.Errorf("a znode was told gone %d times", n.gone)
		}
	}
	for _, st := range s.streams {
		s.checkStream(st)
	}
	s.checkChanges()
	for ss := range s.seen {
		ss.mu.Lock()
		calls, bytes, watches, holds := ss.calls, ss.bytes, ss.watches.count()+ss.streams.n, ss.holds.n
		over := ss.over
		ss.mu.Unlock()
		if over == nil || calls != 0 || bytes != 0 || watches != 0 || holds != 0 || ss.CleanupsPending() != 0 {
			s.t.Errorf("session %d ended with %v: %d calls, %d bytes, %d watches, %d holds, %d cleanups left", ss.gen, over, calls, bytes,
				watches, holds, ss.CleanupsPending())
		}
	}
}

func (s *schedule) checkCall(c *scheduledCall) {
	if !c.over {
		s.t.Fatalf("%v did not return", c.paths)
	}
	if want := b2i(c.tag != 0 && c.refused == nil); c.items != want {
		s.t.Errorf("%v: %d items", c.paths, c.items)
	}
	for i, path := range c.paths {
		heard, reply := s.srv.heard[path], s.srv.answered[path]
		if heard > 1 {
			s.t.Errorf("%s was sent %d times", path, heard)
		}
		o, err := Unknown, c.refused
		if c.kept {
			o, err = c.g.Result(i)
		}
		if why := wrongOutcome(o, err, heard, reply); why != "" {
			s.t.Errorf("%s: outcome %d, %v, heard %d times, answered %+v: %s", path, o, err, heard, reply, why)
		} else if (o == Replied || o == Rejected) && c.g.Zxid(i) != reply.zxid {
			s.t.Errorf("%s: reply of zxid %d, not %d", path, c.g.Zxid(i), reply.zxid)
		}
		s.checkWatch(c, i, o, err)
	}
}

func wrongOutcome(o Outcome, err error, heard int, reply answer) string {
	var huge *conn.TooLargeError
	answered := reply.zxid != 0
	switch o {
	case Replied:
		if !answered || reply.code != 0 || reply.huge || err != nil {
			return "nobody said that"
		}
	case Rejected:
		if !answered || err != error(reply.code) {
			return "nobody said that"
		}
	case NotSent:
		if heard > 0 || err == nil {
			return "it was"
		}
	case Unknown:
		switch {
		case errors.As(err, &huge):
			if !reply.huge {
				return "it was not too large"
			}
		case err == ErrConnectionLoss, err == ErrSessionExpired, err == ErrClosed, err == context.Canceled:
		default:
			return "no such reason"
		}
	default:
		return "none"
	}
	return ""
}

// checkWatch checks that a watch that was set had one event, and one that was not had none.
func (s *schedule) checkWatch(c *scheduledCall, i int, o Outcome, err error) {
	w := c.watches[i]
	if w == nil {
		return
	}
	var huge *conn.TooLargeError
	set := o == Replied || o == Rejected && err == error(proto.ErrNoNode) && c.g.Op(i) == proto.OpExists || errors.As(err, &huge)
	switch {
	case c.dropped:
		if w.events > w.before || w.events > 1 {
			s.t.Errorf("%s: %d events, %d of them before Unwatch", c.paths[i], w.events, w.before)
		}
	case !c.kept: // the reply may have come just before
		if w.events > 1 {
			s.t.Errorf("%s: %d events", c.paths[i], w.events)
		}
	case w.events != b2i(set):
		s.t.Errorf("%s: outcome %d, %v: %d events", c.paths[i], o, err, w.events)
	}
}

func (s *schedule) checkCleanup(c *scheduledCleanup) {
	done, err := c.Result()
	codes := s.srv.codes[c.path]
	switch {
	case !done || c.told != 1:
		s.t.Errorf("cleanup of %s: done %v, told %d times", c.path, done, c.told)
	case err == nil && !slices.Contains(codes, 0) && !slices.Contains(codes, proto.ErrNoNode),
		err == error(proto.ErrNoNode) && !slices.Contains(codes, proto.ErrNoNode),
		err == error(proto.ErrBadVersion) && !slices.Contains(codes, proto.ErrBadVersion):
		s.t.Errorf("cleanup of %s: %v, answered %v", c.path, err, codes)
	}
}

func (s *schedule) checkChanges() {
	var last Change
	for i, c := range s.changes {
		switch {
		case i == 0:
		case c.Generation < last.Generation, c.Generation == last.Generation && (last.State >= StateExpired || c.State == last.State),
			c.Generation > last.Generation && (c.State != StateConnecting || last.State != StateExpired):
			s.t.Errorf("%v after %v", c, last)
		}
		last = c
	}
	if last.State < StateExpired {
		s.t.Errorf("the state stream ended with %v", last.State)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
