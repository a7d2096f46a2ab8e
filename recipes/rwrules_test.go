package recipes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// downgrader is a holder of the write lock that turns into a reader in one of the ways there are.
type downgrader struct {
	downgrade, release func()
}

// downgraders are ours, in one transaction, and Curator's, in two steps, by hand.
var downgraders = map[string]func(*testing.T, *zktest.Server, *client.Client) downgrader{
	"one transaction": func(t *testing.T, _ *zktest.Server, c *client.Client) downgrader {
		l := get(t, NewRWMutex(c, "/lock").Lock)
		return downgrader{
			downgrade: func() {
				if err := l.Downgrade(t.Context()); err != nil {
					t.Fatal(err)
				}
			},
			release: func() { release(t, l) },
		}
	},
	"Curator's two steps": func(t *testing.T, srv *zktest.Server, c *client.Client) downgrader {
		must(srv.Create("/lock", nil, proto.ModePersistent))
		const name = "/lock/_c_01234567-89ab-cdef-0123-456789abcdef-"
		write := must(srv.CreateFor(c.SessionID(), name+writeMark, nil, proto.ModeEphemeralSequential))
		read := name + readMark + strings.TrimPrefix(write, name+writeMark)
		remove := func(path string) {
			if err := srv.Delete(path); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		return downgrader{
			downgrade: func() {
				must(srv.CreateFor(c.SessionID(), read, nil, proto.ModeEphemeral))
				synctest.Wait()
				remove(write)
			},
			release: func() { remove(read) },
		}
	},
}

// eachDowngrade runs f with both kinds of downgrade and what waiters may have for options.
func eachDowngrade(t *testing.T, f func(t *testing.T, d downgrader, locks [3]*RWMutex)) {
	for how, make := range downgraders {
		for with, opts := range map[string][]Option{
			"look-ahead": nil, "without": {NoLookAhead()}, "always list": {AlwaysList()}, "no own watch": {NoOwnWatch()},
		} {
			t.Run(fmt.Sprint(how, ", ", with), func(t *testing.T) {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					var locks [3]*RWMutex
					for i := range locks {
						c := dial(t, srv)
						defer c.Close()
						locks[i] = NewRWMutex(c, "/lock", opts...)
					}
					a := dial(t, srv)
					defer a.Close()
					f(t, make(t, srv, a), locks)
					leftBehind(t, srv)
				})
			})
		}
	}
}

// Rule 6 of A10: a writer that waits for a writer must look when that is gone, because a reader may have
// come in its place, at a number that the known set has ruled out.
func TestRWDowngradeBeforeAWaitingWriter(t *testing.T) { // D3, K27
	eachDowngrade(t, func(t *testing.T, d downgrader, locks [3]*RWMutex) {
		w := queued(t.Context(), locks[0].Lock)
		behind := queued(t.Context(), locks[1].RLock)
		d.downgrade()
		waits(t, "the writer, while the downgraded reader holds", w)
		waits(t, "the reader behind the writer", behind)
		if _, err := locks[2].TryRLock(t.Context()); !errors.Is(err, ErrNotAcquired) {
			t.Errorf("TryRLock behind the writer: %v", err)
		}
		d.release()
		release(t, granted(t, "the writer", w))
		release(t, granted(t, "the reader behind the writer", behind))
	})
}

// The same when the writer has the downgrading one only in second place, before a reader that comes in and leaves again.
func TestRWDowngradeInSecondPlace(t *testing.T) { // D3, I5
	eachDowngrade(t, func(t *testing.T, d downgrader, locks [3]*RWMutex) {
		first := queued(t.Context(), locks[0].RLock)
		w := queued(t.Context(), locks[1].Lock)
		behind := queued(t.Context(), locks[2].RLock)
		d.downgrade()
		l := granted(t, "the reader behind the downgraded one", first)
		waits(t, "the writer", w)
		release(t, l)
		waits(t, "the writer, while the downgraded reader holds", w)
		waits(t, "the reader behind the writer", behind)
		d.release()
		release(t, granted(t, "the writer", w))
		release(t, granted(t, "the reader behind the writer", behind))
	})
}

// And before a writer that gives up.
func TestRWDowngradeBehindAWriterThatGivesUp(t *testing.T) { // D3, I5
	eachDowngrade(t, func(t *testing.T, d downgrader, locks [3]*RWMutex) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		patientNot := queued(ctx, locks[0].Lock)
		w := queued(t.Context(), locks[1].Lock)
		behind := queued(t.Context(), locks[2].RLock)
		d.downgrade()
		cancel()
		await(t, "the writer that gives up", patientNot)
		waits(t, "the writer, while the downgraded reader holds", w)
		d.release()
		release(t, granted(t, "the writer", w))
		release(t, granted(t, "the reader behind the writer", behind))
	})
}

// Readers that wait for nobody but the downgraded one get in by its event alone.
func TestRWReadersFollowADowngrade(t *testing.T) { // A8, rule 6: readers may keep the known set
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := rwPair(t, srv)
		defer closeAll()
		w := get(t, a.Lock)
		first, second := queued(t.Context(), b.RLock), queued(t.Context(), b.RLock)
		flights(t, srv, "the downgrade, and nothing behind it", 1, func() {
			if err := w.Downgrade(t.Context()); err != nil {
				t.Error(err)
			}
			<-first.done
			<-second.done
		})
		release(t, granted(t, "first", first))
		release(t, granted(t, "second", second))
		release(t, w)
	})
}

// A writer that was away during the downgrade is told only that the writer is gone (rules 4 and 6).
func TestRWDowngradeWhileTheWriterIsAway(t *testing.T) { // D3
	for how, make := range downgraders {
		t.Run(how, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := dial(t, srv), dialTo(t, srv, "two:2181")
				defer a.Close()
				defer b.Close()
				d := make(t, srv, a)
				w := queued(t.Context(), NewRWMutex(b, "/lock").Lock)
				srv.Member("two:2181").Refuse(zktest.RefuseClose)
				srv.Member("two:2181").DropConnections()
				d.downgrade()
				srv.Member("two:2181").Refuse(zktest.Accept)
				<-time.After(5 * time.Second)
				waits(t, "the writer, while the downgraded reader holds", w)
				d.release()
				<-time.After(5 * time.Second)
				release(t, granted(t, "the writer", w))
			})
		})
	}
}

// The nearest writer gives up, and one before it is there still (A20 of the model, rule 1).
func TestRWNearestWriterGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := rwPair(t, srv, NoLookAhead())
		defer closeAll()
		c := dial(t, srv)
		defer c.Close()
		l := get(t, a.Lock)
		ctx, cancel := context.WithCancel(t.Context())
		w := queued(ctx, b.Lock)
		r := queued(t.Context(), NewRWMutex(c, "/lock").RLock)
		alone := queued(t.Context(), NewRWMutex(c, "/lock", NoLookAhead()).RLock)
		cancel()
		await(t, "the writer", w)
		waits(t, "the reader", r)
		waits(t, "the reader without look-ahead", alone)
		release(t, l)
		release(t, granted(t, "the reader", r))
		release(t, granted(t, "the reader without look-ahead", alone))
	})
}

// Rule 5: the end of a writer of the own session is a hint: the reader looks, and expiry of both is no grant.
func TestRWWriterOfTheSameSession(t *testing.T) { // D4b
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b, closeAll := rwPair(t, srv)
		defer closeAll()
		l := get(t, a.Lock)
		r := queued(t.Context(), a.RLock)
		flights(t, srv, "the delete, and a list", 2, func() { release(t, l); <-r.done })
		release(t, r.lease)
		l = get(t, a.Lock)
		r = queued(t.Context(), a.RLock)
		other := queued(t.Context(), b.Lock)
		srv.ExpireSession(l.gen.SessionID())
		<-time.After(time.Second)
		ol := granted(t, "the other's writer", other)
		waits(t, "the reader, which is last now", r)
		release(t, ol)
		release(t, granted(t, "the reader", r))
	})
}

// Whoever has lost his own znode is not granted anything, and starts again at the end (rule 2).
func TestRWOwnNodeDeletedWhileWaiting(t *testing.T) { // K26
	for name, f := range map[string]func(*RWMutex) acquire{
		"reader": func(rw *RWMutex) acquire { return rw.RLock }, "writer": func(rw *RWMutex) acquire { return rw.Lock },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b, closeAll := rwPair(t, srv)
				defer closeAll()
				c := dial(t, srv)
				defer c.Close()
				l := get(t, a.Lock)
				w := queued(t.Context(), f(NewRWMutex(c, "/lock")))
				lost := ownNode(t, srv, c)
				failing := queued(t.Context(), f(NewRWMutex(c, "/lock", FailIfNodeGone())))
				between := queued(t.Context(), b.Lock)
				for _, ss := range srv.Sessions() {
					for _, node := range ss.Ephemerals {
						if ss.ID == c.SessionID() {
							must(0, srv.Delete(node))
						}
					}
				}
				await(t, "the one that does not try again", failing)
				if !errors.Is(failing.err, ErrNodeGone) {
					t.Errorf("%v", failing.err)
				}
				waits(t, name, w)
				if now := ownNode(t, srv, c); now == lost {
					t.Error("the znode is there")
				}
				release(t, l)
				waits(t, name, w)
				release(t, granted(t, "the writer that had been behind", between))
				release(t, granted(t, name, w))
				leftBehind(t, srv)
			})
		})
	}
}

// Rule 2 (A22, A23 of the model), for readers and writers: no grant by event unless the own znode's watch is armed. It is used up by
// a change, then the znode is deleted, and the one ahead goes, all at once.
func TestRWNoGrantByEventWithoutTheOwnWatch(t *testing.T) { // K26
	for name, tc := range map[string]struct {
		first  func(*RWMutex) acquire
		second func(*RWMutex) acquire
	}{
		"reader": {func(rw *RWMutex) acquire { return rw.Lock }, func(rw *RWMutex) acquire { return rw.RLock }},
		"writer": {func(rw *RWMutex) acquire { return rw.RLock }, func(rw *RWMutex) acquire { return rw.Lock }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b, closeAll := rwPair(t, srv)
				defer closeAll()
				l := get(t, tc.first(a))
				w := queued(t.Context(), tc.second(b))
				own := ownNode(t, srv, b.base().c)
				srv.Member("two:2181").Stall(true)
				must(0, srv.Set(own, []byte("touched")))
				must(0, srv.Delete(own))
				release(t, l)
				third := get(t, a.Lock)
				srv.Member("two:2181").Stall(false)
				waits(t, name+" without a znode, while the lock is held by another", w)
				release(t, third)
				release(t, granted(t, name, w))
				leftBehind(t, srv)
			})
		})
	}
}
