package session

import (
	"errors"
	"strconv"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
)

// run carries the session from its first attempt to its end, and returns why it ended. It is the Keeper's goroutine.
func (s *Session) run() error {
	for {
		cx, err := s.connect()
		if err != nil {
			return err
		}
		s.serve(cx)
		if err := s.detach(cx); err != nil {
			return err
		}
	}
}

// serve watches over a connection's timers until it ends.
func (s *Session) serve(cx *connection) {
	timer := time.NewTimer(s.look(cx))
	defer timer.Stop()
	for {
		select {
		case <-cx.dead:
			return
		case <-s.ctx.Done():
			s.sayGoodbye(cx)
			return
		case <-timer.C:
		case <-s.poke:
		}
		timer.Reset(s.look(cx))
	}
}

// sayGoodbye has closeSession written, and waits for its reply within the bound of Close.
func (s *Session) sayGoodbye(cx *connection) {
	s.mu.Lock()
	cx.closeDue = true
	s.mu.Unlock()
	cx.signal()
	bound := time.NewTimer(s.cfg.CloseBound)
	defer bound.Stop()
	select {
	case <-cx.dead:
	case <-bound.C:
		cx.fail(ErrCloseUnconfirmed)
	}
	s.parted = cx.err == errSessionGone
}

// look does what is due on a connection and returns how long nothing will be.
func (s *Session) look(cx *connection) time.Duration {
	s.mu.Lock()
	now, t := s.now(), s.clock.timeout
	err := s.overdueLocked(now)
	silent := cx.lastRead.Load() + t*2/3
	if err == nil && now >= silent {
		err = errSilent
	}
	next := min(silent, s.clock.sessionEnd())
	work := false
	ping := cx.lastWrite.Load() + min(t/3, int64(maxPing))
	if now >= ping {
		// A ping in flight says the same as a second one would; the next look is when that one is overdue.
		cx.pingDue, work = !cx.pingOut, !cx.pingOut
		ping = now + t/3
	}
	next = min(next, ping)
	if s.needProofLocked() {
		due := s.proofDueLocked(cx)
		if now >= due && !cx.syncOut {
			cx.syncDue, work = true, true
		}
		if cx.syncOut || cx.syncDue {
			due = max(cx.syncSent, now-t/3) + t/3
			if cx.syncOut && now >= cx.syncSent+t/3 && err == nil && (s.lastHop == 0 || now >= s.lastHop+t) {
				s.lastHop, err = now, errNoProof
			}
			due = max(due, now+t/12)
		}
		next = min(next, due)
	}
	next = max(next, now+int64(time.Millisecond))
	s.nextLook = next
	s.mu.Unlock()
	if err != nil {
		cx.fail(err)
	} else if work {
		cx.signal()
	}
	return time.Duration(next - now)
}

// detach ends a connection: its loops are waited for, and whatever was in flight on it has an unknown outcome. It returns
// why the session is over, or nil when it goes on without a connection.
func (s *Session) detach(cx *connection) error {
	cx.fail(errSessionGone)
	cx.wg.Wait()
	s.keep.roundDone(cx.useful.Load() || s.now()-cx.began >= int64(minAttempt))
	end := s.endOf(cx.err)
	if end != nil {
		s.keep.succeed(s, end) // before any caller learns of it: what it does next must not enter this session
	}
	s.mu.Lock()
	s.cx = nil
	s.over = end
	var told Change
	if end == nil {
		told = s.publishLocked(StateDisconnected, cx.server, cx.err)
	}
	flying := cx.fifo
	cx.fifo = ring{}
	s.mu.Unlock()
	if end != nil {
		s.endHolds(end) // before any caller can act on the end
		s.failFlying(flying, end)
		return end
	}
	s.log(told)
	s.turnHolds(Unsure)
	s.failFlying(flying, ErrConnectionLoss)
	return nil
}

// endOf says whether a connection's end is the session's.
func (s *Session) endOf(err error) error {
	switch {
	case s.ctx.Err() != nil:
		return ErrClosed
	case errors.Is(err, ErrAuthFailed):
		return ErrAuthFailed
	case errors.Is(err, ErrSessionExpired):
		return ErrSessionExpired
	}
	return s.overNow()
}

// failFlying completes the calls of a broken connection.
func (s *Session) failFlying(flying ring, err error) {
	for k := range flying.n {
		e := flying.at(k)
		if e.g == nil {
			continue
		}
		c := &e.g.calls[e.i]
		s.mu.Lock()
		s.releaseRoomLocked(1, c.end-c.start)
		s.mu.Unlock()
		if e.g.finishCall(int(e.i), Unknown, err) {
			e.g.release()
		}
	}
}

// finish is the end of the session. Everything that it still owes is told, and only then Ended closes. The Keeper has its
// successor in place already, so that whoever is told can go on at once.
func (s *Session) finish(err error) {
	s.keep.succeed(s, err)
	s.mu.Lock()
	s.over = err
	if err == ErrClosed && s.id != 0 && !s.parted {
		s.keep.unconfirmed()
	}
	told := s.publishLocked(endState(err), "", err)
	queued := s.queue.first
	s.queue = groupList{}
	for g := queued; g != nil; g = g.next {
		g.queued = false
		s.releaseRoomLocked(len(g.calls), len(g.buf))
	}
	watches := s.watches.takeAll()
	if s.leaseTimer != nil {
		s.leaseTimer.Stop()
	}
	if s.room != nil {
		close(s.room)
		s.room = nil
	}
	s.mu.Unlock()
	s.log(told)
	s.endHolds(err)
	for g := queued; g != nil; {
		next := g.next
		g.next, g.prev = nil, nil
		g.finishAll(NotSent, err)
		g = next
	}
	for _, w := range watches {
		w.Sink.WatchEvent(w, Event{Type: proto.EventNone, Path: w.Path, Zxid: -1, Err: err}, 0)
	}
	s.cleaner.end(err)
	close(s.ended)
}

func endState(err error) State {
	switch {
	case errors.Is(err, ErrAuthFailed):
		return StateAuthFailed
	case errors.Is(err, ErrClosed):
		return StateClosed
	}
	return StateExpired
}

// publishLocked puts the session into a state and tells the Keeper's followers. The caller logs the change once it has
// let go of the lock: a log handler is user code.
func (s *Session) publishLocked(state State, server string, err error) Change {
	s.state = state
	c := Change{State: state, Generation: s.gen, SessionID: s.id, Server: server, Err: err}
	s.keep.changes.publish(c)
	return c
}

func (s *Session) log(c Change) {
	s.cfg.Logger.Info("zk: session "+c.State.String(), "generation", c.Generation,
		"session", "0x"+strconv.FormatUint(uint64(c.SessionID), 16), "server", c.Server, "err", c.Err)
}
