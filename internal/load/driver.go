package load

import (
	"context"
	"slices"
	"strings"

	"github.com/lockkeeper/lockkeeper/recipes"
)

// Workload names what the goroutines do in their loop.
type Workload string

// The workloads. The znodes of get, set and group have DataSize bytes; there are as many of them as there would be locks.
const (
	Lock   Workload = "lock"   // acquire a lock, hold it, release it
	Get    Workload = "get"    // read a znode's data
	Set    Workload = "set"    // replace a znode's data, whatever its version
	Group  Workload = "group"  // GroupSize exists in one group; each counts as an operation, the latency is the group's
	Exists Workload = "exists" // look at a znode's Stat
)

const (
	// DataSize is the number of bytes in the znodes that are read and written.
	DataSize = 100
	// GroupSize is the number of requests in a group.
	GroupSize = 100
)

// Workloads are those that users can name.
func Workloads() []Workload { return []Workload{Lock, Get, Set, Group} }

// known reports whether w is a workload.
func (w Workload) known() bool { return w == Exists || slices.Contains(Workloads(), w) }

func workloadNames() string {
	var names []string
	for _, w := range Workloads() {
		names = append(names, string(w))
	}
	return strings.Join(names, ", ")
}

// Token is what a lock gives with a grant, to be compared with that of the grant before.
type Token = recipes.Token

// Driver is a client under load.
type Driver interface {
	// Name identifies the client in reports.
	Name() string
	// Open begins a session with one of the servers, "host:port,host:port", and returns when it is usable; ctx bounds that.
	Open(ctx context.Context, servers string) (Session, error)
	// ErrorKind sorts an error of this client into a few short groups.
	ErrorKind(err error) string
	// Tokens says whether the client's locks give fencing tokens.
	Tokens() bool
}

// Session is one session of a client. Its methods may be called by several goroutines at once; what they return is for one.
type Session interface {
	// Locker returns a contender for the lock of this path, whose znode exists. how is for clients that know such things.
	Locker(path string, how LockOptions) Locker
	// Call returns the operation that a goroutine repeats for a workload other than Lock. The znode exists.
	Call(w Workload, path string) Call
	// Counters returns what the session has written so far.
	Counters() Counters
	// Close ends the session. Calls that are under way should fail.
	Close() error
}

// Watching is a Session that can leave one-shot watches.
type Watching interface {
	// Watch looks at the znode of this path, which need not exist, and leaves a watch for what happens to it next.
	Watch(ctx context.Context, path string) (watch any, err error)
	// Wait returns when something has happened to the znode of a watch: nil, or why the watch has ended without.
	Wait(ctx context.Context, watch any) error
}

// Reading is a Session that reads data of any size.
type Reading interface {
	// Read returns how many bytes of data the znode has. buf is room for them, for clients that use such.
	Read(ctx context.Context, path string, buf []byte) (int, error)
}

// LockOptions are Config.HandOver and Config.Pipelined.
type LockOptions struct {
	HandOver  int
	Pipelined bool
}

// Locker takes one lock again and again.
type Locker interface {
	// Lock returns when the lock is held. A client without contexts may disregard ctx until its session is closed.
	Lock(ctx context.Context) (Token, error)
	// Lost returns a channel that is closed when the hold is no longer safe; nil when the client cannot tell.
	Lost() <-chan struct{}
	// Unlock returns when the release is confirmed, or with LockOptions.Pipelined when it is on its way.
	Unlock(ctx context.Context) error
}

// Call makes one round of a workload and returns how many operations it consisted of.
type Call func(ctx context.Context) (operations int, err error)

// Counters is what a session has written. Pings are left out.
type Counters struct {
	Requests uint64
	Flights  uint64 // bursts: writes to the socket
}

func (c Counters) minus(o Counters) Counters {
	return Counters{c.Requests - o.Requests, c.Flights - o.Flights}
}
