package client_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// watchModel compares what watchers of all kinds are told, while they come and go at random, with what docs/protocol.md
// sections 11 and 12 say they must be told.
type watchModel struct {
	t     *testing.T
	srv   *zktest.Server
	c     *client.Client
	rnd   *rand.Rand
	nodes map[string]bool
	all   []*modelWatch
	steps []string

	// What has happened while there was no connection: what changed in the data, and the children, of each path.
	offline            bool
	written, relatives map[string]bool
}

// modelWatch is one watch and what it must have been told.
type modelWatch struct {
	kind string // persistent, recursive, get, exists, children
	path string
	many *client.Watcher
	one  *client.Watch
	want []string
}

var modelPaths = []string{"/", "/a", "/a/b", "/a/b/c", "/a/d", "/e"}

func TestWatchModel(t *testing.T) { // C89, C95, C96, C98
	for _, version := range []zktest.Version{zktest.Version380, zktest.Version393} {
		for seed := range uint64(60) {
			t.Run(fmt.Sprintf("%v/%d", version, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					srv := zktest.New(zktest.Imitate(version))
					t.Cleanup(func() { srv.Close() })
					m := &watchModel{t: t, srv: srv, c: connect(t, srv), rnd: rand.New(rand.NewPCG(seed, 1)), nodes: map[string]bool{"/": true}}
					m.run(60)
				})
			})
		}
	}
}

func (m *watchModel) run(steps int) {
	for range steps {
		switch m.rnd.IntN(10) {
		case 0, 1, 2, 3:
			m.set()
		case 4:
			m.reconnect()
		default:
			m.change(m.rnd.IntN(3) + 1)
		}
		m.check()
		m.leftover()
		if m.t.Failed() {
			m.t.Logf("steps:\n%s", strings.Join(m.steps, "\n"))
			return
		}
	}
	for _, w := range m.all {
		w.close()
	}
	m.all = nil
	pass(time.Second)
	m.leftover()
}

// leftover checks that the server has no watch on a path that nobody watches.
func (m *watchModel) leftover() {
	synctest.Wait()
	for _, there := range m.srv.Watches() {
		if !slices.ContainsFunc(m.all, func(w *modelWatch) bool { return w.path == there.Path }) {
			m.t.Errorf("left at the server: %v on %s\nsteps:\n%s", there.Kind, there.Path, strings.Join(m.steps, "\n"))
		}
	}
}

func (m *watchModel) note(format string, args ...any) {
	m.steps = append(m.steps, fmt.Sprintf(format, args...))
}

func (m *watchModel) path() string { return modelPaths[m.rnd.IntN(len(modelPaths))] }

// set makes and closes some watches at once, with their requests crossing.
func (m *watchModel) set() {
	m.srv.Manual(m.rnd.IntN(2) == 0)
	if m.rnd.IntN(3) == 0 {
		op := []proto.Op{proto.OpAddWatch, proto.OpRemoveWatches, proto.OpSetWatches}[m.rnd.IntN(3)]
		m.note("throttle %v", op)
		defer m.srv.Fail(zktest.Match{Op: op, Times: m.rnd.IntN(2) + 1}, proto.ErrThrottled).Remove()
	}
	var made []*modelWatch
	var results []<-chan error
	for range m.rnd.IntN(4) + 1 {
		if len(m.all) > 0 && m.rnd.IntN(3) == 0 {
			i := m.rnd.IntN(len(m.all))
			m.note("close %s %s", m.all[i].kind, m.all[i].path)
			m.all[i].close()
			m.all = slices.Delete(m.all, i, i+1)
			continue
		}
		w := &modelWatch{kind: []string{"persistent", "recursive", "get", "exists", "children"}[m.rnd.IntN(5)], path: m.path()}
		m.note("set %s %s", w.kind, w.path)
		ctx, cancel := context.WithCancel(context.Background())
		results = append(results, spawn(func() error { defer cancel(); return w.set(ctx, m.c) }))
		made = append(made, w)
		if m.rnd.IntN(2) == 0 {
			synctest.Wait()
		}
		if m.rnd.IntN(5) == 0 {
			m.note("cancel it")
			cancel()
		}
		if m.rnd.IntN(4) == 0 {
			m.srv.Step()
		}
	}
	synctest.Wait()
	m.srv.Manual(false)
	for i, w := range made {
		if <-results[i]; w.many != nil || w.one != nil {
			m.all = append(m.all, w)
		}
	}
	pass(time.Second) // what was throttled is done by then
}

func (w *modelWatch) set(ctx context.Context, c *client.Client) (err error) {
	var node client.Node
	switch w.kind {
	case "persistent":
		w.many, err = c.Watch(ctx, w.path, client.Persistent)
	case "recursive":
		w.many, err = c.Watch(ctx, w.path, client.Recursive)
	case "get":
		_, w.one, err = c.GetWatch(ctx, w.path)
	case "children":
		_, w.one, err = c.ChildrenWatch(ctx, w.path)
	case "exists":
		if node, w.one, err = c.ExistsWatch(ctx, w.path); node.Exists {
			w.kind = "get" // which waits for the same
		}
	}
	return err
}

func (w *modelWatch) close() {
	if w.many != nil {
		w.many.Close()
	} else {
		w.one.Close()
	}
}

// change makes n changes, and has everybody expect their events.
func (m *watchModel) change(n int) {
	for range n {
		path := m.path()
		parent := path[:max(strings.LastIndexByte(path, '/'), 1)]
		below := slices.ContainsFunc(modelPaths, func(p string) bool {
			return m.nodes[p] && p != path && strings.HasPrefix(p, strings.TrimSuffix(path, "/")+"/")
		})
		switch {
		case m.nodes[path] && (below || path == "/" || m.rnd.IntN(2) == 0):
			m.note("change %s", path)
			must(m.t, m.srv.Set(path, nil))
			m.happened("node data changed", path)
		case m.nodes[path]:
			m.note("delete %s", path)
			must(m.t, m.srv.Delete(path))
			m.nodes[path] = false
			m.happened("node deleted", path)
			m.happened("node children changed", parent)
		case m.nodes[parent]:
			m.note("create %s", path)
			create(m.t, m.srv, path, "")
			m.nodes[path] = true
			m.happened("node created", path)
			m.happened("node children changed", parent)
		}
	}
}

// happened has those expect an event who must be told.
func (m *watchModel) happened(what, path string) {
	if m.offline {
		if what == "node children changed" {
			m.relatives[path] = true
		} else {
			m.written[path] = true
			m.relatives[path] = m.relatives[path] || what == "node created"
		}
		return
	}
	children := what == "node children changed"
	for _, w := range m.all {
		told := w.path == path
		switch w.kind {
		case "recursive":
			told = !children && (told || w.path == "/" || strings.HasPrefix(path, w.path+"/"))
		case "get", "exists":
			told = told && !children
		case "children":
			told = told && (children || what == "node deleted")
		}
		if told && (w.one == nil || len(w.want) == 0) {
			w.want = append(w.want, what+" "+path)
		}
	}
}

// reconnect breaks the connection, with changes while there is none.
func (m *watchModel) reconnect() {
	m.note("disconnect")
	m.srv.Refuse(zktest.RefuseClose)
	m.srv.DropConnections()
	synctest.Wait()
	m.offline, m.written, m.relatives = true, map[string]bool{}, map[string]bool{}
	m.change(m.rnd.IntN(4))
	m.offline = false
	m.note("reconnect")
	m.srv.Refuse(zktest.Accept)
	for change := range m.c.States(context.Background()) {
		if change.State == client.StateConnected {
			break
		}
	}
	for _, w := range m.all {
		missed := ""
		switch {
		case w.many != nil:
			missed = "gap"
		case len(w.want) > 0:
		case w.kind == "exists" && m.nodes[w.path]:
			missed = "node created"
		case w.kind == "exists":
		case !m.nodes[w.path]:
			missed = "node deleted"
		case w.kind == "get" && m.written[w.path]:
			missed = "node data changed"
		case w.kind == "children" && m.relatives[w.path]:
			missed = "node children changed"
		}
		if missed != "" {
			w.want = append(w.want, missed+" "+w.path)
		}
	}
}

// check compares what all watches have been told. One-shot watches that are used up are dropped.
func (m *watchModel) check() {
	synctest.Wait()
	m.all = slices.DeleteFunc(m.all, func(w *modelWatch) bool {
		got := ""
		if w.many != nil {
			got = heard(m.t, w.many)
			if len(w.want) == 0 && got == "gap "+w.path {
				got = "" // requests have crossed: better one gap too many
			}
		} else if fired(w.one) {
			got = w.one.Event().Type.String() + " " + w.one.Event().Path
		}
		if want := strings.Join(w.want, ", "); got != want {
			m.t.Errorf("%s %s was told %q, want %q", w.kind, w.path, got, want)
		}
		over := w.one != nil && len(w.want) > 0
		w.want = nil
		return over
	})
}
