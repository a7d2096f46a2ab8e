package checker

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

const (
	simTimeout  = 6 * time.Second
	simPatience = 10 * time.Minute
	observed    = "observer:2181" // the member that no fault concerns
)

var members = []string{"one:2181", "two:2181", "three:2181"}

// pass lets time pass.
func pass(d time.Duration) { <-time.After(d) }

// sim is the in-memory ensemble, with the faults that it can have.
type sim struct {
	*run
	srv     *zktest.Server
	heal    []func() // what ends the faults that are on
	busy    atomic.Int64
	watched sync.WaitGroup

	mu      sync.Mutex     // guards what follows
	stalls  map[string]int // why members are silent, by address
	forced  map[int64]bool // sessions that an operator ended
	removed removals
}

// outcome is what a run has shown.
type outcome struct {
	bad          []Violation
	h            *History
	ops, unknown int
	grants       map[string]int // by kind of lock
	faults       map[string]int
}

// simulate makes one run in virtual time and checks it. With a folder, pictures of illegal histories go there.
func simulate(t *testing.T, s setup, seed uint64, pictures string) outcome {
	t.Helper()
	s.timeout, s.patience = simTimeout, simPatience
	var r *run
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.New()
		defer srv.Close()
		m := &sim{srv: srv, stalls: make(map[string]int), forced: make(map[int64]bool), removed: make(removals)}
		r = newRun(s, m, seed)
		m.run = r
		m.whole(t)
	})
	if pictures != "" {
		pictures = filepath.Join(pictures, fmt.Sprintf("seed-%d", seed))
	}
	bad, err := r.h.Check(s.model, pictures)
	if err != nil {
		t.Fatal(err)
	}
	o := outcome{bad: append(r.bad, bad...), h: r.h, grants: r.grants, faults: r.counts}
	o.ops, o.unknown = r.h.Count()
	return o
}

// whole is the run from begin to end.
func (m *sim) whole(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	eyes, err := client.Connect(ctx, observed, client.Dialer(m.srv.Dial), client.SessionTimeout(30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer eyes.Close()
	w, err := eyes.Watch(ctx, "/", client.Recursive)
	if err != nil {
		t.Fatal(err)
	}
	// Observer; owned by the run, which waits for it; ends with ctx.
	m.watched.Go(func() { m.observe(ctx, w) })
	if err := m.begin(ctx); err != nil {
		t.Fatal(err)
	}
	if m.counter != 0 {
		m.wind()
	}
	m.start()
	rng := m.rand(ofFaults)
	until := time.Now().Add(time.Duration(15+rng.IntN(30)) * time.Second)
	pause := time.Duration(500+rng.IntN(2500)) * time.Millisecond // between faults, on average
	if rng.IntN(16) == 0 {
		m.quiet = true
	}
	for time.Now().Before(until) {
		pass(time.Duration(rng.ExpFloat64() * float64(pause)))
		if !m.quiet {
			m.fault(rng)
		}
	}
	for _, f := range m.heal {
		f()
	}
	m.finish()
	for _, w := range m.srv.Watches() {
		if w.SessionID != eyes.SessionID() && !m.keepsWatch(w) {
			m.violate(LeftOver, w.Path, fmt.Sprintf("watch %+v", w))
		}
	}
	m.closeClients()
	cancel()
	m.watched.Wait()
	if len(m.grants) == 0 {
		m.violate(Liveness, "", "nobody was granted anything")
	}
}

// keepsWatch says whether a watch may stay: a waiter has taken it back, and the server keeps its registration on the znode that says how
// many permits there are, one for each connection, until that is written again.
func (m *sim) keepsWatch(w zktest.Watch) bool {
	p := slices.Index(m.paths, w.Path)
	return p >= 0 && m.sites[p].kind == numbered && w.Kind == zktest.WatchData
}

// wind makes the paths, with their counters where the setup wants them.
func (m *sim) wind() {
	_, _ = m.srv.Create("/locks", nil, proto.ModePersistent) // cannot fail: the server is new
	for _, path := range m.paths {
		_, _ = m.srv.Create(path, nil, proto.ModePersistent)
		m.srv.SetCounter(path, m.counter)
	}
}

func (m *sim) connect(ctx context.Context, i int) (*client.Client, error) {
	servers := members[i%len(members)] + "," + members[(i+1)%len(members)]
	rng := m.rand(ofSetup + 300 + uint64(i))
	return client.Connect(ctx, servers, client.Dialer(m.srv.Dial), client.SessionTimeout(simTimeout), client.Rand(rng.Uint64))
}

func (m *sim) children(path string) ([]string, error) {
	return withoutCounter(m.srv.Children(path)), nil
}

func (m *sim) identify(path string) Node {
	_, st, _ := m.srv.Get(path) // of a znode that is gone the Stat is zero
	return Node{path, st.Czxid, st.EphemeralOwner}
}

func (m *sim) settle(d time.Duration) { pass(d) }

// observe notes the ends of sessions: of each lock znode that has gone with its session. Their events come at the instant of
// virtual time at which it happens.
func (m *sim) observe(ctx context.Context, w *client.Watcher) {
	nodes := make(map[string]Node)
	for ev, err := range w.Events(ctx) {
		at := m.h.Instant()
		switch {
		case err != nil:
			if ctx.Err() == nil {
				m.violate(Strange, "", "observer: "+err.Error())
			}
			return
		case ev.Type == client.EventGap:
			m.violate(Strange, "", "observer: events are missing")
		case ev.Type == client.EventNodeCreated:
			nodes[ev.Path] = m.identify(ev.Path)
		case ev.Type == client.EventNodeDeleted:
			node := nodes[ev.Path]
			if now := m.identify(ev.Path); now.Zxid != 0 && now.Zxid == node.Zxid {
				continue // what has gone is one of the same name before it, which did not live long enough to be looked at
			}
			node.Path = ev.Path
			m.gone(node, at)
			delete(nodes, ev.Path)
		}
	}
}

// gone notes the end of a znode, unless its owner or an operator has deleted it. Of one that existed too short a time for a look at
// its owner it is not known; and a loss that was none only makes the checker more lenient.
func (m *sim) gone(node Node, at Stamp) {
	path := m.home(node.Path)
	if path == "" {
		return
	}
	if node.Zxid != 0 {
		m.h.Gone(node)
	}
	for _, s := range m.srv.Sessions() {
		if s.ID == node.Owner {
			return
		}
	}
	m.mu.Lock()
	removed, forced := m.removed.has(node), m.forced[node.Owner]
	m.mu.Unlock()
	if !removed {
		m.h.Add(Op{Client: lostRow, Path: path, Kind: Lost, Nodes: []Node{node}, Result: OK, Call: at, Evicted: forced})
	}
}

// Rows of the picture for what the harness does.
const (
	lostRow     = 1001
	operatorRow = 1002
)
