package checker

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Stamp is a moment of a run. Stamps of one Clock differ from each other and rise in the order in which they were taken.
type Stamp int64

// perNano is how many stamps fit into a nanosecond: many things happen at one instant of virtual time.
const perNano = 1 << 12

// Clock gives out stamps. It may be used by several goroutines at once.
type Clock struct {
	start time.Time

	mu   sync.Mutex // guards last
	last Stamp
}

// NewClock returns a clock that begins now.
func NewClock() *Clock { return &Clock{start: time.Now()} }

// Now returns a stamp later than all before.
func (c *Clock) Now() Stamp {
	at := c.Instant() + 1
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last+1, at)
	return c.last
}

// Instant returns a stamp that is not later than any other of the present instant: when the only thing known of an event is
// that it happened at this instant of virtual time, this is its earliest moment. It is never 0, which stands for what is not over.
func (c *Clock) Instant() Stamp { return Stamp(time.Since(c.start))*perNano + 1 }

// Time returns how long after the clock's begin s was.
func (s Stamp) Time() time.Duration { return time.Duration(s / perNano) }

// Kind is what an operation does.
type Kind uint8

// The kinds of operations on a lock. Lost, Use and Holders are the harness's own.
const (
	Lock      Kind = iota + 1 // a call of Lock, RLock, or one of their Try forms
	Unlock                    // a release, of the outermost hold or of an inner one
	Downgrade                 // a write hold becomes a read hold
	Lost                      // the ensemble has removed the hold's znode: its session ended, or an operator deleted it
	Use                       // of a resource that refuses tokens lower than the highest it has seen
	Holders                   // who holds the lock according to the queue on the leader
	Resize                    // of a semaphore: another number of permits from now on
	Guarded                   // a write of the guarded znode in one transaction with the guard of the hold
)

// Result is what an operation returned.
type Result uint8

// The results.
const (
	OK         Result = iota + 1 // granted, released, accepted, done
	NotGranted                   // Lock: failed for certain, nothing is left behind
	NotHeld                      // Unlock: the znode was gone
	Refused                      // Use and Guarded
	Unknown                      // open to the end of the run
)

// Token is a fencing token, as package recipes has it.
type Token struct {
	Zxid int64
	Hand uint32
}

// Less says whether t was given out before u.
func (t Token) Less(u Token) bool { return t.Zxid < u.Zxid || t.Zxid == u.Zxid && t.Hand < u.Hand }

// Node is a znode of a lock. A path alone does not do: when the znode above is deleted and made anew, numbers begin again, and a
// client that repeats a create whose reply was lost may get the same name twice.
type Node struct {
	Path  string
	Zxid  int64 // of its creation; 0: not known
	Owner int64 // the session; 0: not known
}

// Op is one operation of a history.
type Op struct {
	Client int    // who called, from 0
	Path   string // of the lock
	Kind   Kind
	Hold   int    // number of the hold, from History.NewHold; not of Lost, Holders and Resize
	Weight int    // of semaphores. Lock: how many permits it takes, 0 means one; Resize: how many there are
	Shared bool   // Lock: for reading
	All    bool   // Unlock: of all levels
	Passes bool   // Unlock and Guarded: the znode may be passed on to another hold
	Nodes  []Node // Lost: the znode; Holders: the znodes in front
	Write  bool   // Holders: the znode in front is a writer's, or a mutex's
	// Evicted says of a Lost that an operator did it, whom no client can hear in time.
	Evicted bool

	Result  Result
	Token   Token
	Version int32 // Guarded: of the guarded znode after the write

	Call, Return Stamp // Return 0: open
}

// Note is something that happened and is no operation, for the picture.
type Note struct {
	Name, Details string
	Start, End    Stamp
}

// History records a run. It may be used by several goroutines at once.
type History struct {
	*Clock
	// Permits says of which paths the locks are semaphores, and how many permits they have at first. It is set before anything is
	// recorded. Check uses SemaphoreModel for these paths, whatever its model is.
	Permits map[string]int
	// Margin is how much of an overlap of beliefs is not counted: none in virtual time; in real time what passes between the end of
	// a hold and the moment when the goroutine that waits for it runs.
	Margin time.Duration

	mu      sync.Mutex // guards what follows
	ops     []Op
	notes   []Note
	beliefs []*Belief
	holds   int
	end     Stamp                // set by Finish
	went    map[Node]Stamp       // when znodes were seen to be gone
	nodes   map[string][]binding // which holds a znode stood for: several, if it was handed over
}

// NewHistory returns an empty history with a clock that begins now.
func NewHistory() *History {
	return &History{Clock: NewClock(), Permits: make(map[string]int), nodes: make(map[string][]binding), went: make(map[Node]Stamp)}
}

// NewHold returns the number of a new hold, for the call of Lock that tries to get it.
func (h *History) NewHold() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holds++
	return h.holds
}

// binding is a hold that a znode stood for.
type binding struct {
	Node
	hold int
}

// Nobody is no hold. A znode that may be passed on in memory is bound to it too: between two holds, and when whoever gets it does not
// want it any more, it stands for nobody until it is deleted.
const Nobody = 0

// Bind says that a znode stands for a hold: when Lock was granted, and again when the znode has changed.
func (h *History) Bind(node Node, hold int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Contains(h.boundTo(node), hold) {
		h.nodes[node.Path] = append(h.nodes[node.Path], binding{node, hold})
	}
}

// Gone says that a znode is seen to be gone, whoever has deleted it.
func (h *History) Gone(node Node) {
	at := h.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.went[Node{Path: node.Path, Zxid: node.Zxid}] = at
}

// boundTo returns the holds that a znode stood for. The caller holds mu.
func (h *History) boundTo(node Node) (holds []int) {
	for _, b := range h.nodes[node.Path] {
		if b.Zxid == node.Zxid || b.Zxid == 0 || node.Zxid == 0 {
			holds = append(holds, b.hold)
		}
	}
	return holds
}

// standsFor is boundTo, and for a znode that nobody has named the holds whose znodes the same call of Lock has made, which the GUID
// in their names and the session tell. A downgrade whose outcome the client does not know leaves such a znode, and for a time a create that was
// repeated because its reply was lost, and that the server executed late (ZOOKEEPER-4907). Nobody is among them then: it may be the hold's
// znode, or one beside it. The caller holds mu.
func (h *History) standsFor(node Node) []int {
	if holds := h.boundTo(node); holds != nil {
		return holds
	}
	holds := []int{Nobody}
	guid := guidOf(node.Path)
	for path, bound := range h.nodes {
		if guid == "" || guidOf(path) != guid {
			continue
		}
		for _, b := range bound {
			if b.Owner != 0 && b.Owner == node.Owner {
				holds = append(holds, b.hold)
			}
		}
	}
	if len(holds) == 1 {
		return nil
	}
	slices.Sort(holds)
	return slices.Compact(holds)
}

// guidOf returns what a path has up to the end of the GUID of a protected create, "" if it has none.
func guidOf(path string) string {
	i := strings.LastIndex(path, "/_c_")
	end := i + len("/_c_01234567-89ab-cdef-0123-456789abcdef-")
	if i < 0 || len(path) < end {
		return ""
	}
	return path[:end]
}

// Add records an operation that is over. Its Return is now, or never if its result is unknown.
func (h *History) Add(op Op) {
	if op.Result != Unknown && op.Return == 0 {
		op.Return = h.Now()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, op)
}

// Note records something that is no operation.
func (h *History) Note(n Note) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes = append(h.notes, n)
}

// Finish ends the run: what is open stays so until now. It comes before Check, in the bubble in which the history was made.
func (h *History) Finish() {
	end := h.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end = end
}

// Count returns the number of operations, and of those whose outcome is unknown.
func (h *History) Count() (ops, unknown int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, op := range h.ops {
		if op.Return == 0 {
			unknown++
		}
	}
	return len(h.ops), unknown
}
