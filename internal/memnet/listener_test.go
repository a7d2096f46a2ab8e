package memnet_test

import (
	"context"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/internal/memnet"
)

func TestListenerConnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memnet.Listen()
		accepted := make(chan net.Conn, 1)
		go func() {
			nc, err := l.Accept()
			assert.NoError(t, err)
			accepted <- nc
		}()
		synctest.Wait()
		near, err := l.Dial(t.Context(), "tcp", "zk1:2181")
		require.NoError(t, err)
		far := <-accepted
		assert.Equal(t, "zk1:2181", near.RemoteAddr().String())
		assert.Equal(t, near.LocalAddr(), far.RemoteAddr())
		_, err = near.Write([]byte("hello"))
		require.NoError(t, err)
		require.NoError(t, near.Close())
		got, err := io.ReadAll(far)
		require.NoError(t, err)
		assert.Equal(t, "hello", string(got))
		require.NoError(t, l.Close())
	})
}

func TestDialDoesNotWaitForAccept(t *testing.T) {
	l := memnet.ListenBounded(16)
	a, err := l.Dial(t.Context(), "tcp", "x")
	require.NoError(t, err)
	b, err := l.Dial(t.Context(), "tcp", "x")
	require.NoError(t, err)
	assert.NotEqual(t, a.LocalAddr(), b.LocalAddr())
	far, err := l.Accept()
	require.NoError(t, err)
	assert.Equal(t, a.LocalAddr(), far.RemoteAddr(), "first come, first served")

	require.NoError(t, l.Close())
	_, err = b.Read(make([]byte, 1))
	assert.ErrorIs(t, err, syscall.ECONNRESET, "nobody had accepted it")
	_, err = far.Write([]byte("x"))
	assert.NoError(t, err, "accepted connections outlive the listener")
}

func TestClosedListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memnet.Listen()
		errC := make(chan error)
		go func() { _, err := l.Accept(); errC <- err }()
		synctest.Wait()
		require.NoError(t, l.Close())
		assert.ErrorIs(t, <-errC, net.ErrClosed)
		assert.ErrorIs(t, l.Close(), net.ErrClosed)
		_, err := l.Dial(t.Context(), "tcp", "zk1:2181")
		assert.ErrorIs(t, err, syscall.ECONNREFUSED)
		assert.Equal(t, "mem", l.Addr().Network())
	})
}

func TestDialWithADeadContext(t *testing.T) {
	l := memnet.Listen()
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.Dial(ctx, "tcp", "zk1:2181")
	assert.ErrorIs(t, err, context.Canceled)
}
