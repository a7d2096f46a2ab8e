package client_test

import (
	"context"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
	"github.com/lockkeeper/lockkeeper/internal/peer"
)

// What a client may cost that has worked and is idle now, and one that has never worked.
const (
	idleClients    = 1000
	idleHeap       = 64 << 10 // bytes in use
	idleGoroutines = 4
	pipeBytes      = 16 << 10 // that a connection in memory holds back at most
)

// footprint is what idle clients cost each, the connections and the peer's side of them included.
type footprint struct{ heap, goroutines float64 }

func (f *footprint) check(t *testing.T, what string) {
	t.Helper()
	t.Logf("%s: %.1f KiB of heap in use and %.1f goroutines per client", what, f.heap/1024, f.goroutines)
	if f.heap > idleHeap {
		t.Errorf("%s: %.0f bytes of heap in use per client, want %d at most", what, f.heap, idleHeap)
	}
	if most := float64(idleGoroutines + 1); f.goroutines > most { // the peer has one
		t.Errorf("%s: %.2f goroutines per client, want %v at most", what, f.goroutines, most)
	}
}

// since measures what has come since before, per client.
func since(before *runtime.MemStats, goroutines int) *footprint {
	var now runtime.MemStats
	runtime.GC()
	runtime.GC() // twice, as what a pool holds survives the first
	runtime.ReadMemStats(&now)
	return &footprint{
		float64(now.HeapInuse-before.HeapInuse) / idleClients,
		float64(runtime.NumGoroutine()-goroutines) / idleClients,
	}
}

// A thousand clients, before and after work that needs large buffers. Buffers shrink with use, and an idle client's pings are use.
func TestIdleClientsAreSmall(t *testing.T) {
	if raceDetector {
		t.Skip("memory is not measured under the race detector; the same test without it measures it")
	}
	synctest.Test(t, func(t *testing.T) {
		p := peer.New(peer.Options{Ahead: 4000, Frugal: true}) // a list of about 240 kB
		defer p.Close()
		dial := func(context.Context, string, string) (net.Conn, error) {
			near, far := memnet.BoundedPipe(pipeBytes)
			go func() { _ = p.Serve(far) }() // the peer's end of one connection, ended by its Close
			return near, nil
		}
		var before runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&before)
		goroutines := runtime.NumGoroutine()
		clients := make([]*client.Client, idleClients)
		for i := range clients {
			c, err := client.Connect(t.Context(), "peer", client.Dialer(dial), client.SessionTimeout(30*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			clients[i] = c
		}
		synctest.Wait()
		since(&before, goroutines).check(t, "new")
		large := make([]byte, 300<<10)
		for _, c := range clients {
			if _, err := c.Set(t.Context(), "/a", large, client.AnyVersion); err != nil {
				t.Fatal(err)
			}
			if names, _, err := c.Children(t.Context(), "/a"); err != nil || len(names) != 4000 {
				t.Fatal(len(names), err)
			}
		}
		requests, began := p.Requests(), time.Now()
		<-time.After(10 * time.Minute) // of the bubble
		synctest.Wait()
		since(&before, goroutines).check(t, "after work")
		if n := p.Requests() - requests; n != 0 {
			t.Errorf("idle clients sent %d requests", n)
		}
		pings := float64(p.Pings()) / idleClients / (time.Since(began).Seconds() / 10)
		if pings > 1.01 {
			t.Errorf("%.2f pings per third of the session timeout", pings)
		}
	})
}
