package relay_test

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/internal/leakcheck"
	"github.com/lockkeeper/lockkeeper/internal/relay"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// echo says back what it hears, until it is closed.
func echo(t *testing.T) string {
	r, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	// accepting, owned by the test; ends with the listener, and what it begins with the connections.
	go func() {
		for {
			nc, err := r.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(nc, nc); _ = nc.Close() }() // one connection
		}
	}()
	return r.Addr().String()
}

func join(near, far net.Conn) {
	done := make(chan struct{})
	go func() { _, _ = io.Copy(far, near); _, _ = near.Close(), far.Close(); close(done) }() // one way, which join waits for
	_, _ = io.Copy(near, far)
	_, _ = near.Close(), far.Close()
	<-done
}

func TestCutAndClose(t *testing.T) {
	r, err := relay.Listen(echo(t), join)
	require.NoError(t, err)
	dial := func() net.Conn {
		nc, err := net.Dial("tcp", r.Addr())
		require.NoError(t, err)
		t.Cleanup(func() { _ = nc.Close() })
		return nc
	}
	says := func(nc net.Conn) error {
		_, _ = nc.Write([]byte("x")) // whether it has arrived the answer tells
		_, err := io.ReadFull(nc, make([]byte, 1))
		return err
	}
	a, b := dial(), dial()
	require.NoError(t, says(a))
	require.NoError(t, says(b))
	r.Cut()
	assert.Error(t, says(a))
	assert.Error(t, says(b))
	c := dial()
	require.NoError(t, says(c), "Cut ends what is there, not what comes")
	r.Close()
	r.Close()
	assert.Error(t, says(c))
	_, err = net.Dial("tcp", r.Addr())
	assert.Error(t, err)
}

func TestServerThatIsNotThere(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	r, err := relay.Listen(gone.Addr().String(), join)
	require.NoError(t, err)
	defer r.Close()
	nc, err := net.Dial("tcp", r.Addr())
	require.NoError(t, err)
	defer nc.Close()
	_, err = nc.Read(make([]byte, 1))
	assert.Error(t, err)
}
