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

	mu      sync.Mutex          // guards what follows; taken with the session's mu held, never the other way round
	n       int                 // cleanups not done
	parked  []job               // those whose request was lost, until the next connection
	delayed map[job]*time.Timer // those that wait for a while
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

// throttledPause is how long a job waits that the server has refused for being busy, or whose request was lost more than once.
const throttledPause = 100 * time.Millisecond

// lossSoon is how soon after another one a loss makes the next request of a job wait.
const lossSoon = time.Second

// later sends j again after a pause.
func (cl *cleaner) later(j job) {
	s := cl.s
	s.mu.Lock()
	over := s.over != nil
	if !over {
		cl.mu.Lock()
		if cl.delayed == nil {
			cl.delayed = make(map[job]*time.Timer)
		}
		// The timer's goroutine, owned by the session, whose end stops it; it does not block.
		cl.delayed[j] = time.AfterFunc(throttledPause, func() {
			if cl.takeDelayed(j) {
				cl.send(j)
			}
		})
		cl.mu.Unlock()
	}
	s.mu.Unlock()
	if over {
		cl.send(j)
	}
}

// takeDelayed reports whether the caller is the one who goes on with j.
func (cl *cleaner) takeDelayed(j job) bool {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	_, ok := cl.delayed[j]
	delete(cl.delayed, j)
	return ok
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

// end ends what is parked or delayed, when the session is over.
func (cl *cleaner) end(err error) {
	for _, j := range cl.takeParked() {
		j.end(err)
	}
	cl.mu.Lock()
	delayed := cl.delayed
	cl.delayed = nil
	cl.mu.Unlock()
	for j, t := range delayed {
		t.Stop()
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
