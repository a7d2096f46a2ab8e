package session

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/proto"
)

// scribes notes who has written each burst.
type scribes struct {
	mu     sync.Mutex
	direct []bool // it was a caller
}

func (s *scribes) trace() *Trace {
	return &Trace{Burst: func(int, int, int) {
		stack := make([]byte, 16<<10)
		stack = stack[:runtime.Stack(stack, false)]
		s.mu.Lock()
		defer s.mu.Unlock()
		s.direct = append(s.direct, !strings.Contains(string(stack), "writeLoop"))
	}}
}

// take returns what has been noted since the last time.
func (s *scribes) take() []bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.direct
	s.direct = nil
	return d
}

// ask1 queues one exists.
func ask1(t *testing.T, k *Keeper, path string) *Group {
	g := exists(path, nil)
	require.NoError(t, k.Current().Submit(t.Context(), g))
	return g
}

func TestWhoIsAloneWritesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var by scribes
		_, k, l := start(t, func(c *Config) { c.Trace = by.trace() })
		defer finishWith(k, l)
		for range 3 {
			g := ask1(t, k, "/alone")
			assert.Equal(t, []bool{true}, by.take(), "alone")
			l.reply(l.read(), 1, 0, stat)
			<-g.done
		}
		a := ask1(t, k, "/a")
		assert.Equal(t, []bool{true}, by.take(), "the first of three")
		b, c := ask1(t, k, "/b"), ask1(t, k, "/c")
		synctest.Wait()
		for _, direct := range by.take() {
			assert.False(t, direct, "the writer collects while something is in flight")
		}
		for range 3 {
			l.reply(l.read(), 1, 0, stat)
		}
		for _, g := range []*Group{a, b, c} {
			<-g.done
		}
		synctest.Wait()
		g := ask1(t, k, "/after")
		synctest.Wait()
		assert.Equal(t, []bool{false}, by.take(), "after a crowd the writer looks whether there is another one")
		l.reply(l.read(), 1, 0, stat)
		<-g.done
		synctest.Wait()
		g = ask1(t, k, "/alone")
		assert.Equal(t, []bool{true}, by.take(), "alone again")
		l.reply(l.read(), 1, 0, stat)
		<-g.done
	})
}

func TestLargeRequestsAreTheWriters(t *testing.T) { // a caller must not wait in a write
	synctest.Test(t, func(t *testing.T) {
		var by scribes
		_, k, l := start(t, func(c *Config) { c.Trace = by.trace() })
		defer finishWith(k, l)
		g := ask1(t, k, "/"+strings.Repeat("x", directBytes))
		synctest.Wait()
		assert.Equal(t, []bool{false}, by.take())
		l.reply(l.read(), 1, 0, stat)
		<-g.done
	})
}

// gated is a network connection whose writes wait, or fail, while a test wants that.
type gated struct {
	net.Conn
	prompt bool
	hold   func() error // called before each write
}

func (c *gated) PromptWrites() bool { return c.prompt }

func (c *gated) Write(b []byte) (int, error) {
	if err := c.hold(); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// through makes the connections of cfg gated ones.
func through(cfg *Config, prompt bool, hold func() error) {
	dial := cfg.Env.Dial
	cfg.Env.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		nc, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &gated{nc, prompt, hold}, nil
	}
}

func TestUnknownConnectionsAreTheWriters(t *testing.T) { // their Write may wait for whoever reads
	synctest.Test(t, func(t *testing.T) {
		var by scribes
		_, k, l := start(t, func(c *Config) {
			c.Trace = by.trace()
			through(c, false, func() error { return nil })
		})
		defer finishWith(k, l)
		g := ask1(t, k, "/a")
		synctest.Wait()
		assert.Equal(t, []bool{false}, by.take())
		l.reply(l.read(), 1, 0, stat)
		<-g.done
	})
}

func TestWhatIsQueuedBehindADirectWrite(t *testing.T) { // nobody else would write it
	for name, then := range map[string]func(t *testing.T, k *Keeper, l *link){
		"request": func(t *testing.T, k *Keeper, l *link) {
			g := ask1(t, k, "/b")
			synctest.Wait()
			l.reply(l.read(), 1, 0, stat)
			r := l.read()
			assert.Contains(t, string(r.body), "/b")
			l.reply(r, 1, 0, stat)
			<-g.done
		},
		"ping": func(t *testing.T, k *Keeper, l *link) {
			s := k.Current()
			s.mu.Lock()
			s.cx.pingDue = true
			s.mu.Unlock()
			s.cx.signal()
			synctest.Wait()
			l.reply(l.read(), 1, 0, stat)
			assert.Equal(t, proto.OpPing, l.read().op)
			l.write(frame(proto.XidPing, 1, 0, nil))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan struct{})
				var shut bool
				_, k, l := start(t, func(c *Config) {
					through(c, true, func() error {
						if shut {
							<-gate
						}
						return nil
					})
				})
				defer finishWith(k, l)
				shut = true
				a := exists("/a", nil)
				go func() { _ = k.Current().Submit(context.Background(), a) }() // ends with the write
				synctest.Wait()
				shut = false
				time.AfterFunc(time.Second, func() { close(gate) })
				then(t, k, l)
				<-a.done
			})
		})
	}
}

func TestDirectWriteThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := false
		s, k, _ := start(t, func(c *Config) {
			through(c, true, func() error {
				if broken {
					return errors.New("no route")
				}
				return nil
			})
		})
		broken = true
		g := setData("/a")
		require.NoError(t, k.Current().Submit(t.Context(), g))
		broken = false
		l, _ := s.serve(0x77, 12*time.Second)
		defer finishWith(k, l)
		<-g.done
		o, err := g.Result(0)
		assert.Equal(t, Unknown, o)
		assert.ErrorIs(t, err, ErrConnectionLoss)
		again := ask1(t, k, "/b")
		l.reply(l.read(), 1, 0, stat)
		<-again.done
	})
}

// A server that refuses, and closes, is heard even if something is written at that moment, by whomever.
func TestRefusalBehindAFailedWrite(t *testing.T) {
	for name, prompt := range map[string]bool{"caller": true, "writer": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var broken atomic.Bool
				s, k, l := start(t, func(c *Config) {
					through(c, prompt, func() error {
						if broken.Load() {
							return syscall.EPIPE
						}
						return nil
					})
				})
				broken.Store(true)
				g := setData("/a")
				submit(t, k, g) // the write has failed, and the refusal comes behind that
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
		})
	}
}

func TestCloseDuringADirectWrite(t *testing.T) { // closeSession goes out behind it
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var shut bool
		_, k, l := start(t, func(c *Config) {
			through(c, true, func() error {
				if shut {
					<-gate
				}
				return nil
			})
		})
		shut = true
		a := exists("/a", nil)
		go func() { _ = k.Current().Submit(context.Background(), a) }() // ends with the write
		synctest.Wait()
		shut = false
		closed := make(chan error)
		go func() { closed <- k.Close() }() // ends with the session
		synctest.Wait()
		close(gate)
		l.reply(l.expect(proto.OpExists), 1, 0, stat)
		l.goodbye()
		assert.NoError(t, <-closed)
		<-a.done
	})
}
