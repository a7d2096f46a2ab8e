package checker

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// fault is something that goes wrong: do makes it so, and says whether it could.
type fault struct {
	name   string
	weight int
	do     func(m *sim, rng *rand.Rand) bool
}

// usual is the mixture of faults of most runs.
var usual = []fault{
	{"connections of a member dropped", 4, func(m *sim, rng *rand.Rand) bool { m.member(rng).DropConnections(); return true }},
	{"connections of all members dropped", 2, func(m *sim, _ *rand.Rand) bool { m.each((*zktest.Member).DropConnections); return true }},
	{"connection closed, reply lost", 5, func(m *sim, rng *rand.Rand) bool { m.later(rng, m.srv.CloseAfter(m.match(rng)).Remove); return true }},
	{"connection closed before the request", 3, func(m *sim, rng *rand.Rand) bool { m.later(rng, m.srv.CloseBefore(m.match(rng)).Remove); return true }},
	{"request held", 2, func(m *sim, rng *rand.Rand) bool { m.later(rng, m.srv.Hold(m.match(rng)).Release); return true }},
	{"reply held", 2, func(m *sim, rng *rand.Rand) bool { m.later(rng, m.srv.HoldReply(m.match(rng)).Release); return true }},
	{"late commit of a lost write", 3, lateCommit},
	{"member cut from the leader", 3, cutMember},
	{"member stalled", 2, func(m *sim, rng *rand.Rand) bool { m.stall(m.member(rng), someTime(rng)); return true }},
	{"all members stalled", 2, func(m *sim, rng *rand.Rand) bool {
		d := time.Duration((0.5 + rng.Float64()) * float64(simTimeout))
		m.each(func(x *zktest.Member) { m.stall(x, d) })
		return true
	}},
	{"member refuses connections", 2, func(m *sim, rng *rand.Rand) bool {
		x := m.member(rng)
		x.Refuse(zktest.Refusal(1 + rng.IntN(3)))
		m.later(rng, func() { x.Refuse(zktest.Accept) })
		return true
	}},
	{"session ended by an operator", 2, endSession},
	{"lock znode deleted by an operator", 2, func(m *sim, rng *rand.Rand) bool { return m.remove(rng.IntN(len(m.paths)), rng.IntN(3)) }},
	{"lock znode written by an operator", 2, writeZnode},
	{"queue deleted by an operator", 1, func(m *sim, rng *rand.Rand) bool { return m.wipe(rng.IntN(len(m.paths))) }},
	{"containers swept", 1, func(m *sim, _ *rand.Rand) bool { return m.srv.Sweep() > 0 }},
}

// fault makes one of the setup's faults.
func (m *sim) fault(rng *rand.Rand) {
	total := 0
	for _, f := range m.faults {
		total += f.weight
	}
	n := rng.IntN(total)
	for _, f := range m.faults {
		if n -= f.weight; n < 0 {
			start := m.h.Now()
			if f.do(m, rng) {
				m.run.mu.Lock()
				m.counts[f.name]++
				m.run.mu.Unlock()
				m.h.Note(Note{Name: f.name, Start: start, End: m.h.Now()})
			}
			return
		}
	}
}

func (m *sim) member(rng *rand.Rand) *zktest.Member {
	return m.srv.Member(members[rng.IntN(len(members))])
}

func (m *sim) each(f func(*zktest.Member)) {
	for _, name := range members {
		f(m.srv.Member(name))
	}
}

// match chooses a request of a client: more often than not one that writes.
func (m *sim) match(rng *rand.Rand) zktest.Match {
	ops := []proto.Op{proto.OpCreate2, proto.OpCreate2, proto.OpDelete, proto.OpDelete, proto.OpMulti, proto.OpSetData, proto.OpSync, proto.OpGetChildren2, proto.OpGetData}
	if len(m.kinds) > 0 && m.kinds[0] == fixeds {
		ops = []proto.Op{proto.OpMulti, proto.OpMulti, proto.OpMulti, proto.OpMulti, proto.OpDelete, proto.OpDelete, proto.OpSync, proto.OpExists, proto.OpGetData}
	}
	return zktest.Match{Op: ops[rng.IntN(len(ops))], Member: members[rng.IntN(len(members))], Skip: rng.IntN(3)}
}

// after runs f once: after a time, or at the end of the run.
func (m *sim) after(d time.Duration, f func()) {
	var once sync.Once
	t := time.AfterFunc(d, func() { once.Do(f) })
	m.heal = append(m.heal, func() { t.Stop(); once.Do(f) })
}

func someTime(rng *rand.Rand) time.Duration {
	return time.Duration(rng.ExpFloat64() * float64(simTimeout))
}

func (m *sim) later(rng *rand.Rand, f func()) { m.after(someTime(rng), f) }

// stall makes a member silent for a time, or for longer if it is to be so for another reason too.
func (m *sim) stall(x *zktest.Member, d time.Duration) {
	change := func(by int) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.stalls[x.Addr()] += by
		x.Stall(m.stalls[x.Addr()] > 0)
	}
	change(1)
	m.after(d, func() { change(-1) })
}

// What sim.busy counts. A write whose commit is late would be answered by a member that hears nothing of commits, so the two faults
// exclude each other.
const (
	aCommit = 1
	aCut    = 1 << 16
)

// lateCommit has a write be executed late, when its connection has broken and its client has come back.
func lateCommit(m *sim, rng *rand.Rand) bool {
	if m.busy.Add(aCommit) >= aCut {
		m.busy.Add(-aCommit)
		return false
	}
	ops := []proto.Op{proto.OpCreate2, proto.OpCreate2, proto.OpDelete, proto.OpMulti, proto.OpSetData}
	if len(m.kinds) > 0 && m.kinds[0] == fixeds {
		ops = []proto.Op{proto.OpMulti, proto.OpMulti, proto.OpDelete}
	}
	x := m.member(rng)
	held := m.srv.HoldCommit(zktest.Match{Op: ops[rng.IntN(len(ops))], Member: x.Addr()})
	d := time.Duration(rng.ExpFloat64() * float64(simTimeout) / 2)
	m.after(d/2, x.DropConnections)
	m.after(d, func() { held.Release(); m.busy.Add(-aCommit) })
	return true
}

func cutMember(m *sim, rng *rand.Rand) bool {
	if m.busy.Add(aCut)%aCut != 0 {
		m.busy.Add(-aCut)
		return false
	}
	x := m.member(rng)
	x.CutFromLeader(true)
	m.after(time.Duration(rng.ExpFloat64()*float64(2*simTimeout)), func() { x.CutFromLeader(false); m.busy.Add(-aCut) })
	return true
}

// endSession ends a session as its deadline would, only sooner than its client can expect.
func endSession(m *sim, rng *rand.Rand) bool {
	id := m.clients[rng.IntN(len(m.clients))].SessionID()
	m.mu.Lock()
	m.forced[id] = true
	m.mu.Unlock()
	return m.srv.ExpireSession(id)
}

func writeZnode(m *sim, rng *rand.Rand) bool {
	s := m.sites[rng.IntN(len(m.sites))]
	names := withoutCounter(m.srv.Children(s.folder()))
	if len(names) == 0 {
		return false
	}
	node, data := s.folder()+"/"+names[rng.IntN(len(names))], []byte("touched")
	if s.kind == plains { // whose data tells whose they are
		data, _, _ = m.srv.Get(node)
	}
	m.touched.Store(node, true)
	return m.srv.Set(node, data) == nil
}

// removals are the znodes that an operator deleted: by path and zxid, since those of one transaction have one zxid, and one path can
// be used again when the znode above is made anew. Of what was gone before anybody looked at it, only the path is known.
type removals map[Node]bool

func (r removals) add(n Node) {
	r[Node{Path: n.Path, Zxid: n.Zxid}], r[Node{Path: n.Path}] = true, true
}

func (r removals) has(n Node) bool { return r[Node{Path: n.Path, Zxid: n.Zxid}] }

// remove deletes the i-th znode of a queue, and says whether it did. When somebody else was faster, perhaps the end of the session, it
// is noted as lost all the same.
func (m *sim) remove(p, i int) bool {
	path, folder := m.paths[p], m.sites[p].folder()
	queue := contenders(m.srv.Children(folder))
	if i >= len(queue) {
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
	err := m.srv.Delete(node.Path)
	m.h.Add(Op{Client: operatorRow, Path: path, Kind: Lost, Nodes: []Node{node}, Result: OK, Call: call, Evicted: true})
	return err == nil
}

// wipe deletes a queue with its parent, so that the numbers begin anew; but not a parent that says how many permits there are, without
// which nobody can get any, nor one of plain names, which would begin anew too.
func (m *sim) wipe(p int) bool {
	some := false
	for m.remove(p, 0) {
		some = true
	}
	return m.sites[p].kind != numbered && m.sites[p].kind != plains && m.srv.Delete(m.sites[p].folder()) == nil || some
}

// describe returns the number of faults and a table of them.
func describe(faults map[string]int) (total int, lines string) {
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		lines += fmt.Sprintf("\n  %6d %s", faults[name], name)
		total += faults[name]
	}
	return total, lines
}
