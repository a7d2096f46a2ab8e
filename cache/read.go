package cache

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
)

// The bounds of what is read at once. A group of reads grows as long as its replies stay small.
const (
	firstBatch = 16
	maxBatch   = 256
	batchBytes = 1 << 20
)

// The pauses after a group that was not served, which double: a server that throttles wants to be left alone.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 5 * time.Second
)

// task is a znode that is being read.
type task struct {
	path string
	need
	data client.GetCall
	list client.ChildrenCall
	stat client.ExistsCall
	bad  error // why nothing is sent, or why the replies tell nothing

	proved int64 // the server had got so far, at least, when it served the first request of the task
}

// ask sends the next group of reads, if there is something to be read and nothing in flight. There is one group at a time: what
// is read by it was read at about the same moment, and events tell what has changed meanwhile. It reports whether nothing was
// sent, and the group is done with.
func (f *follower) ask(ctx context.Context) (done bool) {
	if f.flying || f.pause != nil || !f.serving || len(f.needs) == 0 {
		return false
	}
	f.pick()
	f.syncing = f.syncDue
	if f.syncing {
		f.synced = f.g.Sync(f.c.path)
	}
	f.calls = 0
	if f.syncing {
		f.calls++
	}
	for i := range f.tasks {
		t := &f.tasks[i]
		if t.bad = client.ValidatePath(t.path); t.bad != nil {
			continue
		}
		if t.what&wantData != 0 {
			t.data = f.g.Get(t.path, nil)
			f.calls++
		}
		if t.what&wantList != 0 {
			t.list = f.g.Children(t.path)
			f.calls++
		}
		if t.what == wantStat {
			t.stat = f.g.Exists(t.path)
			f.calls++
		}
	}
	if f.calls == 0 {
		f.answered()
		return true
	}
	f.flying = true
	if err := f.g.Submit(ctx, f.q, 0); err != nil {
		f.refused(err)
	}
	return !f.flying
}

// pick moves needs to tasks, in the order of paths, so that parents come before their children.
func (f *follower) pick() {
	clear(f.tasks)
	f.tasks = f.tasks[:0]
	for path, n := range f.needs {
		if len(f.tasks) == f.batch {
			break
		}
		f.tasks = append(f.tasks, task{path: path, need: n})
		f.drop(path, n)
	}
	slices.SortFunc(f.tasks, func(a, b task) int { return cmp.Compare(a.path, b.path) })
}

// refused takes a group that was not sent. Where one request can never be sent, the handles know which.
func (f *follower) refused(err error) {
	var large *client.RequestTooLargeError
	if errors.Is(err, client.ErrGroupRefused) || errors.As(err, &large) {
		f.answered()
		return
	}
	f.abandon()
	f.hold()
}

// abandon makes the tasks of a group that is of no use needs again.
func (f *follower) abandon() {
	if f.flying {
		for i := range f.tasks {
			f.want(f.tasks[i].path, f.tasks[i].need)
		}
	}
	f.flying = false
}

// hold pauses the reading.
func (f *follower) hold() {
	if f.pause == nil {
		f.pause = time.NewTimer(min(lastPause, firstPause<<min(f.failures, 16)))
		f.failures++
	}
}

// answered takes the replies of a group.
func (f *follower) answered() {
	f.flying, f.proved = false, 0
	if f.syncing {
		switch err := f.synced.Err(); {
		case errors.Is(err, client.ErrGroupRefused):
		case err != nil && transient(err):
			for i := range f.tasks {
				f.again(&f.tasks[i], f.tasks[i].what, err)
			}
			return
		default:
			f.syncDue = false // a server without quorum refuses it, and is as good as there is
		}
	}
	bytes := 0
	for i := range f.tasks {
		bytes += f.apply(&f.tasks[i])
	}
	if f.pause == nil {
		f.failures = 0
	}
	switch full := len(f.tasks) == f.batch; {
	case bytes > batchBytes:
		f.batch = max(1, len(f.tasks)*batchBytes/bytes)
	case full && bytes < batchBytes/2:
		f.batch = min(maxBatch, 2*f.batch)
	}
	f.covered()
}

// covered forgets the events that the replies have told already: where events have zxids, by those; otherwise if the event was
// taken in a turn before, and so came before the only reply. Without that a znode that changes all the time would be read all
// the time, and there would never be a moment to publish.
func (f *follower) covered() {
	for i := range f.tasks {
		t := &f.tasks[i]
		n, ok := f.needs[t.path]
		has := t.what | wantStat
		if ok && !n.full && n.what&^has == 0 && t.bad == nil && (n.zxid <= t.proved || f.calls == 1 && n.turn < f.turn) {
			f.drop(t.path, n)
		}
	}
}

// again has a part of a task repeated: after a pause, unless it was not sent because of another request of the group.
func (f *follower) again(t *task, what want, err error) {
	n := t.need
	n.what = what
	f.want(t.path, n)
	t.bad = err // it covers nothing
	if !errors.Is(err, client.ErrGroupRefused) {
		f.hold()
	}
}

// transient reports whether a read that failed is to be repeated.
func transient(err error) bool {
	var e *client.Error
	if errors.As(err, &e) && e.Outcome == client.OutcomeNotSent {
		var large *client.RequestTooLargeError
		return !errors.As(err, &large)
	}
	for _, target := range []error{
		client.ErrConnectionLoss, client.ErrSessionExpired, client.ErrAuthFailed, client.ErrClosed, client.ErrThrottled,
		client.ErrSessionMoved, context.Canceled,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
