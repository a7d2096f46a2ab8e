package recipes

import (
	"context"

	"github.com/lockkeeper/lockkeeper/client"
)

// Mutex is a lock that one holder at a time can have, among all processes that use its path, first come first served. Any
// number of goroutines may call Lock at once: each is a contender with a znode of its own, unless LocalQueue or HandOver
// makes those of one Mutex line up in memory. It is not re-entrant: see Reentrant.
//
// Failure model: a hold ends with its session, noticed or not, so what it protects must listen to Lease.Context, or be guarded
// by Lease.Token or Lease.Guard. Lost connections, lost replies, and servers that are behind neither lose the lock to two
// holders nor leave a znode behind. Two holders at once are possible only if somebody deletes the holder's znode, or, where
// the holder neither obeys its context nor is guarded, after an expired session.
type Mutex struct{ b *base }

// NewMutex returns the mutex of path, whose children are its znodes; path and what is missing above it are created as
// containers when first needed. It does not talk to the ensemble. A bad path or option is the error of every method.
func NewMutex(c *client.Client, path string, opts ...Option) *Mutex {
	return &Mutex{newBase(c, path, exclusive, opts)}
}

func (m *Mutex) base() *base {
	if m == nil {
		return nil
	}
	return m.b
}

// Path returns the path of the mutex, "" of a nil one.
func (m *Mutex) Path() string { return m.base().path() }

// Lock waits until the mutex is acquired or ctx ends; ctx bounds the wait, not the hold. When it fails, it returns within
// CleanupGrace of the end of ctx, and its znode is gone or the error matches ErrCleanupPending as well. A ctx that carries a
// hold of this mutex, as a lease's context does, would wait for itself: the error then matches ErrNested, at once. Other reasons
// are ErrUnreadable, ErrSequenceEnd, ErrNoParent, ErrReadOnly, and those of the client.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) {
	return m.base().acquire(ctx, "lock", one(exclusive), false)
}

// TryLock acquires the mutex if nobody is ahead, and otherwise returns an error that matches ErrNotAcquired, leaving
// nothing behind. It waits for the ensemble's answer, but for no other contender.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) {
	return m.base().acquire(ctx, "trylock", one(exclusive), true)
}

// LocalWaiters returns how many goroutines wait for the lock in memory, behind the one of this object that has or wants it:
// with LocalQueue and HandOver these have no znodes, so Participants does not show them.
func (m *Mutex) LocalWaiters() int { return m.base().localWaiters() }

// Participants returns who holds the mutex and who waits for it, in the order of the queue.
func (m *Mutex) Participants(ctx context.Context) ([]Participant, error) {
	return m.base().participants(ctx, one(exclusive))
}
