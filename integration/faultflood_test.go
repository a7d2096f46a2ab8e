package integration

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

const (
	flooders   = 200
	floodPace  = 20 * time.Millisecond
	floodBytes = 16 << 10 // of a request
	floodCalls = 256      // what the client may have under way, and 4 MiB of it
	// floodMemory bounds what the heap may grow by: the callers' own buffers and encoded requests, what is under way, and
	// as much again. It is a fraction of what the callers ask for.
	floodMemory = 2 * (2*flooders + floodCalls) * floodBytes
)

// zeroWindow is C54: the server reads nothing, callers write all the same. Memory stays bounded, callers wait or go by their
// contexts, and a writer that is stuck in the socket keeps nobody from giving the connection up.
func zeroWindow(s *zkserver.Server, servers string) fault {
	var stuck stuckWriter
	return fault{
		name: "server stopped, clients flood", servers: servers, timeout: silentTimeout,
		prepare: func(t *testing.T) ([]client.Option, string) {
			return []client.Option{client.InFlight(floodCalls, floodCalls*floodBytes), client.Dialer(stuck.dial)}, servers
		},
		strike: func(t *testing.T, r *rig) {
			lost := r.life.next(client.StateDisconnected)
			before := heap()
			pause(t, s)
			f := startFlood(r.load)
			highest := f.watch(t, before, &stuck, lost)
			resume(t, s)
			f.wg.Wait()
			asked := f.worker.begun.Load() * floodBytes
			t.Logf("asked to write %d MiB, the heap grew by %d MiB, the writer was stuck for %v", asked>>20, highest>>20,
				time.Duration(stuck.longest.Load()).Round(time.Millisecond))
			if highest > floodMemory {
				t.Errorf("the heap grew by %d bytes, more than %d", highest, floodMemory)
			}
			if asked < 2*floodMemory {
				t.Errorf("only %d bytes were written, which shows nothing", asked)
			}
			if w := time.Duration(stuck.longest.Load()); w < silentTimeout/6 {
				t.Errorf("the writer was stuck for %v: there was no full socket", w)
			}
			// A call counts until its caller has seen its end, which may be after the next one has been accepted.
			if n := f.most.Load(); n > floodCalls+flooders {
				t.Errorf("%d requests were under way, more than %d", n, floodCalls)
			}
		},
	}
}

// flood is many impatient callers that set one znode. Half of them wait for their replies, the others for room only.
type flood struct {
	worker *worker
	under  atomic.Int64 // submitted and not complete
	most   atomic.Int64 // the most that under has been
	stop   chan struct{}
	once   sync.Once // closes stop
	wg     sync.WaitGroup
}

func startFlood(l *load) *flood {
	f := &flood{worker: &worker{name: "flood"}, stop: make(chan struct{})}
	l.flooded = f.worker
	for i := range flooders {
		c := &flooder{f: f, l: l, rng: rand.New(rand.NewPCG(uint64(i), 2)), data: make([]byte, floodBytes-256)}
		binary.BigEndian.PutUint32(c.data, uint32(i))
		once := c.wait
		if i%2 == 1 {
			c.q, c.sets = client.NewQueue(), make(map[uint32]client.SetCall)
			once = c.submit
		}
		// Caller; owned by f; ends with it, when its last call is complete.
		f.wg.Go(func() { c.run(once) })
	}
	l.t.Cleanup(func() { f.halt(); f.wg.Wait() })
	return f
}

// halt lets nobody begin another call.
func (f *flood) halt() { f.once.Do(func() { close(f.stop) }) }

// flooder is one caller.
type flooder struct {
	f    *flood
	l    *load
	rng  *rand.Rand
	data []byte
	n    uint32
	q    *client.Queue // of one that does not wait
	sets map[uint32]client.SetCall
}

func (c *flooder) run(once func(ctx context.Context)) {
	every := time.NewTicker(floodPace)
	defer every.Stop()
	for {
		select {
		case <-c.f.stop:
			c.drain()
			return
		case <-every.C:
		}
		c.take()
		c.n++
		binary.BigEndian.PutUint32(c.data[4:], c.n)
		c.f.worker.begun.Add(1)
		ctx, cancel := context.WithTimeout(c.l.t.Context(), time.Duration(20+c.rng.IntN(200))*time.Millisecond)
		once(ctx)
		cancel()
	}
}

func (c *flooder) wait(ctx context.Context) {
	_, err := c.l.c.Set(ctx, c.l.dir+"/flood", c.data, client.AnyVersion)
	c.f.worker.note(classify(c.l.t, err, true))
}

func (c *flooder) submit(ctx context.Context) {
	g := c.l.c.Group()
	set := g.Set(c.l.dir+"/flood", c.data, client.AnyVersion)
	if err := g.Submit(ctx, c.q, c.n); err != nil {
		c.f.worker.note(classify(c.l.t, err, true))
		return
	}
	c.sets[c.n] = set
	c.f.most.Store(max(c.f.most.Load(), c.f.under.Add(1)))
}

// take handles what has completed.
func (c *flooder) take() {
	if c.q == nil {
		return
	}
	for it, more := c.q.TryNext(); more; it, more = c.q.TryNext() {
		c.item(it)
	}
}

func (c *flooder) item(it client.Item) {
	set, underWay := c.sets[it.Tag]
	if !underWay {
		c.l.t.Errorf("set %d completed, and was not under way", it.Tag)
		return
	}
	delete(c.sets, it.Tag)
	c.f.under.Add(-1)
	_, err := set.Stat()
	c.f.worker.note(classify(c.l.t, err, true))
}

// drain waits for what was submitted.
func (c *flooder) drain() {
	ctx, cancel := context.WithTimeout(c.l.t.Context(), patience)
	defer cancel()
	for len(c.sets) > 0 {
		it, err := c.q.Next(ctx)
		if err != nil {
			c.l.t.Errorf("%d sets never complete", len(c.sets))
			return
		}
		c.item(it)
	}
}

// verifyFlood counts the flood's writes, and returns how many of unknown outcome were applied.
func (l *load) verifyFlood(t *testing.T, c *client.Client) int {
	t.Helper()
	st, _, err := c.Exists(patient(t), l.dir+"/flood")
	good, unknown := l.flooded.ended[ok].Load(), l.flooded.ended[unknownWrite].Load()
	if err != nil || int64(st.Version) < good || int64(st.Version) > good+unknown {
		t.Errorf("flood: %d writes succeeded, %d are unknown, %d were applied: %v", good, unknown, st.Version, err)
	}
	return int(int64(st.Version) - good)
}

// watch looks at the heap until the client has given the connection up, halts the flood, and returns by how much it grew.
func (f *flood) watch(t *testing.T, before int64, stuck *stuckWriter, lost func(*testing.T)) (highest int64) {
	t.Helper()
	done := make(chan struct{})
	var sampler sync.WaitGroup
	// Sampler; owned by watch, which waits; ends when done is closed.
	sampler.Go(func() {
		every := time.NewTicker(50 * time.Millisecond)
		defer every.Stop()
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-every.C:
			}
			stuck.look()
			if n%5 == 0 {
				highest = max(highest, heap()-before)
			}
		}
	})
	finish := sync.OnceFunc(func() { close(done); sampler.Wait() })
	defer finish()
	lost(t)
	f.halt()
	finish()
	return highest
}

// heap returns how many bytes are reachable.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// stuckWriter makes connections with a small send buffer and tells for how long a write has not returned.
type stuckWriter struct {
	since   atomic.Int64 // when the write that is under way began; 0 for none
	longest atomic.Int64 // what look has seen
}

func (s *stuckWriter) look() {
	if since := s.since.Load(); since != 0 {
		s.longest.Store(max(s.longest.Load(), time.Now().UnixNano()-since))
	}
}

func (s *stuckWriter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if tcp, isTCP := nc.(*net.TCPConn); isTCP {
		err = tcp.SetWriteBuffer(64 << 10)
	}
	return &slowConn{nc, s}, err
}

type slowConn struct {
	net.Conn
	s *stuckWriter
}

func (c *slowConn) Write(b []byte) (int, error) {
	c.s.since.Store(time.Now().UnixNano())
	defer c.s.since.Store(0)
	return c.Conn.Write(b)
}
