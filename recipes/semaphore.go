package recipes

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/lockkeeper/lockkeeper/client"
)

// MaxPermits is the largest number of permits that a Semaphore can have.
const MaxPermits = maxPermits

// FromZnode as the number of permits of a Semaphore means that the data of the path's znode says how many there are, as a
// decimal number. SetPermits writes it.
const FromZnode = 0

// Semaphore has a number of permits, of which each holder takes some, among all processes that use its path. They are given
// out in the order in which they were asked for, so a claim for many permits that has to wait keeps smaller ones behind it
// waiting as well. Any number of goroutines may use one Semaphore.
//
// There is one znode per claim, and no second lock: a free permit costs one flight. The name of the znode says how many permits
// there are and how many it takes, so contenders that disagree notice: the one that came later fails with ErrCapacity.
// With FromZnode all of them watch the path's znode instead. A higher number wakes those who wait, a lower one takes nothing
// from those who hold.
//
// With up to 32 permits, and with FromZnode, a waiter watches as many of the znodes ahead of it as together keep it waiting, which for
// single permits is as many as there are permits, and the event of a release is all it needs. With more permits waiters stand in a line:
// only the one at its head looks after the holders, by listing the path when znodes come or go, the others watch the one ahead of
// them. So a waiter has two watches, however many permits there are; a release brings its permit after one more flight; and
// who gets a permit while others wait writes its znode, once, to tell the next one, for which the ACL must allow every contender to
// write its own; one that lets nobody write is refused. With FromZnode hundreds of permits and hundreds of waiters remain a load on
// the server.
//
// The failure model is that of Mutex. Holders' tokens tell them apart; only with one permit are they in order.
type Semaphore struct {
	b       *base
	permits int
}

var errCuratorKeeps = errors.New("FromZnode with CuratorSemaphore: Curator keeps the number elsewhere")

// NewSemaphore returns the semaphore of path with that many permits, or FromZnode. It does not talk to the ensemble. With the
// option CuratorSemaphore it shares the path with Curator's InterProcessSemaphoreV2.
func NewSemaphore(c *client.Client, path string, permits int, opts ...Option) *Semaphore {
	s := &Semaphore{newBase(c, path, permit, opts), permits}
	if s.b.err == nil && (permits < 0 || permits > maxPermits) {
		s.b.err = errors.New("a semaphore has 1 to " + strconv.Itoa(maxPermits) + " permits")
	}
	if s.b.err == nil && permits == FromZnode && s.b.gate != nil {
		s.b.err = errCuratorKeeps
	}
	if s.b.err == nil && permits > nearestPermits && s.b.gate == nil && !writable(s.b.acl) {
		s.b.err = errors.New("an ACL without the right to write, with more than " + strconv.Itoa(nearestPermits) + " permits")
	}
	return s
}

func (s *Semaphore) base() *base {
	if s == nil {
		return nil
	}
	return s.b
}

// Path returns the path of the semaphore, "" of a nil one.
func (s *Semaphore) Path() string { return s.base().path() }

// Acquire waits until n permits are acquired or ctx ends, as Mutex.Lock does: all of them or none. The lease is released as a
// whole. n is at least 1, and at most the number of permits, else the error matches ErrCapacity; with FromZnode more than
// there are wait until there are as many. With CuratorSemaphore n is 1.
func (s *Semaphore) Acquire(ctx context.Context, n int) (*Lease, error) {
	return s.acquire(ctx, "acquire", n, false)
}

// TryAcquire acquires n permits if they are free and nobody is ahead who waits for some, as Mutex.TryLock does.
func (s *Semaphore) TryAcquire(ctx context.Context, n int) (*Lease, error) {
	return s.acquire(ctx, "tryacquire", n, true)
}

func (s *Semaphore) acquire(ctx context.Context, op string, n int, try bool) (*Lease, error) {
	b := s.base()
	if err := b.usable(ctx, op); err != nil {
		return nil, err
	}
	switch {
	case n < 1 || n > maxPermits || s.permits != FromZnode && n > s.permits:
		return nil, &Error{op, b.path(), &permitsRangeError{n, s.permits}}
	case b.gate != nil && n != 1:
		return nil, &Error{op, b.path(), errors.New("one permit at a time with CuratorSemaphore")}
	}
	return b.acquire(ctx, op, claim{kind: permit, weight: n, capacity: s.permits}, try)
}

// permitsRangeError says that nobody can have so many permits, without a word about other contenders. It matches ErrCapacity.
type permitsRangeError struct{ n, most int }

func (e *permitsRangeError) Error() string {
	return strconv.Itoa(e.n) + " permits: 1 to " + strconv.Itoa(cmp.Or(e.most, maxPermits)) + " are possible"
}

func (e *permitsRangeError) Is(target error) bool { return target == ErrCapacity }

// SetPermits writes how many permits there are into the path's znode, for FromZnode; the path is made if it is missing. It
// wakes those who wait, and takes nothing from those who hold.
func (s *Semaphore) SetPermits(ctx context.Context, n int) error {
	b := s.base()
	if err := b.usable(ctx, "setpermits"); err != nil {
		return err
	}
	switch {
	case b.gate != nil:
		return &Error{"setpermits", b.path(), errCuratorKeeps}
	case n < 1 || n > maxPermits:
		return &Error{"setpermits", b.path(), &permitsRangeError{n, maxPermits}}
	}
	data := []byte(strconv.Itoa(n))
	_, err := b.c.Set(ctx, b.dir, data, client.AnyVersion)
	if errors.Is(err, client.ErrNoNode) {
		if _, _, err = b.c.CreateAll(ctx, b.dir, data, client.ModePersistent, b.acl); errors.Is(err, client.ErrNodeExists) {
			_, err = b.c.Set(ctx, b.dir, data, client.AnyVersion)
		}
	}
	if err != nil {
		return &Error{"setpermits", b.path(), err}
	}
	return nil
}

// Participants returns who has permits and who waits for some, in the order of the queue. With CuratorSemaphore those who wait for
// the mutex come last: they have no place among the permits yet, and no token, and Node is their znode at the mutex, which nobody
// can revoke. Whoever is just getting a permit may be listed in both places for a moment.
func (s *Semaphore) Participants(ctx context.Context) ([]Participant, error) {
	if s == nil {
		return s.base().participants(ctx, claim{})
	}
	return s.b.participants(ctx, claim{kind: permit, weight: 1, capacity: s.permits})
}

// readLimit takes the answer to the question how many permits there are.
func (ct *contender) readLimit(call client.GetCall) error {
	data, _, err := call.Data()
	if err != nil {
		ct.limitSet = false
		return err
	}
	n, ok := parsePermits(data)
	if !ok || n < 1 {
		return &PermitsError{ct.b.dir, string(data[:min(len(data), 100)])}
	}
	ct.capacity = n
	return nil
}
