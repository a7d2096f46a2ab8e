package recipes

import (
	"context"
	"errors"
	"strings"

	"github.com/lockkeeper/lockkeeper/client"
)

// FixedMutex is a lock that is one ephemeral znode, at exactly its path: whoever can create it has the lock, and the others
// wait until it is gone. That is how hand-written clients often lock; those that do so on the same path and a FixedMutex
// exclude each other. Any number of goroutines may use one FixedMutex. It is not re-entrant.
//
// It is unfair: at each release all who wait try again, and any of them may succeed, first or last come. So every release
// wakes them all (the herd effect), and each sends a transaction. Where no such clients are to be excluded, a Mutex is the
// better lock with more than a few contenders; LocalQueue makes those of one process count as one.
//
// Beside the path there is a persistent znode, the path with "-counter" behind it, which every grant and every release
// writes, in the transaction that makes or deletes the lock's znode. Its version is what a Guard checks: a lease's Token is the
// zxid of that transaction. Clients without a counter leave it alone, so Guard does not notice when such a one has the lock, or
// nobody, after a loss; Lease.Guards does. Nobody else may write or delete the counter while the lock is in use: after a lost
// reply it tells what has become of a transaction.
//
// The failure model is that of Mutex. A release never deletes the znode of somebody else, even if ours was gone and its
// request is carried out late or repeated, with one exception: an operator deletes the znode of a lease without WatchOwnNode,
// another client makes its own and writes it exactly once, and all this before the lease is released.
type FixedMutex struct{ b *base }

// counterSuffix is what the path of the counter has behind that of the lock.
const counterSuffix = "-counter"

// NewFixedMutex returns the mutex whose znode is path. What is missing above it is made as containers, and the counter, when
// first needed. It does not talk to the ensemble. A bad path or option is the error of every method; options that are about a
// queue, names in it, or handing a znode over make no sense here. An ACL must let every contender read both znodes, write both,
// and delete.
func NewFixedMutex(c *client.Client, path string, opts ...Option) *FixedMutex {
	b := newBase(c, path, fixed, opts)
	if b.err == nil && path == "/" {
		b.err = errors.New("the root cannot be the znode of a lock")
	}
	b.counter = path + counterSuffix
	return &FixedMutex{b}
}

func (m *FixedMutex) base() *base {
	if m == nil {
		return nil
	}
	return m.b
}

// Path returns the path of the mutex, which is that of its znode; "" of a nil one.
func (m *FixedMutex) Path() string { return m.base().path() }

// Lock waits until the mutex is acquired or ctx ends, as Mutex.Lock does, with the same errors but ErrSequenceEnd.
func (m *FixedMutex) Lock(ctx context.Context) (*Lease, error) {
	return m.base().acquire(ctx, "lock", one(exclusive), false)
}

// TryLock acquires the mutex if nobody has it, and otherwise returns an error that matches ErrNotAcquired, leaving nothing
// behind. It waits for the ensemble's answer, but for no other contender.
func (m *FixedMutex) TryLock(ctx context.Context) (*Lease, error) {
	return m.base().acquire(ctx, "trylock", one(exclusive), true)
}

// LocalWaiters is Mutex.LocalWaiters.
func (m *FixedMutex) LocalWaiters() int { return m.base().localWaiters() }

// Participants returns who holds the mutex, of whatever client: one, or none. Those who wait have no znodes.
func (m *FixedMutex) Participants(ctx context.Context) ([]Participant, error) {
	b := m.base()
	if err := b.usable(ctx, "participants"); err != nil {
		return nil, err
	}
	g := b.c.Group()
	behind := g.Sync(b.dir)
	ps := []Participant{{Node: b.dir, Permits: 1, Holds: true}}
	node := g.Get(b.dir, nil)
	_ = g.Do(ctx) // each of the two has its own error
	err := behind.Err()
	if err == nil {
		err = b.take(&ps[0], node)
	}
	switch {
	case err != nil:
		return nil, &Error{"participants", b.dir, err}
	case errors.Is(ps[0].Err, client.ErrNoNode):
		return nil, nil
	}
	return ps, nil
}

// above returns the path of the znode above that of path.
func above(path string) string { return path[:max(1, strings.LastIndexByte(path, '/'))] }
