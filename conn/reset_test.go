package conn_test

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/assert"
)

// A server that closes a connection while it is being made has refused it; one that nobody listens for has not.
func TestDialThatIsReset(t *testing.T) {
	for errno, want := range map[syscall.Errno]bool{syscall.ECONNRESET: true, syscall.EPIPE: true, syscall.ECONNREFUSED: false} {
		_, err := conn.Dial(t.Context(), "one:2181", &conn.Config{Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)}
		}})
		assert.ErrorIs(t, err, errno)
		if want {
			assert.ErrorIs(t, err, conn.ErrRefused)
		} else {
			assert.NotErrorIs(t, err, conn.ErrRefused)
		}
	}
}

// Over TLS it is the TLS handshake that finds out.
func TestTLSHandshakeThatIsCutOff(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	defer ln.Close()
	// A server that has too many connections: owned by the test, ends with its one connection.
	go func() {
		if nc, err := ln.Accept(); err == nil {
			_ = nc.Close()
		}
	}()
	_, err = conn.Dial(t.Context(), ln.Addr().String(), &conn.Config{TLS: &tls.Config{}})
	assert.ErrorIs(t, err, conn.ErrRefused)
}
