package recipes

import (
	"context"
	"errors"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// tagFlight marks the completion of the group in flight; watches have tags of their own, never used twice.
const tagFlight = 0

// entrant is what one call of Lock has, whether it stands in a queue or wants a znode of a fixed path. All that it learns comes
// through one queue of items, in the order of the wire (docs/locks.md A10 rule 3).
type entrant struct {
	of   way // what it is part of
	b    *base
	q    *client.Queue
	try  bool
	part bool // of a MultiLock

	gen client.Generation
	g   *client.Group // bound to gen
	fly bool          // g is under way
	via uint64        // the connection that carried it last

	tags    uint32            // of watches, given out
	waiting bool              // counted as a contender of the session
	proved  bool              // a sync was sent to renew the lease clock for the grant
	pace    pace              // of requests that are lost
	gaveUp  []*client.Cleanup // the deletion of a znode that was not taken over, which a Lock that fails waits for as well
	guard   *nodeGuard        // watches the znode while it is held; nil if no option wants it
}

// way is how an entrant of one kind goes about it.
type way interface {
	begin() error                                // prepares for an attempt in the current session
	attempt(context.Context) (*Lease, error)     // makes one
	note(client.Item)                            // takes what has come
	forget()                                     // takes the watches back
	clean(gone bool) (started []*client.Cleanup) // starts to delete what the attempt has made; gone: the own znode is not there
}

// contender returns the contender that e is part of; nil if it is none, or e is nil.
func (e *entrant) contender() *contender {
	if e == nil {
		return nil
	}
	ct, _ := e.of.(*contender)
	return ct
}

// bind makes the current session the one of the attempt.
func (e *entrant) bind() {
	gen := e.b.c.Generation()
	if e.g == nil || gen != e.gen {
		e.gen, e.g = gen, gen.Group()
	}
	e.proved, e.guard = false, nil
}

// errAgain says that an attempt has ended in a way that allows another one.
var errAgain = errors.New("own znode gone")

// acquire makes attempts until one is granted or fails for good.
func (e *entrant) acquire(ctx context.Context) (*Lease, error) {
	for {
		if err := e.of.begin(); err != nil {
			return nil, err
		}
		l, err := e.of.attempt(ctx)
		if err == nil {
			return l, nil
		}
		again := errors.Is(err, errAgain) || errors.Is(err, client.ErrSessionExpired) && ctx.Err() == nil
		grace, cancel := graceful(ctx)
		err = e.leave(grace, err)
		cancel()
		if err := e.final(again, err); err != nil {
			return nil, err
		}
	}
}

// final returns the error with which Lock fails after an attempt, nil if there is to be another one.
func (e *entrant) final(again bool, err error) error {
	over := e.gen.Err()
	switch {
	case !again:
		return err
	case e.b.failGone && errors.Is(err, client.ErrSessionExpired):
		return err
	case e.b.failGone && errors.Is(err, ErrCleanupPending):
		return join(ErrNodeGone, ErrCleanupPending)
	case e.b.failGone:
		return ErrNodeGone
	case over != nil && e.b.c.Generation() == e.gen:
		return over // no other session follows
	}
	return nil
}

// hold puts l, which is granted by what connection conn brought, on the lease clock, if that is there and the clock runs.
func (e *entrant) hold(ctx context.Context, l *Lease, conn uint64) error {
	l.b, l.gen, l.lock = e.b, e.gen, ctx
	l.hold.Holder = (*leaseHold)(l)
	return e.gen.Hold(&l.hold, conn)
}

// flight sends the group and waits for it, while events that come in are noted.
func (e *entrant) flight(ctx context.Context) error {
	if err := e.g.Submit(ctx, e.q, tagFlight); err != nil {
		return err
	}
	e.fly = true
	for e.fly {
		it, err := e.q.Next(ctx)
		if err != nil {
			return err
		}
		e.of.note(it)
	}
	return nil
}

// drain takes what else has arrived: the end of the own znode may be right behind that of the one ahead (docs/locks.md D4b).
func (e *entrant) drain() {
	for {
		it, ok := e.q.TryNext()
		if !ok {
			return
		}
		e.of.note(it)
	}
}

// watch returns a new watch whose event comes to the queue under a tag of its own. One cannot be used again: its event may
// be under way when it is taken back.
func (e *entrant) watch() *client.OneShot {
	e.tags++
	return &client.OneShot{Sink: e.q, Tag: e.tags}
}

// wait begins the time of waiting, in which the session proves to itself that the leader knows it.
func (e *entrant) wait() {
	if !e.waiting {
		e.waiting = true
		e.gen.Contend(1)
	}
}

// settle ends the time of waiting.
func (e *entrant) settle() {
	if e.waiting {
		e.waiting = false
		e.gen.Contend(-1)
	}
}

// rest waits between two proofs for one grant. The first may come at once; the next one is of no use before a quarter of the
// session timeout has passed, since that is how far a proof reaches back (package session, lease clock).
func (e *entrant) rest(ctx context.Context) error {
	if !e.proved {
		e.proved = true
		return nil
	}
	return sleep(ctx, e.gen.Timeout()/4)
}

// leave removes everything of a failed attempt, and returns err, joined with ErrCleanupPending if that was not confirmed
// in time. What has not been written is taken back; a create in flight is waited for, within the grace, since only its
// reply tells what it has made.
func (e *entrant) leave(grace context.Context, err error) error {
	e.of.forget()
	e.settle()
	if e.fly {
		e.g.Withdraw(err)
	}
	for e.fly {
		it, late := e.q.Next(grace)
		if late != nil {
			// The reply of a flight that nobody waits for any more.
			e.q.Forward(func(it client.Item) {
				if it.Kind == client.ItemReply {
					e.of.clean(false)
				}
			})
			return join(err, ErrCleanupPending)
		}
		e.of.note(it)
	}
	return e.confirm(grace, append(e.of.clean(errors.Is(err, errAgain)), e.gaveUp...), err)
}

// confirm waits for deletions as long as grace lasts, and adds to err what became of them if they did not come off.
func (e *entrant) confirm(grace context.Context, started []*client.Cleanup, err error) error {
	for _, c := range started {
		why := c.Wait(grace)
		if done, _ := c.Result(); !done {
			return join(err, ErrCleanupPending)
		}
		if refusal(why) {
			err = join(err, why)
		}
	}
	return err
}

// graceful returns a context that goes on for CleanupGrace, whatever becomes of ctx.
func graceful(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), CleanupGrace)
}

// When a request is lost soon after another one, it may be the request that breaks the connection: then the next one waits.
const (
	lossSoon  = time.Second
	lossPause = 100 * time.Millisecond
)

// pace keeps requests that are repeated after their connection broke from breaking every next one at full speed. The zero
// pace is ready.
type pace struct{ last time.Time }

// lost waits, if the last time was a moment ago, or returns the error of ctx if that ends before.
func (p *pace) lost(ctx context.Context) error {
	now := time.Now()
	soon := now.Sub(p.last) < lossSoon
	p.last = now
	if !soon {
		return nil
	}
	return sleep(ctx, lossPause)
}

// sleep waits for d, or returns the error of ctx if that ends before.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
