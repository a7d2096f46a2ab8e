package checker

import (
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
)

// story is a history of one path, written by hand.
type story struct {
	name    string
	ops     []Op
	nodes   map[string]int // znodes and the holds that they stood for
	unsure  []string       // znodes that may stand for nobody
	illegal bool
}

// at gives an operation its time: from call to end, 0 for open.
func at(call, end Stamp, op Op) Op {
	op.Path, op.Call, op.Return = "/l", call, end
	return op
}

func granted(hold int, token int64) Op {
	return Op{Kind: Lock, Hold: hold, Result: OK, Token: Token{Zxid: token}}
}

func shared(hold int, token int64) Op {
	op := granted(hold, token)
	op.Shared = true
	return op
}

func unlocked(hold int, r Result) Op   { return Op{Kind: Unlock, Hold: hold, Result: r} }
func downgraded(hold int, r Result) Op { return Op{Kind: Downgrade, Hold: hold, Result: r} }
func used(token int64, r Result) Op {
	return Op{Kind: Use, Result: r, Token: Token{Zxid: token}}
}

func lost(node string, evicted bool) Op {
	return Op{Kind: Lost, Result: OK, Evicted: evicted, Nodes: []Node{{Path: node, Zxid: 1}}}
}

func holders(write bool, nodes ...string) Op {
	op := Op{Kind: Holders, Result: OK, Write: write}
	for _, n := range nodes {
		op.Nodes = append(op.Nodes, Node{Path: n})
	}
	return op
}

// history makes one of a story.
func (s story) history() *History {
	h := NewHistory()
	for _, op := range s.ops {
		h.mu.Lock()
		h.ops = append(h.ops, op)
		h.mu.Unlock()
	}
	for node, hold := range s.nodes {
		h.Bind(Node{Path: node}, hold)
	}
	for _, node := range s.unsure {
		h.Bind(Node{Path: node}, Nobody)
	}
	h.end = 1000
	return h
}

func tell(t *testing.T, m porcupine.Model, stories []story) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			bad, err := s.history().Check(m, "")
			if err != nil {
				t.Fatal(err)
			}
			if illegal := slices.ContainsFunc(bad, func(v Violation) bool { return v.Fault == Illegal }); illegal != s.illegal {
				t.Errorf("illegal: %v, want %v; %v", illegal, s.illegal, bad)
			}
		})
	}
}

func TestMutexModel(t *testing.T) {
	tell(t, LockModel(), []story{
		{name: "one after the other", ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, unlocked(1, OK)), at(5, 6, granted(2, 6))}},
		{name: "two at once", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, granted(2, 6)), at(5, 6, unlocked(1, OK))}},
		{name: "the second waits for the first", ops: []Op{at(1, 2, granted(1, 5)), at(1, 9, granted(2, 6)), at(5, 6, unlocked(1, OK))}},
		{name: "token falls", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, unlocked(1, OK)), at(5, 6, granted(2, 4))}},
		{name: "token stays", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, unlocked(1, OK)), at(5, 6, granted(2, 5))}},
		{name: "release of unknown outcome was carried out", ops: []Op{at(1, 2, granted(1, 5)), at(3, 0, unlocked(1, Unknown)), at(5, 6, granted(2, 6))}},
		{name: "release of unknown outcome was not", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(7, 0, unlocked(1, Unknown)), at(5, 6, granted(2, 6))}},
		{name: "release is pending, and the znode is seen gone only later", ops: []Op{at(1, 2, granted(1, 5)), at(3, 0, unlocked(1, Unknown)),
			at(4, 5, holders(true, "/l/a")), at(8, 9, granted(2, 6))}, nodes: map[string]int{"/l/a": 1, "/l/b": 2}},
		{name: "released twice", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, unlocked(1, OK)), at(5, 6, unlocked(1, OK))}},
		{name: "not held", ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, lost("/l/a", false)), at(5, 6, unlocked(1, NotHeld))}, nodes: map[string]int{"/l/a": 1}},
		{name: "not held though it was", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(5, 6, unlocked(1, NotHeld))}},
		{name: "session ended", ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, lost("/l/a", false)), at(5, 6, granted(2, 6))}, nodes: map[string]int{"/l/a": 1}},
		{name: "another's session ended", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, lost("/l/b", false)), at(5, 6, granted(2, 6))},
			nodes: map[string]int{"/l/a": 1, "/l/b": 3}},
		{name: "refused lock", ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, Op{Kind: Lock, Hold: 2, Result: NotGranted}), at(5, 6, unlocked(1, OK))}},
		{name: "lock of unknown outcome", ops: []Op{at(1, 0, Op{Kind: Lock, Hold: 2, Result: Unknown}), at(3, 4, holders(true, "/l/x")), at(5, 6, granted(1, 5))}},
		{name: "granted behind the back of an operator who had deleted the znode", illegal: true, nodes: map[string]int{"/l/a": 1, "/l/b": 2}, ops: []Op{
			at(1, 2, granted(1, 5)), at(2, 9, granted(2, 6)), at(3, 4, lost("/l/b", true)), at(7, 8, unlocked(1, OK))}},
		{name: "released after an operator had deleted the znode", nodes: map[string]int{"/l/a": 1, "/l/b": 2}, ops: []Op{
			at(1, 2, granted(1, 5)), at(3, 4, lost("/l/a", true)), at(5, 6, granted(2, 6)), at(7, 8, unlocked(1, OK)), at(9, 10, unlocked(2, OK))}},
		{name: "the resource accepts what it must refuse", illegal: true, ops: []Op{at(1, 2, used(6, OK)), at(3, 4, used(5, OK))}},
		{name: "the resource refuses", ops: []Op{at(1, 2, used(6, OK)), at(3, 4, used(5, Refused)), at(5, 6, used(6, OK))}},
		{name: "the resource refuses what it must accept", illegal: true, ops: []Op{at(1, 2, used(6, OK)), at(3, 4, used(7, Refused))}},
		{name: "holder", ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, holders(true, "/l/a")), at(5, 6, unlocked(1, OK)), at(7, 8, holders(false))}, nodes: map[string]int{"/l/a": 1}},
		{name: "nobody though somebody holds", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, holders(false))}},
		{name: "a stranger though somebody holds", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, holders(true, "/l/x"))}},
		{name: "still there after the release", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, unlocked(1, OK)), at(5, 6, holders(true, "/l/a"))}, nodes: map[string]int{"/l/a": 1}},
	})
}

func TestReentrantModel(t *testing.T) {
	all := unlocked(1, Unknown)
	all.All = true
	twice := []Op{at(1, 2, granted(1, 5)), at(3, 4, granted(1, 5)), at(5, 6, unlocked(1, OK))}
	tell(t, LockModel(), []story{
		{name: "free after the last level", ops: append(slices.Clone(twice), at(7, 8, unlocked(1, OK)), at(9, 10, granted(2, 6)))},
		{name: "free after the first", illegal: true, ops: append(slices.Clone(twice), at(9, 10, granted(2, 6)))},
		{name: "with another token", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, granted(1, 6))}},
		{name: "lost on all levels", nodes: map[string]int{"/l/a": 1}, ops: append(slices.Clone(twice[:2]), at(5, 6, lost("/l/a", false)), at(9, 10, granted(2, 6)))},
		{name: "given back on all levels", ops: append(slices.Clone(twice[:2]), at(5, 0, all), at(9, 10, granted(2, 6)))},
		{name: "left too often", illegal: true, ops: append(slices.Clone(twice), at(7, 8, unlocked(1, OK)), at(9, 10, unlocked(1, OK)))},
	})
}

func TestReadWriteModel(t *testing.T) {
	nodes := map[string]int{"/l/a": 1, "/l/b": 2}
	tell(t, LockModel(), []story{
		{name: "two readers", ops: []Op{at(1, 2, shared(1, 5)), at(3, 4, shared(2, 6)), at(5, 6, holders(false, "/l/a", "/l/b")), at(7, 8, unlocked(1, OK)), at(9, 10, unlocked(2, OK)),
			at(11, 12, granted(3, 7))}, nodes: nodes},
		{name: "a reader that the queue does not show", illegal: true, ops: []Op{at(1, 2, shared(1, 5)), at(3, 4, shared(2, 6)), at(5, 6, holders(false, "/l/a"))}, nodes: nodes},
		{name: "a reader that is none any more", illegal: true, ops: []Op{at(1, 2, shared(1, 5)), at(3, 4, unlocked(1, OK)), at(5, 6, holders(false, "/l/a"))}, nodes: nodes},
		{name: "writer beside a reader", illegal: true, ops: []Op{at(1, 2, shared(1, 5)), at(3, 4, granted(2, 6)), at(5, 6, unlocked(1, OK))}},
		{name: "reader beside a writer", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, shared(2, 6)), at(5, 6, unlocked(1, OK))}},
		{name: "downgrade lets readers in", ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, downgraded(1, OK)), at(5, 6, shared(2, 6)), at(7, 8, unlocked(1, OK))}},
		{name: "downgrade lets no writer in", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, downgraded(1, OK)), at(5, 6, granted(2, 6)), at(7, 8, unlocked(1, OK))}},
		{name: "downgrade of unknown outcome", ops: []Op{at(1, 2, granted(1, 5)), at(3, 0, downgraded(1, Unknown)), at(5, 6, shared(2, 6)), at(7, 8, unlocked(1, OK))}},
		{name: "downgrade of what was lost", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, lost("/l/a", false)), at(5, 6, downgraded(1, OK))}, nodes: nodes},
	})
}

func TestSemaphoreModel(t *testing.T) {
	tell(t, SemaphoreModel(2), []story{
		{name: "two of two", ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, granted(2, 6)), at(5, 6, unlocked(1, OK)), at(7, 8, granted(3, 7))}},
		{name: "tokens in any order", ops: []Op{at(1, 2, granted(1, 6)), at(3, 4, granted(2, 5))}},
		{name: "three of two", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, granted(2, 6)), at(5, 6, granted(3, 7)), at(7, 8, unlocked(1, OK))}},
		{name: "another's permit", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, unlocked(2, OK))}},
		{name: "lost", nodes: map[string]int{"/l/a": 1}, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, granted(2, 6)), at(5, 6, lost("/l/a", false)), at(7, 8, granted(3, 7))}},
		{name: "both permits in one hold", ops: []Op{at(1, 2, heavy(1, 2)), at(3, 4, unlocked(1, OK)), at(5, 6, granted(2, 6)), at(7, 8, granted(3, 7))}},
		{name: "one beside both", illegal: true, ops: []Op{at(1, 2, heavy(1, 2)), at(3, 4, granted(2, 6))}},
		{name: "both beside one", illegal: true, ops: []Op{at(1, 2, granted(2, 6)), at(3, 4, heavy(1, 2))}},
		{name: "both lost", nodes: map[string]int{"/l/a": 1}, ops: []Op{at(1, 2, heavy(1, 2)), at(3, 4, lost("/l/a", false)), at(5, 6, heavy(2, 2))}},
		{name: "more than there are", illegal: true, ops: []Op{at(1, 2, heavy(1, 3))}},
		{name: "more permits", ops: []Op{at(1, 2, heavy(1, 2)), at(3, 4, resized(3, OK)), at(5, 6, granted(2, 6))}},
		{name: "fewer permits", illegal: true, ops: []Op{at(1, 2, granted(1, 5)), at(3, 4, resized(1, OK)), at(5, 6, granted(2, 6))}},
		{name: "fewer take nothing from holders", ops: []Op{at(1, 2, heavy(1, 2)), at(3, 4, resized(1, OK)), at(5, 6, unlocked(1, OK)), at(7, 8, granted(2, 6))}},
		{name: "perhaps more", ops: []Op{at(1, 0, resized(3, Unknown)), at(3, 4, heavy(1, 2)), at(5, 6, granted(2, 6))}},
		{name: "perhaps fewer", ops: []Op{at(1, 0, resized(1, Unknown)), at(3, 4, granted(1, 5)), at(5, 6, granted(2, 6))}},
		{name: "more only later", illegal: true, ops: []Op{at(1, 2, heavy(1, 2)), at(3, 4, granted(2, 6)), at(5, 6, resized(3, OK))}},
	})
}

func heavy(hold, weight int) Op {
	op := granted(hold, 5)
	op.Weight = weight
	return op
}

func resized(n int, r Result) Op { return Op{Kind: Resize, Weight: n, Result: r} }

// TestPermitsBelievedIn has beliefs in permits counted with their weights, against the largest number that there ever was.
func TestPermitsBelievedIn(t *testing.T) {
	h := NewHistory()
	h.Permits["/l"] = 2
	crowded := func() int {
		h.Finish()
		return len(h.checkBeliefs())
	}
	a := h.BelieveIn(&Belief{Client: 0, Path: "/l", Hold: 1, Weight: 2})
	h.BelieveIn(&Belief{Client: 0, Path: "/m", Hold: 2})
	if n := crowded(); n != 0 {
		t.Errorf("two permits of two: %d violations", n)
	}
	b := h.BelieveIn(&Belief{Client: 1, Path: "/l", Hold: 3})
	if n := crowded(); n != 1 {
		t.Errorf("three of two: %d violations", n)
	}
	h.Add(Op{Path: "/l", Kind: Resize, Weight: 3, Result: OK, Call: h.Now()})
	if n := crowded(); n != 0 {
		t.Errorf("three of three: %d violations", n)
	}
	h.ops = nil
	a.EndAt(b.Start)
	if n := crowded(); n != 0 {
		t.Errorf("one after the other: %d violations", n)
	}
}

// TestPermitsOfPaths has Check use the model of a semaphore where a path's locks are semaphores, and the other one elsewhere.
func TestPermitsOfPaths(t *testing.T) {
	two := story{ops: []Op{at(1, 2, granted(1, 6)), at(3, 4, granted(2, 5))}}
	for permits, want := range map[int]int{0: 1, 1: 1, 2: 0} {
		h := two.history()
		if permits > 0 {
			h.Permits["/l"] = permits
		}
		if bad, err := h.Check(LockModel(), ""); err != nil || len(bad) != want {
			t.Errorf("%d permits: %v, %v", permits, bad, err)
		}
	}
}

func TestBeliefs(t *testing.T) {
	h := NewHistory()
	a := h.Believe(0, "/l", 1, false)
	b := h.Believe(1, "/l", 2, true)
	c := h.Believe(2, "/l", 3, true)
	other := h.Believe(3, "/m", 4, false)
	want := func(name string, faults ...Fault) {
		t.Helper()
		h.Finish()
		var got []Fault
		for _, v := range h.checkBeliefs() {
			got = append(got, v.Fault)
		}
		if !slices.Equal(got, faults) {
			t.Errorf("%s: %v, want %v", name, h.checkBeliefs(), faults)
		}
	}
	want("one writer and two readers", Overlap, Overlap)
	a.EndAt(b.Start)
	want("the writer has stopped in time")
	h.Bind(Node{Path: "/l/b", Zxid: 7}, 2)
	h.Add(Op{Path: "/l", Kind: Lost, Result: OK, Call: h.Now(), Nodes: []Node{{Path: "/l/b", Zxid: 8}}})
	want("another znode of that name was lost")
	h.Add(Op{Path: "/l", Kind: Lost, Result: OK, Call: h.Now(), Nodes: []Node{{Path: "/l/b", Zxid: 7}}})
	want("a hold was lost", Late)
	b.EndAt(b.Start + 1)
	want("and its client knew")
	d := h.Believe(4, "/m", 5, false)
	want("two writers", Overlap)
	h.Bind(Node{Path: "/m/d", Zxid: 9}, 4)
	h.Add(Op{Path: "/m", Kind: Lost, Result: OK, Call: other.Start + 1, Nodes: []Node{{Path: "/m/d", Zxid: 9}}, Evicted: true})
	want("an operator has taken the first one's lock")
	if r := d.Share(h.Now()); !r.Shared || d.End != r.Start || c.End != 0 {
		t.Errorf("shared: %+v after %+v", r, d)
	}
}
