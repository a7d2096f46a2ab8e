package scale

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/load"
)

// memory is what this process occupies, in bytes.
type memory struct{ heap, stacks float64 }

// occupied collects all garbage, pools included, and looks at what is left.
func occupied() memory {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memory{float64(m.HeapAlloc), float64(m.StackInuse)}
}

// since returns what was added; garbage that something else had left can make that less than nothing, which counts as nothing.
func (m memory) since(before memory) memory {
	return memory{max(m.heap-before.heap, 0), max(m.stacks-before.stacks, 0)}
}

func (m memory) all() float64 { return m.heap + m.stacks }

// openBound is how long all sessions of a measurement may take to open.
const openBound = time.Minute

// openAll opens n sessions, several at once. After an error none is left.
func openAll(ctx context.Context, d load.Driver, servers string, n int) ([]load.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, openBound)
	defer cancel()
	open := make([]load.Session, n)
	err := spread(n, func(i int) (err error) {
		if open[i], err = d.Open(ctx, servers); err != nil {
			return fmt.Errorf("session %d of %d: %w", i+1, n, err)
		}
		return nil
	})
	if err != nil {
		closeAll(open)
		return nil, err
	}
	return open, nil
}

// closeAll closes the sessions that are there. One that cannot say goodbye ends by its timeout.
func closeAll(open []load.Session) {
	_ = spread(len(open), func(i int) error {
		if open[i] != nil {
			_ = open[i].Close()
		}
		return nil
	})
}

// atOnce is how many goroutines spread uses.
const atOnce = 32

// spread calls do for each number below n, on several goroutines, each of which goes on until one of its calls fails. It returns one
// of the errors.
func spread(n int, do func(i int) error) error {
	var all sync.WaitGroup
	errs := make(chan error, atOnce)
	for first := range min(n, atOnce) {
		// worker, owned by spread, ends with its numbers, or with an error.
		all.Go(func() {
			for i := first; i < n; i += atOnce {
				if err := do(i); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}
