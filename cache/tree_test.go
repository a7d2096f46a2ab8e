package cache

import (
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
)

// plain is a tree as a map, to hold the real one against.
type plain map[string]Node

func (p plain) remove(path string) {
	maps.DeleteFunc(p, func(other string, _ Node) bool { return within(other, path) })
}

func randomPath(rnd *rand.Rand, root string) string {
	p := root
	for range rnd.IntN(4) {
		p = childPath(p, string(rune('a'+rnd.IntN(6))))
	}
	return p
}

// step changes both trees in the same way.
func step(rnd *rand.Rand, tr *tree, p plain, zxid int64) {
	path := randomPath(rnd, tr.path)
	if rnd.IntN(4) == 0 {
		tr.remove(path)
		p.remove(path)
		return
	}
	if _, ok := p[parentOf(path)]; path != tr.path && !ok {
		return
	}
	n := Node{Stat: client.Stat{Czxid: 1, Mzxid: zxid}}
	tr.put(path, n)
	p[path] = n
}

// listing is all there is, a parent before its children, and those by name.
func (p plain) listing() string {
	paths := slices.Collect(maps.Keys(p))
	slices.SortFunc(paths, func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) })
	var out strings.Builder
	for _, path := range paths {
		fmt.Fprintln(&out, path, p[path].Stat.Mzxid)
	}
	return out.String()
}

func (t *tree) listing() string {
	var out strings.Builder
	for path, n := range (&Snapshot{root: t.root}).All() {
		fmt.Fprintln(&out, path, n.Stat.Mzxid)
	}
	return out.String()
}

func TestTree(t *testing.T) {
	for _, root := range []string{"/", "/r", "/r/s"} {
		seed := rand.Uint64()
		rnd := rand.New(rand.NewPCG(seed, 0))
		tr, p := &tree{path: root, seed: maphash.MakeSeed()}, plain{}
		for i := range 3000 {
			step(rnd, tr, p, int64(i+1))
			if got, want := tr.listing(), p.listing(); got != want {
				t.Fatalf("seed %d: the tree is\n%swant\n%s", seed, got, want)
			}
			if tr.root.size() != len(p) {
				t.Fatalf("seed %d: the size is %d, want %d", seed, tr.root.size(), len(p))
			}
			path := randomPath(rnd, root)
			want, ok := p[path]
			if e := tr.root.find(path); (e != nil) != ok || e != nil && e.node.Stat != want.Stat {
				t.Fatalf("seed %d: %s is not what it should be", seed, path)
			}
		}
	}
}

// What Diff yields makes the one snapshot of the other, also when the trees have different shapes.
func TestDiff(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	tr, p := &tree{path: "/", seed: maphash.MakeSeed()}, plain{}
	for i := range 1000 {
		from, before := &Snapshot{root: tr.root}, maps.Clone(p)
		if i%10 == 0 {
			tr.seed = maphash.MakeSeed()
		}
		for range rnd.IntN(20) {
			step(rnd, tr, p, int64(i+1))
		}
		for c := range Diff(from, &Snapshot{root: tr.root}) {
			_, known := before[c.Path]
			_, parent := before[parentOf(c.Path)]
			if known != (c.Type != Added) || c.Type == Added && c.Path != "/" && !parent {
				t.Fatalf("seed %d: %v %s does not fit", seed, c.Type, c.Path)
			}
			if n := len(before); c.Type == Removed {
				if before.remove(c.Path); len(before) != n-1 {
					t.Fatalf("seed %d: %s is removed before its children", seed, c.Path)
				}
			} else {
				before[c.Path] = c.New
			}
		}
		if before.listing() != p.listing() {
			t.Fatalf("seed %d: the changes make\n%swant\n%s", seed, before.listing(), p.listing())
		}
	}
}

// manyNodes is a tree of n children.
func manyNodes(n int) *tree {
	tr := &tree{path: "/", seed: maphash.MakeSeed()}
	tr.put("/", Node{})
	for i := range n {
		tr.put(fmt.Sprint("/node", i), Node{Stat: client.Stat{Czxid: 1}})
	}
	return tr
}

// The cost of a difference follows from how much differs.
func TestDiffOfALargeTreeIsCheap(t *testing.T) {
	tr := manyNodes(100_000)
	before := &Snapshot{root: tr.root}
	tr.put("/node77", Node{Stat: client.Stat{Czxid: 1, Mzxid: 2}})
	after, n := &Snapshot{root: tr.root}, 0
	allocs := testing.AllocsPerRun(10, func() {
		for range Diff(before, after) {
			n++
		}
	})
	if n != 11 || allocs > 10 {
		t.Errorf("%d changes in 11 runs, %v allocations for each", n, allocs)
	}
}

func TestLookingAllocatesNothing(t *testing.T) {
	tr := manyNodes(1000)
	tr.put("/node5/below", Node{})
	c := &Cache{cancel: func() {}}
	c.now.Store(&version{snap: &Snapshot{path: "/", root: tr.root}})
	found, seen := 0, 0
	allocs := testing.AllocsPerRun(100, func() {
		s := c.Snapshot()
		if _, ok := s.Get("/node5/below"); ok {
			found++
		}
		if _, ok := s.Get("/node5000"); ok {
			found++
		}
		_ = c.State()
		for range s.Children("/") {
			seen++
		}
		for range s.All() {
			seen++
		}
	})
	if allocs > 4 || found != 101 || seen != 101*2002 { // the four are the closures of the two loops
		t.Errorf("%v allocations, %d found, %d seen", allocs, found, seen)
	}
	allocs = testing.AllocsPerRun(100, func() {
		_, _ = c.Snapshot().Get("/node5/below")
		_, _ = c.Snapshot().Root()
	})
	if allocs != 0 {
		t.Errorf("Get makes %v allocations", allocs)
	}
}

func TestWords(t *testing.T) {
	got := fmt.Sprint(Added, " ", Changed, " ", Removed, " ", ChangeType(0), " ", ErrClosed)
	if want := "added changed removed unknown change cache closed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
