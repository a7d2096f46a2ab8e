package recipes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestSemaphoreFlights(t *testing.T) { // docs/locks.md A8
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := semPair(t, srv, 5)
		defer closeAll()
		var l, m *Lease
		flights(t, srv, "path missing", 2, func() { l = get(t, take(a, 2)) })
		before := srv.Snapshot()
		flights(t, srv, "a permit, free", 1, func() { m = get(t, take(b, 1)) })
		flights(t, srv, "release", 1, func() { release(t, m) })
		if n := srv.Snapshot().Requests - before.Requests; n != 3 {
			t.Errorf("%d requests, want 3", n)
		}
		flights(t, srv, "TryAcquire, free", 1, func() { m = get(t, tryTake(b, 3)) })
		flights(t, srv, "TryAcquire, taken: and the delete", 2, func() { busy(t, "taken", tryTake(b, 1)) })
		release(t, m)
		release(t, l)
		z := NewSemaphore(a.b.c, "/fromznode", FromZnode)
		flights(t, srv, "SetPermits, path missing", 2, func() { must(0, z.SetPermits(t.Context(), 2)) })
		flights(t, srv, "SetPermits", 1, func() { must(0, z.SetPermits(t.Context(), 3)) })
		before = srv.Snapshot()
		flights(t, srv, "FromZnode, free", 1, func() { l = get(t, take(z, 2)) })
		if n := srv.Snapshot().Requests - before.Requests; n != 3 {
			t.Errorf("%d requests, want 3", n)
		}
		release(t, l)
	})
}

// With exactly as many below as there are permits, whichever goes first brings the permit with its event.
func TestSemaphoreEventAndNothing(t *testing.T) { // docs/locks.md A8: event + 0
	for which := range 3 {
		t.Run(fmt.Sprint(which), func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b, closeAll := semPair(t, srv, 3)
				defer closeAll()
				var held []*Lease
				for range 3 {
					held = append(held, get(t, take(a, 1)))
				}
				w := queued(t.Context(), take(b, 1))
				if n := watchesOf(srv, b.b.c); n != 3+1 {
					t.Errorf("%d watches, want those of the 3 ahead and its own", n)
				}
				flights(t, srv, "release", 1, func() { release(t, held[which]); <-w.done })
				release(t, granted(t, "the waiter", w))
			})
		})
	}
}

// With weights nobody looks again as long as those that are watched and left are enough to know that there is no room.
func TestSemaphoreWeightsEventAndNothing(t *testing.T) { // A5
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := semPair(t, srv, 5)
		defer closeAll()
		three, two := get(t, take(a, 3)), get(t, take(a, 2))
		w := queued(t.Context(), take(b, 3))
		flights(t, srv, "one that is not enough", 1, func() { release(t, two) })
		waits(t, "the waiter", w)
		flights(t, srv, "the other", 1, func() { release(t, three); <-w.done })
		three = granted(t, "the waiter", w)
		one, other := get(t, take(a, 1)), get(t, take(a, 1))
		w = queued(t.Context(), take(b, 1))
		flights(t, srv, "one that leaves room", 1, func() { release(t, other); <-w.done })
		release(t, granted(t, "the waiter", w))
		release(t, one)
		release(t, three)
		leftBehind(t, srv)
	})
}

// A waiter watches the nearest ahead that are enough to keep it waiting, and none more.
func TestSemaphoreWatches(t *testing.T) { // A5; E20, E21 of the model: one fewer would not do
	for _, tc := range []struct {
		permits, weight int
		ahead           []int
		watched         int // of those ahead, the nearest ones
	}{
		{1, 1, []int{1, 1, 1}, 2}, // a mutex, with look-ahead
		{2, 1, []int{1, 1}, 2},
		{2, 1, []int{1, 1, 1, 1, 1}, 2},
		{3, 1, []int{1, 1, 1, 1, 1}, 3},
		{3, 2, []int{1, 1, 1, 1, 1}, 2},
		{3, 3, []int{1, 1, 1, 1, 1}, 1},
		{5, 2, []int{1, 2, 1, 3}, 2},    // 3 and 2 fit
		{5, 2, []int{5, 4}, 1},          // 4 and 2 do not
		{5, 3, []int{3, 2}, 2},          // 2 and 3 fit
		{5, 1, []int{1, 1, 1, 1, 5}, 1}, // one that takes all
		{5, 1, []int{5, 1, 1, 1, 1}, 5},
	} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b, closeAll := semPair(t, srv, tc.permits)
				defer closeAll()
				var ws []*waiter
				for _, n := range tc.ahead {
					ws = append(ws, queued(t.Context(), take(a, n)))
				}
				nodes := semNodes(srv)
				w := queued(t.Context(), take(b, tc.weight))
				want := append(nodes[len(nodes)-tc.watched:], ownNode(t, srv, b.b.c))
				slices.Sort(want)
				if got := watched(srv, b.b.c); !slices.Equal(got, want) {
					t.Errorf("watched %v, want %v", got, want)
				}
				for _, w := range append(ws, w) {
					release(t, granted(t, "next", w))
				}
				leftBehind(t, srv)
			})
		})
	}
}

// watched returns the paths that a client watches, sorted.
func watched(srv *zktest.Server, c *client.Client) (paths []string) {
	for _, w := range srv.Watches() {
		if w.SessionID == c.SessionID() {
			paths = append(paths, w.Path)
		}
	}
	slices.Sort(paths)
	return paths
}

// semNodes returns the paths of the semaphore's znodes in the order of their numbers.
func semNodes(srv *zktest.Server) (nodes []string) {
	for _, name := range srv.Children("/lock") {
		nodes = append(nodes, "/lock/"+name)
	}
	number := func(s string) string { return s[strings.LastIndexByte(s, '-')+1:] }
	slices.SortFunc(nodes, func(a, b string) int { return strings.Compare(number(a), number(b)) })
	return nodes
}

// Ten wait on ten clients: a release wakes at most as many as there are permits, and one gets it.
func TestSemaphoreCrowd(t *testing.T) { // A8, A10 rule 14
	for _, permits := range []int{2, 3, 5} {
		t.Run(fmt.Sprint(permits), func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				holder := dial(t, srv)
				defer holder.Close()
				var held []*Lease
				for range permits {
					held = append(held, get(t, take(NewSemaphore(holder, "/lock", permits), 1)))
				}
				var ws []*waiter
				for range 10 {
					c := dial(t, srv)
					defer c.Close()
					ws = append(ws, queued(t.Context(), take(NewSemaphore(c, "/lock", permits), 1)))
				}
				if n := srv.Snapshot().Watches.Data; n != 10*(permits+1) {
					t.Errorf("%d watches, want %d", n, 10*(permits+1))
				}
				lists := srv.Snapshot().ByOp[proto.OpGetChildren2]
				for i, w := range ws {
					waits(t, fmt.Sprint("number ", i), w)
					before := srv.Snapshot().Notifications
					release(t, held[0])
					held = append(held[1:], granted(t, fmt.Sprint("number ", i), w))
					// The session of the znode is told as well, of the watch that it had on it while it waited.
					if n := int(srv.Snapshot().Notifications - before); n > permits+1 {
						t.Errorf("release %d: %d notifications, want at most %d", i, n, permits+1)
					}
				}
				if n := int(srv.Snapshot().ByOp[proto.OpGetChildren2] - lists); n > 10*(permits-1) {
					t.Errorf("%d lists", n)
				}
				for _, l := range held {
					release(t, l)
				}
				leftBehind(t, srv)
			})
		})
	}
}

// Rule 5: the end of one of the own session is a hint: the waiter looks again.
func TestSemaphoreOfTheSameSession(t *testing.T) { // A10 rules 5 and 14 (E11 of the model), D4b
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := semPair(t, srv, 2)
		defer closeAll()
		mine, other := get(t, take(a, 1)), get(t, take(b, 1))
		w := queued(t.Context(), take(a, 1))
		flights(t, srv, "the delete, and a list", 2, func() { release(t, mine); <-w.done })
		mine = granted(t, "waiter", w)
		w = queued(t.Context(), take(a, 1))
		flights(t, srv, "that of another session", 1, func() { release(t, other); <-w.done })
		other = granted(t, "waiter", w)
		// Expiry of both takes the holders' znodes and the waiter's: no grant, and again at the end.
		w = queued(t.Context(), take(a, 1))
		first, second := queued(t.Context(), take(b, 1)), queued(t.Context(), take(b, 1))
		srv.ExpireSession(a.b.c.SessionID())
		for _, l := range []*Lease{mine, other} {
			<-l.Done()
			wantErr(t, l.Release(t.Context()), ErrLost, ErrSessionExpired)
		}
		l := granted(t, "the other's first", first)
		m := granted(t, "the other's second", second)
		waits(t, "the waiter, which is last now", w)
		release(t, m)
		await(t, "the waiter", w)
		release(t, granted(t, "the waiter", w))
		release(t, l)
		leftBehind(t, srv)
	})
}
