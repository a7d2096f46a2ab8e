package session

import (
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
)

// Trace is a set of functions that are told what happens, for metrics and logs. Each may be nil, and costs nothing then.
// They are called on the session's goroutines, or by whoever makes a call, without any lock: they must not block, and must not
// call back into the session.
type Trace struct {
	// Attempt is told of the end of each attempt to connect: how long it took, and the error of one that failed.
	Attempt func(server string, took time.Duration, err error)
	// State is told of each change.
	State func(Change)
	// Request is told of each request that has completed: its opcode, the bytes of its frame and of the reply's body, the
	// time from its write to its reply (0 if it was never written), and what became of it.
	Request func(op proto.Op, sent, received int, took time.Duration, outcome Outcome, err error)
	// Event is told of each notification and of the number of watches that it fired.
	Event func(t proto.EventType, fired int)
	// Burst is told of each write: the requests it carried, and the number in flight and queued after it.
	Burst func(requests, inFlight, queued int)
	// Hold is told of each hold that was granted, and when it ends: how long it lasted, and the cause, nil for a release.
	Hold func(granted bool, lasted time.Duration, cause error)
	// Cleanups is told of the number of deletions that are not confirmed, whenever it changes.
	Cleanups func(pending int)
}

// traceRequest tells of a call that was written and has completed.
func (s *Session) traceRequest(e entry, received int, o Outcome, err error) {
	if tr := s.cfg.Trace; tr != nil && tr.Request != nil {
		c := &e.g.calls[e.i]
		tr.Request(c.op, c.end-c.start, received, time.Duration(s.now()-e.sent), o, err)
	}
}

// finishUnsent completes a group that was accepted and of which nothing was written.
func (s *Session) finishUnsent(g *Group, err error) {
	if tr := s.cfg.Trace; tr != nil && tr.Request != nil {
		for i := range g.calls {
			c := &g.calls[i]
			tr.Request(c.op, c.end-c.start, 0, 0, NotSent, err)
		}
	}
	g.finishAll(NotSent, err)
}

// traceHold tells of a hold that was granted, or of its end.
func (s *Session) traceHold(granted bool, since int64, cause error) {
	if tr := s.cfg.Trace; tr != nil && tr.Hold != nil {
		tr.Hold(granted, time.Duration(s.now()-since), cause)
	}
}

// traceCleanups tells of the number of pending clean-ups.
func (s *Session) traceCleanups(n int) {
	if tr := s.cfg.Trace; tr != nil && tr.Cleanups != nil {
		tr.Cleanups(n)
	}
}
