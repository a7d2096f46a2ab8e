package integration

import (
	"strconv"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// C116, fault 27: the leader is killed while multis set two znodes to the same value. Afterwards the two are equal, and not
// older than what was acknowledged.
func TestMultisDuringAChangeOfTheLeader(t *testing.T) {
	ens := zkserver.Require(t, zkserver.Options{Members: 3, TickTime: time.Second, InitLimit: 6, Own: true})
	ctx := patient(t)
	c := connect(t, ens.ConnectString())
	paths := []string{"/left", "/right"}
	for _, p := range paths {
		if _, _, err := c.Create(ctx, p, []byte("0"), client.ModePersistent, nil); err != nil {
			t.Fatal(err)
		}
	}
	leader, err := ens.Leader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	acknowledged, unknown, after := 0, 0, 0
	for i := 1; after < 200; i++ {
		if i == 200 {
			if err := leader.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		value := []byte(strconv.Itoa(i))
		_, err := c.Multi(ctx, client.SetOp(paths[0], value, client.AnyVersion), client.SetOp(paths[1], value, client.AnyVersion))
		switch {
		case err == nil:
			acknowledged = i
			if i >= 200 {
				after++
			}
		case client.MaybeApplied(err):
			unknown++
		case ctx.Err() != nil:
			t.Fatal(err)
		}
	}
	g := c.Group()
	g.Sync("/")
	left, right := g.Get(paths[0], nil), g.Get(paths[1], nil)
	if err := g.Do(ctx); err != nil {
		t.Fatal(err)
	}
	l, lst, _ := left.Data()
	r, rst, _ := right.Data()
	if string(l) != string(r) || lst.Mzxid != rst.Mzxid || string(l) != strconv.Itoa(acknowledged) {
		t.Errorf("left %s at %#x, right %s at %#x, acknowledged %d", l, lst.Mzxid, r, rst.Mzxid, acknowledged)
	}
	t.Logf("%d multis acknowledged at last, %d with unknown outcome", acknowledged, unknown)
}
