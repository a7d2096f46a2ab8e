package embedded_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/internal/leakcheck"
	"github.com/lockkeeper/lockkeeper/internal/load/embedded"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// TestMain is also the child's main function, as the package asks of every program that uses it.
func TestMain(m *testing.M) {
	embedded.Divert()
	leakcheck.Main(m)
}

// use makes a znode through a connect string.
func use(t *testing.T, servers, path string) {
	t.Helper()
	c, err := client.Connect(t.Context(), servers)
	require.NoError(t, err)
	_, _, err = c.Create(t.Context(), path, nil, client.ModePersistent, nil)
	require.NoError(t, err)
	require.NoError(t, c.Close())
}

func TestTheChildServesUntilItIsClosed(t *testing.T) {
	for name, o := range map[string]embedded.Options{"near": {}, "far": {RTT: 10_000}} {
		t.Run(name, func(t *testing.T) {
			s, err := embedded.Start(t.Context(), o)
			require.NoError(t, err)
			assert.NotEqual(t, os.Getpid(), s.PID())
			use(t, s.Servers(), "/a")
			require.NoError(t, s.Close())
			<-s.Ended()
			require.NoError(t, s.Close(), "a second time")
		})
	}
}

func TestTheChildDelaysServersThatRunElsewhere(t *testing.T) {
	srv := zktest.New()
	defer srv.Close()
	addr, err := srv.Listen()
	require.NoError(t, err)
	use(t, addr, "/app")
	s, err := embedded.Start(t.Context(), embedded.Options{RTT: 10_000, Servers: addr + ", " + addr + "/app"})
	require.NoError(t, err)
	defer s.Close()
	assert.NotContains(t, s.Servers(), addr)
	assert.Equal(t, 1, strings.Count(s.Servers(), ","))
	use(t, s.Servers(), "/b")
	assert.True(t, srv.Exists("/app/b"), "the chroot is kept")
}

// The child lives no longer than its parent, whose end closes the child's standard input.
func TestTheChildEndsWithItsParent(t *testing.T) {
	child := exec.Command(os.Args[0], embedded.Flag, "0s")
	stdin, err := child.StdinPipe()
	require.NoError(t, err)
	stdout, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	line := make([]byte, 1)
	_, err = stdout.Read(line)
	require.NoError(t, err)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		require.NoError(t, child.Process.Signal(sig), "as terminals and supervisors do to a whole group of processes")
	}
	require.NoError(t, stdin.Close())
	require.NoError(t, child.Wait(), "it ends by itself, not by the signal")
}

func TestAChildThatCannotServeIsAnError(t *testing.T) {
	for _, args := range [][]string{{}, {"soon"}, {"1s", "a", "b"}} {
		var text strings.Builder
		assert.Equal(t, 1, embedded.Main(args, strings.NewReader(""), &text, &text))
		assert.Contains(t, text.String(), "server of the benchmark")
	}
}
