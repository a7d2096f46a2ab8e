package client

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/session"
)

// WatchMode says what a Watcher hears of.
type WatchMode uint8

// The modes of watchers (docs/protocol.md section 11).
const (
	// Persistent is for one znode: it is created, deleted, its data or the list of its children changes.
	Persistent WatchMode = iota
	// Recursive is for a znode and everything below: each is created, deleted, or its data changes. There is no event for
	// the list of children, since the creation or deletion of each child is told.
	Recursive
)

// String returns "persistent" or "recursive".
func (m WatchMode) String() string {
	switch m {
	case Persistent:
		return "persistent"
	case Recursive:
		return "recursive"
	}
	return "unknown watch mode"
}

// DefaultEventBuffer is how many events wait for the reader of a Watcher unless EventBuffer says otherwise.
const DefaultEventBuffer = 1024

// EventBuffer sets how many events of one Watcher may wait to be read, at least 2. When the buffer is full, an EventGap takes
// the place of the events that do not fit; nothing waits for a slow reader. The default is DefaultEventBuffer.
func EventBuffer(n int) Option {
	return option(func(o *options) *OptionError {
		o.events = n
		return require(n >= 2, "EventBuffer", "less than 2")
	})
}

// Errors of a Watcher, for errors.Is.
var (
	// ErrWatcherBusy says that another goroutine is reading the Watcher.
	ErrWatcherBusy = errors.New("watcher has another reader")
	// ErrWatchMode says that a WatchMode is neither Persistent nor Recursive.
	ErrWatchMode = errors.New("unknown watch mode")
)

// Watcher delivers the events of a znode, or of a subtree, in the order in which the ensemble applied the changes, until it is
// closed or its session ends. The znode need not exist. Any number of watchers, also of several views, share what they have in
// common at the server, and ending one does not touch another.
//
// Changes are never dropped silently: where events are missing there is an EventGap instead. It comes after each reconnect,
// since servers do not tell what happened meanwhile, and where the EventBuffer was full. Whoever keeps a state reads it again
// then; package cache does that. Servers before 3.9 may tell an event twice when watches of several kinds on one znode come and go
// while it changes. Whether there is a connection at all, and so how old the newest event may be, Client.States
// tells.
//
// The event of a change is there before any operation of this client completes that could see the change. A server sends
// events only for znodes that the session may read (from 3.8.4 and 3.9.2 on, and so does Debian's 3.8.0). Where a persistent and
// a recursive watcher are on the same znode, the first hears of its children through the second's events: then of those that may
// be read.
//
// A znode called zookeeper directly below the client's chroot, and what is below it, has no name there, and no events.
//
// All methods may be called from any goroutine, but events are for one reader at a time. Those of a nil or zero Watcher report
// ErrZeroValue.
type Watcher struct {
	ss     *session.Session
	chroot string
	path   string // the client's
	limit  int
	st     session.Stream
	wake   chan struct{} // a token when there is something to read

	mu      sync.Mutex // guards what follows; innermost
	items   []Event
	head    int
	end     error // why no event follows those in items
	reading bool
}

// Watch sets a persistent or recursive watch on path and waits until the server has it, for which it takes one round trip, or
// none if another watcher has brought it already. A client without a connection waits for one, unless FailFast is set; with that
// it does not wait for another one either. If ctx ends first nothing is left behind. The events are read from the Watcher, which
// must be closed. When the session has expired its last word is ErrSessionExpired, and Watch is to be called again; package cache
// does that by itself.
//
// Servers know these watches from 3.6 on: MinServer with an older one gives a *VersionError. A server that was set up with
// another watch manager refuses them: the error matches ErrMarshalling. (ZooKeeper.addWatch in Java.)
func (c *Client) Watch(ctx context.Context, path string, mode WatchMode) (*Watcher, error) {
	if err := c.checkWatch(ctx, path, mode); err != nil {
		return nil, &Error{Op: "watch", Path: path, Err: err, Outcome: session.NotSent}
	}
	for {
		w := &Watcher{ss: c.keep.Current(), chroot: c.chroot, path: path, limit: c.events, wake: make(chan struct{}, 1)}
		w.st = session.Stream{Path: proto.JoinChroot(c.chroot, path), Mode: proto.AddWatchPersistent, Sink: (*watcherSink)(w)}
		if mode == Recursive {
			w.st.Mode = proto.AddWatchPersistentRecursive
		}
		err := w.ss.AddStream(ctx, &w.st)
		if err == nil {
			return w, nil
		}
		if err != session.ErrSessionExpired || c.keep.Current() == w.ss { // otherwise the next session takes it
			return nil, &Error{Op: "watch", Path: path, Err: err, Outcome: watchOutcome(err)}
		}
	}
}

// watchOutcome says what is known of an addWatch that failed: whether it was ever sent does not matter, since it changes nothing.
func watchOutcome(err error) Outcome {
	if _, refused := err.(Code); refused {
		return session.Rejected
	}
	return session.NotSent
}

func (c *Client) checkWatch(ctx context.Context, path string, mode WatchMode) error {
	switch {
	case !c.usable():
		return ErrZeroValue
	case ctx == nil:
		return ErrNilContext
	case mode != Persistent && mode != Recursive:
		return ErrWatchMode
	}
	if err := proto.ValidatePath(path); err != nil {
		return err
	}
	return c.needs(proto.OpAddWatch)
}

// Path returns the path that the watcher was made for.
func (w *Watcher) Path() string {
	if w == nil {
		return ""
	}
	return w.path
}

// Events yields the events, waiting for each, until ctx ends, the loop is left, the watcher is closed, or its session is over;
// except when the loop is left, the last thing it yields is the error: that of ctx, ErrWatchClosed, ErrSessionExpired, ErrClosed.
// When the session is over, what it has delivered before is yielded first. After the end of ctx, and after a loop that was left,
// Events may be called again and goes on with the next event.
func (w *Watcher) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			ev, err := w.Next(ctx)
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// Next waits for the next event, or for the end of ctx or of the watcher, as Events does.
func (w *Watcher) Next(ctx context.Context) (Event, error) {
	switch {
	case w == nil || w.wake == nil:
		return Event{}, &Error{Op: "watch", Err: ErrZeroValue, Outcome: session.NotSent}
	case ctx == nil:
		return Event{}, w.failed(ErrNilContext)
	case !w.begin():
		return Event{}, w.failed(ErrWatcherBusy)
	}
	defer w.finish()
	for {
		ev, ok, end := w.take()
		switch {
		case ok:
			return ev, nil
		case end != nil:
			return Event{}, w.failed(end)
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
			return Event{}, w.failed(ctx.Err())
		}
	}
}

// begin claims the place of the reader; finish gives it back.
func (w *Watcher) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reading {
		return false
	}
	w.reading = true
	return true
}

func (w *Watcher) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reading = false
}

// take returns the oldest event, or why there will be none.
func (w *Watcher) take() (ev Event, ok bool, end error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.head == len(w.items) {
		return Event{}, false, w.end
	}
	ev = w.items[w.head]
	w.items[w.head] = Event{}
	w.head++
	if w.head == len(w.items) {
		w.items, w.head = w.items[:0], 0
		if cap(w.items) > smallBuffer {
			w.items = nil
		}
	}
	return ev, true, nil
}

// smallBuffer is how many events' memory an idle watcher keeps.
const smallBuffer = 64

// put appends an event. The last place of the buffer is for a gap.
func (w *Watcher) put(ev Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end != nil {
		return
	}
	waiting := len(w.items) - w.head
	if waiting >= w.limit-1 {
		ev = Event{Type: EventGap, Path: w.path, Zxid: -1}
	}
	if waiting > 0 && ev.Type == EventGap && w.items[len(w.items)-1].Type == EventGap {
		return // one says it all
	}
	if w.head > len(w.items)/2 && len(w.items) == cap(w.items) { // before it grows, the room in front is used
		n := copy(w.items, w.items[w.head:])
		clear(w.items[n:])
		w.items, w.head = w.items[:n], 0
	}
	w.items = append(w.items, ev)
	w.signal()
}

// stop ends the watcher; drop says that what was not read is of no use.
func (w *Watcher) stop(err error, drop bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end == nil {
		w.end = err
	}
	if drop {
		w.items, w.head = nil, 0
	}
	w.signal()
}

func (w *Watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *Watcher) failed(err error) error {
	return &Error{Op: "watch", Path: w.path, Err: err, Outcome: session.NotSent}
}

// Close ends the watcher: readers return ErrWatchClosed, unread events are dropped, and what the client keeps for it is freed;
// the server's registration is removed too when nobody else in this session needs it, before any request that is made later is
// served. It does not block and may be called any number of times.
func (w *Watcher) Close() {
	if w == nil || w.wake == nil {
		return
	}
	w.ss.RemoveStream(&w.st)
	w.stop(ErrWatchClosed, true)
}

// watcherSink takes a Watcher's events from the session; it keeps the method for that out of Watcher's own.
type watcherSink Watcher

// StreamEvent implements session.StreamSink.
func (s *watcherSink) StreamEvent(ev session.Event) {
	w := (*Watcher)(s)
	if ev.Err != nil {
		w.stop(ev.Err, false)
		return
	}
	if proto.HasName(w.chroot, ev.Path) {
		w.put(Event{Type: ev.Type, Path: proto.StripChroot(w.chroot, ev.Path), Zxid: ev.Zxid})
	}
}
