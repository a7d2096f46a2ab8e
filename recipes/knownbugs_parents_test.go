package recipes

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// Levels of the path that exist, and that we may not make, are no obstacle; one that is missing and may not be made is, at once.
func TestParentsWeMayNotMake(t *testing.T) { // K10, K11, K12
	look := []proto.ACL{{Perms: proto.PermRead, ID: proto.ID{Scheme: "world", ID: "anyone"}}}
	for name, tc := range map[string]struct {
		exist, locked []string
		fails         bool
	}{
		"part of the path exists":      {[]string{"/a", "/a/b"}, nil, false},
		"all of it exists":             {[]string{"/a", "/a/b", "/a/b/c", "/a/b/c/lock"}, []string{"/", "/a", "/a/b", "/a/b/c"}, false},
		"the ancestors are locked":     {[]string{"/a", "/a/b"}, []string{"/", "/a"}, false},
		"only the root is locked":      {[]string{"/a"}, []string{"/"}, false},
		"the parent is locked":         {[]string{"/a", "/a/b"}, []string{"/", "/a", "/a/b"}, true},
		"the root is locked and empty": {nil, []string{"/"}, true},
		"locked in the middle":         {[]string{"/a", "/a/b"}, []string{"/a/b"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := dial(t, srv)
				defer c.Close()
				for _, path := range tc.exist {
					must(srv.Create(path, nil, proto.ModePersistent))
				}
				for _, path := range tc.locked {
					must(0, srv.SetACL(path, look))
				}
				before := srv.Snapshot().Requests
				m := NewMutex(c, "/a/b/c/lock")
				if !tc.fails {
					release(t, lock(t, m))
					return
				}
				_, err := m.Lock(t.Context())
				wantErr(t, err, ErrNoParent, client.ErrNoAuth)
				if n := srv.Snapshot().Requests - before; n > 8 { // create and list; the four levels with both
					t.Errorf("%d requests to find that out", n)
				}
			})
		})
	}
}

// The path vanishes with everything in it while somebody waits, and once more while it is made again.
func TestParentVanishesUnderAWaiter(t *testing.T) { // K13, K14
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := dial(t, srv), dialTo(t, srv, "two:2181")
		defer a.Close()
		defer b.Close()
		l := lock(t, NewMutex(a, "/lock"))
		w := goLock(t.Context(), NewMutex(b, "/lock"))
		synctest.Wait()
		own := ownNode(t, srv, b)
		left := 3
		var mu sync.Mutex
		srv.OnRequest(func(r *zktest.Request) zktest.Verdict {
			mu.Lock()
			defer mu.Unlock()
			if r.Op == proto.OpCreate2 && left > 0 {
				left--
				_ = srv.Delete("/lock") // the container is removed between two requests of one flight
			}
			return zktest.Verdict{}
		})
		srv.Member("two:2181").Stall(true) // the waiter hears of all that at once
		for _, path := range []string{own, l.Node(), "/lock"} {
			if err := srv.Delete(path); err != nil {
				t.Fatal(err)
			}
		}
		srv.Member("two:2181").Stall(false)
		<-w.done
		if w.err != nil || left != 0 {
			t.Fatalf("%v, %d", w.err, left)
		}
		release(t, w.lease)
		wantErr(t, l.Release(t.Context()), ErrLost, ErrNodeGone)
	})
}
