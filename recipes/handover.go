package recipes

import (
	"context"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// lineUp is acquire for a lock object whose goroutines line up: at the turn the znode of the holder before is taken over, or
// a new one is made.
func (b *base) lineUp(ctx context.Context, want claim, try bool) (*Lease, error) {
	ct, err := b.line.enter(ctx, try)
	if err != nil {
		return nil, err
	}
	if ct != nil {
		if l := ct.takeOver(ctx); l != nil {
			l.takeTurn()
			return l, nil
		}
	}
	var gaveUp []*client.Cleanup
	if ct != nil {
		gaveUp = ct.gaveUp
	}
	l, err := b.contend(ctx, want, try, gaveUp)
	if err != nil {
		b.line.pass(nil)
		return nil, err
	}
	l.takeTurn()
	return l, nil
}

// takeTurn gives the caller's turn to its new lease, which passes it on at its end. A lease that has ended by now could not
// do that, so the turn is passed on here.
func (l *Lease) takeTurn() {
	l.mu.Lock()
	over := l.end.cause != nil
	l.turn = !over
	l.mu.Unlock()
	if over {
		l.b.line.pass(nil)
	}
}

// heir takes the next in line out of it, if the znode of a lease whose release begins is to be his. There is none if nobody
// waits here, or if the znode has served for long enough: whoever waits elsewhere has to get the lock as well. The caller
// holds mu.
func (l *Lease) heir() *place {
	ct := l.by.contender()
	if !l.turn || ct == nil || !ct.mayServe() {
		return nil
	}
	p := l.b.line.take()
	if p != nil {
		l.turn, l.handed = false, true
	}
	return p
}

// handOver gives the znode, and with it the turn, to the heir.
func (l *Lease) handOver(p *place) {
	l.mu.Lock()
	ct := l.by.contender() // as heir has seen
	l.by = nil
	l.mu.Unlock()
	p.turn <- ct // has room: a place is given one turn
}

func (l *Lease) wasHanded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.handed
}

// mayServe says whether the znode may serve one more holder of this process.
func (ct *contender) mayServe() bool {
	b := ct.b
	return b.grants > 0 && int(ct.hand)+1 < b.grants && time.Since(ct.since) < b.handFor && (ct.guard == nil || ct.guard.good())
}

// takeOver makes a lease of a znode that is handed over. If the znode is not good any more, or ctx has ended, the znode is
// given up, and there is no lease.
func (ct *contender) takeOver(ctx context.Context) *Lease {
	ct.hand++
	if ct.b.guarded && (!ct.stamp(ctx) || time.Since(ct.since) >= ct.b.handFor) {
		ct.discard()
		return nil
	}
	l, err := ct.hold(ctx)
	if err != nil {
		ct.discard()
		return nil
	}
	l.begin()
	return l
}

// stamp writes the znode, so that its version tells this holder from the one before (docs/locks.md A9).
func (ct *contender) stamp(ctx context.Context) bool {
	set := ct.g.Set(ct.node, ct.data(), int32(ct.hand)-1)
	if ct.flight(ctx) != nil {
		return false
	}
	_, err := set.Stat()
	return err == nil && ct.via == ct.conn
}

// discard deletes the znode of a contender that nobody will hold. The contender cannot be used again: its flight may be
// under way.
func (ct *contender) discard() {
	if ct.guard != nil {
		ct.guard.watch.Stop()
	}
	if ct.fly {
		ct.g.Withdraw(client.ErrClosed)
	}
	ct.gaveUp = ct.clean(false)
}

// discarded waits, in the grace of a Lock that fails with err, for the deletion of a znode that was discarded on the way; ct may
// be nil.
func (ct *contender) discarded(ctx context.Context, err error) error {
	if ct == nil {
		return err
	}
	grace, cancel := graceful(ctx)
	defer cancel()
	return ct.confirm(grace, ct.gaveUp, err)
}
