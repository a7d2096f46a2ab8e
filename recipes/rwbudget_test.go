package recipes

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func flights(t *testing.T, srv *zktest.Server, what string, want int, f func()) {
	t.Helper()
	if n := srv.Flights(synctest.Wait, f); n != want {
		t.Errorf("%s: %d flights, want %d", what, n, want)
	}
}

func TestRWFlights(t *testing.T) { // docs/locks.md A8
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := rwPair(t, srv)
		defer closeAll()
		var l, m *Lease
		flights(t, srv, "path missing", 2, func() { l = get(t, a.RLock) })
		before := srv.Snapshot()
		flights(t, srv, "a reader more", 1, func() { m = get(t, b.RLock) })
		flights(t, srv, "release of a reader", 1, func() { release(t, m) })
		if n := srv.Snapshot().Requests - before.Requests; n != 3 {
			t.Errorf("%d requests, want 3", n)
		}
		release(t, l)
		for name, f := range map[string]acquire{"Lock": a.Lock, "TryLock": a.TryLock, "RLock": a.RLock, "TryRLock": a.TryRLock} {
			flights(t, srv, name+", free", 1, func() { l = get(t, f) })
			flights(t, srv, name+", release", 1, func() { release(t, l) })
		}
		for name, tc := range map[string]struct {
			first, second acquire
			flights       int // the release's own, and what follows the event
		}{
			"a reader behind a writer":          {a.Lock, b.RLock, 1},
			"a writer behind a reader":          {a.RLock, b.Lock, 1},
			"a writer behind a writer (rule 6)": {a.Lock, b.Lock, 2},
		} {
			l = get(t, tc.first)
			w := queued(t.Context(), tc.second)
			flights(t, srv, name, tc.flights, func() { release(t, l); <-w.done })
			release(t, w.lease)
		}
	})
}

// TestRWWriterBehindReaders: with look-ahead the last reader to go is known to be the last, whatever the order in which they go.
// Without, only the nearest is watched: the writer looks again when that goes, so it knows the last one to be the last only if
// that one was ahead of the last but one.
func TestRWWriterBehindReaders(t *testing.T) { // docs/locks.md A8: event + 0
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}, {0, 3, 2, 1}, {3, 0, 1, 2}, {1, 2, 0, 3}} {
		for _, ahead := range []bool{true, false} {
			t.Run(fmt.Sprint(order, " look-ahead ", ahead), func(t *testing.T) {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					var opts []Option
					last := 1
					if !ahead {
						opts = append(opts, NoLookAhead())
						if order[3] > order[2] {
							last = 2
						}
					}
					a, b, closeAll := rwPair(t, srv, opts...)
					defer closeAll()
					var readers []*Lease
					for range order {
						readers = append(readers, get(t, a.RLock))
					}
					w := queued(t.Context(), b.Lock)
					for _, i := range order[:3] {
						release(t, readers[i])
						waits(t, "the writer", w)
					}
					flights(t, srv, "the last reader's release", last, func() { release(t, readers[order[3]]); <-w.done })
					release(t, granted(t, "the writer", w))
				})
			})
		}
	}
}

// TestRWReaderBehindWriters: K25: the nearest writer is what a reader watches, with look-ahead the one before it as well, and
// the end of the others wakes it not.
func TestRWReaderBehindWriters(t *testing.T) { // docs/locks.md A8: at most event + 1
	for name, tc := range map[string]struct {
		opts    []Option
		watched int // of the writers, the nearest ones
		last    int // flights from the release of the nearest one
	}{"look-ahead": {nil, 2, 1}, "without": {[]Option{NoLookAhead()}, 1, 2}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, _, closeAll := rwPair(t, srv)
				defer closeAll()
				c := dialTo(t, srv, "three:2181")
				defer c.Close()
				rw := NewRWMutex(c, "/lock", tc.opts...)
				var writers []*waiter
				for range 4 {
					writers = append(writers, queued(t.Context(), a.Lock))
				}
				nodes := byNumber(srv)
				r := queued(t.Context(), rw.RLock)
				var watched []string
				for _, w := range srv.Watches() {
					if w.SessionID == c.SessionID() {
						watched = append(watched, w.Path)
					}
				}
				want := append(nodes[len(nodes)-tc.watched:], ownNode(t, srv, c))
				slices.Sort(want)
				if !slices.Equal(watched, want) {
					t.Errorf("watched %v, want %v", watched, want)
				}
				events := c.Counters().Events
				for i, w := range writers[:3] {
					release(t, granted(t, fmt.Sprint("writer ", i), w))
					waits(t, "the reader", r)
				}
				if n := int(c.Counters().Events - events); n != tc.watched-1 {
					t.Errorf("woken %d times before its turn", n)
				}
				nearest := granted(t, "the nearest", writers[3])
				flights(t, srv, "the nearest writer's release", tc.last, func() { release(t, nearest); <-r.done })
				release(t, r.lease)
			})
		})
	}
}

// byNumber returns the paths of the lock's children by their numbers.
func byNumber(srv *zktest.Server) []string {
	kids := srv.Children("/lock")
	slices.SortFunc(kids, func(a, b string) int {
		x, _, _ := one(writer).parse([]byte(a))
		y, _, _ := one(writer).parse([]byte(b))
		return int(x) - int(y)
	})
	for i := range kids {
		kids[i] = "/lock/" + kids[i]
	}
	return kids
}

// TestRWCrowd: twenty readers and five writers on five clients: four readers behind each writer. What each watches and whom
// a release wakes does not depend on how many wait.
func TestRWCrowd(t *testing.T) { // docs/locks.md A8
	for name, tc := range map[string]struct {
		opts  []Option
		asked int // watches of those that wait, after all have come
		// The same on the server: readers of one client that watch the same writer share one there.
		watches int
		lists   int // in a whole round, apart from those of the 25 creates
	}{
		// Own; one writer ahead for the first four readers, two for the others; two readers for each writer. A reader with more than
		// two writers ahead lists when one of those two goes, and a writer when one of its two readers goes.
		"look-ahead": {nil, 24 + (4 + 2*16) + 2*4, 24 + 4*5 + 2*4, 3*4 + 4},
		// A reader that had more than one writer ahead looks whether it was the last that has gone, and so does each writer.
		"without": {[]Option{NoLookAhead()}, 24 + 20 + 4, 24 + 20 + 4, 4*4 + 4},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				var locks [5]*RWMutex
				for i := range locks {
					c := dial(t, srv)
					defer c.Close()
					locks[i] = NewRWMutex(c, "/lock", tc.opts...)
				}
				release(t, get(t, locks[0].Lock)) // the path exists
				before := srv.Snapshot()
				var line []*waiter // W RRRR W RRRR ...
				for range 5 {
					line = append(line, queued(t.Context(), locks[4].Lock))
					for _, rw := range locks[:4] {
						line = append(line, queued(t.Context(), rw.RLock))
					}
				}
				if n := srv.Snapshot().Watches.Data; n != tc.watches {
					t.Errorf("%d watches, want %d", n, tc.watches)
				}
				if n := int(srv.Snapshot().Requests - before.Requests); n != 2*len(line)+tc.asked {
					t.Errorf("%d requests, want two of each and one for each watch, %d", n, 2*len(line)+tc.asked)
				}
				listed := srv.Snapshot().ByOp[proto.OpGetChildren2]
				for len(line) > 0 {
					rwCrowdRound(t, srv, line[:5])
					line = line[5:]
					if len(line) > 0 {
						granted(t, "the next writer", line[0])
					}
				}
				if n := int(srv.Snapshot().ByOp[proto.OpGetChildren2] - listed); n != tc.lists {
					t.Errorf("%d lists, want %d", n, tc.lists)
				}
				leftBehind(t, srv)
			})
		})
	}
}

// rwCrowdRound releases a writer, which wakes all readers behind it up to the next writer, on four clients, and then these, which
// wake that writer at most. The session of a znode is told as well, of a watch that it had on it while it waited.
func rwCrowdRound(t *testing.T, srv *zktest.Server, round []*waiter) {
	t.Helper()
	told := func(what string, most int, f func()) {
		t.Helper()
		before := srv.Snapshot().Notifications
		f()
		synctest.Wait()
		if n := int(srv.Snapshot().Notifications - before); n > most {
			t.Errorf("%s: %d notifications, want at most %d", what, n, most)
		}
	}
	told("a writer's release", 4+1, func() {
		release(t, granted(t, "writer", round[0]))
		for _, r := range round[1:] {
			granted(t, "reader", r)
		}
	})
	for _, r := range round[1:] {
		told("a reader's release", 1+1, func() { release(t, r.lease) })
	}
}
