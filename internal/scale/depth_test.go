package scale

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/internal/load"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// overlapping is a client whose locks exclude nobody: each contender has a path of its own, below that of the lock.
type overlapping struct {
	load.Lockkeeper
	n atomic.Int64
}

func (d *overlapping) Open(ctx context.Context, servers string) (load.Session, error) {
	ss, err := d.Lockkeeper.Open(ctx, servers)
	return overlappingSession{ss, d}, err
}

type overlappingSession struct {
	load.Session
	d *overlapping
}

func (s overlappingSession) Locker(path string, how load.LockOptions) load.Locker {
	return s.Session.Locker(fmt.Sprintf("%s/%d", path, s.d.n.Add(1)), how)
}

func TestAViolationFailsTheCurve(t *testing.T) {
	o := bounded(t, "depth")
	o.Drivers = []load.Driver{&overlapping{}}
	var out bytes.Buffer
	require.ErrorIs(t, Run(t.Context(), o, &out), load.ErrViolation)
	assert.NotContains(t, out.String(), "exponent")
}

// A holder releases only when all others are in the queue.
func TestTheQueueIsCompleteAtEachRelease(t *testing.T) {
	o, srv := served(t, "depth")
	o.Points, o.Ops, o.Rounds = []int{7}, 20, 1
	d := &queued{srv: srv, late: make(chan struct{})}
	srv.OnRequest(d.look)
	o.Drivers = []load.Driver{d}
	require.NoError(t, Run(t.Context(), o, io.Discard))
	d.mu.Lock()
	defer d.mu.Unlock()
	require.Len(t, d.seen, 20+8, "each hand-over, then the last turn of each")
	assert.Equal(t, slices.Repeat([]int{8}, 20), d.seen[:20])
	assert.Equal(t, 1, d.seen[27])
}

// queued is our client, and notes how many znodes the lock has at each release. All contenders but the first are late: they
// come when the holder has looked for them three times.
type queued struct {
	load.Lockkeeper
	srv  *zktest.Server
	made atomic.Bool   // the first contender is
	late chan struct{} // closed when the others may come

	mu    sync.Mutex // guards what follows
	looks int
	seen  []int
}

// look sees every request, and is called with the server's lock held.
func (d *queued) look(r *zktest.Request) zktest.Verdict {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.Op == proto.OpExists {
		if d.looks++; d.looks == 3 {
			close(d.late)
		}
	}
	return zktest.Verdict{}
}

func (d *queued) Open(ctx context.Context, servers string) (load.Session, error) {
	ss, err := d.Lockkeeper.Open(ctx, servers)
	return queuedSession{ss, d}, err
}

type queuedSession struct {
	load.Session
	d *queued
}

func (s queuedSession) Locker(path string, how load.LockOptions) load.Locker {
	return &queuedLocker{s.Session.Locker(path, how), path, s.d, s.d.made.Swap(true)}
}

type queuedLocker struct {
	load.Locker
	path string
	d    *queued
	late bool // has yet to come
}

func (l *queuedLocker) Lock(ctx context.Context) (load.Token, error) {
	if l.late {
		l.late = false
		select {
		case <-l.d.late:
		case <-ctx.Done():
		}
	}
	return l.Locker.Lock(ctx)
}

func (l *queuedLocker) Unlock(ctx context.Context) error {
	n := len(l.d.srv.Children(l.path))
	l.d.mu.Lock()
	l.d.seen = append(l.d.seen, n)
	l.d.mu.Unlock()
	return l.Locker.Unlock(ctx)
}

// A measurement under way ends as well, with its contenders in the queue.
func TestAnInterruptOfAQueue(t *testing.T) {
	o := bounded(t, "depth")
	o.Ops = 1 << 30
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Drivers = []load.Driver{&stopping{stop: cancel}}
	require.ErrorIs(t, Run(ctx, o, io.Discard), load.ErrInterrupted)
}

// stopping is our client, and calls stop when a lock is taken for the third time.
type stopping struct {
	load.Lockkeeper
	n    atomic.Int64
	stop func()
}

func (d *stopping) Open(ctx context.Context, servers string) (load.Session, error) {
	ss, err := d.Lockkeeper.Open(ctx, servers)
	return stoppingSession{ss, d}, err
}

type stoppingSession struct {
	load.Session
	d *stopping
}

func (s stoppingSession) Locker(path string, how load.LockOptions) load.Locker {
	return stoppingLocker{s.Session.Locker(path, how), s.d}
}

type stoppingLocker struct {
	load.Locker
	d *stopping
}

func (l stoppingLocker) Lock(ctx context.Context) (load.Token, error) {
	token, err := l.Locker.Lock(ctx)
	if l.d.n.Add(1) == 3 {
		l.d.stop()
	}
	return token, err
}
