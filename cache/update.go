package cache

import (
	"context"
	"iter"

	"github.com/lockkeeper/lockkeeper/client"
)

// version is what the goroutine of a cache has published last. It does not change, but for next. Readers go from one to the
// newest, not to the one that followed, so nothing is kept for the slow.
type version struct {
	snap  *Snapshot // nil until the first is complete
	state State
	end   error           // why no other version follows
	moved <-chan struct{} // closed when the state of the client is another than it was for this version
	next  chan struct{}   // closed when there is a newer one
}

// publish puts v in place and wakes the readers. It is for run.
func (c *Cache) publish(v *version) {
	v.next = make(chan struct{})
	close(c.now.Swap(v).next)
}

// Update is a step of a reader from one snapshot to another.
type Update struct {
	// Old is what the reader's update before had as New; for the first update it is empty.
	Old *Snapshot
	// New is the newest. It is Old if only the State has changed.
	New *Snapshot
	// State says whether New was current when the update was made; see Cache.State for now.
	State State
}

// Changes yields the differences between Old and New, as Diff does.
func (u Update) Changes() iter.Seq[Change] { return Diff(u.Old, u.New) }

// Updates yields, first, everything that there is, as added, and then an Update whenever something has changed or the State has,
// until ctx or the cache ends or the loop is left; except when the loop is left, the last thing it yields is the error: that of
// ctx, ErrClosed, or what Err says. Any number of goroutines may read, each at its own pace: a slow one gets in one Update what
// has changed since its last one.
func (c *Cache) Updates(ctx context.Context) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		if err := c.check(ctx); err != nil {
			yield(Update{}, err)
			return
		}
		u := Update{New: &Snapshot{path: c.path}}
		for first := true; ; first = false {
			v, err := c.await(ctx, func(v *version) bool { return first || v.snap != u.New || v.state != u.State })
			if err != nil {
				yield(Update{}, err)
				return
			}
			u = Update{Old: u.New, New: v.snap, State: v.state}
			if !yield(u, nil) {
				return
			}
		}
	}
}

// Wait waits until cond holds for a Snapshot, and returns that: the newest one, at the time of the call and then whenever there
// is another. A state that passes between two looks may be missed. cond is called by this goroutine and must not change
// anything in the snapshot. Whether the snapshot is current it does not say: what it shows was so, and Sync before Wait
// excludes what is older than the call. The error is that of ctx, ErrClosed, or what Err says.
func (c *Cache) Wait(ctx context.Context, cond func(*Snapshot) bool) (*Snapshot, error) {
	if err := c.check(ctx); err != nil {
		return nil, err
	}
	if cond == nil {
		return nil, c.failed(client.ErrZeroValue)
	}
	var last *Snapshot
	for {
		v, err := c.await(ctx, func(v *version) bool { return v.snap != last })
		if err != nil {
			return nil, err
		}
		if last = v.snap; cond(last) {
			return last, nil
		}
	}
}

func (c *Cache) check(ctx context.Context) error {
	switch {
	case !c.usable():
		return c.failed(client.ErrZeroValue)
	case ctx == nil:
		return c.failed(client.ErrNilContext)
	}
	return nil
}

// await waits until the newest version is news for a reader. What there is, is told before the end.
func (c *Cache) await(ctx context.Context, news func(*version) bool) (*version, error) {
	for {
		v := c.now.Load()
		switch {
		case ctx.Err() != nil:
			return nil, c.failed(ctx.Err())
		case news(v):
			return v, nil
		case v.end != nil:
			return nil, c.failed(v.end)
		}
		select {
		case <-v.next:
		case <-ctx.Done():
		}
	}
}
