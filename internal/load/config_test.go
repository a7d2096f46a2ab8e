package load_test

import (
	"flag"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/internal/load"
)

func TestValidate(t *testing.T) {
	require.NoError(t, config(&fake{}).Validate())
	for flag, spoil := range map[string]func(c *load.Config){
		"driver":      func(c *load.Config) { c.Driver = nil },
		"-workload":   func(c *load.Config) { c.Workload = "dig" },
		"-sessions":   func(c *load.Config) { c.Sessions = 0 },
		"-goroutines": func(c *load.Config) { c.Goroutines = -1 },
		"-handover":   func(c *load.Config) { c.HandOver = 1 },
		"-pipelined":  func(c *load.Config) { c.Workload, c.Pipelined = load.Get, true },
		"-locks":      func(c *load.Config) { c.Locks = 0 },
		"-hold is -":  func(c *load.Config) { c.Hold = -1 },
		"-hold is":    func(c *load.Config) { c.Hold = 1 },
		"-warmup":     func(c *load.Config) { c.Warmup = -1 },
		"-duration":   func(c *load.Config) { c.Ops = 0 },
		"operations":  func(c *load.Config) { c.WarmupOps = -1 },
	} {
		c := config(&fake{})
		spoil(c)
		err := c.Validate()
		require.ErrorIs(t, err, load.ErrConfig, flag)
		assert.ErrorContains(t, err, flag)
		_, err = load.Run(t.Context(), c)
		require.ErrorIs(t, err, load.ErrConfig, "Run validates")
	}
}

func TestFlags(t *testing.T) {
	c := load.Config{Driver: &fake{}}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	c.Register(fs)
	require.NoError(t, fs.Parse(nil))
	require.NoError(t, c.Validate(), "the defaults")
	assert.Equal(t, load.Lock, c.Workload)
	require.NoError(t, fs.Parse([]string{
		"-workload", "lock", "-sessions", "2", "-goroutines=3", "-locks=4", "-hold=5ms", "-duration=6s", "-warmup=0", "-handover=9", "-pipelined",
	}))
	require.NoError(t, c.Validate())
	assert.Equal(t, []any{2, 3, 4, 5 * time.Millisecond, 6 * time.Second, time.Duration(0), 9, true},
		[]any{c.Sessions, c.Goroutines, c.Locks, c.Hold, c.Duration, c.Warmup, c.HandOver, c.Pipelined})
}
