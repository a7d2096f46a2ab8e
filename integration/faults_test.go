package integration

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// TestFaults puts a client with a load through the faults of servers and networks, and prints a line for each: what it
// cost, and how it looked to the callers. In all of them every call must return once and with the truth, reads must not go
// back, an ephemeral znode must live exactly as long as its session, and the client must work again at the end.
func TestFaults(t *testing.T) {
	b := &board{}
	t.Cleanup(func() { b.print(t) }) // registered first: it runs when all is over
	one := zkserver.Require(t, zkserver.Options{TickTime: 500 * time.Millisecond})
	three := zkserver.Require(t, zkserver.Options{
		Members: 3, QuorumProxies: true, TickTime: 500 * time.Millisecond,
		// A member that finds a proxy, and behind it a new leader that does not listen yet, gives up where it would try again
		// without a proxy; the leader then waits for it in vain for this long, and the election begins anew.
		InitLimit: 6,
		SyncLimit: 8, // time to look at a follower that is cut off
	})
	for _, f := range append(serverFaults(one), ensembleFaults(three)...) {
		t.Run(f.name, func(t *testing.T) { f.run(t, b) })
	}
	// Each of these breaks nothing but its own client's connection.
	for _, f := range networkFaults(one) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			f.run(t, b)
		})
	}
}

// fault is a scenario.
type fault struct {
	name    string
	servers string // for an observer, whom the fault hits at most as the ensemble
	timeout time.Duration
	expires bool // the session is to end
	// prepare returns how the client under test connects, and the fault; nil stands for servers without options.
	prepare func(t *testing.T) ([]client.Option, string)
	// strike makes the fault and returns when it is over. It needs not wait for the client to have recovered.
	strike func(t *testing.T, r *rig)
}

// rig is what a fault has to do with.
type rig struct {
	c    *client.Client
	life *life
	load *load
}

func (f fault) run(t *testing.T, b *board) {
	servers, opts := f.servers, []client.Option{client.SessionTimeout(f.timeout)}
	if f.prepare != nil {
		more, through := f.prepare(t)
		servers, opts = through, append(opts, more...)
	}
	observer := connect(t, f.servers)
	dir := "/" + strings.ReplaceAll(f.name, " ", "-")
	c := connect(t, servers, opts...)
	if c.SessionTimeout() != f.timeout {
		t.Fatalf("session timeout %v, asked for %v", c.SessionTimeout(), f.timeout)
	}
	r := &rig{c: c, life: follow(t, c), load: prepareLoad(t, c, dir)}
	id := c.SessionID()
	if _, _, err := c.Create(patient(t), dir+"/ephemeral", nil, client.ModeEphemeral, nil); err != nil {
		t.Fatal(err)
	}
	r.load.start()
	r.load.advance(t)
	f.strike(t, r)
	r.load.advance(t) // everybody is served again
	r.load.finish(t)
	lived := r.life.end()
	kept := lived.expired == 0 && c.SessionID() == id
	if kept == f.expires {
		t.Errorf("the session was %#x, is %#x, and expired %d times: %v", id, c.SessionID(), lived.expired, lived.story)
	}
	if !kept && (lived.expired != 1 || c.SessionID() == id || c.Generation().Number() != 2) {
		t.Errorf("the session expired %d times, the client has session %#x, number %d, after %#x",
			lived.expired, c.SessionID(), c.Generation().Number(), id)
	}
	checkEphemeral(t, observer, dir+"/ephemeral", id, kept)
	applied := r.load.verify(t, observer)
	b.add(row{name: f.name, timeout: f.timeout, lived: lived, unserved: r.load.gap.longest, kept: kept, counts: r.load.counts(), applied: applied})
}

// checkEphemeral demands that the znode is there, with its owner, if the session is, and goes otherwise.
func checkEphemeral(t *testing.T, c *client.Client, path string, owner int64, kept bool) {
	t.Helper()
	if err := c.Sync(patient(t), path); err != nil {
		t.Fatal(err)
	}
	node, w, err := c.ExistsWatch(patient(t), path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	switch {
	case kept && (!node.Exists || node.Stat.EphemeralOwner != owner):
		t.Errorf("the session %#x lives, its ephemeral znode: %+v", owner, node)
	case !kept && node.Exists:
		if ev, err := w.Wait(patient(t)); err != nil || ev.Type != client.EventNodeDeleted {
			t.Errorf("the session %#x is over, its ephemeral znode: %v, %v", owner, ev, err)
		}
	}
}

// row is a line of the table.
type row struct {
	name     string
	timeout  time.Duration
	lived    lifetime
	unserved time.Duration // between two successes
	kept     bool
	counts   counts
	applied  int // writes of unknown outcome that were
}

// board collects the table.
type board struct {
	mu   sync.Mutex // guards rows; a leaf
	rows []row
}

func (b *board) add(r row) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows = append(b.rows, r)
}

func (b *board) print(t *testing.T) {
	if len(b.rows) == 0 {
		return
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nfault\tT\tunserved\tunconnected\tbreaks\tsession\tok\trefused\tnot sent\tunknown reads\tunknown writes\tof them applied")
	for _, r := range b.rows {
		session := "kept"
		if !r.kept {
			session = "expired"
		}
		n := r.counts
		fmt.Fprintf(w, "%s\t%v\t%v\t%v\t%d\t%s\t%d\t%d\t%d\t%d\t%d\t%d\n", r.name, r.timeout,
			r.unserved.Round(time.Millisecond), r.lived.away.Round(time.Millisecond), r.lived.breaks, session, n[ok], n[refused], n[notSent], n[unknownRead], n[unknownWrite], r.applied)
	}
	_ = w.Flush() // a Builder takes everything
	t.Log(text.String())
}
