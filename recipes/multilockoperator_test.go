package recipes

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// TestMultiLockNodeDeletedWhileWaiting: an operator deletes the znode of one part, be it granted already, waited for, or free and next,
// with what the waiter waits for or without. Lock does not return with a hold of which a part is another's.
func TestMultiLockNodeDeletedWhileWaiting(t *testing.T) { // A10 rule 2, A21, A22
	for held, path := range []string{"/a", "/b", "/c"} {
		for _, deleted := range []string{"/a", "/b", "/c"} {
			for _, fail := range []int{-1, 0, 1, 2} {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					a, b := dial(t, srv), dialTo(t, srv, "two:2181")
					defer a.Close()
					defer b.Close()
					l := lock(t, NewMutex(a, path))
					var parts []Part
					for i, p := range []string{"/a", "/b", "/c"} {
						var opts []Option
						if i == fail {
							opts = append(opts, FailIfNodeGone())
						}
						parts = append(parts, NewMutex(b, p, opts...).Part())
					}
					w := queuedAll(t.Context(), NewMultiLock(parts...))
					node := ownNodeUnder(t, srv, b, deleted)
					var taken *Lease
					other := &waiter{}
					if deleted != path {
						other = queued(t.Context(), NewMutex(a, deleted).Lock)
					}
					if err := srv.Delete(node); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					if deleted != path {
						<-other.done // nobody keeps it from the other one now
						if taken = other.lease; other.err != nil {
							t.Fatal(other.err)
						}
					}
					release(t, l)
					<-time.After(time.Minute)
					switch {
					case fail >= 0:
						if !w.over() || !errors.Is(w.err, ErrNodeGone) {
							t.Errorf("held %d, deleted %s: over %v, %v", held, deleted, w.over(), w.err)
						}
						if taken != nil {
							release(t, taken)
						}
						nothingLeft(t, srv)
						return
					case taken != nil && w.over():
						t.Fatalf("held %s, deleted %s: granted while another has it: %v", path, deleted, w.err)
					case taken != nil:
						release(t, taken)
					}
					ml := w.granted(t)
					oneTransaction(t, srv, ml)
					releaseAll(t, ml)
					nothingLeft(t, srv)
				})
			}
		}
	}
}

// ownNodeUnder returns the path of a client's znode below dir.
func ownNodeUnder(t *testing.T, srv *zktest.Server, c *client.Client, dir string) string {
	t.Helper()
	for _, ss := range srv.Sessions() {
		for _, e := range ss.Ephemerals {
			if ss.ID == c.SessionID() && strings.HasPrefix(e, dir+"/") {
				return e
			}
		}
	}
	t.Fatal("no znode under " + dir)
	return ""
}

// TestMultiLockPathDeletedInFlight: a path goes between the multi and the list. The znodes of the other paths, which stay, must not
// be taken for somebody else's in the next attempt.
func TestMultiLockPathDeletedInFlight(t *testing.T) { // C159
	for _, path := range []string{"/a", "/b"} {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			c := dial(t, srv)
			defer c.Close()
			m := mutexes(c, "/a", "/b")
			releaseAll(t, lockAll(t, m))
			held := srv.Hold(zktest.Match{Op: proto.OpGetChildren2, Path: "/a"})
			w := queuedAll(t.Context(), m)
			for _, name := range srv.Children(path) {
				if err := srv.Delete(path + "/" + name); err != nil {
					t.Fatal(err)
				}
			}
			if err := srv.Delete(path); err != nil {
				t.Fatal(err)
			}
			held.Release()
			ml := w.granted(t)
			oneTransaction(t, srv, ml)
			releaseAll(t, ml)
			nothingLeft(t, srv)
		})
	}
}

func TestMultiLockSweptPaths(t *testing.T) { // C159, F90
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := mutexes(c, "/a/b", "/a/c", "/d")
		for range 3 {
			ml := lockAll(t, m)
			oneTransaction(t, srv, ml)
			releaseAll(t, ml)
			for srv.Sweep() > 0 {
			}
		}
		if srv.Exists("/a") {
			t.Error("nothing was swept")
		}
	})
}
