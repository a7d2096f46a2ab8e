package checker

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// refHold is a hold of the reference lock.
type refHold struct {
	a    *refAttempt
	hold client.Hold
	once sync.Once
	lost chan struct{}

	mu      sync.Mutex // guards cleaned
	cleaned chan struct{}
	missing bool // valid when cleaned is closed: the znode was gone before the deletion
}

// grant puts the hold on the lease clock. Neither hold nor error means that it is too late for that, or the connection has changed.
func (a *refAttempt) grant(conn uint64) (*refHold, error) {
	h := &refHold{a: a, lost: make(chan struct{})}
	h.hold.Holder = h
	err := a.gen.Hold(&h.hold, conn)
	if errors.Is(err, client.ErrLeaseDeadline) || errors.Is(err, client.ErrDisconnected) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// HoldChanged ends the belief in time.
func (h *refHold) HoldChanged(s client.HoldState, _ error) {
	if s == client.Lost && h.a.wrong != keepsAfterExpiry {
		h.once.Do(func() { close(h.lost) })
	}
}

func (h *refHold) node() string          { return h.a.node }
func (h *refHold) token() Token          { return Token{Zxid: h.a.czxid} }
func (h *refHold) done() <-chan struct{} { return h.lost }
func (h *refHold) over() bool            { return false }
func (h *refHold) passes() bool          { return false }
func (h *refHold) guards() []client.Op {
	return []client.Op{h.a.c.GuardOp(h.a.node, client.AnyVersion)}
}

func (h *refHold) release(ctx context.Context, wait bool) (Result, bool, error) {
	h.once.Do(func() { close(h.lost) })
	h.a.gen.Unhold(&h.hold)
	h.mu.Lock()
	if h.cleaned == nil {
		h.cleaned = h.a.clean(&h.missing)
	}
	cleaned := h.cleaned
	h.mu.Unlock()
	if !wait {
		return Unknown, false, nil
	}
	select {
	case <-cleaned:
	case <-ctx.Done():
		return Unknown, true, nil
	}
	switch {
	case h.a.gen.Err() != nil:
		return Unknown, false, nil
	case h.missing:
		return NotHeld, false, nil
	}
	return OK, false, nil
}

// clean deletes what the attempt has made, in the background, until it is certain that it is gone or the session is over.
func (a *refAttempt) clean(missing ...*bool) chan struct{} {
	done := make(chan struct{})
	work := *a // the attempt may go on meanwhile
	ctx, cancel := context.WithCancel(context.Background())
	// Cleaner; owned by the session, with which it ends at the latest.
	go func() {
		defer close(done)
		defer cancel()
		gone := work.remove(ctx)
		for _, m := range missing {
			*m = gone
		}
	}()
	return done
}

// remove deletes the znodes of an attempt, and says whether the known one was not there.
func (a *refAttempt) remove(ctx context.Context) (missing bool) {
	for lost := false; a.node != "" && a.gen.Err() == nil; {
		node := a.node
		if a.wrong == deletesBySequence {
			node = a.sameNumber(ctx)
		}
		g := a.gen.Group()
		d := g.Delete(node, client.AnyVersion)
		_ = g.Do(ctx) // d has the error
		err := d.Err()
		missing = errors.Is(err, client.ErrNoNode) && !lost
		if err == nil || errors.Is(err, client.ErrNoNode) {
			break
		}
		lost = lost || client.MaybeApplied(err)
	}
	for a.unsure && a.wrong != createsWithoutSearch && a.gen.Err() == nil {
		queue, _, err := a.list(ctx, true)
		if errors.Is(err, errGone) {
			break
		}
		again := err != nil
		for _, c := range queue {
			if strings.HasPrefix(c.name, a.prefix) {
				g := a.gen.Group()
				g.Delete(a.dir+"/"+c.name, client.AnyVersion)
				_ = g.Do(ctx) // looked at once more
				again = again || a.isMine(ctx, c.name)
			}
		}
		if !again {
			break
		}
	}
	return missing
}

// isMine says whether the session may still have a znode of this name.
func (a *refAttempt) isMine(ctx context.Context, name string) bool {
	g := a.gen.Group()
	ex := g.Exists(a.dir + "/" + name)
	_ = g.Do(ctx) // ex has the error
	stat, ok, err := ex.Stat()
	return err != nil || ok && stat.EphemeralOwner == a.gen.SessionID()
}

// sameNumber returns the first znode that has the number of the own one.
func (a *refAttempt) sameNumber(ctx context.Context) string {
	queue, _, err := a.list(ctx, true)
	if err == nil {
		for _, c := range queue {
			if number(c.name) == number(a.node) {
				return a.dir + "/" + c.name
			}
		}
	}
	return a.node
}

// wait waits until the queue may have changed for us: with one permit, until the nearest ahead is gone.
func (a *refAttempt) wait(ctx context.Context, ahead []string) error {
	var w *client.Watch
	var err error
	if a.permits > 1 {
		var list client.Listing
		list, w, err = a.c.ChildrenWatch(ctx, a.dir)
		if now, found := a.ahead(contenders(list.Names)); err == nil && (!found || len(now) < a.permits) {
			w.Close() // it has changed since it was read
			return nil
		}
	} else {
		_, w, err = a.c.GetWatch(ctx, a.dir+"/"+ahead[len(ahead)-1])
	}
	if errors.Is(err, client.ErrNoNode) || errors.Is(err, client.ErrConnectionLoss) {
		return nil
	}
	if err != nil {
		return err
	}
	defer w.Close()
	if a.wrong == registersLate {
		return a.waitLate(ctx, w)
	}
	select {
	case <-w.Done():
		return nil
	case <-a.gen.Ended():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// waitLate is a reader that hands out the reply first and registers the watch a moment later: an event that comes in between finds
// nobody who waits for it.
func (a *refAttempt) waitLate(ctx context.Context, w *client.Watch) error {
	if err := rest(ctx, 20*time.Millisecond); err != nil {
		return err
	}
	registered := w.Done()
	select {
	case <-registered:
		registered = nil
	default:
	}
	select {
	case <-registered:
		return nil
	case <-a.gen.Ended():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
