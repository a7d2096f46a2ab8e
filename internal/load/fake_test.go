package load_test

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/lockkeeper/lockkeeper/internal/load"
)

var errPlanted = errors.New("planted")

// fake is a client made of functions. Those that are nil succeed at once.
type fake struct {
	open   func() error
	call   func(ctx context.Context) (int, error)
	lock   func(ctx context.Context) (load.Token, error)
	lost   func() <-chan struct{}
	close  func()
	look   func() // before the counters are read
	tokens bool

	calls, closed atomic.Int64
}

func (f *fake) Name() string           { return "fake" }
func (f *fake) Tokens() bool           { return f.tokens }
func (f *fake) ErrorKind(error) string { return "kind" }

func (f *fake) Open(context.Context, string) (load.Session, error) {
	if f.open != nil {
		if err := f.open(); err != nil {
			return nil, err
		}
	}
	return fakeSession{f}, nil
}

type fakeSession struct{ *fake }

func (s fakeSession) Locker(string, load.LockOptions) load.Locker { return fakeLocker(s) }

// Counters claims two requests and one flight per call.
func (s fakeSession) Counters() load.Counters {
	if s.look != nil {
		s.look()
	}
	n := uint64(s.calls.Load())
	return load.Counters{Requests: 2 * n, Flights: n}
}

func (s fakeSession) Close() error {
	s.closed.Add(1)
	if s.fake.close != nil {
		s.fake.close()
	}
	return nil
}

func (s fakeSession) Call(load.Workload, string) load.Call {
	return func(ctx context.Context) (int, error) {
		defer s.calls.Add(1)
		if s.call == nil {
			return 1, nil
		}
		return s.call(ctx)
	}
}

type fakeLocker fakeSession

func (l fakeLocker) Lock(ctx context.Context) (load.Token, error) {
	n := l.calls.Add(1)
	if l.lock == nil {
		return load.Token{Zxid: n}, nil
	}
	return l.lock(ctx)
}

func (l fakeLocker) Lost() <-chan struct{} {
	if l.lost == nil {
		return nil
	}
	return l.lost()
}

func (l fakeLocker) Unlock(context.Context) error { return nil }
