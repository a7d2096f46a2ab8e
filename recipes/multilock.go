package recipes

import (
	"context"
	"errors"

	"github.com/lockkeeper/lockkeeper/client"
)

// MultiLock takes several locks as one: mutexes, read-write locks for reading or writing, permits of semaphores. All its znodes
// are made by one transaction, so of two MultiLocks one is ahead of the other on every path that they have in common, and they
// never wait for each other, in whatever order they name the paths. Free locks are acquired in one flight, however many.
//
// The same holds beside those who want one of the locks and hold nothing else. It does not for whoever holds one of the paths
// while waiting for another: with clients that lock one path after the other, or a program that holds a Mutex while it
// calls the MultiLock of another path, a MultiLock can get into a deadlock (docs/locks.md A10 rule 16). Where all of those go in the
// order of the paths, Ordered is the way out.
//
// The failure model is that of Mutex; the hold ends as a whole when that of any part is lost. It begins when all are granted: that is
// from when MaxHold of a part counts, while a part that is granted earlier keeps others waiting all the time.
type MultiLock struct {
	parts []Part
	err   error // what was wrong with the parts
	order []int // of an Ordered one: the parts in the order of their paths
}

// Part is one lock of a MultiLock, as Mutex.Part and its like make it.
type Part struct {
	b    *base
	want claim
}

// Part returns the mutex as a part of a MultiLock.
func (m *Mutex) Part() Part { return Part{m.base(), one(exclusive)} }

// Part returns the write side of the lock as a part of a MultiLock.
func (rw *RWMutex) Part() Part { return Part{rw.base(), one(writer)} }

// RPart returns the read side of the lock as a part of a MultiLock.
func (rw *RWMutex) RPart() Part { return Part{rw.base(), one(reader)} }

// Part returns n permits of the semaphore as a part of a MultiLock.
func (s *Semaphore) Part(n int) Part {
	if s == nil {
		return Part{}
	}
	return Part{s.b, claim{kind: permit, weight: n, capacity: s.permits}}
}

// NewMultiLock returns the lock of all the parts, which must be of one client and of different locks; LocalQueue,
// HandOver or CuratorSemaphore cannot be parts. Whatever is wrong is the error of every method.
func NewMultiLock(parts ...Part) *MultiLock {
	m := &MultiLock{parts: append([]Part{}, parts...)}
	seen := map[any]bool{}
	for i, p := range m.parts {
		switch {
		case p.b == nil || p.b.c == nil:
			m.err = client.ErrZeroValue
		case p.b.err != nil:
			m.err = p.b.err
		case p.b.local || p.b.gate != nil:
			m.err = errors.New("a lock with LocalQueue, HandOver or CuratorSemaphore cannot be part of another: " + p.b.path())
		case p.b.c.Identity() != m.parts[0].b.c.Identity() || p.b.c.Chroot() != m.parts[0].b.c.Chroot():
			m.err = errors.New("parts of different clients, or of views with different chroots")
		case p.want.weight < 1 || p.want.weight > maxPermits || p.want.capacity > 0 && p.want.weight > p.want.capacity:
			m.err = ErrCapacity
		case seen[p.b.key]:
			m.err = join(ErrDuplicate, errors.New(p.b.dir))
		default:
			seen[p.b.key] = true
			continue
		}
		m.err = &Error{"multilock", m.path(i), m.err}
		break
	}
	if len(parts) == 0 {
		m.err = &Error{"multilock", "", client.ErrZeroValue}
	}
	return m
}

// path returns the path of a part.
func (m *MultiLock) path(i int) string { return m.parts[i].b.path() }

// Lock waits until all locks are acquired or ctx ends, as Mutex.Lock does: then nothing is held.
func (m *MultiLock) Lock(ctx context.Context) (*MultiLease, error) {
	return m.acquire(ctx, "lock", false)
}

// TryLock acquires all locks if nobody is ahead on any path, as Mutex.TryLock does.
func (m *MultiLock) TryLock(ctx context.Context) (*MultiLease, error) {
	return m.acquire(ctx, "trylock", true)
}

func (m *MultiLock) acquire(ctx context.Context, op string, try bool) (*MultiLease, error) {
	switch {
	case m == nil || len(m.parts) == 0 && m.err == nil:
		return nil, &Error{op, "", client.ErrZeroValue}
	case m.err != nil:
		return nil, m.err
	}
	for _, p := range m.parts {
		if err := p.b.usable(ctx, op); err != nil {
			return nil, err
		}
		if l := p.b.carried(ctx); l != nil {
			return nil, &Error{op, p.b.path(), l.nested(p.want.kind)}
		}
	}
	for {
		e := m.effort(try)
		err := e.attempt(ctx)
		if err == nil {
			return newMultiLease(e.inOrder(m)), nil
		}
		again := errors.Is(err, errAgain) || errors.Is(err, errPartLost) || errors.Is(err, client.ErrSessionExpired) && ctx.Err() == nil
		err = e.leave(ctx, err)
		if err := e.judge.final(again, err); err != nil {
			return nil, &Error{op, m.path(0), err}
		}
	}
}
