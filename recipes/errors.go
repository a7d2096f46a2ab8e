package recipes

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/lockkeeper/lockkeeper/client"
)

// What can be wrong with a lock, for errors.Is.
var (
	// ErrNotAcquired is TryLock's answer when somebody is ahead. It can be told although nobody holds the lock: the one
	// ahead may be another TryLock (docs/locks.md A10 rule 13).
	ErrNotAcquired = errors.New("lock not acquired")
	// ErrCleanupPending says that the deletion of a znode was not confirmed within the grace; the session's cleaner goes
	// on with it.
	ErrCleanupPending = errors.New("clean-up pending")
	// ErrReleasePending says that a release was started and not confirmed before its context ended.
	ErrReleasePending = errors.New("release pending")
	// ErrRefused says that the server refuses to delete the znode of a lease, usually for want of the permission to delete
	// children of the lock's path: the lock stays taken until the session ends, or another Release comes through.
	ErrRefused = errors.New("release refused")
	// ErrNotHeld is the answer to the release of what is not held: a nil lease, or one whose release was confirmed.
	ErrNotHeld = errors.New("not held")
	// ErrLost says that the lease had ended before it was released.
	ErrLost = errors.New("lease lost")
	// ErrUnreadable says that the znode ahead cannot be read, so that its end could not be noticed: the ACL of lock znodes
	// must let every contender read (docs/locks.md D9).
	ErrUnreadable = errors.New("znode of the contender ahead is not readable")
	// ErrSequenceEnd says that the sequence numbers under the lock's path come near their end. The znode must be deleted
	// and made anew while nobody uses it (docs/locks.md D1).
	ErrSequenceEnd = errors.New("sequence numbers of the path are nearly used up")
	// ErrNested says that the context carries a hold of the same lock: Lock would wait for itself. Reentrant is for that.
	ErrNested = errors.New("the context carries a hold of this lock")
	// ErrUpgrade says the same of a reader that wants to be a writer: two of them would wait for each other. Release the read
	// lock first, and look again at what was read under it.
	ErrUpgrade = errors.New("a read lock cannot become a write lock")
	// ErrDuplicate says that two parts of a MultiLock are of the same lock.
	ErrDuplicate = errors.New("the same lock twice")
	// ErrNoLeader is Election.Leader's answer when there is no candidate.
	ErrNoLeader = errors.New("no leader")
	// ErrNotWriter is the answer to the Downgrade of what is not a write hold.
	ErrNotWriter = errors.New("not a write lock")
	// ErrDowngrading is the answer to a Downgrade while another one of the same lease is under way.
	ErrDowngrading = errors.New("a downgrade is under way")
	// ErrUnguarded is what a multi fails with that has the Guard of a lock whose znode is handed over without
	// GuardedHandover.
	ErrUnguarded = errors.New("no guard with HandOver alone: use GuardedHandover")
	// ErrNoParent says that the lock's path does not exist and could not be made: the client's chroot is missing, which no
	// client creates by itself, the ACLs above forbid it, or it vanished each time it had been made.
	ErrNoParent = errors.New("path of the lock cannot be made")
)

// CapacityError says that a contender ahead in a semaphore's queue takes it for one with another number of permits, so that
// one of the two is configured wrongly. It matches ErrCapacity.
type CapacityError struct {
	Node         string // of the other contender
	Ours, Theirs int    // 0: the number that the znode of the semaphore has
}

// PermitsError says that the znode of a semaphore does not hold the number of permits, a decimal number from 1 to 1,048,576.
// It matches ErrCapacity.
type PermitsError struct {
	Node string
	Data string // what it holds
}

func (e *PermitsError) Error() string {
	return "znode " + e.Node + " holds no number of permits: " + strconv.Quote(e.Data)
}

// Is reports whether target is ErrCapacity.
func (e *PermitsError) Is(target error) bool { return target == ErrCapacity }

// ErrCapacity is matched by every CapacityError and PermitsError.
var ErrCapacity = errors.New("contenders disagree about the number of permits")

func (e *CapacityError) Error() string {
	return ErrCapacity.Error() + ": " + permitsText(e.Ours) + " here, " + permitsText(e.Theirs) + " for " + e.Node
}

// Is reports whether target is ErrCapacity.
func (e *CapacityError) Is(target error) bool { return target == ErrCapacity }

func permitsText(n int) string {
	if n == 0 {
		return "that of the znode"
	}
	return strconv.Itoa(n)
}

// Why a lease ended: what context.Cause returns for its context matches one of these with errors.Is.
var (
	ErrReleased     = errors.New("lease released")
	ErrDeadline     = errors.New("lease deadline passed without proof that the session lives")
	ErrNodeGone     = errors.New("znode of the lease is gone")
	ErrDisconnected = errors.New("connection lost")              // only with the option Strict
	ErrMaxHold      = errors.New("held for longer than allowed") // only with the option MaxHold
	ErrReadOnly     = errors.New("server is read-only")
	ErrRevoked      = errors.New("revoked: somebody asked for the lock") // only with the option Revocable

	// ErrSessionExpired and ErrClosed are the client's.
	ErrSessionExpired = client.ErrSessionExpired
	ErrClosed         = client.ErrClosed
)

// Error is what the methods of a recipe return: what was done to which path, and why it failed. It matches its reasons
// with errors.Is.
type Error struct {
	Op   string // "lock", "trylock", "rlock", "tryrlock", "release", "downgrade", "participants", "revoke", ...
	Path string // of the recipe
	Err  error
}

func (e *Error) Error() string {
	if e == nil || e.Err == nil {
		return "zk: no error"
	}
	return "zk: " + e.Op + " " + e.Path + ": " + plain(e.Err)
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// joined is several reasons in one line: what went wrong, and what made it so.
type joined []error

// join returns the reasons as one error that matches each of them; nil ones are left out.
func join(reasons ...error) error {
	var j joined
	for _, r := range reasons {
		if r != nil {
			j = append(j, r)
		}
	}
	if len(j) == 1 {
		return j[0]
	}
	return j
}

func (j joined) Error() string {
	texts := make([]string, len(j))
	for i, r := range j {
		texts[i] = plain(r)
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the reasons.
func (j joined) Unwrap() []error { return j }

// plain is the text of an error without the prefix that the outermost one has anyway.
func plain(err error) string { return strings.TrimPrefix(err.Error(), "zk: ") }

// endError is the error of a lease's context: the cause of the end, and context.Canceled for code that asks for that.
type endError struct{ cause error }

func (e *endError) Error() string { return e.cause.Error() }

func (e *endError) Unwrap() []error { return []error{e.cause, context.Canceled} }
