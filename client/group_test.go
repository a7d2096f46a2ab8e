package client_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestGroup(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, ctx := connect(t, srv), t.Context()
		create(t, srv, "/a", "data")
		create(t, srv, "/a/b", "")
		g := c.Group()
		buf := make([]byte, 0, 16)
		exists, missing, get := g.Exists("/a"), g.Exists("/x"), g.Get("/a", buf)
		created := g.Create("/a/s-", nil, client.ModeEphemeralSequential, nil)
		children, set := g.Children("/a"), g.Set("/a", []byte("new"), 0)
		multi := g.Multi(client.CheckOp("/a", 1), client.CreateOp("/m", nil, client.ModePersistent, nil))
		empty := g.Multi()
		acl, setACL := g.GetACL("/a"), g.SetACL("/a", client.WorldACL(client.PermAll), 0)
		del, sync := g.Delete("/a/b", 0), g.Sync("/")
		must(t, g.Do(ctx))
		must(t, g.Do(ctx)) // nothing new: the same result, nothing is sent

		st, ok, err := exists.Stat()
		must(t, err)
		equal(t, "exists", ok, true)
		equal(t, "length", st.DataLength, 4)
		_, ok, err = missing.Stat()
		must(t, err)
		equal(t, "exists", ok, false)
		data, st, err := get.Data()
		must(t, err)
		equal(t, "data", string(data), "data")
		equal(t, "the buffer is used", &data[0] == &buf[:1][0], true)
		equal(t, "owner", get.Owner(), 0)
		must(t, get.Err())
		path, st, err := created.Path()
		must(t, err)
		must(t, created.Err())
		equal(t, "path", path, "/a/s-0000000001")
		equal(t, "owner", st.EphemeralOwner, c.SessionID())
		names, st, err := children.Names()
		must(t, err)
		slices.Sort(names)
		equal(t, "names", names, []string{"b", "s-0000000001"})
		equal(t, "children", st.NumChildren, 2)
		scan, err := children.Scan()
		must(t, err)
		var scanned []string
		for name, ok := scan.Next(); ok; name, ok = scan.Next() {
			scanned = append(scanned, string(name))
		}
		slices.Sort(scanned)
		equal(t, "scanned", scanned, names)
		st, err = set.Stat()
		must(t, err)
		equal(t, "version", st.Version, 1)
		res, err := multi.Results()
		must(t, err)
		equal(t, "created", res[1].Path, "/m")
		res, err = empty.Results()
		must(t, err)
		equal(t, "results of nothing", len(res), 0)
		list, _, err := acl.ACL()
		must(t, err)
		equal(t, "ACL", list, client.WorldACL(client.PermAll))
		st, err = setACL.Stat()
		must(t, err)
		equal(t, "aversion", st.Aversion, 1)
		must(t, del.Err())
		equal(t, "zxid of the last write", del.Zxid(), srv.Snapshot().Zxid)
		must(t, sync.Err())
	})
}

func TestGroupOverTheBoundGoesAlone(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv, client.InFlight(2, 1<<20))
		g := c.Group()
		for range 10 {
			g.Exists("/")
		}
		must(t, g.Do(t.Context()))
		held := srv.Hold(zktest.Match{Path: "/held"})
		result := spawn(func() error { _, _, err := c.Exists(t.Context(), "/held"); return err })
		<-held.Hit()
		ctx, cancel := context.WithCancel(t.Context())
		for range 10 {
			g.Exists("/")
		}
		waits := spawn(func() error { return g.Do(ctx) })
		synctest.Wait()
		cancel()
		err := <-waits
		wantErr(t, err, context.Canceled)
		outcome(t, err, client.OutcomeNotSent, false)
		held.Release()
		must(t, <-result)
	})
}

// recorder notes the paths of requests in the order in which they are executed.
type recorder struct {
	mu    sync.Mutex
	paths []string
}

func (r *recorder) note(req *zktest.Request) zktest.Verdict {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paths = append(r.paths, req.Path)
	return zktest.Verdict{}
}

func TestGroupsAreContiguousAndInOrder(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c, rec := connect(t, srv), &recorder{}
		srv.OnRequest(rec.note)
		var wg sync.WaitGroup
		const groups, size = 20, 7
		for n := range groups {
			wg.Go(func() {
				g := c.Group()
				for range 5 {
					for i := range size {
						g.Exists("/" + strconv.Itoa(n) + "/" + strconv.Itoa(i))
					}
					if err := g.Do(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
			wg.Go(func() {
				for range 5 {
					if _, _, err := c.Exists(t.Context(), "/"); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		srv.OnRequest(nil)
		seen := 0
		for i := 0; i < len(rec.paths); i++ {
			if rec.paths[i] == "/" {
				continue
			}
			prefix := rec.paths[i][:len(rec.paths[i])-1]
			for k := range size {
				if want := prefix + strconv.Itoa(k); i+k >= len(rec.paths) || rec.paths[i+k] != want {
					t.Fatalf("%s is missing in %q", want, rec.paths[i:min(i+size, len(rec.paths))])
				}
			}
			i += size - 1
			seen++
		}
		equal(t, "groups", seen, groups*5)
	})
}

func TestGroupTakesOneFlight(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		srv.Manual(true)
		defer srv.Manual(false)
		n := srv.Flights(synctest.Wait, func() {
			g := c.Group()
			for range 50 {
				g.Exists("/a")
			}
			if err := g.Do(t.Context()); err != nil {
				t.Error(err)
			}
		})
		equal(t, "flights", n, 1)
	})
}

// What a request was made from may be used again at once.
func TestGroupKeepsNothingOfItsCallers(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := connect(t, srv)
		g := c.Group()
		data, acl := []byte("right"), client.WorldACL(client.PermAll)
		ops := []client.Op{client.CreateOp("/m", data, client.ModePersistent, acl)}
		g.Create("/a", data, client.ModePersistent, acl)
		multi := g.Multi(ops...)
		copy(data, "wrong")
		acl[0] = client.ACL{}
		ops[0] = client.Op{}
		must(t, g.Do(t.Context()))
		for _, path := range []string{"/a", "/m"} {
			got, _, err := srv.Get(path)
			must(t, err)
			equal(t, "data", string(got), "right")
		}
		res, err := multi.Results()
		must(t, err)
		equal(t, "path", res[0].Path, "/m")
	})
}
