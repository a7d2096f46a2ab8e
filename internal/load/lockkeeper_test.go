package load_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/internal/load"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/recipes"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// serve starts a server for the test.
func serve(t *testing.T) (*zktest.Server, string) {
	t.Helper()
	srv := zktest.New()
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	addr, err := srv.Listen()
	require.NoError(t, err)
	return srv, addr
}

// nothingLeft checks that a run has taken all with it that it brought.
func nothingLeft(t *testing.T, srv *zktest.Server) {
	t.Helper()
	assert.Equal(t, []string{"zookeeper"}, srv.Children("/"))
	assert.Empty(t, srv.Sessions())
}

func TestEveryWorkloadOnZktest(t *testing.T) {
	for w, requests := range map[load.Workload]float64{load.Get: 1, load.Set: 1, load.Exists: 1, load.Group: 1, load.Lock: 0} {
		t.Run(string(w), func(t *testing.T) {
			srv, addr := serve(t)
			res := mustRun(t, &load.Config{
				Driver: load.Lockkeeper{}, Servers: addr, Workload: w, Sessions: 2, Goroutines: 2, Locks: 3, Ops: 100,
			})
			require.NoError(t, res.Failure())
			assert.Zero(t, res.ErrorCount(), "%v", res.FirstError)
			want := 100
			if w == load.Group {
				want *= load.GroupSize
			}
			assert.EqualValues(t, want, res.Operations)
			assert.EqualValues(t, 100, res.Latency.Count())
			if requests > 0 {
				assert.InDelta(t, requests, res.PerOp(res.Counters.Requests), 1e-12)
			} else {
				assert.EqualValues(t, 100, res.Holds)
				assert.EqualValues(t, 100, res.Pair.Count())
				assert.Greater(t, res.PerOp(res.Counters.Requests), 2.5, "create, list, delete")
			}
			nothingLeft(t, srv)
		})
	}
}

// An interrupt while contenders wait for a lock that is held leaves nothing either.
func TestAnInterruptedRunLeavesNothing(t *testing.T) {
	srv, addr := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var waiting atomic.Int32
	srv.OnRequest(func(r *zktest.Request) zktest.Verdict {
		if r.Op == proto.OpGetData && waiting.Add(1) == 5 { // the watches of those who wait
			cancel()
		}
		return zktest.Verdict{}
	})
	cfg := &load.Config{Driver: load.Lockkeeper{}, Servers: addr, Workload: load.Lock, Sessions: 2, Goroutines: 4, Locks: 1, Ops: 1 << 40}
	res, err := load.Run(ctx, cfg)
	require.NoError(t, err)
	require.ErrorIs(t, res.Failure(), load.ErrInterrupted)
	assert.Zero(t, res.Violations)
	nothingLeft(t, srv)
}

func TestAnInterruptedSetUpLeavesNothing(t *testing.T) {
	srv, addr := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var created atomic.Int32
	srv.OnRequest(func(r *zktest.Request) zktest.Verdict {
		if r.Op == proto.OpCreate2 && created.Add(1) == 100 {
			cancel()
		}
		return zktest.Verdict{}
	})
	cfg := &load.Config{Driver: load.Lockkeeper{}, Servers: addr, Workload: load.Lock, Sessions: 1, Goroutines: 1, Locks: 5000, Ops: 1}
	_, err := load.Run(ctx, cfg)
	require.ErrorIs(t, err, context.Canceled)
	nothingLeft(t, srv)
}

func TestErrorKinds(t *testing.T) {
	for want, err := range map[string]error{
		"no node":         &client.Error{Op: "get", Err: client.ErrNoNode},
		"connection loss": &client.Error{Op: "get", Err: client.ErrConnectionLoss},
		"session expired": fmt.Errorf("x: %w", client.ErrSessionExpired),
		"lease lost":      &recipes.Error{Op: "release", Err: errors.Join(recipes.ErrLost, recipes.ErrNodeGone)},
		"timeout":         context.DeadlineExceeded,
		"other":           errPlanted,
	} {
		assert.Equal(t, want, load.Lockkeeper{}.ErrorKind(err))
	}
}

func TestWatchesAndReads(t *testing.T) {
	srv, addr := serve(t)
	tree, err := load.Plant(t.Context(), addr, 1)
	require.NoError(t, err)
	ss, err := load.Lockkeeper{}.Open(t.Context(), addr)
	require.NoError(t, err)
	n, err := ss.(load.Reading).Read(t.Context(), tree.Paths[0], nil)
	require.NoError(t, err)
	assert.Equal(t, load.DataSize, n)
	_, err = ss.(load.Reading).Read(t.Context(), tree.Root+"/none", nil)
	require.ErrorIs(t, err, client.ErrNoNode)

	ws := ss.(load.Watching)
	fired, err := ws.Watch(t.Context(), tree.Root+"/comes")
	require.NoError(t, err)
	ended, err := ws.Watch(t.Context(), tree.Root+"/never")
	require.NoError(t, err)
	_, _, err = tree.Client.Create(t.Context(), tree.Root+"/comes", nil, client.ModePersistent, nil)
	require.NoError(t, err)
	require.NoError(t, ws.Wait(t.Context(), fired))
	require.NoError(t, ss.Close())
	require.ErrorIs(t, ws.Wait(t.Context(), ended), client.ErrClosed)
	require.NoError(t, tree.Remove(t.Context()))
	nothingLeft(t, srv)
}
