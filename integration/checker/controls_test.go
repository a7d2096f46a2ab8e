package checker

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// control is a broken lock that the harness must find to be broken.
type control struct {
	name    string
	wrong   mistake
	permits int
	counter int32
	often   []string // faults that come more often than usual
	lengthy float64
	by      []Fault // what may give it away
}

// controlSeeds bounds how many seeds it may take; soundSeeds is how many the lock without a mistake goes through at least.
const (
	controlSeeds = 600
	soundSeeds   = 60
)

// wound is where numbers begin behind the wrap: the counter of old servers goes on from the highest number with the lowest, and so
// comes to here, where the text of a number that was given out earlier is not always the smaller one. Newer servers stop at the top.
const wound = -12

var controls = []control{
	{name: "1 ignores the predecessor", wrong: ignoresPredecessor, by: []Fault{Illegal, Overlap}},
	{name: "2 keeps the hold after the expiry", wrong: keepsAfterExpiry, by: []Fault{Overlap, Late}},
	{name: "3 repeats a create without a search", wrong: createsWithoutSearch, by: []Fault{LeftOver, Liveness}},
	{name: "4 searches without sync on a server behind", wrong: searchesWithoutSync, often: []string{"late commit of a lost write"}, by: []Fault{LeftOver, Liveness}},
	{name: "5 accepts a znode of the old session", wrong: trustsOldSession, often: []string{"all members stalled"}, by: []Fault{Illegal, Overlap, Late}},
	{name: "6 deletes by number, not by name", wrong: deletesBySequence, often: []string{"queue deleted by an operator"}, lengthy: 1, by: []Fault{Illegal, Overlap}},
	{name: "7 semaphore counts before it creates", wrong: countsBeforeCreate, permits: 2, by: []Fault{Illegal, Overlap}},
	{name: "8 orders numbers as text at the wrap", wrong: ordersText, counter: wound, by: []Fault{Illegal, Overlap}},
	{name: "10 registers a watch after the reply", wrong: registersLate, by: []Fault{Liveness}},
}

func (c control) setup() setup {
	s := setup{make: reference(c.wrong, max(c.permits, 1)), kinds: []kind{mutexes}, model: LockModel(), counter: c.counter, permits: c.permits, lengthy: c.lengthy}
	if c.permits > 1 {
		s.kinds = []kind{semaphores}
	}
	for _, f := range usual {
		if slices.Contains(c.often, f.name) {
			f.weight *= 4
		}
		if c.counter != 0 && (f.name == "queue deleted by an operator" || f.name == "containers swept") {
			continue // which would begin the numbers anew
		}
		s.faults = append(s.faults, f)
	}
	return s
}

// TestControls has each mistake found, and the same lock without the mistake go through the same faults.
func TestControls(t *testing.T) {
	var mu sync.Mutex
	lines := make(map[string]string)
	t.Run("each", func(t *testing.T) {
		for _, c := range controls {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				tried, line := c.find(t)
				runs, ops, bad := c.sound(t, max(tried, soundSeeds))
				mu.Lock()
				defer mu.Unlock()
				lines[c.name] = fmt.Sprintf("%4d  %s\n%54swithout the mistake: %d histories, %d operations, %d violations", tried, line, "", runs, ops, bad)
			})
		}
	})
	var table strings.Builder
	for _, c := range controls {
		fmt.Fprintf(&table, "\n  %-45s %s", c.name, lines[c.name])
	}
	t.Logf("mistake, found after how many seeds, and how:%s", table.String())
}

// find tries seeds until the mistake shows.
func (c control) find(t *testing.T) (tried int, how string) {
	s := c.setup()
	for i := range controlSeeds {
		var kinds []string
		what := ""
		for _, v := range simulate(t, s, *firstSeed+uint64(i), "").bad {
			if kind := string(v.Fault); slices.Contains(c.by, v.Fault) && !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
				what, _, _ = strings.Cut(v.What, "\n")
			}
		}
		if kinds != nil {
			return i + 1, strings.Join(kinds, ", ") + ": " + what
		}
	}
	t.Errorf("not found with %d seeds", controlSeeds)
	return controlSeeds, "never"
}

// sound has the lock without the mistake pass.
func (c control) sound(t *testing.T, seeds int) (runs, ops, bad int) {
	c.wrong = noMistake
	s := c.setup()
	for i := range seeds {
		seed := *firstSeed + uint64(i)
		o := simulate(t, s, seed, "")
		report(t, "TestControls", seed, o)
		ops += o.ops
		bad += len(o.bad)
	}
	return seeds, ops, bad
}

// TestPicture has a violation say its seed and leave a picture of its history.
func TestPicture(t *testing.T) {
	folder := t.TempDir()
	s := controls[0].setup()
	for i := range uint64(controlSeeds) {
		o := simulate(t, s, *firstSeed+i, folder)
		for _, v := range o.bad {
			if v.Fault != Illegal {
				continue
			}
			_, file, _ := strings.Cut(v.What, "picture: ")
			text, err := os.ReadFile(file)
			if err != nil || !bytes.Contains(text, []byte("Lock(")) || !bytes.Contains(text, []byte("belief of client")) {
				t.Errorf("picture %q, %d bytes: %v", file, len(text), err)
			}
			var log bytes.Buffer
			complain(&log, "TestRecipes", *firstSeed+i, o)
			for _, want := range []string{fmt.Sprintf("seed %d: ", *firstSeed+i), fmt.Sprintf("-checker.seed=%d -checker.seeds=1", *firstSeed+i), file} {
				if !strings.Contains(log.String(), want) {
					t.Errorf("%q is not in what is printed:\n%s", want, log.String())
				}
			}
			return
		}
	}
	t.Errorf("no history was illegal in %d runs", controlSeeds)
}
