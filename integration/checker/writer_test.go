package checker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// writers change a few znodes under faults: it is the client that is checked here, without a lock.
type writers struct {
	*sim
	resend bool // the mistake: a write whose outcome is unknown is sent again

	mu  sync.Mutex // guards ops
	ops []porcupine.Operation
}

// network holds the faults that concern no lock.
func network() (faults []fault) {
	for _, f := range usual {
		if !strings.Contains(f.name, "operator") && !strings.Contains(f.name, "swept") {
			faults = append(faults, f)
		}
	}
	return faults
}

// simulateWriters makes one run and says whether an order explains it.
func simulateWriters(t *testing.T, seed uint64, resend bool) (ops int, result porcupine.CheckResult) {
	t.Helper()
	w := &writers{resend: resend}
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.New()
		defer srv.Close()
		w.sim = &sim{srv: srv, stalls: make(map[string]int)}
		w.run = newRun(setup{faults: network(), timeout: simTimeout}, w.sim, seed)
		w.whole(t)
	})
	var all []porcupine.Operation
	parts := make(map[any][]porcupine.Operation)
	for _, op := range w.ops {
		if op.Return == 0 {
			op.Return = int64(w.h.end)
		}
		parts[op.Metadata] = append(parts[op.Metadata], op)
	}
	for _, part := range parts {
		if result, _ := porcupine.CheckOperationsVerbose(ZnodeModel(), part, checkTime); result != porcupine.Ok {
			return len(w.ops), result
		}
		all = append(all, part...)
	}
	return len(all), porcupine.Ok
}

// whole is the run from begin to end.
func (w *writers) whole(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	_, _ = w.srv.Create("/z", nil, proto.ModePersistent) // cannot fail: the server is new
	for i := range 4 {
		c, err := w.connect(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		w.clients = append(w.clients, c)
		rng := w.rand(ofWorkers + uint64(i))
		// Writer; owned by the run, which waits for it; ends when ctx does.
		w.workers.Go(func() { w.write(ctx, i, rng) })
	}
	rng := w.rand(ofFaults)
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); {
		pass(time.Duration(rng.ExpFloat64() * float64(time.Second)))
		w.fault(rng)
	}
	for _, f := range w.heal {
		f()
	}
	pass(2 * simTimeout)
	cancel()
	w.workers.Wait()
	w.closeClients()
}

// write changes and reads znodes.
func (w *writers) write(ctx context.Context, i int, rng *rand.Rand) {
	known := make(map[string]int32) // the versions that were seen last
	for n := 0; ctx.Err() == nil; n++ {
		pass(time.Duration(rng.IntN(int(500 * time.Millisecond))))
		path := fmt.Sprintf("/z/%c", 'a'+rng.IntN(3))
		in := ZnodeInput{Kind: []ZnodeKind{ZnodeCreate, ZnodeSet, ZnodeSet, ZnodeDelete, ZnodeRead, ZnodeRead}[rng.IntN(6)],
			Value: fmt.Sprint(i, ".", n), Version: known[path]}
		call, cancel := context.WithTimeout(ctx, time.Duration(rng.ExpFloat64()*float64(simTimeout)))
		op := porcupine.Operation{ClientId: i, Input: in, Metadata: path, Call: int64(w.h.Now())}
		out := w.do(call, w.clients[i], path, in)
		cancel()
		if !out.Unknown {
			op.Return = int64(w.h.Now())
			if out.Exists && in.Kind != ZnodeDelete {
				known[path] = out.Version
			}
		}
		op.Output = out
		w.mu.Lock()
		w.ops = append(w.ops, op)
		w.mu.Unlock()
	}
}

// do makes one request, or with the mistake as many as it takes to be answered.
func (w *writers) do(ctx context.Context, c *client.Client, path string, in ZnodeInput) (out ZnodeOutput) {
	for {
		err := w.once(ctx, c, path, in, &out)
		switch {
		case err == nil:
			out.Exists = out.Exists || in.Kind != ZnodeRead
		case errors.Is(err, client.ErrNoNode), errors.Is(err, client.ErrNodeExists), errors.Is(err, client.ErrBadVersion):
			out.Exists = false
		case w.resend && errors.Is(err, client.ErrConnectionLoss) && ctx.Err() == nil:
			continue
		case client.MaybeApplied(err):
			out.Unknown = true
		default:
			out.Failed = true
		}
		return out
	}
}

func (w *writers) once(ctx context.Context, c *client.Client, path string, in ZnodeInput, out *ZnodeOutput) error {
	switch in.Kind {
	case ZnodeCreate:
		_, st, err := c.Create(ctx, path, []byte(in.Value), client.ModePersistent, nil)
		out.Version = st.Version
		return err
	case ZnodeSet:
		st, err := c.Set(ctx, path, []byte(in.Value), in.Version)
		out.Version = st.Version
		return err
	case ZnodeDelete:
		return c.Delete(ctx, path, in.Version)
	}
	g := c.Group()
	g.Sync(path)
	get := g.Get(path, nil)
	_ = g.Do(ctx) // get has the error that matters
	data, st, err := get.Data()
	out.Exists, out.Version, out.Value = err == nil, st.Version, string(data)
	return err
}

// TestWriters checks the client itself with the model of a znode, and has the mistake of control 9 found: a client that sends writes
// of unknown outcome again.
func TestWriters(t *testing.T) {
	found, ops := 0, 0
	for i := range controlSeeds / 4 {
		seed := *firstSeed + uint64(i)
		n, result := simulateWriters(t, seed, false)
		if ops += n; result != porcupine.Ok {
			t.Errorf("seed %d: %v; to repeat it, run with -run '^TestWriters$' -checker.seed=%d", seed, result, seed)
		}
		if _, result := simulateWriters(t, seed, true); found == 0 && result == porcupine.Illegal {
			found = i + 1
		}
	}
	t.Logf("znode model: %d histories, %d operations, all legal; control 9 sends unknown writes again: found after %d seeds, illegal",
		controlSeeds/4, ops, found)
	if found == 0 {
		t.Errorf("control 9 was not found")
	}
}
