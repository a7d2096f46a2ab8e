package checker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/faultproxy"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

const (
	realTimeout  = 2 * time.Second
	realPatience = time.Minute
	realTime     = 20 * time.Second // how long there are faults
	realMargin   = 250 * time.Millisecond
	look         = 50 * time.Millisecond // between two looks at the queues
)

// real is a real server, with a proxy before each client.
type real struct {
	*run
	addr    string
	proxies []*faultproxy.Proxy
	eyes    *client.Client // without a proxy
	watched sync.WaitGroup

	mu      sync.Mutex // guards what follows
	alive   map[string]Stamp
	nodes   map[string]Node
	removed removals
	healing []*time.Timer
	unclear []Op // losses, if the sessions of the znodes have ended
}

// TestRecipesOnServer has the recipes go through faults of the network on a real server, in real time.
func TestRecipesOnServer(t *testing.T) {
	ens := zkserver.Require(t, zkserver.Options{TickTime: 500 * time.Millisecond})
	m := &real{addr: ens.ConnectString(), alive: make(map[string]Stamp), nodes: make(map[string]Node), removed: make(removals)}
	m.run = newRun(setup{make: newRecipe, kinds: everyKind, each: true, multi: true, model: LockModel(), timeout: realTimeout,
		patience: realPatience, lengthy: -0.7}, m, *firstSeed)
	m.h.Margin = realMargin
	begun := time.Now()
	m.whole(t)
	bad, err := m.h.Check(m.model, filepath.Join(pictures(t), "server"))
	if err != nil {
		t.Fatal(err)
	}
	o := outcome{bad: append(m.bad, bad...), h: m.h}
	o.ops, o.unknown = m.h.Count()
	report(t, "TestRecipesOnServer", *firstSeed, o)
	total, lines := describe(m.counts)
	counted, by := describe(m.grants)
	t.Logf("seed %d, %v: 1 history, %d operations of which %d with unknown outcome, %d faults, %d violations; %d counted\n  of these:%s\n  faults:%s",
		*firstSeed, time.Since(begun).Round(time.Second), o.ops, o.unknown, total, len(o.bad), counted, by, lines)
}

// whole is the run from begin to end.
func (m *real) whole(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var err error
	if m.eyes, err = client.Connect(ctx, m.addr, client.SessionTimeout(10*time.Second)); err != nil {
		t.Fatal(err)
	}
	defer m.eyes.Close()
	if _, _, err := m.eyes.Create(ctx, "/locks", nil, client.ModePersistent, nil); err != nil {
		t.Fatal(err)
	}
	w, err := m.eyes.Watch(ctx, "/locks", client.Recursive)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.begin(ctx); err != nil {
		t.Fatal(err)
	}
	// Observer, looker and judge; owned by the run, which waits for them; they end with ctx.
	m.watched.Go(func() { m.observe(ctx, w) })
	m.watched.Go(func() { m.look(ctx) })
	m.watched.Go(func() {
		for rest(ctx, look) == nil {
			_ = m.judge(ctx) // what it could not find out it is asked once more
		}
	})
	m.start()
	rng := m.rand(ofFaults)
	for until := time.Now().Add(realTime); time.Now().Before(until); {
		pass(time.Duration(rng.ExpFloat64() * float64(400*time.Millisecond)))
		m.fault(ctx, rng)
	}
	m.mu.Lock()
	for _, timer := range m.healing {
		timer.Stop()
	}
	m.mu.Unlock()
	for _, p := range m.proxies {
		if err := p.Heal(); err != nil {
			t.Fatal(err)
		}
	}
	m.finish()
	m.closeClients()
	cancel()
	m.watched.Wait()
	if err := m.judge(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, p := range m.proxies {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

func (m *real) connect(ctx context.Context, i int) (*client.Client, error) {
	p, err := faultproxy.Listen(m.addr, faultproxy.Options{})
	if err != nil {
		return nil, err
	}
	m.proxies = append(m.proxies, p)
	rng := m.rand(ofSetup + 300 + uint64(i))
	return client.Connect(ctx, p.Addr(), client.SessionTimeout(realTimeout), client.Rand(rng.Uint64), client.Backoff(10*time.Millisecond, 200*time.Millisecond))
}

func (m *real) children(path string) ([]string, error) {
	g := m.eyes.Group()
	g.Sync(path)
	kids := g.Children(path)
	_ = g.Do(m.late) // kids has the error that matters
	names, _, err := kids.Names()
	if errors.Is(err, client.ErrNoNode) {
		return nil, nil
	}
	return withoutCounter(names), err
}

func (m *real) identify(path string) Node {
	st, _, _ := m.eyes.Exists(m.late, path) // of a znode that is gone, or cannot be asked for, the Stat is zero
	return Node{path, st.Czxid, st.EphemeralOwner}
}

// settle waits until the queues are empty: what sessions that were given up have left goes with them.
func (m *real) settle(time.Duration) {
	for m.late.Err() == nil {
		left := 0
		for _, folder := range m.folders() {
			names, err := m.children(folder)
			if left += len(names); err != nil {
				left++
			}
		}
		if left == 0 {
			return
		}
		pass(look)
	}
}

// folders is where all znodes of locks are.
func (m *real) folders() (all []string) {
	for _, s := range m.sites {
		all = append(all, s.folders()...)
	}
	return all
}

// fault breaks something.
func (m *real) fault(ctx context.Context, rng *rand.Rand) {
	p := m.proxies[rng.IntN(len(m.proxies))]
	start, name := m.h.Now(), ""
	switch rng.IntN(9) {
	case 0:
		name = "connection cut"
		p.Cut()
	case 1, 2:
		name = "replies held back, then connection cut"
		p.Stall(faultproxy.ToClient)
		m.healAfter(p, time.Duration(rng.IntN(int(realTimeout/4))), true)
	case 3, 4:
		name = "silence"
		p.Stall()
		m.healAfter(p, time.Duration([]float64{0.5, 0.9, 1.5}[rng.IntN(3)]*float64(realTimeout)), false)
	case 5:
		name = "connection refused"
		if p.Refuse() != nil {
			return // it is refused already
		}
		p.Cut()
		m.healAfter(p, time.Duration(rng.IntN(int(realTimeout))), false)
	case 6:
		name = "all connections cut"
		for _, p := range m.proxies {
			p.Cut()
		}
	case 7:
		name = "lock znode deleted by an operator"
		if !m.remove(ctx, rng.IntN(len(m.paths)), rng.IntN(3)) {
			return
		}
	case 8:
		name = "delay"
		p.Delay(time.Duration(rng.IntN(int(100 * time.Millisecond))))
		m.healAfter(p, time.Duration(rng.IntN(int(realTimeout))), false)
	}
	m.run.mu.Lock()
	m.counts[name]++
	m.run.mu.Unlock()
	m.h.Note(Note{Name: name, Start: start, End: m.h.Now()})
}

// healAfter ends a fault after a time, and before that cuts the connection if it is to be lost.
func (m *real) healAfter(p *faultproxy.Proxy, d time.Duration, cut bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.healing = append(m.healing, time.AfterFunc(d, func() {
		if cut {
			p.Cut()
		}
		if err := p.Heal(); err != nil {
			m.violate(Strange, "", "proxy: "+err.Error())
		}
	}))
}

// remove deletes the i-th znode of a queue, as an operator, and says whether it did.
func (m *real) remove(ctx context.Context, p, i int) bool {
	path, folder := m.paths[p], m.sites[p].folder()
	names, err := m.children(folder)
	queue := contenders(names)
	if err != nil || i >= len(queue) {
		return false
	}
	node := m.identify(folder + "/" + queue[i].name)
	if node.Zxid == 0 {
		return false
	}
	m.mu.Lock()
	m.removed.add(node)
	m.mu.Unlock()
	call := m.h.Now()
	err = m.eyes.Delete(ctx, node.Path, client.AnyVersion)
	m.h.Add(Op{Client: operatorRow, Path: path, Kind: Lost, Nodes: []Node{node}, Result: OK, Call: call, Evicted: true})
	return err == nil
}

// look notes again and again which znodes there are: a loss that the observer hears of later has come after the last look.
func (m *real) look(ctx context.Context) {
	for ctx.Err() == nil {
		for _, s := range m.sites {
			at := m.h.Now()
			names, err := m.children(s.folder())
			if err != nil {
				continue
			}
			m.mu.Lock()
			for _, name := range names {
				m.alive[s.folder()+"/"+name] = at
			}
			m.mu.Unlock()
		}
		_ = rest(ctx, look) // the loop asks ctx
	}
}

// observe notes the ends of sessions, as the observer of the in-memory server does. Whether a session lives, the server tells.
func (m *real) observe(ctx context.Context, w *client.Watcher) {
	for ev, err := range w.Events(ctx) {
		switch {
		case err != nil:
			if ctx.Err() == nil {
				m.violate(Strange, "", "observer: "+err.Error())
			}
			return
		case ev.Type == client.EventGap:
			m.violate(Strange, "", "observer: events are missing")
		case ev.Type == client.EventNodeCreated:
			node := m.identify(ev.Path)
			m.mu.Lock()
			m.nodes[ev.Path], m.alive[ev.Path] = node, max(m.alive[ev.Path], 1)
			m.mu.Unlock()
		case ev.Type == client.EventNodeDeleted:
			m.gone(ev.Path)
		}
	}
}

// gone notes the end of a znode, which is a loss unless an operator has deleted it, or its owner, whose session lives then.
func (m *real) gone(path string) {
	m.mu.Lock()
	node, at := m.nodes[path], m.alive[path]
	node.Path = path
	removed := m.removed.has(node)
	m.mu.Unlock()
	home := m.home(path)
	if home == "" {
		return
	}
	if node.Zxid != 0 {
		m.h.Gone(node)
	}
	if removed {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unclear = append(m.unclear, Op{Client: lostRow, Path: home, Kind: Lost, Nodes: []Node{node}, Result: OK, Call: at, Return: m.h.Now()})
}

// judge asks the server, once for all znodes that have gone since, which sessions live. A session that has ended only after its znode was
// deleted makes a loss that was none, and the checker more lenient.
func (m *real) judge(ctx context.Context) error {
	m.mu.Lock()
	unclear := m.unclear
	m.mu.Unlock()
	if len(unclear) == 0 {
		return nil
	}
	dump, err := zkserver.Ask(ctx, m.addr, "dump")
	if err != nil {
		return err
	}
	for _, op := range unclear {
		if !strings.Contains(dump, fmt.Sprintf("0x%x", uint64(op.Nodes[0].Owner))) {
			m.h.Add(op)
		}
	}
	m.mu.Lock()
	m.unclear = m.unclear[len(unclear):]
	m.mu.Unlock()
	return nil
}
