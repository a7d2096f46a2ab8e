package checker

import (
	"context"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lockkeeper/lockkeeper/client"
)

// how is the way in which a lock is asked for.
type how struct {
	try, shared bool
	weight      int // permits of a semaphore; 0 of other locks
}

// site is one path with what all its locks have in common.
type site struct {
	path    string
	kind    kind
	permits int // of a semaphore; 0 of other locks
}

// folder is where the znodes of the holds are.
func (s site) folder() string {
	if s.kind == curators {
		return s.path + "/leases"
	}
	return s.path
}

// folders is where any znodes are.
func (s site) folders() []string {
	if s.kind == curators {
		return []string{s.folder(), s.path + "/locks"}
	}
	return []string{s.path}
}

// home returns the path of the lock to which a znode of a hold belongs, "" if it is none.
func (r *run) home(node string) string {
	for _, s := range r.sites {
		if strings.HasPrefix(node, s.folder()+"/") {
			return s.path
		}
	}
	return ""
}

// lock is a lock of any kind, as the driver uses it.
type lock interface {
	// acquire returns a hold and OK; or NotGranted, when nothing is left behind, or Unknown; or an error that there is no reason for.
	acquire(ctx context.Context, h how) (hold, Result, error)
}

// hold is what was granted.
type hold interface {
	node() string
	token() Token
	done() <-chan struct{} // closed when the hold is no longer safe, and in any case by release
	over() bool            // the lock may give itself back once done is closed: it has a MaxHold
	passes() bool          // its znode may be passed on to another hold
	guards() []client.Op   // make a multi fail unless the hold stands
	// release gives it back: OK, NotHeld when the znode was gone, Unknown when nobody can say. With wait false it does not wait for
	// the answer. Pending says that calling it again would tell more.
	release(ctx context.Context, wait bool) (result Result, pending bool, err error)
}

// reentrant is a hold that can be had again by whoever has it.
type reentrant interface {
	hold
	again(ctx context.Context) (hold, Result, error)
}

// downgrader is a write hold that can become a read hold.
type downgrader interface {
	hold
	downgrade(ctx context.Context) (Result, error)
}

// leader is a lock that is held as long as a function runs.
type leader interface {
	lock
	// lead calls f with a hold that is over when f has returned. The result is that of the release, or why f was not called.
	lead(ctx context.Context, f func(hold)) (Result, error)
}

// resizer is a lock whose number of permits can be changed.
type resizer interface {
	lock
	resize(ctx context.Context, n int) (Result, error)
}

// kind is which locks are on one path.
type kind int

const (
	mutexes    kind = iota // exclusive ones
	reentrants             // exclusive, of one client after the other re-entrant
	readWrite
	semaphores // with permits that all agree on
	lines      // semaphores with so many permits that their waiters stand in a line
	numbered   // semaphores whose znode says how many permits there are
	elections  // of one client after the other an election, else mutexes, which have the same names
	latches    // elections with the names of Curator's LeaderLatch
	plains     // mutexes, re-entrant ones and elections with plain names
	curators   // semaphores, and with one permit mutexes, as Curator has them
	fixeds     // exclusive ones without a queue
)

var kinds = map[kind]string{mutexes: "mutexes", reentrants: "re-entrant mutexes", readWrite: "read-write locks", semaphores: "semaphores",
	lines:    "semaphores with many permits",
	numbered: "semaphores with the number in the znode", elections: "elections", latches: "elections with latch names",
	plains: "mutexes with plain names", curators: "Curator's semaphores", fixeds: "mutexes of a fixed znode"}

// everyKind is all that package recipes has.
var everyKind = []kind{mutexes, reentrants, readWrite, semaphores, lines, numbered, elections, latches, plains, curators, fixeds}

// maker makes the lock of one client on one path.
type maker func(c *client.Client, s site, rng *rand.Rand) lock

// contender is a znode in the queue of a lock.
type contender struct {
	name string
	seq  int32
	read bool
}

const (
	lockMark  = "-lock-"
	leaseMark = "-lease-"
	latchMark = "-latch-"
	plainMark = "plain-"
	readMark  = "__READ__"
	writeMark = "__WRIT__"
)

// permitMark is what the name of a semaphore's znode has before its number: how many permits there are, and how many it takes.
var permitMark = regexp.MustCompile(`-n[0-9]+-w[0-9]+-`)

// The children of the path of a lock without a queue: its znode, and the counter beside it, which stays.
const (
	fixedName   = "lock"
	counterName = "lock-counter"
)

// withoutCounter leaves that out, which is the locks' own.
func withoutCounter(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return name == counterName })
}

// contenders returns those among the children of a lock's znode, in the order of the queue.
func contenders(names []string) []contender {
	var out []contender
	for _, name := range names {
		if name == fixedName {
			out = append(out, contender{name: name})
		}
		for _, mark := range []string{lockMark, leaseMark, latchMark, plainMark, readMark, writeMark, permitMark.FindString(name)} {
			if mark == "" {
				continue
			}
			if i := strings.LastIndex(name, mark); i >= 0 {
				if seq, err := strconv.ParseInt(name[i+len(mark):], 10, 32); err == nil {
					out = append(out, contender{name, int32(seq), mark == readMark})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b contender) int { return int(int32(uint32(a.seq) - uint32(b.seq))) })
	return out
}

// front returns those of the queue that hold the lock.
func front(queue []contender) (names []string, write bool) {
	for i, c := range queue {
		if !c.read {
			if i == 0 {
				return []string{c.name}, true
			}
			break
		}
		names = append(names, c.name)
	}
	return names, false
}
