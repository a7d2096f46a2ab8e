package conn_test

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
	"github.com/lockkeeper/lockkeeper/internal/require"
)

func TestDialOverAnotherNetwork(t *testing.T) {
	l := memnet.Listen()
	defer l.Close()
	fc, err := conn.Dial(t.Context(), "zk1:2181", &conn.Config{Dial: l.Dial})
	require.NoError(t, err)
	defer fc.Close()
	srv, err := l.Accept()
	require.NoError(t, err)
	send(t, srv, unhex(e28ReadOnly))
	rep, err := fc.Handshake(t.Context(), newSession())
	require.NoError(t, err)
	assert.True(t, rep.ReadOnly)
	assert.Equal(t, "zk1:2181", fc.RemoteAddr().String())
	assert.NotNil(t, fc.LocalAddr())
	assert.EqualValues(t, 41, fc.Received())
}

func TestDialTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	served := make(chan error, 1)
	go func() { // ends with the connection
		nc, err := l.Accept()
		if err == nil {
			defer nc.Close()
			_, _, err = conn.New(nc, nil).ReadConnectRequest()
			nc.Write(unhex(e1Answer))
		}
		served <- err
	}()
	fc, err := conn.Dial(t.Context(), l.Addr().String(), nil)
	require.NoError(t, err)
	defer fc.Close()
	_, err = fc.Handshake(t.Context(), newSession())
	require.NoError(t, err)
	require.NoError(t, <-served)
}

// F67: what went wrong, and at which address.
func TestDialErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	_, err = conn.Dial(t.Context(), addr, nil)
	var e *conn.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "dial", e.Op)
	assert.Equal(t, addr, e.Addr)
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
	assert.Contains(t, err.Error(), addr)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = conn.Dial(ctx, addr, nil)
	assert.ErrorIs(t, err, context.Canceled)

	own := errors.New("proxy says no")
	refuse := func(context.Context, string, string) (net.Conn, error) { return nil, own }
	_, err = conn.Dial(t.Context(), "zk1:2181", &conn.Config{Dial: refuse})
	assert.ErrorIs(t, err, own)
	assert.Equal(t, "zk1:2181: dial: proxy says no", err.Error())
	_, err = conn.Dial(ctx, "zk1:2181", &conn.Config{Dial: refuse})
	assert.ErrorIs(t, err, context.Canceled, "a dialer that does not return the context's error")
}
