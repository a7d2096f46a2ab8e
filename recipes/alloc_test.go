//go:build !race

package recipes

import (
	"runtime"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/internal/peer"
)

// The peer answers without allocating, so what is counted is the client and the recipe.
func TestAllocations(t *testing.T) {
	for name, behind := range map[string]int{"nobody else": 0, "1,000 contenders behind": 1000} {
		t.Run(name, func(t *testing.T) {
			srv := peer.New(peer.Options{Behind: behind})
			defer srv.Close()
			c, err := client.Connect(t.Context(), "peer:2181", client.Dialer(srv.Dial))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			m, ctx := NewMutex(c, "/lock"), t.Context()
			round := func() {
				l, err := m.Lock(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if err := l.Release(ctx); err != nil {
					t.Fatal(err)
				}
			}
			n := testing.AllocsPerRun(200, round)
			if b := bytesPerRun(500, round); b > 600 {
				t.Errorf("Lock and Release: %v bytes, want at most 600", b)
			}
			t.Logf("%v allocations", n)
			if n > 4 { // the promise is 6
				t.Errorf("Lock and Release: %v allocations, want at most 4", n)
			}
		})
	}
}

// bytesPerRun is testing.AllocsPerRun for bytes; what else the process allocates meanwhile counts, so it takes the least of some tries.
func bytesPerRun(runs int, f func()) uint64 {
	least := ^uint64(0)
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			f()
		}
		runtime.ReadMemStats(&after)
		least = min(least, (after.TotalAlloc-before.TotalAlloc)/uint64(runs))
	}
	return least
}

// A FixedMutex's transaction and its answer are made of ops and results, which is what it costs more than a Mutex.
func TestFixedAllocations(t *testing.T) {
	srv := peer.New(peer.Options{})
	defer srv.Close()
	c, err := client.Connect(t.Context(), "peer:2181", client.Dialer(srv.Dial))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m, ctx := NewFixedMutex(c, "/lock"), t.Context()
	n := testing.AllocsPerRun(200, func() {
		l, err := m.Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(ctx); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%v allocations", n)
	if n > 8 {
		t.Errorf("Lock and Release: %v allocations, want at most 8", n)
	}
}

func BenchmarkLock(b *testing.B) {
	srv := peer.New(peer.Options{})
	defer srv.Close()
	addr, err := srv.Listen()
	if err != nil {
		b.Fatal(err)
	}
	c, err := client.Connect(b.Context(), addr)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	m := NewMutex(c, "/lock")
	b.ReportAllocs()
	for b.Loop() {
		l, err := m.Lock(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Release(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
