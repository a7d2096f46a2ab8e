package recipes

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/internal/leakcheck"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

const timeout = 12 * time.Second

// bubble runs f in virtual time with an in-memory server.
func bubble(t *testing.T, f func(t *testing.T, srv *zktest.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.New()
		defer srv.Close()
		f(t, srv)
	})
}

// dial connects a client, to member one unless another is named. It is closed at the end of the test.
func dial(t *testing.T, srv *zktest.Server, opts ...client.Option) *client.Client {
	t.Helper()
	return dialTo(t, srv, "one:2181", opts...)
}

func dialTo(t *testing.T, srv *zktest.Server, servers string, opts ...client.Option) *client.Client {
	t.Helper()
	opts = append([]client.Option{client.Dialer(srv.Dial), client.SessionTimeout(timeout)}, opts...)
	c, err := client.Connect(t.Context(), servers, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// locker is a lock that can be waited for.
type locker interface {
	Lock(context.Context) (*Lease, error)
}

func lock(t *testing.T, m locker) *Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // of virtual time, in which a wait for ever would not show
	defer cancel()
	l, err := m.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func release(t *testing.T, l *Lease) {
	t.Helper()
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// waiter is a Lock that runs in its own goroutine.
type waiter struct {
	lease *Lease
	err   error
	done  chan struct{}
}

func goLock(ctx context.Context, m locker) *waiter {
	w := &waiter{done: make(chan struct{})}
	go func() {
		w.lease, w.err = m.Lock(ctx)
		close(w.done)
	}()
	return w
}

func (w *waiter) over() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}
