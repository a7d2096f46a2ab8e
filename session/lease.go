package session

import (
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
)

// HoldState is where a hold on something that depends on the session stands.
type HoldState uint8

// The states of a Hold.
const (
	Held   HoldState = iota // certain
	Unsure                  // the connection is gone, the deadline has not passed
	Lost                    // over, for good
)

func (h HoldState) String() string {
	switch h {
	case Held:
		return "held"
	case Unsure:
		return "unsure"
	}
	return "lost"
}

// Holder is told what becomes of a Hold. HoldChanged is called on the session's goroutines, in order, without a lock of
// the session; it must not block, and it is for the packages of this module, not for user code. cause is set with Lost, which
// is final: a call for another state that was under way when the hold was lost may still come after it, and means nothing.
type Holder interface {
	HoldChanged(state HoldState, cause error)
}

// Hold is one lease that lives on the session's lease clock. It is embedded in what holds; the zero value is not held.
type Hold struct {
	Holder Holder // set before Session.Hold

	next, prev *Hold // guarded by the session's mu
	state      HoldState
	on         bool
	since      int64 // when it was granted
}

// holdList is the live holds of a session. The session's mu guards it.
type holdList struct {
	first *Hold
	n     int
}

func (l *holdList) add(h *Hold) {
	h.on, h.prev, h.next = true, nil, l.first
	if l.first != nil {
		l.first.prev = h
	}
	l.first = h
	l.n++
}

func (l *holdList) remove(h *Hold) {
	if h.prev == nil {
		l.first = h.next
	} else {
		h.prev.next = h.next
	}
	if h.next != nil {
		h.next.prev = h.prev
	}
	h.on, h.prev, h.next = false, nil, nil
	l.n--
}

// Hold puts h on the lease clock, at the moment a lock is granted by what connection connNo brought. It is refused when that
// is not the current connection (ErrDisconnected), when the session is over, or when the lease deadline has passed already
// (ErrLeaseDeadline: a sync tells whether the session lives), and by proto.ErrNotReadOnly on a read-only server. While there
// are holds or contenders the session's heartbeat is a sync (doc.go).
func (s *Session) Hold(h *Hold, connNo uint64) error {
	err := s.hold(h, connNo)
	if err == nil {
		s.traceHold(true, h.since, nil)
	}
	return err
}

func (s *Session) hold(h *Hold, connNo uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over != nil:
		return s.over
	case s.closing, s.keep.draining.Load():
		return ErrClosed
	case s.cx == nil || s.cx.no != connNo:
		return ErrDisconnected
	case s.temporary:
		return proto.ErrNotReadOnly
	case s.now() >= s.clock.leaseEnd(s.cfg.NoProof):
		return ErrLeaseDeadline
	}
	h.state, h.since = Held, s.now()
	s.holds.add(h)
	s.armLeaseLocked()
	s.hurryLocked()
	return nil
}

// Unhold takes h off the lease clock and says whether it was on: if not, its Holder has been told that it was lost, or is
// being told.
func (s *Session) Unhold(h *Hold) bool {
	s.mu.Lock()
	on := h.on
	if on {
		s.holds.remove(h)
		s.emptiedLocked()
	}
	s.mu.Unlock()
	if on {
		s.traceHold(false, h.since, nil)
	}
	return on
}

// Contend counts one more (or with -1 one less) waiting contender, for which the heartbeat is a sync as well: otherwise the
// waiter would not notice that its server is cut off.
func (s *Session) Contend(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.contenders += n
	if n > 0 {
		s.hurryLocked()
	}
}

// LeaseDeadline returns when holds end unless the session is proved to live on, by this process's clock.
func (s *Session) LeaseDeadline() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(time.Duration(s.clock.leaseEnd(s.cfg.NoProof) - s.now()))
}

// LeaseLeft returns how long holds last if nothing more is heard; at or below 0 they are over.
func (s *Session) LeaseLeft() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Duration(s.clock.leaseEnd(s.cfg.NoProof) - s.now())
}

// needProofLocked says whether the heartbeat has to reach the leader. A read-only server has none, and nothing depends on it.
func (s *Session) needProofLocked() bool {
	return !s.cfg.NoProof && !s.temporary && s.holds.n+s.contenders > 0
}

// hurryLocked makes serve look at its timers if the next look would be too late for a heartbeat that has become due earlier.
func (s *Session) hurryLocked() {
	if s.cx == nil || !s.needProofLocked() || s.nextLook <= s.proofDueLocked(s.cx) {
		return
	}
	s.nextLook = 0
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// proofDueLocked is when the next sync must be sent.
func (s *Session) proofDueLocked(cx *connection) int64 {
	return max(s.clock.proof, cx.syncSent) + s.clock.timeout/4
}

// armLeaseLocked makes sure that the lease timer runs. It is not stopped with the last hold, so that a lock that is taken
// and released all the time does not pay for it: it fires once for nothing.
func (s *Session) armLeaseLocked() {
	if s.leaseArmed {
		return
	}
	s.leaseArmed = true
	d := s.leaseWaitLocked()
	if s.leaseTimer == nil {
		s.leaseTimer = time.AfterFunc(d, s.leaseDue)
	} else {
		s.leaseTimer.Reset(d)
	}
}

// moveLeaseLocked sets a lease timer that runs to the deadline of a new connection, whose timeout may be shorter.
func (s *Session) moveLeaseLocked() {
	if s.leaseArmed {
		s.leaseTimer.Reset(s.leaseWaitLocked())
	}
}

// wakeful is how often the clock is looked at while something is held: a machine that was suspended wakes up with its
// timers where they were, and the lease deadline may be long past.
const wakeful = time.Second

// leaseWaitLocked is how long the lease timer runs.
func (s *Session) leaseWaitLocked() time.Duration {
	return min(wakeful, time.Duration(s.clock.leaseEnd(s.cfg.NoProof)-s.now()))
}

// leaseDue runs when the lease deadline may have passed.
func (s *Session) leaseDue() {
	s.mu.Lock()
	s.leaseArmed = false
	if s.over != nil || s.holds.n == 0 {
		s.mu.Unlock()
		return
	}
	if s.now() < s.clock.leaseEnd(s.cfg.NoProof) {
		s.armLeaseLocked()
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	s.endHolds(ErrLeaseDeadline)
}

// endHolds ends all holds with cause.
func (s *Session) endHolds(cause error) {
	s.mu.Lock()
	var lost []*Hold
	for h := s.holds.first; h != nil; h = s.holds.first {
		s.holds.remove(h)
		h.state = Lost
		lost = append(lost, h)
	}
	s.emptiedLocked()
	s.mu.Unlock()
	for _, h := range lost {
		s.traceHold(false, h.since, cause)
		h.Holder.HoldChanged(Lost, cause)
	}
}

// turnHolds tells the holds that are in another state that they are in this one.
func (s *Session) turnHolds(state HoldState) {
	s.mu.Lock()
	var turned []*Hold
	for h := s.holds.first; h != nil; h = h.next {
		if h.state != state {
			h.state = state
			turned = append(turned, h)
		}
	}
	s.mu.Unlock()
	for _, h := range turned {
		h.Holder.HoldChanged(state, nil)
	}
}

// holdsProved is the answer to a sync on cx: the leader knows the session, so unsure holds are certain again. A replica
// older than a grant cannot serve us from here on (docs/locks.md A10 rule 8).
func (s *Session) holdsProved(cx *connection) {
	s.mu.Lock()
	current := s.cx == cx && s.now() < s.clock.leaseEnd(s.cfg.NoProof)
	s.mu.Unlock()
	if current {
		s.turnHolds(Held)
	}
}
