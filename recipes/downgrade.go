package recipes

import (
	"context"
	"errors"
	"strings"

	"github.com/lockkeeper/lockkeeper/client"
)

// Downgrade turns the hold of a write lock into one of a read lock, without a moment in which another writer could have it:
// readers that wait behind it get the lock as well. The lease goes on, with its context and deadline; Node, Token and Guard
// are those of the new znode, Shared is true. The opposite does not exist: two readers that both wanted to be writers would
// wait for each other (ErrUpgrade).
//
// It is one flight: one transaction puts a reader's znode, which has Curator's name, into the writer's place, and deletes
// the writer's (docs/locks.md A10 rule 6: two steps would be unsafe). An error that matches ErrNotWriter means that it is no
// write hold, ErrNotHeld that it was released, ErrLost that it had ended. After any other error, such as that of ctx, the
// hold stands, as a read hold if the transaction was carried out after all, which cannot be known then: until Downgrade is
// called again and tells, Node and Guard are those of the writer's znode, which WatchOwnNode and Revocable do not watch any
// more. Release deletes both.
func (l *Lease) Downgrade(ctx context.Context) error {
	if l.none() {
		return &Error{"downgrade", "", ErrNotHeld}
	}
	if ctx == nil {
		return &Error{"downgrade", l.b.path(), client.ErrNilContext}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.checkClock()
	if err := l.beginDowngrade(cancel); err != nil {
		return &Error{"downgrade", l.b.path(), err}
	}
	defer l.afterFunc(cancel)() // a hold that has ended waits for nothing
	if e := l.by; e.guard != nil {
		e.guard.watch.Stop()
		e.guard = nil
	}
	err := l.swap(ctx)
	if over := l.gen.Err(); over != nil {
		l.finish(leaseCause(over)) // the lease may be told of it a moment later than its requests
	}
	if (l.b.watchOwn || l.b.revocable) && l.settled() {
		l.watchNode() // while a release waits: it would take the contender away
	}
	released, err := l.endDowngrade(err)
	if released {
		l.startDelete() // it was released in the meantime
	}
	if err != nil {
		return &Error{"downgrade", l.b.path(), err}
	}
	return nil
}

// beginDowngrade makes sure that there is only one at a time, and that the release waits for it.
func (l *Lease) beginDowngrade(cancel func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	over := l.over()
	switch r := l.more(); {
	case over != nil:
		return over
	case l.claim.kind != writer:
		return ErrNotWriter
	case r.down != nil:
		return ErrDowngrading
	default:
		r.down = cancel
		return nil
	}
}

// over is why the hold does not stand, nil if it does. The caller holds mu.
func (l *Lease) over() error {
	switch cause := l.end.cause; {
	case cause == ErrReleased, cause == nil && l.releasing:
		return ErrNotHeld
	case cause != nil:
		return join(ErrLost, cause)
	}
	return nil
}

// endDowngrade says whether a release waits, and what the caller of Downgrade is told: if the hold has ended, that comes first.
func (l *Lease) endDowngrade(err error) (released bool, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rare.down = nil
	if over := l.over(); over != nil {
		err = over
	}
	return l.rare.waits, err
}

// settled says whether the hold stands and it is known which of the two znodes is there, so that it can be watched.
func (l *Lease) settled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over() == nil && (!l.rare.both || l.claim.kind == reader)
}

// swap repeats the transaction until its outcome is known. Its name tells the new znode from all others, so "node exists"
// after a lost reply means that the lost one was carried out.
func (l *Lease) swap(ctx context.Context) error {
	from := l.Node()
	name := from[strings.LastIndexByte(from, '/')+1:]
	ct := l.by.contender() // as what a write lock stands on always is
	digits := name[len(ct.prefix):]
	to := child(l.b.dir, []byte(ct.guid()+l.claim.of(reader).mark()+digits))
	for p := (pace{}); ; {
		g := l.gen.Group()
		multi := g.Multi(client.CreateOp(to, l.b.nodeData(l.gen), client.ModeEphemeral, l.b.acl), client.DeleteOp(from, client.AnyVersion))
		ex := g.Exists(to) // the multi's own answer has the Stat only on newer servers
		_ = g.Do(ctx)      // each of the two has its own error
		_, err := multi.Results()
		stat, there, lost := ex.Stat()
		if lost == nil && there && stat.EphemeralOwner == l.gen.SessionID() {
			l.downgraded(to, stat.Czxid)
			return nil
		}
		l.note(err == nil || client.MaybeApplied(err))
		switch {
		case err == nil && lost == nil || errors.Is(err, client.ErrNoNode):
			l.finish(ErrNodeGone)
			return ErrNodeGone
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !errors.Is(err, client.ErrConnectionLoss) && (there || !errors.Is(err, client.ErrNodeExists)):
			return err
		case lost != nil && !errors.Is(lost, client.ErrConnectionLoss):
			return lost
		}
		if err := p.lost(ctx); err != nil {
			return err
		}
	}
}

// note remembers that both znodes may be there from now on.
func (l *Lease) note(maybe bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rare.both = l.rare.both || maybe
}

// downgraded makes the lease one of the reader's znode, also if it has ended: that is what its release has to delete.
func (l *Lease) downgraded(node string, czxid int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.node, l.claim, l.token = node, l.claim.of(reader), Token{Zxid: czxid}
	l.rare.both = false // the writer's went in the same transaction; a late copy of it would be refused
}
