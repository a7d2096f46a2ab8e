package load_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/internal/load"
)

// config is a run of a fake without a server.
func config(f *fake) *load.Config {
	return &load.Config{Driver: f, Workload: load.Get, Sessions: 1, Goroutines: 1, Locks: 1, Bare: true, Ops: 10}
}

func mustRun(t *testing.T, cfg *load.Config) *load.Result {
	t.Helper()
	res, err := load.Run(t.Context(), cfg)
	require.NoError(t, err)
	return res
}

// The figures of a run in virtual time are exact: each call takes a millisecond.
func TestARunBoundedByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{call: func(ctx context.Context) (int, error) {
			<-time.After(time.Millisecond)
			return 1, nil
		}}
		cfg := config(f)
		cfg.Ops, cfg.Warmup, cfg.Duration = 0, time.Second+time.Microsecond, 2*time.Second
		cfg.Sessions, cfg.Goroutines = 2, 3
		var looks []load.Progress
		cfg.Progress = func(p load.Progress) { looks = append(looks, p) }
		res := mustRun(t, cfg)
		require.NoError(t, res.Failure())
		assert.Equal(t, 2*time.Second, res.Window)
		assert.EqualValues(t, 6*2000, res.Operations)
		assert.InDelta(t, 6000, res.PerSec(), 1e-9)
		assert.Equal(t, time.Millisecond, res.Latency.Min())
		assert.Equal(t, time.Millisecond, res.Latency.Max())
		assert.InDelta(t, 1, res.Fairness, 1e-12)
		assert.InDelta(t, 2*2, res.PerOp(res.Counters.Requests), 0.01, "each of the two sessions claims all calls")
		assert.EqualValues(t, 2, f.closed.Load())
		require.NotEmpty(t, looks)
		assert.Equal(t, 500*time.Millisecond, looks[0].Elapsed)
		assert.Equal(t, 3*time.Second+time.Microsecond, looks[0].Total)
		assert.InDelta(t, 6000, looks[0].PerSec, 20)
	})
}

func TestARunBoundedByNumbers(t *testing.T) {
	f := &fake{}
	cfg := config(f)
	cfg.WarmupOps = 5
	res := mustRun(t, cfg)
	require.NoError(t, res.Failure())
	assert.EqualValues(t, 10, res.Operations)
	assert.EqualValues(t, 15, f.calls.Load())
	assert.EqualValues(t, 20, res.Counters.Requests, "those of the warm-up do not count")
	assert.EqualValues(t, 10, res.Latency.Count())
}

// A look at the counters that takes long, and rounds of the warm-up that are under way when the first of the window could
// begin: neither shifts requests from one into the other.
func TestARunBoundedByNumbersCountsItsOwnRequests(t *testing.T) {
	for _, warmup := range []int64{0, 1, 5} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{look: func() { <-time.After(time.Second) }}
			f.call = func(context.Context) (int, error) {
				<-time.After(time.Duration(1+f.calls.Load()) * time.Millisecond)
				return 1, nil
			}
			cfg := config(f)
			cfg.Goroutines, cfg.WarmupOps = 4, warmup
			res := mustRun(t, cfg)
			require.NoError(t, res.Failure())
			assert.EqualValues(t, 10, res.Operations)
			assert.EqualValues(t, 20, res.Counters.Requests)
			assert.EqualValues(t, 10+warmup, f.calls.Load())
		})
	}
}

// A run that is stopped in its warm-up, also while its window is being opened, has no figures, and ends.
func TestARunBoundedByNumbersThatIsStoppedInItsWarmUp(t *testing.T) {
	for _, after := range []time.Duration{0, time.Millisecond, 2500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			defer cancel()
			f := &fake{look: func() { <-time.After(time.Second) }, call: func(context.Context) (int, error) {
				<-time.After(time.Second)
				return 1, nil
			}}
			cfg := config(f)
			cfg.Goroutines, cfg.WarmupOps = 4, 5
			res, err := load.Run(ctx, cfg)
			require.NoError(t, err)
			require.ErrorIs(t, res.Failure(), load.ErrInterrupted)
			assert.Contains(t, res.Failure().Error(), "nothing was measured")
			assert.False(t, res.Measured())
			assert.Zero(t, res.Operations)
		})
	}
}

// barrier returns a function that returns, closed, when it has been called n times.
func barrier(n int) func() <-chan struct{} {
	arrived, all := make(chan struct{}, n), make(chan struct{})
	return func() <-chan struct{} {
		arrived <- struct{}{}
		if len(arrived) == n {
			close(all)
		}
		<-all
		return all
	}
}

// Two contenders are granted the lock at once: both are made to hold it until the other does.
func TestAPlantedOverlapFailsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{lost: barrier(2)}
		cfg := config(f)
		cfg.Workload, cfg.Goroutines, cfg.Ops, cfg.Hold = load.Lock, 2, 2, time.Hour
		res := mustRun(t, cfg)
		require.ErrorIs(t, res.Failure(), load.ErrViolation)
		assert.EqualValues(t, 1, res.Violations)
		assert.EqualValues(t, 2, res.Holds)
		assert.Contains(t, res.Failure().Error(), "held it")
	})
}

func TestAPlantedTokenFailsTheRun(t *testing.T) {
	f := &fake{tokens: true, lock: func(context.Context) (load.Token, error) { return load.Token{Zxid: 3}, nil }}
	cfg := config(f)
	cfg.Workload, cfg.WarmupOps, cfg.Ops = load.Lock, 1, 1
	res := mustRun(t, cfg)
	require.ErrorIs(t, res.Failure(), load.ErrViolation)
	assert.EqualValues(t, 1, res.Violations, "a violation counts although its predecessor was in the warm-up")
}

func TestErrorsAreCountedApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		f.call = func(context.Context) (int, error) {
			if f.calls.Load()%2 == 1 {
				return 1, errPlanted
			}
			return 1, nil
		}
		res := mustRun(t, config(f))
		require.NoError(t, res.Failure(), "errors alone are no failure")
		assert.EqualValues(t, 5, res.Operations)
		assert.Equal(t, map[string]int64{"kind": 5}, res.Errors)
		assert.EqualValues(t, 5, res.ErrorCount())
		assert.EqualValues(t, 5, res.Latency.Count())
		require.ErrorIs(t, res.FirstError, errPlanted)
	})
}

func TestARunWithoutAnOperationHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res := mustRun(t, config(&fake{call: func(context.Context) (int, error) { return 0, errPlanted }}))
		require.ErrorIs(t, res.Failure(), load.ErrNoOperation)
		require.ErrorIs(t, res.Failure(), errPlanted)

		cfg := config(&fake{call: func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}})
		cfg.Ops, cfg.Duration = 0, time.Second
		res = mustRun(t, cfg)
		require.ErrorIs(t, res.Failure(), load.ErrNoOperation)
		assert.Zero(t, res.ErrorCount(), "what the end cuts off is no error")
	})
}

func TestAnInterruptedRunSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, after := range []time.Duration{0, time.Second / 2, 3 * time.Second / 2} {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			f := &fake{call: func(ctx context.Context) (int, error) {
				<-time.After(time.Millisecond)
				return 1, nil
			}}
			cfg := config(f)
			cfg.Ops, cfg.Warmup, cfg.Duration = 0, time.Second, time.Hour
			res, err := load.Run(ctx, cfg)
			cancel()
			require.NoError(t, err)
			require.ErrorIs(t, res.Failure(), load.ErrInterrupted)
			assert.Equal(t, after > time.Second, res.Operations > 0)
			assert.Equal(t, after > time.Second, res.Measured())
			assert.EqualValues(t, 1, f.closed.Load())
		}
	})
}

// A client whose calls know no context is freed by closing its sessions.
func TestCallsWithoutContextsEndWithTheirSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		f := &fake{close: func() { close(end) }}
		f.call = func(context.Context) (int, error) {
			if f.calls.Load() < 3 {
				<-time.After(time.Second)
				return 1, nil
			}
			<-end
			return 1, errPlanted
		}
		cfg := config(f)
		cfg.Ops, cfg.Duration = 0, time.Minute
		res := mustRun(t, cfg)
		require.NoError(t, res.Failure())
		assert.EqualValues(t, 1, f.closed.Load())
	})
}

func TestACallThatNeverEndsIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		cfg := config(&fake{call: func(context.Context) (int, error) {
			<-end
			return 1, nil
		}})
		cfg.Ops, cfg.Duration = 0, time.Minute
		res := mustRun(t, cfg)
		require.ErrorIs(t, res.Failure(), load.ErrStuck)
		close(end)
	})
}

func TestASessionThatDoesNotOpenEndsTheRun(t *testing.T) {
	opened := 0
	f := &fake{open: func() error {
		if opened++; opened > 1 {
			return errPlanted
		}
		return nil
	}}
	cfg := config(f)
	_, err := load.Run(t.Context(), cfg)
	require.NoError(t, err)
	_, err = load.Run(t.Context(), cfg)
	require.ErrorIs(t, err, errPlanted)
	assert.EqualValues(t, 1, f.closed.Load())
}

func TestReports(t *testing.T) {
	cfg := config(&fake{})
	cfg.Workload = load.Lock
	res := mustRun(t, cfg)
	var text strings.Builder
	require.NoError(t, res.WriteJSON(&text))
	var keys map[string]any
	require.NoError(t, json.Unmarshal([]byte(text.String()), &keys))
	for _, key := range []string{
		"client", "workload", "ops_per_sec", "p50_us", "p99_us", "requests_per_op", "flights_per_op", "allocs_per_op",
		"bytes_per_op", "errors", "violations",
	} {
		assert.Contains(t, keys, key)
	}
	assert.Equal(t, "fake", keys["client"])
	assert.Equal(t, "lock", keys["workload"])

	text.Reset()
	require.NoError(t, res.WriteTable(&text))
	for _, word := range []string{
		"fake", "ops/s", "p50", "p90", "p99", "p99.9", "max", "acquire + release", "requests/op", "flights/op", "allocations/op",
		"bytes/op", "fairness", "errors", "violations",
	} {
		assert.Contains(t, text.String(), word)
	}
}

// What comes between the planting and the first session sees the znodes, and its error ends the run, which leaves nothing.
func TestPlanted(t *testing.T) {
	srv, addr := serve(t)
	f := &fake{}
	cfg := config(f)
	cfg.Bare, cfg.Servers, cfg.Locks = false, addr, 2
	opened, planted := 0, 0
	f.open = func() error { opened++; return nil }
	cfg.Planted = func(ctx context.Context, tree *load.Tree) error {
		planted++
		require.Zero(t, opened)
		for _, path := range tree.Paths {
			require.True(t, srv.Exists(path))
		}
		return nil
	}
	require.NoError(t, mustRun(t, cfg).Failure())
	assert.Equal(t, []int{1, 1}, []int{planted, opened})
	cfg.Planted = func(context.Context, *load.Tree) error { return errPlanted }
	_, err := load.Run(t.Context(), cfg)
	require.ErrorIs(t, err, errPlanted)
	assert.Equal(t, 1, opened)
	nothingLeft(t, srv)
}

func TestATreeMayHaveNothingButItsRoot(t *testing.T) {
	srv, addr := serve(t)
	tree, err := load.Plant(t.Context(), addr, 0)
	require.NoError(t, err)
	assert.Empty(t, tree.Paths)
	assert.True(t, srv.Exists(tree.Root))
	require.NoError(t, tree.Remove(t.Context()))
	nothingLeft(t, srv)
}
