package recipes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// seen is what a server was asked for, apart from pings.
type seen struct {
	mu   sync.Mutex
	reqs []string // operation and path
	set  []string // paths of the newest setWatches
}

// see notes the requests of one session.
func see(srv *zktest.Server, id int64) *seen {
	s := &seen{}
	srv.OnRequest(func(r *zktest.Request) zktest.Verdict {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case r.SessionID != id || r.Op == proto.OpPing:
		case r.Op == proto.OpSetWatches || r.Op == proto.OpSetWatches2:
			s.set = watchPaths(r.Body)
		default:
			s.reqs = append(s.reqs, r.Op.String()+" "+r.Path)
		}
		return zktest.Verdict{}
	})
	return s
}

// watchPaths returns the paths of a setWatches, after its zxid.
func watchPaths(body []byte) (paths []string) {
	r := jute.NewReader(body)
	r.Long()
	for len(r.Rest()) > 0 {
		n, _ := r.Count(4)
		for range n {
			paths = append(paths, r.String())
		}
	}
	return paths
}

// take returns what was noted since the last call.
func (s *seen) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	reqs := s.reqs
	s.reqs = nil
	return reqs
}

// restored returns the paths of the newest setWatches.
func (s *seen) restored() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set
}

// The one ahead goes between the list and the request that watches it, before that, or right behind its reply: the waiter is
// granted in any case, and nothing but getData was sent to watch it, so nothing stays behind on a znode that is not there.
func TestPredecessorGoesBeforeItIsWatched(t *testing.T) { // K28, K29, K30, K31
	for _, opts := range [][]Option{nil, {NoLookAhead()}, {NoOwnWatch()}, {AlwaysList()}} {
		for name, hold := range map[string]func(*zktest.Server, zktest.Match) *zktest.Held{
			"before the watch": (*zktest.Server).Hold, "behind the watch": (*zktest.Server).HoldReply,
		} {
			for _, path := range []string{"the watched", "any"} {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					a, b := dial(t, srv), dialTo(t, srv, "two:2181")
					defer a.Close()
					defer b.Close()
					l := lock(t, NewMutex(a, "/lock"))
					reqs := see(srv, b.SessionID())
					match := zktest.Match{Op: proto.OpGetData, Session: b.SessionID()}
					if path == "the watched" {
						match.Path = l.Node()
					}
					held := hold(srv, match)
					w := goLock(t.Context(), NewMutex(b, "/lock", opts...))
					<-held.Hit()
					release(t, l)
					if w.over() {
						t.Fatalf("%s: granted before its watch was answered", name)
					}
					held.Release()
					<-time.After(time.Hour)
					if !w.over() || w.err != nil {
						t.Fatalf("%s: over %v, %v", name, w.over(), w.err)
					}
					release(t, w.lease)
					for _, r := range reqs.take() {
						if strings.HasPrefix(r, proto.OpExists.String()) {
							t.Errorf("%s: %s", name, r)
						}
					}
					synctest.Wait()
					if n := srv.Snapshot().Watches.Total(); n != 0 {
						t.Errorf("%s: %d watches left behind: %v", name, n, srv.Watches())
					}
				})
			}
		}
	}
}

// The one ahead goes while the own watch, which a change of data had used up, is being set again.
func TestPredecessorGoesWhileAWatchIsSet(t *testing.T) { // K31, K52
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		l := lock(t, NewMutex(a, "/lock"))
		w := goLock(t.Context(), NewMutex(b, "/lock"))
		synctest.Wait()
		own := ownNode(t, srv, b)
		held := srv.Hold(zktest.Match{Op: proto.OpGetData, Path: own})
		must(0, srv.Set(own, []byte("touched")))
		<-held.Hit()
		release(t, l)
		synctest.Wait()
		held.Release()
		<-time.After(time.Hour)
		if !w.over() || w.err != nil {
			t.Fatalf("over %v, %v", w.over(), w.err)
		}
		release(t, w.lease)
	})
}

// A watch that a change of data has used up is set again, and no other: the watches stay as many, here and on the server.
func TestWatchesDoNotPileUp(t *testing.T) { // K32, K52
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		l := lock(t, NewMutex(a, "/lock"))
		second := goLock(t.Context(), NewMutex(a, "/lock"))
		synctest.Wait()
		middle := ownNode(t, srv, a)
		w := goLock(t.Context(), NewMutex(b, "/lock"))
		synctest.Wait()
		own := ownNode(t, srv, b)
		reqs, watches := see(srv, b.SessionID()), watchesOf(srv, b)
		for i := range 100 {
			for _, path := range []string{own, middle, l.Node()} {
				if err := srv.Set(path, []byte(fmt.Sprint(i))); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if got, want := fmt.Sprint(reqs.take()), fmt.Sprintf("[%v %s]", proto.OpGetData, path); got != want {
					t.Fatalf("%s after a change of %s", got, path)
				}
			}
		}
		if n := watchesOf(srv, b); n != watches || n != 3 {
			t.Errorf("%d watches, %d before", n, watches)
		}
		srv.Member("two:2181").DropConnections()
		<-time.After(timeout / 4)
		if n := len(reqs.restored()); n != 3 {
			t.Errorf("watches restored: %v", reqs.restored())
		}
		release(t, l)
		<-second.done
		release(t, second.lease)
		<-w.done
		release(t, w.lease)
	})
}

// Attempts that are given up leave nothing registered, although the one they waited for lives on.
func TestGivenUpWaitsLeaveNoWatches(t *testing.T) { // K32
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		l := lock(t, NewMutex(a, "/lock"))
		m := NewMutex(b, "/lock")
		for range 50 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := m.Lock(ctx)
			cancel()
			wantErr(t, err, context.DeadlineExceeded)
			_, err = m.TryLock(t.Context())
			wantErr(t, err, ErrNotAcquired)
		}
		synctest.Wait()
		if n := watchesOf(srv, b); n > 1 { // that on the holder's znode is not taken back at the server
			t.Errorf("%d watches: %v", n, srv.Watches())
		}
		reqs := see(srv, b.SessionID())
		srv.Member("two:2181").DropConnections()
		<-time.After(timeout / 4)
		if paths, n := reqs.restored(), watchesOf(srv, b); len(paths) != 0 || n != 0 {
			t.Errorf("watches restored: %v", paths)
		}
		release(t, l)
	})
}

// One context bounds everything that a Lock does, however often it is woken and whatever step it is at.
func TestOneContextBoundsAllSteps(t *testing.T) { // K39
	for name, disturb := range map[string]func(srv *zktest.Server, b *client.Client, node string){
		"woken again and again": func(srv *zktest.Server, _ *client.Client, node string) { _ = srv.Set(node, nil) },
		"its znode is deleted": func(srv *zktest.Server, b *client.Client, _ string) {
			for _, ss := range srv.Sessions() {
				for _, node := range ss.Ephemerals {
					if ss.ID == b.SessionID() {
						_ = srv.Delete(node)
					}
				}
			}
		},
		"its connection breaks": func(srv *zktest.Server, _ *client.Client, _ string) { srv.Member("two:2181").DropConnections() },
		"its session expires":   func(srv *zktest.Server, b *client.Client, _ string) { srv.ExpireSession(b.SessionID()) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				a, b := dial(t, srv), dialTo(t, srv, "two:2181")
				defer a.Close()
				defer b.Close()
				l := lock(t, NewMutex(a, "/lock"))
				srv.On(zktest.Match{Member: "two:2181", Times: -1}, zktest.Verdict{ReplyDelay: 70 * time.Millisecond})
				const bound = 5 * time.Second
				ctx, cancel := context.WithTimeout(t.Context(), bound)
				defer cancel()
				began := time.Now()
				w := goLock(ctx, NewMutex(b, "/lock"))
				for !w.over() && time.Since(began) < time.Minute {
					<-time.After(300 * time.Millisecond)
					disturb(srv, b, l.Node())
				}
				if d := time.Since(began); !errors.Is(w.err, context.DeadlineExceeded) || d < bound || d > bound+CleanupGrace+300*time.Millisecond {
					t.Errorf("ended after %v: %v", d, w.err)
				}
				release(t, l)
			})
		})
	}
}
