package recipes

import (
	"errors"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// CleanupGrace is how long a Lock that failed waits for the confirmation that its znode is gone, after its context ended.
const CleanupGrace = time.Second

// Option changes how a recipe behaves. The zero configuration is what most users want.
type Option interface{ apply(*settings) error }

type settings struct {
	data     []byte
	ownData  bool // data is the caller's
	acl      []client.ACL
	strict   bool
	failGone bool
	noOwn    bool
	relist   bool
	watchOwn bool
	maxHold  time.Duration
	noAhead  bool
	plain    bool // parents are plain persistent znodes

	revocable bool
	onRevoke  func(*Lease)

	local   bool          // goroutines of one lock object line up
	grants  int           // holders that one znode may serve; 0: one, without hand-over
	handFor time.Duration // how long it may
	guarded bool

	curator bool // the layout of Curator's semaphores
	latch   bool // the names of Curator's LeaderLatch
	layout  layout
	foreign bool
	stem    *string // with PlainNames
}

// check finds options that do not go together, or not with the recipe.
func (s *settings) check(k kind) error {
	switch {
	case k == fixed && (s.failGone || s.noOwn || s.relist || s.noAhead):
		return errors.New("FailIfNodeGone, NoOwnWatch, AlwaysList and NoLookAhead are for locks with a queue")
	case k == fixed && (s.grants > 0 || s.guarded):
		return errors.New("HandOver and GuardedHandover are for locks whose znodes have names of their own")
	case s.local && k != exclusive && k != fixed:
		return errors.New("LocalQueue and HandOver are for mutexes, not for read-write locks and semaphores, whose holders share")
	case s.layout != curatorLayout && (s.curator || s.latch || k == permit || k == latch || k == fixed):
		return errors.New("names of other clients are for mutexes and read-write locks")
	case s.layout == goZKLayout && k != exclusive, s.foreign && k != exclusive:
		return errors.New("GoZookeeperNames and CountForeign are for mutexes")
	case s.latch && k != latch:
		return errors.New("LatchNames is for elections")
	case s.curator && s.foreign:
		return errors.New("CountForeign with CuratorSemaphore, which counts everything")
	case s.curator && k != exclusive && k != permit:
		return errors.New("CuratorSemaphore is for semaphores and mutexes")
	case s.guarded && s.grants == 0:
		return errors.New("GuardedHandover without HandOver")
	case s.stem != nil && k != exclusive && k != latch:
		return errors.New("PlainNames is for mutexes and elections")
	case s.stem != nil && (s.layout != curatorLayout || s.foreign || s.latch || s.curator):
		return errors.New("PlainNames with another option about names")
	case s.stem != nil && s.revocable:
		return errors.New("Revocable with PlainNames: who asks overwrites what tells the znodes apart")
	case s.revocable && s.ownData:
		return errors.New("Revocable with Data: revocation needs the data of the znode for itself")
	}
	return nil
}

// named returns c with what the options say of names.
func (s *settings) named(c claim) claim {
	c.layout, c.foreign, c.stem = s.layout, s.foreign, s.stem
	return c
}

// parents is how missing levels of the path are made.
func (s *settings) parents() client.CreateMode {
	if s.plain {
		return client.ModePersistent
	}
	return client.ModeContainer
}

type option func(*settings) error

func (o option) apply(s *settings) error { return o(s) }

// Data sets the data of the lock's znode, which by default names the host, the process and the session for whoever looks
// at the queue. The slice is copied.
func Data(data []byte) Option {
	return option(func(s *settings) error {
		s.data, s.ownData = append([]byte{}, data...), true
		return nil
	})
}

// ACL sets the access control list of the lock's znodes, and of those of its path that are made; by default it is the
// client's. Every contender must be able to read them all, or a waiter would not notice that the one ahead has gone, and to write
// its own if they are of a Semaphore of more than 32 permits.
func ACL(acl []client.ACL) Option {
	return option(func(s *settings) error {
		if len(acl) == 0 {
			return errors.New("empty ACL")
		}
		s.acl = append([]client.ACL{}, acl...)
		return nil
	})
}

// Strict ends a lease as soon as the connection is lost, instead of keeping it as Unsure until its deadline.
func Strict() Option { return option(func(s *settings) error { s.strict = true; return nil }) }

// FailIfNodeGone makes a waiting Lock fail with ErrNodeGone, or ErrSessionExpired, when its znode disappears, instead of
// going to the end of the queue once more.
func FailIfNodeGone() Option {
	return option(func(s *settings) error { s.failGone = true; return nil })
}

// NoOwnWatch makes a waiter watch only the znode ahead of it, not its own as well. It saves a watch, and is safe only
// where nobody ever deletes another's lock znode (docs/locks.md A10 rule 2).
func NoOwnWatch() Option { return option(func(s *settings) error { s.noOwn = true; return nil }) }

// AlwaysList makes a waiter look at the whole queue before each grant, for a flight more per hand-over. It is for paths on
// which somebody deletes a waiter's znode and the one ahead of it in one transaction (docs/locks.md A10 rule 7).
func AlwaysList() Option { return option(func(s *settings) error { s.relist = true; return nil }) }

// WatchOwnNode makes a lease end with ErrNodeGone when its znode disappears while the session lives, which only an
// operator, or a program gone wrong, can bring about. It costs one more request per grant, which nobody waits for. Of a znode
// that this client may not read nothing is told.
func WatchOwnNode() Option { return option(func(s *settings) error { s.watchOwn = true; return nil }) }

// MaxHold ends each lease with ErrMaxHold after d at the latest and deletes its znode, so that one holder cannot block the
// lock for ever. It is safe only for work that stops when the lease's context ends. As part of a MultiLock it counts from the grant
// of the whole.
func MaxHold(d time.Duration) Option {
	return option(func(s *settings) error {
		if d <= 0 {
			return errors.New("MaxHold is not positive")
		}
		s.maxHold = d
		return nil
	})
}

// NoLookAhead makes a waiter watch only the nearest one ahead, not the one before it as well. That saves a watch and
// its notification per waiter. The price is a flight per hand-over when more than one is waiting.
func NoLookAhead() Option { return option(func(s *settings) error { s.noAhead = true; return nil }) }

// PersistentParents makes missing levels of the path as plain znodes, which stay until somebody deletes them, instead of
// containers, which the server removes when they have been empty for a while. Clients such as kazoo, which do not expect
// the path to vanish, need that.
func PersistentParents() Option {
	return option(func(s *settings) error { s.plain = true; return nil })
}

// Revocable lets others ask for the lock (see Revoke). With nil a holder that is asked finds its lease ended with ErrRevoked,
// while the znode stays until it calls Release, so nobody else has the lock before. With a function that is called instead,
// in a goroutine of its own, once per hold, and the lease goes on. It is Curator's makeRevocable, and as there the znode has
// no data until it is asked; it is watched while the lock is held, so the lease also ends as with WatchOwnNode.
func Revocable(f func(*Lease)) Option {
	return option(func(s *settings) error {
		s.revocable, s.onRevoke = true, f
		return nil
	})
}

// LocalQueue makes the goroutines that use one lock object line up in memory, first come first served: one of them at a time
// has a znode and contends with other processes, so that a thousand of them cost the server no more than one. Each holder
// has a znode of its own, at the end of the queue, so other processes get their turn as if there were one goroutine here.
// TryLock fails at once if another goroutine has or wants the lock. Not for read-write locks. When a lease is lost while
// its session lives, the next goroutine waits behind the znode of the lost one, which its holder's Release deletes.
func LocalQueue() Option {
	return option(func(s *settings) error { s.local = true; return nil })
}

// HandOver is LocalQueue with one znode for several holders in turn: a release while others of this lock object wait hands
// the znode to the next one, without a word to the server. One znode serves at most that many grants, and no grant begins
// later than d after its first; then it is deleted, and the next goroutine lines up behind other processes, which wait for
// that long at most, plus the last hold. Whether the znode is still there is not asked at a hand-over: to the server all
// these holds are one, and WatchOwnNode tells when an operator deletes it. The leases of one znode have tokens with rising
// Hand. Their Guard is refused (ErrUnguarded) unless GuardedHandover is on.
func HandOver(grants int, d time.Duration) Option {
	return option(func(s *settings) error {
		if grants < 2 || d <= 0 {
			return errors.New("HandOver needs at least two grants and a positive duration")
		}
		s.local, s.grants, s.handFor = true, grants, d
		return nil
	})
}

// GuardedHandover makes each hand-over write the znode, for one flight, so that the Guard of a lease is refused by the
// server once the next holder has the lock; the Release that hands over does not wait for that. Any other write to the znode, such
// as Revoke's, makes it fail as well.
func GuardedHandover() Option {
	return option(func(s *settings) error { s.guarded = true; return nil })
}

// CuratorSemaphore uses the znodes of Curator's semaphores: of InterProcessSemaphoreV2 for a Semaphore, and of its one-permit form,
// InterProcessSemaphoreMutex, for a Mutex or Reentrant. Below the path there are a mutex, locks, which whoever wants a permit
// holds until it is decided, and the permits, leases. An acquire takes two flights and has no place in a queue but that of the
// mutex; TryLock and TryAcquire fail as well when somebody else is just deciding. Both znodes of who wants one have the same data.
// It does not exclude a Mutex without the option on the same path, as Curator's do not exclude each other.
func CuratorSemaphore() Option {
	return option(func(s *settings) error { s.curator = true; return nil })
}

// LatchNames gives the candidates of an Election the names of Curator's LeaderLatch, so that both take part in one election; by
// default they have those of its LeaderSelector and InterProcessMutex.
func LatchNames() Option { return option(func(s *settings) error { s.latch = true; return nil }) }

// KazooNames gives the znodes the names of kazoo's Lock, and those of an RWMutex the names of its WriteLock and ReadLock: with
// these, and with nobody else's, they then exclude each other. It includes PersistentParents.
func KazooNames() Option {
	return option(func(s *settings) error { s.layout, s.plain = kazooLayout, true; return nil })
}

// GoZookeeperNames gives a mutex's znodes the names of go-zookeeper's Lock, which differ from Curator's in the form of the UUID
// alone: either excludes both.
func GoZookeeperNames() Option {
	return option(func(s *settings) error { s.layout = goZKLayout; return nil })
}

// PlainNames gives the znodes of a mutex or election names of nothing but prefix and number, as hand-written clients have them:
// "lock-" makes <path>/lock-0000000000, "n_" makes <path>/n_0000000000. Children that begin with exactly the prefix and end in a
// number right behind it count, all others are ignored; but hand-written clients sort all children, so one path should have one
// prefix. It must not be empty or end in a digit, in two minus signs or be one, as it could not be told from the number then.
//
// Such a name does not say whose the znode is, so its data does: what Data or the default puts there has " id=" and a random
// UUID behind it, new with each attempt. Participants and Observe leave that out. It is how a create whose reply was lost is found
// again, so nobody may write these znodes, which excludes Revocable, and Revoke: if somebody does just then, the lock stays
// taken until the session ends. Nobody may delete the path while the lock is in use either: the numbers begin anew then, and with
// them the names, so that a Guard could hold, and a Release delete, the znode of somebody else. It includes PersistentParents,
// since hand-written clients do not expect the path to vanish.
func PlainNames(prefix string) Option {
	return option(func(s *settings) error {
		s.stem, s.plain = &prefix, true
		return checkStem(prefix)
	})
}

// CountForeign makes a mutex wait for the znodes of other clients' locks on its path as well: Curator's, go-zookeeper's, kazoo's
// and those of ZooKeeper's own WriteLock. Whether these wait for ours is theirs to decide; docs/locks.md 2.9 says who does.
func CountForeign() Option {
	return option(func(s *settings) error { s.foreign = true; return nil })
}
