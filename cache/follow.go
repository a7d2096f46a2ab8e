package cache

import (
	"context"
	"errors"
	"hash/maphash"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// follower is what the goroutine of a cache knows. Nobody else touches it.
type follower struct {
	c     *Cache
	cl    *client.Client
	tree  tree
	snap  *Snapshot // published last
	zxid  int64     // highest seen
	state State

	// Of the session.
	gen     client.Generation
	w       *client.Watcher
	q       *client.Queue
	g       *client.Group
	moved   <-chan struct{} // closed when the state of the client has changed since the last look
	serving bool            // the client is connected
	quorum  bool            // to a server that has a quorum

	// What is to be read, and what is being read: see needs.go and read.go.
	needs    map[string]need
	fulls    int                 // how many of needs must be met before the tree is known after a gap
	touched  map[string]struct{} // the Stat was read: see verify
	turn     uint64              // counts the rounds of serve, since events are known to have come before replies by that
	syncDue  bool                // the next group begins with a sync
	flying   bool                // a group is in flight
	tasks    []task              // what it reads
	synced   client.SyncCall
	syncing  bool
	calls    int   // requests in the group
	proved   int64 // highest zxid that a reply of this group has shown
	batch    int
	failures int
	nameless bool        // the root has a child that has no name in the client, see children
	pause    *time.Timer // nil while reading is allowed

	restless time.Time // since when something is left to be read; zero while nothing is
	barriers []barrier
}

// barrier is a caller of Sync.
type barrier struct {
	turn  uint64 // what was to be read by then must have been read
	shown chan struct{}
}

// run follows the ensemble until the cache is closed, or the client has ended.
func (c *Cache) run() {
	defer close(c.done)
	f := &follower{
		c: c, cl: c.cl, tree: tree{path: c.path, seed: maphash.MakeSeed()}, state: c.now.Load().state,
		needs: make(map[string]need), touched: make(map[string]struct{}), batch: firstBatch,
	}
	err := f.follow(c.ctx)
	f.become(false)
	c.publish(&version{snap: f.snap, state: f.state, end: err})
}

// follow carries the cache through one session after another.
func (f *follower) follow(ctx context.Context) error {
	for {
		if err := f.watch(ctx); err != nil {
			return err
		}
		err := f.serve(ctx)
		f.w.Close()
		f.stopPause()
		if !errors.Is(err, client.ErrSessionExpired) {
			return err
		}
		f.become(false)
		f.tell(f.snap)
	}
}

// watch sets the watch in the current session. When there is none to follow any more, the client's Watch says so.
func (f *follower) watch(ctx context.Context) error {
	mode := client.Recursive
	if f.c.opts.depth == 0 {
		mode = client.Persistent
	}
	for {
		_, moved := f.cl.StateChange()
		gen := f.cl.Generation()
		w, err := f.cl.Watch(ctx, f.c.path, mode)
		switch {
		case err == nil && gen == f.cl.Generation():
			// The session was the same all the time, so the watch is in it.
			f.gen, f.w, f.q, f.g, f.moved = gen, w, client.NewQueue(), gen.Group(), nil
			f.abandon()
			return nil
		case err == nil:
			w.Close()
			continue
		case ctx.Err() != nil:
			return ErrClosed
		case !errors.Is(err, client.ErrDisconnected):
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ErrClosed
		}
	}
}

// serve follows one session, and returns why it is over. One turn of it is: look at the state of the client, take all events,
// then take the replies if they are there. So an event that was taken in a turn before came before the replies, and when
// events are taken after the replies, all that came before these are among them. Only then is anything published.
func (f *follower) serve(ctx context.Context) error {
	f.wantAll()
	for {
		f.turn++
		f.take()
		f.look()
		for {
			ev, ok, err := f.w.TryNext()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			f.event(ev)
		}
		if _, ok := f.q.TryNext(); ok {
			f.answered()
			continue
		}
		f.settle()
		if f.ask(ctx) {
			continue
		}
		if err := f.rest(ctx); err != nil {
			return err
		}
	}
}

// take notes who waits for the cache to be up to date. Their events have come before.
func (f *follower) take() {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	for _, shown := range f.c.waiting {
		f.barriers = append(f.barriers, barrier{f.turn, shown})
	}
	f.c.waiting = nil
}

// look notes the state of the client. After any change of it a reply is wanted: by a reply the gap of its connection is known
// to have been told, which comes later than the state.
func (f *follower) look() {
	change, moved := f.cl.StateChange()
	if moved == f.moved {
		return
	}
	f.moved = moved
	f.serving = change.State.Connected() && change.Generation == f.gen.Number()
	f.quorum = f.serving && change.State == client.StateConnected
	f.become(false)
	f.want(f.c.path, need{what: wantStat, full: true, turn: f.turn, oldest: f.turn, zxid: unknown})
	f.stopPause()
	f.tell(f.snap)
}

// become notes whether the cache is current.
func (f *follower) become(current bool) {
	if f.state.Current != current {
		f.state = State{Current: current, Since: time.Now()}
	}
}

// tell publishes a snapshot, or the same one with another state.
func (f *follower) tell(snap *Snapshot) {
	if old := f.c.now.Load(); old.snap != snap || old.state != f.state || old.moved != f.moved {
		f.snap = snap
		f.c.publish(&version{snap: snap, state: f.state, moved: f.moved})
	}
}

// settle publishes what is known, if nothing is left to be read, or that has been so for too long.
func (f *follower) settle() {
	if f.flying {
		return
	}
	if len(f.needs) == 0 {
		f.verify()
	}
	mixed := len(f.needs) > 0
	switch {
	case !mixed:
		f.restless = time.Time{}
	case f.restless.IsZero():
		f.restless = time.Now()
		return
	case f.fulls > 0 || time.Since(f.restless) < f.c.opts.patience:
		return
	}
	clear(f.touched) // where nothing is ever at rest, the numbers never agree
	snap := f.snap
	if snap == nil || snap.root != f.tree.root || snap.mixed != mixed {
		snap = &Snapshot{path: f.c.path, root: f.tree.root, zxid: f.zxid, mixed: mixed}
	}
	f.become(f.quorum)
	f.tell(snap)
	f.release()
}

// release lets go of those who wait for what has been published.
func (f *follower) release() {
	if len(f.barriers) == 0 {
		return
	}
	oldest := f.turn + 1
	for _, n := range f.needs {
		oldest = min(oldest, n.oldest)
	}
	left := f.barriers[:0]
	for _, b := range f.barriers {
		if b.turn < oldest {
			close(b.shown)
		} else {
			left = append(left, b)
		}
	}
	clear(f.barriers[len(left):])
	f.barriers = left
}

// rest waits until there is something to do.
func (f *follower) rest(ctx context.Context) error {
	var pause <-chan time.Time
	if f.pause != nil {
		pause = f.pause.C
	}
	select {
	case <-f.w.Wake():
	case <-f.q.Wake():
	case <-f.moved:
	case <-f.c.wake:
	case <-pause:
		f.pause = nil
	case <-ctx.Done():
		return ErrClosed
	}
	return nil
}

func (f *follower) stopPause() {
	if f.pause != nil {
		f.pause.Stop()
		f.pause = nil
	}
}
