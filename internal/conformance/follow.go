package conformance

import (
	"context"

	"github.com/lockkeeper/lockkeeper/client"
)

// follower reads a client's states, none of which it misses.
type follower struct {
	e    *env
	c    chan client.Change
	seen []client.Change
}

// follow begins with the state that the client is in.
func (e *env) follow(cl *client.Client) *follower {
	ctx, stop := context.WithCancel(e.ctx)
	w := &follower{e: e, c: make(chan client.Change, 1024)}
	done := make(chan struct{})
	e.Cleanup(func() { stop(); <-done })
	states := cl.States(ctx) // from here on nothing is missed
	// Reader of the client's states; owned by the entry, whose end it waits for; ends with ctx, or with the client.
	go func() {
		defer close(done)
		defer close(w.c)
		for change := range states {
			w.c <- change
		}
	}()
	return w
}

// next returns the next change; ok is false when none follows.
func (w *follower) next() (change client.Change, ok bool) {
	w.e.Helper()
	select {
	case change, ok = <-w.c:
	case <-w.e.ctx.Done():
		w.e.Fatalf("waited in vain for a state; there were %v", w.seen)
	}
	if ok {
		w.seen = append(w.seen, change)
	}
	return change, ok
}

// until waits for a state and returns the change to it.
func (w *follower) until(state client.State) client.Change {
	w.e.Helper()
	for {
		change, ok := w.next()
		if !ok {
			w.e.Fatalf("no %v among the states %v", state, w.seen)
		}
		if change.State == state {
			return change
		}
	}
}

// count returns how often a state has been seen.
func (w *follower) count(state client.State) int {
	n := 0
	for _, change := range w.seen {
		if change.State == state {
			n++
		}
	}
	return n
}

// blink cuts the client's connection and waits until it has the next one.
func (e *env) blink(cl *client.Client, tp *tap) {
	e.Helper()
	w := e.follow(cl)
	tp.cut()
	w.until(client.StateDisconnected)
	w.until(client.StateConnected)
}
