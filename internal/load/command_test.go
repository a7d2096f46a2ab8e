package load_test

import (
	"flag"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/internal/load"
)

func TestParseAndStatus(t *testing.T) {
	for _, tc := range []struct {
		args        string
		check       error
		do          error
		status      int
		want, never string
	}{
		{args: "-n 3"},
		{args: "-n 3", do: errPlanted, status: 1, want: "prog: planted\n"},
		{args: "-n x", status: 2, want: "-h shows all flags", never: "Usage"},
		{args: "-n 3 more", status: 2, want: `prog: unexpected argument "more"`},
		{args: "", check: errPlanted, status: 2, want: "prog: planted\nprog: -h shows all flags\n"},
		{args: "-h", check: errPlanted, status: 0, want: "Usage of prog", never: "planted"},
	} {
		fs := flag.NewFlagSet("prog", flag.ContinueOnError)
		fs.Int("n", 0, "a number")
		var text strings.Builder
		err := load.Parse(fs, strings.Fields(tc.args), &text, func() error { return tc.check })
		done := false
		status := load.Status("prog", &text, err, func() error { done = true; return tc.do })
		assert.Equal(t, tc.status, status, tc.args)
		assert.Equal(t, err == nil, done, tc.args)
		assert.Contains(t, text.String(), tc.want, tc.args)
		if tc.never != "" {
			assert.NotContains(t, text.String(), tc.never, tc.args)
		}
	}
}

// Every signal that asks a program to end is enough to end the context.
func TestSignalContext(t *testing.T) {
	// A second registration, so that the signals reset by the first end nothing if they should come late.
	caught := make(chan os.Signal, 3)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(caught)
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		ctx := load.SignalContext()
		err := self.Signal(sig)
		if runtime.GOOS == "windows" {
			t.Skipf("signals cannot be sent here: %v", err)
		}
		require.NoError(t, err)
		<-ctx.Done()
		assert.Equal(t, sig, <-caught)
	}
}
