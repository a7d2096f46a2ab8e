package recipes

import (
	"errors"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// D12: on a read-only server a Lock fails at once and leaves nothing; the same mutex works when there is a quorum again.
func TestLockOnAReadOnlyServer(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		if _, err := srv.Create("/lock", nil, client.ModePersistent); err != nil {
			t.Fatal(err)
		}
		alone, other := srv.Member("one:2181"), srv.Member("two:2181")
		alone.ReadOnly(zktest.ReadOnlyLocal)
		other.Refuse(zktest.RefuseDial)
		c := dialTo(t, srv, "one:2181,two:2181", client.ReadOnly())
		defer c.Close()
		m := NewMutex(c, "/lock")
		if _, err := m.Lock(t.Context()); !errors.Is(err, ErrReadOnly) {
			t.Errorf("Lock: %v", err)
		}
		if _, err := m.TryLock(t.Context()); !errors.Is(err, ErrReadOnly) {
			t.Errorf("TryLock: %v", err)
		}
		if n := c.CleanupsPending(); n != 0 {
			t.Errorf("%d clean-ups pending", n)
		}
		other.Refuse(zktest.Accept)
		for change := range c.States(t.Context()) {
			if change.State == client.StateConnected {
				break
			}
		}
		release(t, lock(t, m))
	})
}
