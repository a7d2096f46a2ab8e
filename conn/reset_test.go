package conn_test

import (
	"context"
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
