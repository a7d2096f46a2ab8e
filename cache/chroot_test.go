package cache_test

import (
	"testing"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/zktest"
)

// A znode called zookeeper directly below the chroot has no name in the client, and must not bring the server's own tree in.
func TestZookeeperBelowTheChroot(t *testing.T) {
	versions(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/app=0", "/app/a=1", "/app/zookeeper=mine", "/app/zookeeper/x=mine too")
		app := open(t, connectTo(t, srv, "zk:2181/app"), "/")
		want := func(when string, paths ...string) {
			t.Helper()
			synctest.Wait()
			var got []string
			for path := range app.Snapshot().All() {
				got = append(got, path)
			}
			equal(t, when, got, paths)
			equal(t, when+": current", app.State().Current, true)
		}
		want("at first", "/", "/a")
		must(t, srv.Set("/app/zookeeper/x", []byte("new")))
		create(t, srv, "/app/b=2")
		want("later", "/", "/a", "/b")
		before := srv.Snapshot().Requests
		must(t, srv.Set("/app/zookeeper/x", []byte("newer")))
		synctest.Wait()
		equal(t, "requests for what has no name", srv.Snapshot().Requests, before)
		must(t, srv.Delete("/app/zookeeper/x"))
		must(t, srv.Delete("/app/zookeeper"))
		must(t, srv.Delete("/app/b"))
		want("in the end", "/", "/a")
	})
}
