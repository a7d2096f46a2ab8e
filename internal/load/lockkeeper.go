package load

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/recipes"
)

// Lockkeeper is the Driver of our client.
type Lockkeeper struct {
	Options []client.Option // for Connect
}

// Name returns "lockkeeper".
func (Lockkeeper) Name() string { return "lockkeeper" }

// Tokens returns true.
func (Lockkeeper) Tokens() bool { return true }

// Open connects.
func (d Lockkeeper) Open(ctx context.Context, servers string) (Session, error) {
	c, err := client.Connect(ctx, servers, d.Options...)
	if err != nil {
		return nil, err
	}
	return &ourSession{c: c, mutexes: make(map[string]*recipes.Mutex)}, nil
}

// kinds are the reasons that are told apart, the more specific first.
var kinds = []struct {
	err  error
	kind string
}{
	{recipes.ErrLost, "lease lost"},
	{recipes.ErrReleasePending, "release pending"},
	{recipes.ErrCleanupPending, "clean-up pending"},
	{recipes.ErrNotAcquired, "not acquired"},
	{client.ErrSessionExpired, "session expired"},
	{client.ErrClosed, "closed"},
	{client.ErrConnectionLoss, "connection loss"},
	{client.ErrDisconnected, "disconnected"},
	{context.DeadlineExceeded, "timeout"},
	{context.Canceled, "cancelled"},
}

// ErrorKind names what an error of the client is about: one of its own reasons, or the server's code.
func (Lockkeeper) ErrorKind(err error) string {
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.kind
		}
	}
	if code := client.Code(0); errors.As(err, &code) {
		return code.Error()
	}
	return "other"
}

// ourSession is a Session of ours.
type ourSession struct {
	c *client.Client

	mu      sync.Mutex // guards mutexes
	mutexes map[string]*recipes.Mutex
}

func (s *ourSession) Close() error { return s.c.Close() }

func (s *ourSession) Counters() Counters {
	n := s.c.Counters()
	return Counters{Requests: n.Requests, Flights: n.Bursts}
}

// handOverFor is how long one znode is passed on at most, with Config.HandOver.
const handOverFor = time.Second

// Locker returns a contender; those of one path share a Mutex, as the goroutines of a program would.
func (s *ourSession) Locker(path string, how LockOptions) Locker {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.mutexes[path]
	if m == nil {
		var opts []recipes.Option
		if how.HandOver > 0 {
			opts = append(opts, recipes.HandOver(how.HandOver, handOverFor))
		}
		m = recipes.NewMutex(s.c, path, opts...)
		s.mutexes[path] = m
	}
	return &ourLocker{m: m, pipelined: how.Pipelined}
}

type ourLocker struct {
	m         *recipes.Mutex
	lease     *recipes.Lease
	pipelined bool
}

func (l *ourLocker) Lock(ctx context.Context) (token Token, err error) {
	l.lease, err = l.m.Lock(ctx)
	return l.lease.Token(), err
}

func (l *ourLocker) Lost() <-chan struct{} { return l.lease.Done() }

func (l *ourLocker) Unlock(ctx context.Context) error {
	if l.pipelined {
		return l.lease.ReleasePipelined()
	}
	return l.lease.Release(ctx)
}

// Call returns the operation of a workload.
func (s *ourSession) Call(w Workload, path string) Call {
	data := make([]byte, DataSize)
	switch w {
	case Get:
		return func(ctx context.Context) (n int, err error) {
			_, _, err = s.c.GetInto(ctx, path, data)
			return 1, err
		}
	case Set:
		return func(ctx context.Context) (n int, err error) {
			_, err = s.c.Set(ctx, path, data, client.AnyVersion)
			return 1, err
		}
	case Group:
		return s.group(path)
	}
	return func(ctx context.Context) (n int, err error) {
		_, _, err = s.c.Exists(ctx, path)
		return 1, err
	}
}

// Watch leaves a watch. A *client.Watch in an interface takes no memory of its own, so what is measured is the client's.
func (s *ourSession) Watch(ctx context.Context, path string) (any, error) {
	_, w, err := s.c.ExistsWatch(ctx, path)
	return w, err
}

// Wait waits for a watch that Watch has left.
func (s *ourSession) Wait(ctx context.Context, watch any) error {
	ev, err := watch.(*client.Watch).Wait(ctx)
	if err != nil {
		return err
	}
	return ev.Err
}

// Read reads into buf.
func (s *ourSession) Read(ctx context.Context, path string, buf []byte) (int, error) {
	data, _, err := s.c.GetInto(ctx, path, buf)
	return len(data), err
}

// group returns the operation of Group.
func (s *ourSession) group(path string) Call {
	g := s.c.Group()
	return func(ctx context.Context) (n int, err error) {
		for range GroupSize {
			g.Exists(path)
		}
		return GroupSize, g.Do(ctx)
	}
}
