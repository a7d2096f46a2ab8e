package cache_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/cache"
	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// busy changes znodes, one after the other, a millisecond apart, while every read takes ten.
func busy(t *testing.T, srv *zktest.Server, changes int, paths ...string) {
	t.Helper()
	for _, op := range []proto.Op{proto.OpGetData, proto.OpGetChildren2} {
		rule := srv.On(zktest.Match{Op: op, Times: -1}, zktest.Verdict{Delay: 10 * time.Millisecond})
		defer rule.Remove()
	}
	for i := range changes {
		must(t, srv.Set(paths[i%len(paths)], []byte(fmt.Sprint(i))))
		pass(time.Millisecond)
	}
}

// watchSnapshots counts the snapshots that a reader sees until the cache is closed.
func watchSnapshots(t *testing.T, c *cache.Cache) <-chan [2]int {
	return spawn(func() (n [2]int) {
		var last *cache.Snapshot
		for u, err := range c.Updates(t.Context()) {
			if err == nil && u.New != last {
				last = u.New
				if n[0]++; last.Mixed() {
					n[1]++
				}
			}
		}
		return n
	})
}

// A znode that changes faster than it can be read is shown all the same, as it was at one moment.
func TestZnodeThatChangesAllTheTime(t *testing.T) {
	versions(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a", "/a/b", "/a/c")
		c := open(t, connect(t, srv), "/a", cache.Patience(time.Hour))
		seen := watchSnapshots(t, c)
		busy(t, srv, 1000, "/a/b")
		must(t, c.Sync(t.Context()))
		compare(t, srv, c.Snapshot())
		c.Close()
		if n := <-seen; n[0] < 8 || n[1] > 0 {
			t.Errorf("%d snapshots, of which %d are mixed, after 1,000 changes in a second", n[0], n[1])
		}
	})
}

// farConn is a connection on which what is written takes its time.
type farConn struct{ net.Conn }

func (c farConn) Write(p []byte) (int, error) {
	pass(10 * time.Millisecond)
	return c.Conn.Write(p)
}

// Two znodes that change on the way of every request: the zxids of events say that the replies came later.
func TestZnodesThatChangeAllTheTime(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/a", "/a/b", "/a/c")
		far := client.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := srv.Dial(ctx, network, addr)
			return farConn{nc}, err
		})
		c := open(t, connect(t, srv, far), "/a", cache.Patience(time.Hour))
		seen := watchSnapshots(t, c)
		for i := range 1000 {
			must(t, srv.Set([]string{"/a/b", "/a/c"}[i%2], []byte(fmt.Sprint(i))))
			pass(time.Millisecond)
		}
		c.Close()
		if n := <-seen; n[0] < 3 || n[1] > 0 {
			t.Errorf("%d snapshots, of which %d are mixed, after 1,000 changes in a second", n[0], n[1])
		}
	}, zktest.Imitate(zktest.Version393))
}

// Where something always changes that is not being read at the moment, patience ends.
func TestSubtreeThatIsNeverAtRest(t *testing.T) {
	versions(t, func(t *testing.T, srv *zktest.Server) {
		paths := []string{"/a"}
		for i := range 40 {
			paths = append(paths, fmt.Sprint("/a/", i))
		}
		create(t, srv, paths...)
		cl := connect(t, srv)
		eager, patient := open(t, cl, "/a", cache.Patience(50*time.Millisecond)), open(t, cl, "/a", cache.Patience(time.Hour))
		one, two := watchSnapshots(t, eager), watchSnapshots(t, patient)
		busy(t, srv, 1000, paths...)
		for _, c := range []*cache.Cache{eager, patient} {
			must(t, c.Sync(t.Context()))
			compare(t, srv, c.Snapshot())
			equal(t, "mixed at rest", c.Snapshot().Mixed(), false)
			c.Close()
		}
		if n := <-one; n[1] < 2 {
			t.Errorf("%d snapshots, of which %d are mixed", n[0], n[1])
		}
		if n := <-two; n[1] > 0 {
			t.Errorf("%d snapshots, of which %d are mixed, without end of patience", n[0], n[1])
		}
	})
}

// Sync does not wait for rest: what was there when it was called has been read.
func TestSyncInTheMiddleOfChanges(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		paths := []string{"/a"}
		for i := range 10 {
			paths = append(paths, fmt.Sprint("/a/", i))
		}
		create(t, srv, append(paths, "/a/x")...)
		other := connect(t, srv)
		c := open(t, connect(t, srv), "/a", cache.Patience(50*time.Millisecond))
		synced := spawn(func() error {
			for i := range 5 {
				pass(50 * time.Millisecond)
				want := fmt.Sprint(i)
				if _, err := other.Set(t.Context(), "/a/x", []byte(want), client.AnyVersion); err != nil {
					return err
				}
				if err := c.Sync(t.Context()); err != nil {
					return err
				}
				if n, _ := c.Snapshot().Get("/a/x"); string(n.Data) != want {
					return fmt.Errorf("after Sync the data is %q, want %q", n.Data, want)
				}
			}
			return nil
		})
		busy(t, srv, 5000, paths...)
		select {
		case err := <-synced:
			must(t, err)
		default:
			t.Error("Sync has not returned")
		}
	})
}
