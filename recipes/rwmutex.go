package recipes

import (
	"context"

	"github.com/lockkeeper/lockkeeper/client"
)

// RWMutex is a lock that any number of readers or one writer can have, among all processes that use its path. Readers and
// writers are served in the order in which they came: a reader behind a writer that waits, waits as well, so neither side
// starves. Any number of goroutines may use one RWMutex. Its znodes have the names of Curator's InterProcessReadWriteLock,
// with which it can share a path, Curator's downgrades included; it must not share one with a Mutex.
//
// It is not re-entrant, not even for readers: a second read lock behind a writer that waits for the first would never come.
// Nor can a read lock become a write lock (ErrUpgrade); Lease.Downgrade is for the opposite.
//
// The failure model is that of Mutex. In addition, a lost hold of a reader is as dangerous to a writer as one of a writer: a
// reader that must not see half of a change has to obey its context. Tokens of readers tell holds apart and do not order
// them; Guard works for both.
type RWMutex struct{ b *base }

// NewRWMutex returns the read-write lock of path, as NewMutex does for a mutex. LocalQueue and HandOver are not for it.
func NewRWMutex(c *client.Client, path string, opts ...Option) *RWMutex {
	return &RWMutex{newBase(c, path, writer, opts)}
}

func (rw *RWMutex) base() *base {
	if rw == nil {
		return nil
	}
	return rw.b
}

// Path returns the path of the lock, "" of a nil one.
func (rw *RWMutex) Path() string { return rw.base().path() }

// Lock waits until the lock is acquired for writing or ctx ends, as Mutex.Lock does.
func (rw *RWMutex) Lock(ctx context.Context) (*Lease, error) {
	return rw.base().acquire(ctx, "lock", one(writer), false)
}

// TryLock acquires the lock for writing if nobody is ahead, as Mutex.TryLock does.
func (rw *RWMutex) TryLock(ctx context.Context) (*Lease, error) {
	return rw.base().acquire(ctx, "trylock", one(writer), true)
}

// RLock waits until the lock is acquired for reading, which is when no writer is ahead, or ctx ends.
func (rw *RWMutex) RLock(ctx context.Context) (*Lease, error) {
	return rw.base().acquire(ctx, "rlock", one(reader), false)
}

// TryRLock acquires the lock for reading if no writer is ahead, whether it holds the lock or waits.
func (rw *RWMutex) TryRLock(ctx context.Context) (*Lease, error) {
	return rw.base().acquire(ctx, "tryrlock", one(reader), true)
}

// Participants returns the readers and writers that hold the lock or wait for it, in the order of the queue.
func (rw *RWMutex) Participants(ctx context.Context) ([]Participant, error) {
	return rw.base().participants(ctx, one(writer))
}
