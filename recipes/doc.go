// Package recipes holds locks, and what follows from them, on top of package client.
//
//	m := recipes.NewMutex(c, "/locks/orders")
//	lease, err := m.Lock(ctx)
//	if err != nil { ... }
//	defer lease.Release(ctx)
//	work(lease.Context())
//
// # What a lease is
//
// A lock in a distributed system is a lease: it ends when the session does, whether its holder has noticed or not. A Lease
// says so in three ways. Its Context ends when the hold is no longer safe, which is before the ensemble gives the lock to
// anybody else: the deadline is counted from what the leader is known to have heard from us, and checked by this process's
// own clock. Its State goes to Unsure when the connection is gone, and to Lost for good. Its Token rises with every grant
// of the lock, and Guard makes a multi fail unless the lock's znode is still there (of a FixedMutex: Guards); whoever must be
// certain uses one of the two, because no lease survives a process that is stopped between a check and what it does next.
//
// # What is left behind
//
// Nothing. Whatever way Lock returns, its znode is deleted, by a cleaner that belongs to the session and goes on through
// reconnects until the server confirms or the session ends. An error that matches ErrCleanupPending says that this had not
// been confirmed within the grace when Lock returned.
//
// # The recipes
//
//   - Mutex: one holder, first come first served.
//   - FixedMutex: one holder, whoever is first at each release; it excludes hand-written clients that create a znode or wait.
//   - Reentrant: a mutex that its holder can lock again. The hold travels in a context, or in an Owner.
//   - RWMutex: readers or one writer, in the order in which they came; a writer can become a reader (Lease.Downgrade).
//   - Semaphore: a number of permits, of which each holder takes some.
//   - MultiLock: several of these as one, without deadlock.
//   - Election: one leader among candidates, and everybody can see who.
//   - Barrier, DoubleBarrier: many wait until one lets them pass; a number of members begin and end together.
//   - Member: a member of a group, from session to session.
//   - Counter: a number that changes by compare-and-set.
//   - SingletonJob: runs a function unless another instance does.
//
// Each lock has Lock, which waits, and TryLock, which does not, and Participants, which lists who holds and who waits. Options
// change what is watched, when a lease ends, what the znodes hold, and how the goroutines of one process queue.
//
// # Many goroutines
//
// By default each call of Lock has a znode of its own. With LocalQueue the goroutines of one lock object line up in memory,
// and one at a time contends with other processes. With HandOver they also pass one znode on, up to a bound, which costs
// no round trip at all, and makes other processes wait for that long.
//
// # With other clients
//
// Znodes are named as Curator names them, so that Curator's InterProcessMutex and go-zookeeper's Lock on the same path
// exclude a Mutex and a Reentrant and are excluded by them, and so do InterProcessReadWriteLock and RWMutex. Other names
// are ignored: kazoo's and WriteLock's contenders must use other paths (docs/locks.md 2.9), unless KazooNames or CountForeign
// say otherwise. PlainNames gives a Mutex, Reentrant or Election the names of hand-written clients, a prefix and a number, and tells
// their znodes apart by what it puts behind their data. A Mutex and an RWMutex on one path do not see each other. Clients whose
// lock is one ephemeral znode are excluded by a FixedMutex on the path of that.
//
// # Round trips
//
// Acquiring a free lock is one flight, its release another, or none if nobody waits for its confirmation
// (Lease.ReleasePipelined). A waiter watches its own znode and the two nearest it waits for, and nothing else; usually the
// event of the nearest one's deletion grants the lock without another request. When that is allowed is the subject of
// docs/locks.md A10, whose rules were model-checked.
//
// The package is new and its API may still move before version 1. It starts no goroutines; functions registered with
// context.AfterFunc on a lease's context, and those given to Revocable, run in their own.
package recipes
