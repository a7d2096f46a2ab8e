package cache_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/cache"
	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

var (
	modelSeed  = flag.Uint64("model.seed", 0, "the only seed that TestModel runs")
	modelCount = flag.Int("model.count", 100, "how many seeds TestModel runs")
)

// slowConn is a connection on which every few bytes take their time, so that the events of one transaction come apart, and
// replies come between the events of many.
type slowConn struct {
	net.Conn
	mu  sync.Mutex // guards rnd
	rnd *rand.Rand
}

func (c *slowConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	n, wait := 1+c.rnd.IntN(120), time.Duration(c.rnd.IntN(400))*time.Microsecond
	c.mu.Unlock()
	pass(wait)
	return c.Conn.Read(p[:min(n, len(p))])
}

// slowly dials srv with slow connections.
func slowly(srv *zktest.Server, seed uint64) client.Option {
	return client.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		nc, err := srv.Dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &slowConn{Conn: nc, rnd: rand.New(rand.NewPCG(seed, 1))}, nil
	})
}

// model changes the tree of a server at random and remembers all states that it has had.
type model struct {
	t      *testing.T
	srv    *zktest.Server
	writer *client.Client
	rnd    *rand.Rand
	states []map[string]string // of the whole subtree: path to what render makes of the znode
}

const (
	modelRoot  = "/m"
	readerAddr = "reader:2181"
)

// render is all that a snapshot tells of a znode, but for Aversion.
func render(data []byte, st client.Stat) string {
	st.Aversion = 0
	return fmt.Sprintf("%s %+v", data, st)
}

func (m *model) record() {
	state := map[string]string{}
	var walk func(p string)
	walk = func(p string) {
		data, st, err := m.srv.Get(p)
		if err != nil {
			return
		}
		state[p] = render(data, st)
		for _, name := range m.srv.Children(p) {
			walk(path.Join(p, name))
		}
	}
	walk(modelRoot)
	m.states = append(m.states, state)
}

// anyPath returns a path that may exist.
func (m *model) anyPath() string {
	p := modelRoot
	for range m.rnd.IntN(4) {
		p += "/" + string(rune('a'+m.rnd.IntN(4)))
	}
	return p
}

// change makes one change, or tries to.
func (m *model) change(i int) {
	ctx, data := m.t.Context(), []byte(fmt.Sprint(i))
	p, q := m.anyPath(), m.anyPath()
	switch m.rnd.IntN(8) {
	case 0, 1:
		_, _ = m.srv.Create(p, data, client.ModePersistent)
	case 2:
		_ = m.srv.Set(p, data)
	case 3:
		_ = m.srv.Delete(p)
	case 4:
		_, _ = m.writer.Multi(ctx, client.SetOp(p, data, -1), client.SetOp(q, data, -1))
	case 5:
		_, _ = m.writer.Multi(ctx, client.DeleteOp(p, -1), client.SetOp(q, data, -1))
	case 6:
		_, _ = m.writer.Multi(ctx, client.DeleteOp(p, -1), client.CreateOp(p, data, client.ModePersistent, nil),
			client.CreateOp(p+"/a", data, client.ModePersistent, nil))
	case 7:
		_, _ = m.writer.Multi(ctx, client.CreateOp(p, data, client.ModePersistent, nil), client.DeleteOp(q, -1))
	}
	m.record()
}

// drag makes the server take its time between the requests of the caches, so that changes come in between.
func (m *model) drag(seed uint64) {
	var mu sync.Mutex // guards rnd
	rnd := rand.New(rand.NewPCG(seed, 2))
	m.srv.OnRequest(func(req *zktest.Request) (v zktest.Verdict) {
		mu.Lock()
		defer mu.Unlock()
		if req.Member == readerAddr && rnd.IntN(3) == 0 {
			v.Delay = time.Duration(rnd.IntN(2000)) * time.Microsecond
		}
		return v
	})
}

// follow reads the updates of a cache until it is closed, and holds every snapshot against the states that there were.
func follow(c *cache.Cache) (snapshots []*cache.Snapshot, err error) {
	mirror := map[string]cache.Node{}
	for u, end := range c.Updates(context.Background()) {
		if end != nil {
			if !errors.Is(end, cache.ErrClosed) {
				err = errors.Join(err, end)
			}
			return snapshots, err
		}
		for ch := range u.Changes() {
			if _, ok := mirror[ch.Path]; ok != (ch.Type != cache.Added) {
				err = errors.Join(err, fmt.Errorf("%v %s, but known: %v", ch.Type, ch.Path, ok))
			}
			if delete(mirror, ch.Path); ch.Type != cache.Removed {
				mirror[ch.Path] = ch.New
			}
		}
		if len(mirror) != u.New.Len() {
			err = errors.Join(err, fmt.Errorf("the changes make %d znodes, want %d", len(mirror), u.New.Len()))
		}
		for p, n := range u.New.All() {
			if m := mirror[p]; string(m.Data) != string(n.Data) || m.Stat.Mzxid != n.Stat.Mzxid {
				err = errors.Join(err, fmt.Errorf("the changes make %s %q, want %q", p, m.Data, n.Data))
			}
		}
		snapshots = append(snapshots, u.New)
	}
	return snapshots, err
}

// judge says whether each snapshot is one of the states, none of them earlier than the one before.
func (m *model) judge(snapshots []*cache.Snapshot, depth int) {
	at, exact := 0, 0
	for i, s := range snapshots {
		if i > 0 && s.Zxid() < snapshots[i-1].Zxid() {
			m.t.Errorf("the zxid goes back: %#x, %#x", snapshots[i-1].Zxid(), s.Zxid())
		}
		if s.Mixed() {
			continue
		}
		exact++
		from := at
		for ; at < len(m.states) && !same(s, m.states[at], depth); at++ {
		}
		if at == len(m.states) {
			m.t.Errorf("snapshot %d of %d is no state that there was after state %d:\n%s", i, len(snapshots), from, nearest(s, m.states[from:], depth))
			return
		}
	}
	m.t.Logf("%d snapshots, %d of one moment, of %d states", len(snapshots), exact, len(m.states))
	if exact == 0 {
		m.t.Error("no snapshot of one moment")
	}
}

// nearest says how a snapshot differs from the state that is most like it.
func nearest(s *cache.Snapshot, states []map[string]string, depth int) (text string) {
	least := 1 << 30
	for i, state := range states {
		var out []string
		for p, n := range s.All() {
			if got := render(n.Data, n.Stat); got != state[p] {
				out = append(out, fmt.Sprintf("%s is %s, want %s", p, got, state[p]))
			}
		}
		for p := range state {
			if _, ok := s.Get(p); !ok && strings.Count(p[len(modelRoot):], "/") <= depth {
				out = append(out, p+" is missing")
			}
		}
		if len(out) < least {
			least, text = len(out), fmt.Sprintf("compared with state %d:\n%s", i, strings.Join(out, "\n"))
		}
	}
	return text
}

func same(s *cache.Snapshot, state map[string]string, depth int) bool {
	n := 0
	for p, want := range state {
		if strings.Count(p[len(modelRoot):], "/") > depth {
			continue
		}
		n++
		if node, ok := s.Get(p); !ok || render(node.Data, node.Stat) != want {
			return false
		}
	}
	return n == s.Len()
}

// Whatever happens: every snapshot is a state that there was, in their order, and the last one is the newest.
func TestModel(t *testing.T) {
	if *modelSeed != 0 {
		t.Run(fmt.Sprint(*modelSeed), func(t *testing.T) { runModel(t, *modelSeed) })
		return
	}
	// These have shown what a gap does to reads in flight, and to a znode that had no children before it.
	seeds := []uint64{1226858195897610342, 16018998050091247400, 16479836805741123807, 15703195039478926839}
	for range *modelCount {
		seeds = append(seeds, rand.Uint64())
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runModel(t, seed) })
	}
}

func runModel(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 0))
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		m := &model{t: t, srv: srv, writer: connectTo(t, srv, "writer:2181"), rnd: rnd}
		m.record()
		if rnd.IntN(2) == 0 {
			m.drag(seed)
		}
		cl := connectTo(t, srv, readerAddr, slowly(srv, seed), client.EventBuffer(2+rnd.IntN(40)), client.SessionTimeout(timeout))
		depths := []int{100, rnd.IntN(4)}
		var caches []*cache.Cache
		var results []<-chan func()
		for _, depth := range depths {
			c := open(t, cl, modelRoot, cache.Depth(depth), cache.Patience(time.Duration(rnd.IntN(20))*time.Millisecond))
			caches = append(caches, c)
			results = append(results, spawn(func() func() {
				snapshots, err := follow(c)
				return func() {
					must(t, err)
					m.judge(snapshots, depth)
				}
			}))
		}
		for i := range 200 {
			m.change(i)
			switch rnd.IntN(60) {
			case 0:
				srv.Member(readerAddr).DropConnections()
			case 1:
				srv.ExpireSession(cl.SessionID())
			}
			if rnd.IntN(3) > 0 {
				pass(time.Duration(rnd.ExpFloat64() * float64(2*time.Millisecond)))
			}
			if rnd.IntN(40) == 0 {
				pass(200 * time.Millisecond)
			}
		}
		for i, c := range caches {
			must(t, c.Sync(t.Context()))
			if s := c.Snapshot(); !same(s, m.states[len(m.states)-1], depths[i]) {
				t.Errorf("the last snapshot is not the newest state:\n%s", text(s))
			}
			equal(t, "current", c.State().Current, true)
			c.Close()
			(<-results[i])()
		}
	}, zktest.Imitate(zktest.Version(rnd.IntN(2))))
}
