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
// of the lock, and Guard makes a multi fail unless the lock's znode is still there; whoever must be certain uses one of the
// two, because no lease survives a process that is stopped between a check and what it does next.
//
// # What is left behind
//
// Nothing. Whatever way Lock returns, its znode is deleted, by a cleaner that belongs to the session and goes on through
// reconnects until the server confirms or the session ends. An error that matches ErrCleanupPending says that this had not
// been confirmed within the grace when Lock returned.
//
// # With other clients
//
// Znodes are named as Curator names them, so that Curator's InterProcessMutex and go-zookeeper's Lock on the same path
// exclude ours and are excluded by it. Only children of the form lock-<number> count; others are ignored.
//
// # Round trips
//
// Acquiring a free lock is one flight, its release another. A waiter watches its own znode and the nearest one below it,
// and nothing else; when it was the only waiter, the event of the predecessor's deletion grants the lock without another
// request. When that is allowed is the subject of docs/locks.md A10, whose rules were model-checked.
//
// The package is new and its API may still move before version 1. It starts no goroutines; functions registered with
// context.AfterFunc on a lease's context run in their own, as that promises.
package recipes
