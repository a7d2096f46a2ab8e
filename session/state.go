package session

import (
	"context"
	"iter"
	"sync"
)

// State is where a session stands.
type State uint8

// The states. The last three are terminal for the session; for the Keeper only the last two are, and StateExpired with
// Config.FinalExpiry.
const (
	StateConnecting        State = iota // no connection yet
	StateConnected                      // attached to a server
	StateConnectedReadOnly              // attached to a server without quorum
	StateDisconnected                   // no connection now; the session may live
	StateExpired                        // the session is over for us
	StateAuthFailed                     // a server refused the credentials
	StateClosed                         // Close was called
)

var stateNames = [...]string{"connecting", "connected", "connected read-only", "disconnected", "expired", "auth failed", "closed"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown state"
}

// Connected says whether requests are being served.
func (s State) Connected() bool { return s == StateConnected || s == StateConnectedReadOnly }

// Change is one step of a Keeper's life.
type Change struct {
	State      State
	Generation uint64 // counts the Keeper's sessions from 1
	SessionID  int64  // 0 before the first handshake of the generation
	Server     string // host:port of the connection that began or ended
	Err        error  // why, for disconnected and the terminal states
}

// changes is a list of state changes that any number of readers follow, each at its own pace: nobody waits for a reader,
// and none of them misses a change. What all readers have passed is garbage.
type changes struct {
	mu   sync.Mutex // guards last
	last *change
}

type change struct {
	Change
	next  *change       // valid when ready is closed
	ready chan struct{} // closed when next is there, or ended is true
	ended bool          // valid when ready is closed: no change follows
}

func newChanges(c Change) *changes {
	return &changes{last: &change{Change: c, ready: make(chan struct{})}}
}

// publish appends c unless it repeats the last change.
func (cs *changes) publish(c Change) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	l := cs.last
	if l.ended || l.State == c.State && l.Generation == c.Generation && l.SessionID == c.SessionID {
		return
	}
	l.next = &change{Change: c, ready: make(chan struct{})}
	cs.last = l.next
	close(l.ready)
}

// end says that nothing follows.
func (cs *changes) end() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if !cs.last.ended {
		cs.last.ended = true
		close(cs.last.ready)
	}
}

func (cs *changes) current() *change {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.last
}

// follow yields the state at the time of the call and then every change until the context or the list ends.
func (cs *changes) follow(ctx context.Context) iter.Seq[Change] {
	start := cs.current()
	return func(yield func(Change) bool) {
		for c := start; c != nil; {
			if !yield(c.Change) {
				return
			}
			select {
			case <-c.ready:
				c = c.next
			case <-ctx.Done():
				return
			}
		}
	}
}
