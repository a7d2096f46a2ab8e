package client_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/internal/peer"
)

// peerClient returns a client of a peer that allocates nothing, in memory.
func peerClient(t testing.TB, connectString string) *client.Client {
	t.Helper()
	p := peer.New(peer.Options{Ahead: 10})
	t.Cleanup(p.Close)
	c, err := client.Connect(context.Background(), connectString, client.Dialer(p.Dial))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // the peer goes too
	return c
}

// The budgets: what the whole process allocates per operation, the session included.
func TestAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("allocations are not counted under the race detector; the same test without it counts them")
	}
	for name, connectString := range map[string]string{"plain": "peer", "chroot": "peer/some/app"} {
		t.Run(name, func(t *testing.T) {
			c := peerClient(t, connectString)
			for op, tc := range budgets(t, c) {
				for range 100 {
					tc.f(t)
				}
				if n := testing.AllocsPerRun(500, func() { tc.f(t) }); n > tc.most {
					t.Errorf("%s allocates %v times, want %v at most", op, n, tc.most)
				}
			}
		})
	}
}

// A scan allocates nothing, however many names there are; 70,000 of this length are 4 MiB, as much as is received by default.
func TestScanAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("allocations are not counted under the race detector; the same test without it counts them")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would take the client's memory for calls
	for _, children := range []int{10, 16_000, 70_000} {
		p := peer.New(peer.Options{Ahead: children})
		defer p.Close()
		addr, err := p.Listen() // over TCP, since memory that a connection in memory needs would count
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.Connect(t.Context(), addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx, names := t.Context(), 0
		scan := func([]byte) bool { names++; return true }
		round := func() {
			names = 0
			if _, err := c.ScanChildren(ctx, "/a", scan); err != nil || names != children {
				t.Fatal(names, err)
			}
		}
		for range 20 {
			round()
		}
		if n := testing.AllocsPerRun(50, round); n > 0 {
			t.Errorf("a scan of %d children allocates %v times", children, n)
		}
	}
}

// Buffers of large requests are used again, those of the writer too.
func TestLargeRequestsAllocateLittle(t *testing.T) {
	if raceDetector {
		t.Skip("allocations are not counted under the race detector; the same test without it counts them")
	}
	c := peerClient(t, "peer")
	data := make([]byte, 500<<10)
	set := func() {
		if _, err := c.Set(t.Context(), "/a", data, client.AnyVersion); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		set()
	}
	var before, after runtime.MemStats
	least := ^uint64(0) // of some tries, as a collection may take what is kept for the next call
	for range 5 {
		runtime.ReadMemStats(&before)
		for range 20 {
			set()
		}
		runtime.ReadMemStats(&after)
		least = min(least, (after.TotalAlloc-before.TotalAlloc)/20)
	}
	if least > uint64(len(data)/10) {
		t.Errorf("a set of %d bytes allocates %d bytes", len(data), least)
	}
}

type budget struct {
	most float64
	f    func(t testing.TB)
}

func budgets(t *testing.T, c *client.Client) map[string]budget {
	ctx, cancel := context.WithCancel(context.Background()) // as those of real callers, it could end
	t.Cleanup(cancel)
	data, buf := []byte("some data"), make([]byte, 0, 64)
	check := func(t testing.TB, err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	g := c.Group()
	return map[string]budget{
		"Exists":   {0, func(t testing.TB) { _, _, err := c.Exists(ctx, "/a/b"); check(t, err) }},
		"Set":      {0, func(t testing.TB) { _, err := c.Set(ctx, "/a/b", data, -1); check(t, err) }},
		"Delete":   {0, func(t testing.TB) { check(t, c.Delete(ctx, "/a/b", -1)) }},
		"Sync":     {0, func(t testing.TB) { check(t, c.Sync(ctx, "/a/b")) }},
		"Get":      {1, func(t testing.TB) { _, _, err := c.Get(ctx, "/a/b"); check(t, err) }},
		"GetInto":  {0, func(t testing.TB) { _, _, err := c.GetInto(ctx, "/a/b", buf); check(t, err) }},
		"Children": {11, func(t testing.TB) { _, _, err := c.Children(ctx, "/a/b"); check(t, err) }},
		"Create": {0, func(t testing.TB) {
			_, _, err := c.Create(ctx, "/a/b", data, client.ModePersistent, nil)
			check(t, err)
		}},
		"sequential Create": {1, func(t testing.TB) {
			path, _, err := c.Create(ctx, "/a/b-", data, client.ModeEphemeralSequential, nil)
			check(t, err)
			check(t, c.Delete(ctx, path, -1))
		}},
		"Group": {0, func(t testing.TB) {
			e, d, s, l := g.Exists("/a"), g.Get("/b", buf), g.Set("/c", data, -1), g.Children("/d")
			check(t, g.Do(ctx))
			_, _, err := e.Stat()
			check(t, err)
			_, _, err = d.Data()
			check(t, err)
			_, err = s.Stat()
			check(t, err)
			scan, err := l.Scan()
			check(t, err)
			for _, ok := scan.Next(); ok; _, ok = scan.Next() {
				continue
			}
		}},
	}
}

func BenchmarkExists(b *testing.B) {
	c := peerClient(b, "peer")
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := c.Exists(b.Context(), "/a"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkExistsParallel(b *testing.B) {
	c := peerClient(b, "peer")
	b.ReportAllocs()
	b.SetParallelism(50)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, _, err := c.Exists(b.Context(), "/a"); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkGroup(b *testing.B) {
	c := peerClient(b, "peer")
	g := c.Group()
	b.ReportAllocs()
	for b.Loop() {
		for range 100 {
			g.Exists("/a")
		}
		if err := g.Do(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100*float64(b.N)/b.Elapsed().Seconds(), "op/s")
}
