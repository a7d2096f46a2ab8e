package client

import (
	"context"
	"sync"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/session"
)

// Event is what a Watch and a Watcher deliver.
type Event struct {
	Type EventType // EventNone when a Watch ended without a change: then Err is set
	Path string    // where it happened; for a Watch the path that it was set on
	Zxid int64     // of the change, from servers of 3.9 on; -1 otherwise
	Err  error     // why a Watch ended without a change: session expired, client closed, ErrWatchClosed
}

// Node is a znode as it was when a watch was set on it.
type Node struct {
	Data   []byte // from GetWatch; the caller's
	Stat   Stat
	Exists bool
}

// Listing is the children of a znode as they were when a watch was set on them.
type Listing struct {
	Names []string // names, not paths, in no defined order; the caller's
	Stat  Stat     // of the parent
}

// Watch waits for one change of a znode. It ends exactly once: with the first change after the read that set it, with the end
// of the session, or with Close. A reconnect does not end it: it is set again, and a change that came in between is
// delivered then. Changes that follow one another quickly are one event; read again, with a new watch, to learn the state.
//
// The event of a change is there before any operation of this client completes that could see the change. All methods may
// be called from any goroutine; those of a nil or zero Watch report ErrZeroValue.
type Watch struct {
	ss   *session.Session // where it is registered
	reg  session.Watch
	path string // the client's
	done chan struct{}

	once sync.Once // decides what ends the watch
	ev   Event     // valid when done is closed
}

// watchSink takes a Watch's event from the session; it keeps the method for that out of Watch's own.
type watchSink Watch

// WatchEvent implements session.Sink.
func (s *watchSink) WatchEvent(_ *session.Watch, ev session.Event, _ uint64) {
	w := (*Watch)(s)
	w.finish(Event{Type: ev.Type, Path: w.path, Zxid: ev.Zxid, Err: ev.Err})
}

func (w *Watch) finish(ev Event) {
	w.once.Do(func() {
		w.ev = ev
		close(w.done)
	})
}

// Done is closed when the event is there.
func (w *Watch) Done() <-chan struct{} {
	if w == nil || w.done == nil {
		over := make(chan struct{})
		close(over)
		return over
	}
	return w.done
}

// Event returns the event once Done is closed; before, it is the zero Event, whose Type no event has.
func (w *Watch) Event() Event {
	if w == nil || w.done == nil {
		return Event{Type: EventNone, Zxid: -1, Err: ErrZeroValue}
	}
	select {
	case <-w.done:
		return w.ev
	default:
		return Event{}
	}
}

// Wait waits for the event or for the end of ctx, whose error it then returns; the watch lives on. When the watch ended
// without a change, the error says why, and matches Event.Err.
func (w *Watch) Wait(ctx context.Context) (Event, error) {
	if w == nil || w.done == nil {
		return w.Event(), &Error{Op: "watch", Err: ErrZeroValue, Outcome: session.NotSent}
	}
	if ctx == nil {
		return Event{}, w.failed(ErrNilContext)
	}
	select {
	case <-w.done:
	default:
		select {
		case <-w.done:
		case <-ctx.Done():
			return Event{}, w.failed(ctx.Err())
		}
	}
	if w.ev.Err != nil {
		return w.ev, w.failed(w.ev.Err)
	}
	return w.ev, nil
}

func (w *Watch) failed(err error) error {
	return &Error{Op: "watch", Path: w.path, Err: err, Outcome: session.NotSent}
}

// Close ends the watch, with ErrWatchClosed unless it has ended already, and frees what the client keeps for it. The server's
// own registration is removed too (removeWatches) when no other watch of this session needs it; while disconnected it is simply
// not set again. Close does not block and may be called any number of times.
func (w *Watch) Close() {
	if w == nil || w.done == nil {
		return
	}
	w.ss.Unwatch(&w.reg)
	w.finish(Event{Type: EventNone, Path: w.path, Zxid: -1, Err: ErrWatchClosed})
}

// GetWatch is Get with a watch for the next change of the znode's data, or its deletion. If the znode does not exist the error
// matches ErrNoNode and there is no watch: ExistsWatch waits for its creation.
func (c *Client) GetWatch(ctx context.Context, path string) (Node, *Watch, error) {
	var h GetCall
	g, w, err := c.armed(ctx, "get", path, session.WatchData, func(g *Group, reg *session.Watch) {
		h = g.get(path, nil, reg)
	})
	if err != nil {
		return Node{}, nil, err
	}
	data, st, err := h.Data()
	w, err = c.keepWatch(g, w, err)
	return Node{Data: data, Stat: st, Exists: err == nil}, w, err
}

// ExistsWatch is Exists with a watch: for the next change of the znode's data or its deletion if it exists, for its creation
// if it does not.
func (c *Client) ExistsWatch(ctx context.Context, path string) (Node, *Watch, error) {
	var h ExistsCall
	g, w, err := c.armed(ctx, "exists", path, session.WatchData, func(g *Group, reg *session.Watch) {
		h = g.exists(path, reg)
	})
	if err != nil {
		return Node{}, nil, err
	}
	st, ok, err := h.Stat()
	w, err = c.keepWatch(g, w, err)
	return Node{Stat: st, Exists: ok}, w, err
}

// ChildrenWatch is Children with a watch for the next creation or deletion of a child, or the deletion of the znode itself.
// If the znode does not exist the error matches ErrNoNode and there is no watch.
func (c *Client) ChildrenWatch(ctx context.Context, path string) (Listing, *Watch, error) {
	var h ChildrenCall
	g, w, err := c.armed(ctx, "children", path, session.WatchChild, func(g *Group, reg *session.Watch) {
		h = g.children(path, reg)
	})
	if err != nil {
		return Listing{}, nil, err
	}
	names, st, err := h.Names()
	w, err = c.keepWatch(g, w, err)
	return Listing{Names: names, Stat: st}, w, err
}

// ConfigWatch is GetConfig with a watch for the next change of the ensemble's configuration. The event's path is
// /zookeeper/config with every chroot.
func (c *Client) ConfigWatch(ctx context.Context) (Config, *Watch, error) {
	node, w, err := c.GetWatch(ctx, proto.ConfigPath)
	if err != nil {
		return Config{}, nil, err
	}
	return parseConfig(node.Data), w, nil
}

// armed sends the request that add builds, with a watch. A session that is over before it accepts the request is replaced
// by the next one, as for other operations; the watch belongs to the session that accepted it.
func (c *Client) armed(ctx context.Context, op, path string, kind session.WatchKind, add func(*Group, *session.Watch)) (*Group, *Watch, error) {
	g, err := c.take(op, path)
	if err != nil {
		return nil, nil, err
	}
	for {
		w := &Watch{ss: c.keep.Current(), path: path, done: make(chan struct{})}
		w.reg = session.Watch{Kind: kind, Path: proto.JoinChroot(c.chroot, path), Sink: (*watchSink)(w), Tidy: true}
		g.ss = w.ss
		add(g, &w.reg)
		g.run(ctx)
		if !g.turnedAway() || c.keep.Current() == w.ss {
			return g, w, nil
		}
		g.reset()
	}
}

// keepWatch gives g back, and w only if its request succeeded.
func (c *Client) keepWatch(g *Group, w *Watch, err error) (*Watch, error) {
	g.ss = nil
	c.put(g)
	if err != nil {
		w.ss.Unwatch(&w.reg)
		return nil, err
	}
	return w, nil
}
