package client

import "github.com/lockkeeper/lockkeeper/session"

// What follows is for one goroutine that waits for several things at once, as that of package cache does.

// StateChange returns where the client stands now, and a channel that is closed when that has changed, or when the client has
// ended. It does not block. Unlike States it skips what the caller was too slow for. Of a nil or zero Client the state is
// StateClosed, and the channel is closed.
func (c *Client) StateChange() (Change, <-chan struct{}) {
	if !c.usable() {
		over := make(chan struct{})
		close(over)
		return Change{State: session.StateClosed}, over
	}
	return c.keep.Newest()
}

// Wake returns the channel that holds a token when TryNext may have something, for use in a select by the goroutine that
// reads the events; nil for a nil or zero Watcher.
func (w *Watcher) Wake() <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.wake
}

// TryNext returns the oldest event if there is one. It is Next without the waiting, and has the same errors but for those of
// contexts.
func (w *Watcher) TryNext() (ev Event, ok bool, err error) {
	switch {
	case w == nil || w.wake == nil:
		return Event{}, false, &Error{Op: "watch", Err: ErrZeroValue, Outcome: session.NotSent}
	case !w.begin():
		return Event{}, false, w.failed(ErrWatcherBusy)
	}
	defer w.finish()
	ev, ok, end := w.take()
	if !ok && end != nil {
		err = w.failed(end)
	}
	return ev, ok, err
}
