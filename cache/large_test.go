package cache_test

import (
	"testing"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// A znode whose data is over the receive limit has children like others.
func TestChildrenOfALargeZnode(t *testing.T) {
	versions(t, func(t *testing.T, srv *zktest.Server) {
		create(t, srv, "/m", "/m/big="+string(make([]byte, 5000)), "/m/big/kid=1")
		c := open(t, connect(t, srv, client.ReceiveLimit(4000)), "/m")
		n, ok := c.Snapshot().Get("/m/big")
		if !ok || n.Err == nil || n.Stat.NumChildren != 1 {
			t.Errorf("large znode: %v, %+v", ok, n)
		}
		_, ok = c.Snapshot().Get("/m/big/kid")
		equal(t, "its child is there", ok, true)
		create(t, srv, "/m/big/later=2")
		must(t, c.Sync(t.Context()))
		synctest.Wait()
		_, ok = c.Snapshot().Get("/m/big/later")
		equal(t, "a later one is there", ok, true)

		must(t, srv.SetACL("/m/big", client.WorldACL(client.PermAll&^client.PermRead)))
		srv.DropConnections()
		synctest.Wait()
		must(t, c.Sync(t.Context()))
		n, _ = c.Snapshot().Get("/m/big")
		wantErr(t, n.Err, client.ErrNoAuth) // the newest reason
	})
}
