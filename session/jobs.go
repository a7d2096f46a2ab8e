package session

import (
	"sync"
	"time"
)

// job is something that the session does on its own, whatever becomes of its caller: a group that is sent again on the next
// connection when its reply was lost. All methods are called on the session's goroutines, or by whoever starts the job.
type job interface {
	receiver
	group() *Group
	prepare()      // builds the next request
	end(err error) // the session is over
}

// cleaner owns the jobs of a session. Deletions are repeated until the server says OK or "no node", or the session ends,
// which deletes ephemeral znodes anyway.
type cleaner struct {
	s *Session

	mu     sync.Mutex // guards what follows; taken with the session's mu held, never the other way round
	n      int        // cleanups not done
	parked []job      // those whose request was lost, until the next connection
}

// send queues the next request of j.
func (cl *cleaner) send(j job) {
	j.prepare()
	cl.enqueue(j)
}

// enqueue queues the group of j, without waiting for room: it must not block, and jobs are few.
func (cl *cleaner) enqueue(j job) {
	s, g := cl.s, j.group()
	g.to = j
	g.stage.Store(submitted)
	s.mu.Lock()
	err := s.over
	if err == nil && s.closing {
		err = ErrClosed
	}
	var cx *connection
	if err == nil {
		s.enqueueLocked(g)
		cx = s.cx
	}
	s.mu.Unlock()
	switch {
	case err != nil:
		g.stage.Store(complete)
		j.end(err)
	case cx != nil:
		cx.signal()
	}
}

// throttledPause is how long a job waits that the server has refused for being busy.
const throttledPause = 100 * time.Millisecond

// later sends j again after a pause.
func (cl *cleaner) later(j job) {
	// The timer's goroutine, owned by the session; it does not block. If the session is over by then, the job learns of it
	// this much late.
	time.AfterFunc(throttledPause, func() { cl.send(j) })
}

// park keeps j for the next connection.
func (cl *cleaner) park(j job) {
	s := cl.s
	s.mu.Lock()
	now := s.over != nil || s.cx != nil // the session is ending, or has a new connection already
	if !now {
		cl.mu.Lock()
		cl.parked = append(cl.parked, j)
		cl.mu.Unlock()
	}
	s.mu.Unlock()
	if now {
		cl.send(j)
	}
}

// resumeLocked queues what is parked ahead of everything else, on a new connection. The session's mu is held.
func (cl *cleaner) resumeLocked() {
	parked := cl.takeParked()
	for i := len(parked) - 1; i >= 0; i-- { // each goes to the front: so the first comes out first
		j := parked[i]
		j.prepare()
		g := j.group()
		g.to = j
		g.stage.Store(submitted)
		g.left = len(g.calls)
		cl.s.takeRoomLocked(len(g.calls), len(g.buf))
		cl.s.queue.pushFront(g)
	}
}

// end ends what is parked, when the session is over.
func (cl *cleaner) end(err error) {
	for _, j := range cl.takeParked() {
		j.end(err)
	}
}

func (cl *cleaner) takeParked() []job {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	parked := cl.parked
	cl.parked = nil
	return parked
}
