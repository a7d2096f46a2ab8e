package recipes

import (
	"context"
	"errors"

	"github.com/lockkeeper/lockkeeper/client"
)

// SingletonJob runs a function unless another instance, of whatever process, is running: a job that a timer starts everywhere
// and that shall happen once. It is a Mutex that is tried and not waited for. Any number of goroutines may use one SingletonJob.
//
// Failure model: that of Mutex. When the session of the one that runs expires, another one may start while the function has
// not noticed: it must obey its context, or guard its writes with the lease. The job is not remembered once it is over: that
// the same run shall not happen a second time, shortly after the first, has to be written down by the function, best in one
// Multi with Lease.Guard. If several instances start in the same moment the one that came first runs; an instance that gives
// up at that moment can make another one believe that the job is running (see ErrNotAcquired).
type SingletonJob struct{ m *Mutex }

// NewSingletonJob returns the job of path, which holds its znodes as that of a Mutex does, with a Mutex's options. It does
// not talk to the ensemble. A bad path or option is the error of every Run.
func NewSingletonJob(c *client.Client, path string, opts ...Option) *SingletonJob {
	return &SingletonJob{NewMutex(c, path, opts...)}
}

func (j *SingletonJob) mutex() *Mutex {
	if j == nil {
		return nil
	}
	return j.m
}

// Path returns the path of the job, "" of a nil one.
func (j *SingletonJob) Path() string { return j.mutex().Path() }

// Run calls f in this goroutine if no other instance is running, and returns whether it did. f gets a context with the values
// of ctx that ends when the hold or ctx does, and the lease, which is released when f has returned. The error is f's, joined
// with that of the release: one that matches ErrLost means that f was not alone to its end.
func (j *SingletonJob) Run(ctx context.Context, f func(context.Context, *Lease) error) (ran bool, err error) {
	if f == nil {
		return false, &Error{"run", j.Path(), client.ErrZeroValue}
	}
	l, err := j.mutex().base().acquire(ctx, "run", one(exclusive), true)
	if errors.Is(err, ErrNotAcquired) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	inner, cancel := context.WithCancelCause(l.Context())
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	defer stop()
	// However f ends, the next run should not have to wait for the session to expire.
	defer func() { _ = l.ReleasePipelined() }()
	err = f(inner, l)
	return true, errors.Join(err, l.releaseWithin(ctx))
}

// Running returns who runs the job, and false if nobody does.
func (j *SingletonJob) Running(ctx context.Context) (Participant, bool, error) {
	ps, err := j.mutex().base().participants(ctx, one(exclusive))
	if err != nil || len(ps) == 0 || !ps[0].Holds { // with CuratorSemaphore somebody may be deciding
		return Participant{}, false, err
	}
	return ps[0], true, nil
}
