package recipes

import (
	"cmp"
	"context"
	"slices"

	"github.com/lockkeeper/lockkeeper/client"
)

// Ordered returns a MultiLock of the same parts that can share paths with clients that lock one path after the other in sorted
// order, such as Curator's InterProcessMultiLock over a sorted list of paths, or a program that takes a Mutex of /a and, while it
// holds it, one of /b. Beside those a MultiLock without it gets into a deadlock: the one has /a and waits for /b, the other is
// ahead on /b and waits for /a.
//
// It asks for all locks at once as well, and free ones cost one flight. When it has to wait it gives up its places behind the
// first path that keeps it waiting, in the order of the paths, and keeps what it has before that; when it is granted there it asks for
// the rest, at the ends of their queues. So whatever it has while it waits comes before what it waits for, as with the others. The
// order is that of the paths' bytes, chroot included, whatever the order of the parts; the leases come in that of the parts.
//
// It is a choice for all clients of these paths at once:
//
//   - right beside other MultiLocks that are Ordered, clients that lock in this order, and those that hold one lock at a time;
//   - a deadlock, sooner or later, beside a MultiLock that is not Ordered, as that keeps its places on later paths while it waits for
//     an earlier one, and beside a client that locks in any other order. Where all clients are MultiLocks, leave it away.
//
// While the parts wait for each other in this way, those that are granted are held: nobody else has them.
// The znodes come from several transactions then, so there is no token of the whole (MultiLease.Token). TryLock does not wait, and
// is the same with and without. That of a nil MultiLock is nil. docs/locks.md A10 rule 16 has what was model-checked.
func (m *MultiLock) Ordered() *MultiLock {
	if m == nil {
		return nil
	}
	o := &MultiLock{parts: m.parts, err: m.err, order: make([]int, len(m.parts))}
	if m.err != nil {
		return o
	}
	for i := range o.order {
		o.order[i] = i
	}
	slices.SortFunc(o.order, func(i, j int) int {
		a, b := m.parts[i], m.parts[j]
		// A mutex and a semaphore, say, may share a path: all clients must have these in the same order, too.
		return cmp.Or(cmp.Compare(a.b.dir, b.b.dir), cmp.Compare(a.b.names(a.want.kind), b.b.names(b.want.kind)))
	})
	return o
}

// sorted returns the number of the part that is at the given place of the order in which locks are asked for.
func (m *MultiLock) sorted(place int) int {
	if m.order == nil {
		return place
	}
	return m.order[place]
}

// fallBack gives up the places behind the first contender that has to wait, which are not granted: nothing that is held, or could
// be next, keeps others waiting behind what we wait for (docs/locks.md A10 rule 16, G20 to G22).
func (e *effort) fallBack(waits int) {
	for _, ct := range e.cts[waits+1 : e.kept] {
		ct.forget()
		e.gaveUp = append(e.gaveUp, ct.clean(ct.ownGone)...)
		ct.reset()
	}
	e.kept = waits + 1
}

// given waits until what was given up is gone, as we would wait for ourselves otherwise. It was deleted before the wait for a
// grant, so it hardly ever takes any time.
func (e *effort) given(ctx context.Context) error {
	for ; len(e.gaveUp) > 0; e.gaveUp = e.gaveUp[1:] {
		c := e.gaveUp[0]
		err := c.Wait(ctx)
		if done, _ := c.Result(); !done {
			return err
		}
		if refusal(err) {
			e.gaveUp = e.gaveUp[1:]
			return join(ErrRefused, err)
		}
	}
	return nil
}

// rest prepares for asking for what was given up.
func (e *effort) rest(ctx context.Context) error {
	if err := e.given(ctx); err != nil {
		return err
	}
	if e.lost() {
		return errAgain
	}
	for _, ct := range e.cts[e.kept:] {
		if !ct.gen.Same(e.judge.gen) {
			return client.ErrSessionExpired
		}
	}
	return nil
}

// lost says whether a part was lost while others were waited for.
func (e *effort) lost() bool {
	return slices.ContainsFunc(e.leases, func(l *Lease) bool { return l != nil && l.State() == Lost })
}
