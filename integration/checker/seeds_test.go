package checker

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	firstSeed   = flag.Uint64("checker.seed", 1, "first seed of the checker's runs")
	manySeeds   = flag.Int("checker.seeds", 1400, "number of seeds of TestRecipes")
	pictureHome = flag.String("checker.pictures", "", "folder for pictures of illegal histories; by default a new one below that for temporary files, which stays if there are any")
)

// totals adds up runs.
type totals struct {
	mu                 sync.Mutex
	runs, ops, unknown int
	grants, faults     map[string]int
	bad                int
}

func (s *totals) add(o outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs++
	s.ops += o.ops
	s.unknown += o.unknown
	s.bad += len(o.bad)
	for name, n := range o.grants {
		s.grants[name] += n
	}
	for name, n := range o.faults {
		s.faults[name] += n
	}
}

// pictures returns the folder for pictures.
func pictures(t *testing.T) string {
	if *pictureHome == "" {
		folder, err := os.MkdirTemp("", "lockkeeper-histories-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(folder) }) // which it refuses if there is a picture in it
		return folder
	}
	if err := os.MkdirAll(*pictureHome, 0o777); err != nil {
		t.Fatal(err)
	}
	return *pictureHome
}

// report fails the test if something is wrong with a run.
func report(t *testing.T, name string, seed uint64, o outcome) {
	if len(o.bad) > 0 {
		var text strings.Builder
		complain(&text, name, seed, o)
		t.Error(text.String())
	}
}

// complain writes what is wrong with a run, and how it is repeated.
func complain(w io.Writer, name string, seed uint64, o outcome) {
	for _, v := range o.bad {
		fmt.Fprintf(w, "seed %d: %v\n", seed, v)
	}
	fmt.Fprintf(w, "seed %d: to repeat it, run with -run '^%s$' -checker.seed=%d -checker.seeds=1, perhaps with -count=20\n", seed, name, seed)
}

// everySeed runs a setup with all seeds, on several processors.
func everySeed(t *testing.T, s setup, seeds int) {
	name := t.Name()
	sum := &totals{grants: make(map[string]int), faults: make(map[string]int)}
	folder, begun := pictures(t), time.Now()
	t.Run("runs", func(t *testing.T) {
		shards := runtime.GOMAXPROCS(0)
		for shard := range shards {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				for i := shard; i < seeds; i += shards {
					seed := *firstSeed + uint64(i)
					o := simulate(t, s, seed, folder)
					sum.add(o)
					report(t, name, seed, o)
				}
			})
		}
	})
	total, lines := describe(sum.faults)
	grants, by := describe(sum.grants)
	t.Logf("seeds %d to %d, %v: %d histories, %d operations of which %d with unknown outcome, %d grants, %d faults, %d violations\n  grants:%s\n  faults:%s",
		*firstSeed, *firstSeed+uint64(seeds)-1, time.Since(begun).Round(time.Second), sum.runs, sum.ops, sum.unknown, grants, total, sum.bad, by, lines)
}

// TestRecipes has the locks of package recipes go through seeded faults.
func TestRecipes(t *testing.T) {
	everySeed(t, setup{make: newRecipe, kinds: everyKind, multi: true, model: LockModel(), faults: usual}, *manySeeds)
}
