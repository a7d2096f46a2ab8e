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
			if !s.isLeaving() {
				s.sayGoodbye(cx)
			}
			return
		case <-timer.C:
		case <-s.poke:
		}
		timer.Reset(s.look(cx))
	}
}

// isLeaving says whether the session is to be left to the ensemble instead of being closed. One that only a read-only server
// knows is of no use to anybody.
func (s *Session) isLeaving() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leaving && !s.temporary
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
	now := s.now()
	cx.heard(now)
	silent := cx.lastRead.Load() + s.clock.timeout*2/3
	next := silent
	if !s.temporary {
		next = min(next, s.clock.sessionEnd())
	}
	err := s.overdueLocked(now)
	if err == nil && now >= silent {
		err = errSilent
	}
	// Bytes that still arrive prove nothing about the way there. With nothing answered for so long the session would end by its
	// own clock soon: the last sixth belongs to another server. A new connection gets as much.
	deaf := max(s.clock.answered+s.clock.timeout*5/6, cx.began+s.clock.timeout/6)
	if err == nil && now >= deaf {
		err = errDeaf
	}
	ping, work := cx.pingLocked(now)
	next = min(next, deaf, ping)
	if s.needProofLocked() {
		proof, due, late := cx.proofLocked(now)
		next, work = min(next, proof), work || due
		if late && err == nil {
			err = errNoProof
		}
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

// heard takes bytes of an unfinished frame into account, which the reader does not see: if there are more than at the last
// look, something has come since then.
func (cx *connection) heard(now int64) {
	if n := cx.fc.Received(); n != cx.lookBytes {
		if read := cx.lastRead.Load(); cx.lookAt > read {
			cx.lastRead.CompareAndSwap(read, cx.lookAt) // unless the reader has just done better
		}
		cx.lookBytes = n
	}
	cx.lookAt = now
}

// pingLocked has a ping sent if nothing was written for long enough, and returns when to look again.
func (cx *connection) pingLocked(now int64) (next int64, work bool) {
	t := cx.s.clock.timeout
	if due := cx.lastWrite.Load() + min(t/3, int64(maxPing)); now < due {
		return due, false
	}
	// A ping in flight says the same as a second one would; the next look is when that one is overdue.
	cx.pingDue = !cx.pingOut
	return now + t/3, cx.pingDue
}

// proofLocked has a sync sent if the last proof is old enough, and returns when to look again. late says that the answer
// has been out for T/3: the server is to be left, at most once per T, because a quorum that is slow is slow everywhere.
func (cx *connection) proofLocked(now int64) (next int64, work, late bool) {
	s, t := cx.s, cx.s.clock.timeout
	due := s.proofDueLocked(cx)
	if !cx.syncOut {
		if now < due {
			return due, false, false
		}
		cx.syncDue = true
		return now + t/12, true, false
	}
	overdue := cx.syncSent + t/3
	if now >= overdue && (s.lastHop == 0 || now >= s.lastHop+t) {
		s.lastHop = now
		return now, false, true
	}
	return max(overdue, now+t/12), false, false
}

// detach ends a connection: its loops are waited for, and whatever was in flight on it has an unknown outcome. It returns
// why the session is over, or nil when it goes on without a connection.
func (s *Session) detach(cx *connection) error {
	cx.fail(errSessionGone)
	cx.wg.Wait()
	s.keep.roundDone(cx.err != errBusyServer && (cx.useful.Load() || s.now()-cx.began >= int64(minAttempt)))
	end := s.endOf(cx.err)
	if end != nil {
		s.keep.succeed(s, end) // before any caller learns of it: what it does next must not enter this session
	}
	s.mu.Lock()
	s.cx = nil
	s.over = end
	flying := cx.fifo
	cx.fifo = ring{}
	after := s.counters
	s.mu.Unlock()
	if end != nil {
		s.endHolds(end) // before any caller can act on the end
		s.failFlying(flying, end)
		return end
	}
	s.turnHolds(Unsure) // before the state says so: whoever sees that and looks at a hold must not find it certain
	s.mu.Lock()
	told := s.publishLocked(StateDisconnected, cx.server, cx.err)
	if s.cfg.FailFast {
		s.endPendingLocked(ErrConnectionLoss)
	}
	s.forgetTemporaryLocked()
	s.mu.Unlock()
	s.tell(told, "connected", time.Duration(s.now()-cx.began), "requests", after.Requests-cx.before.Requests,
		"replies", after.Replies-cx.before.Replies, "events", after.Events-cx.before.Events)
	s.failFlying(flying, ErrConnectionLoss)
	return nil
}

// endOf says whether a connection's end is the session's.
func (s *Session) endOf(err error) error {
	switch {
	case s.ctx.Err() != nil:
		return ErrClosed
	case errors.Is(err, ErrAuthFailed):
		return err
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
		s.traceRequest(*e, 0, Unknown, err)
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
	if err == ErrClosed && s.id != 0 && !s.parted && !s.leaving {
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
	s.owed = nil
	streams := s.endStreamsLocked(err)
	if s.leaseTimer != nil {
		s.leaseTimer.Stop()
	}
	if s.room != nil {
		close(s.room)
		s.room = nil
	}
	s.mu.Unlock()
	s.tell(told)
	s.endHolds(err)
	for g := queued; g != nil; {
		next := g.next
		g.next, g.prev = nil, nil
		s.finishUnsent(g, err)
		g = next
	}
	for _, w := range watches {
		w.Sink.WatchEvent(w, Event{Type: proto.EventNone, Path: w.Path, Zxid: -1, Err: err}, 0)
	}
	tellEnd(streams, err)
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

// tell logs and traces a change; attrs go to the log only.
func (s *Session) tell(c Change, attrs ...any) {
	if tr := s.cfg.Trace; tr != nil && tr.State != nil {
		tr.State(c)
	}
	s.cfg.Logger.Info("zk: session "+c.State.String(), append(attrs, "generation", c.Generation,
		"session", hexID(c.SessionID), "server", c.Server, "err", c.Err)...)
}

// hexID is a session id as the servers print it.
func hexID(id int64) string { return "0x" + strconv.FormatUint(uint64(id), 16) }
