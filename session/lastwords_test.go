package session

import (
	"context"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/proto"
)

// mute is a network connection on which nothing can be written any more once it is told so.
type mute struct {
	net.Conn
	broken *atomic.Bool
}

func (c *mute) Write(b []byte) (int, error) {
	if c.broken.Load() {
		return 0, syscall.EPIPE
	}
	return c.Conn.Write(b)
}

// A server that refuses, and closes, is heard even if something is written at that moment.
func TestRefusalBehindAFailedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		s, k, l := start(t, func(c *Config) {
			dial := c.Env.Dial
			c.Env.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				nc, err := dial(ctx, network, addr)
				return &mute{nc, &broken}, err
			}
		})
		broken.Store(true)
		g := setData("/a")
		submit(t, k, g) // the write has failed when the refusal comes
		synctest.Wait()
		l.write(frame(k.Current().xid, 0, proto.ErrSessionClosedRequireSASL, nil))
		_ = l.fc.Close()
		select {
		case <-k.Done():
		case <-time.After(time.Minute): // of the bubble
			t.Error("the refusal is lost")
			_ = k.Close()
		}
		_, err := finished(g)
		assert.ErrorIs(t, err, ErrAuthFailed)
		assert.Equal(t, 1, s.dials)
	})
}

// And if the server says nothing, the connection ends all the same.
func TestFailedWriteEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		s, k, _ := start(t, func(c *Config) {
			dial := c.Env.Dial
			c.Env.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
				nc, err := dial(ctx, network, addr)
				return &mute{nc, &broken}, err
			}
		})
		broken.Store(true)
		g := setData("/a")
		submit(t, k, g)
		synctest.Wait()
		broken.Store(false)
		began := time.Now()
		l, _ := s.serve(0x77, testTimeout)
		assert.LessOrEqual(t, time.Since(began), 2*lastWords)
		lost(t, g)
		finishWith(k, l)
	})
}
