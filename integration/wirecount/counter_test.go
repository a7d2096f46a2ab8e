package wirecount_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/faultproxy"
	"github.com/lockkeeper/lockkeeper/integration/wirecount"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// patience bounds every wait for something that must happen.
const patience = time.Minute

// Example counts what a create and a read with a watch cost.
func Example() {
	ctx := context.Background()
	srv := zktest.New()
	defer srv.Close()
	addr, err := srv.Listen()
	if err != nil {
		panic(err)
	}
	counter := new(wirecount.Counter)
	proxy, err := faultproxy.Listen(addr, faultproxy.Options{Conn: counter.Conn})
	if err != nil {
		panic(err)
	}
	defer proxy.Close()
	c, err := client.Connect(ctx, proxy.Addr())
	if err != nil {
		panic(err)
	}
	defer c.Close()

	before := counter.Tally()
	_, _, err = c.Create(ctx, "/config", []byte("42"), client.ModePersistent, nil)
	if err != nil {
		panic(err)
	}
	_, watch, err := c.GetWatch(ctx, "/config")
	if err != nil {
		panic(err)
	}
	defer watch.Close()
	cost := counter.Tally().Minus(before)
	fmt.Println(cost.Requests(wirecount.Write), "write,", cost.Requests(wirecount.Read), "read,", cost.Watches, "watch")
	// Output: 1 write, 1 read, 1 watch
}

// connect returns a client whose connection is counted.
func connect(t *testing.T) (*client.Client, *zktest.Server, *wirecount.Counter) {
	t.Helper()
	srv := zktest.New()
	t.Cleanup(func() { _ = srv.Close() })
	addr, err := srv.Listen()
	if err != nil {
		t.Fatal(err)
	}
	counter := new(wirecount.Counter)
	proxy, err := faultproxy.Listen(addr, faultproxy.Options{Conn: counter.Conn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := client.Connect(ctx, proxy.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, srv, counter
}

// What the client, the server and the counter between them have seen is the same.
func TestKnownTrafficIsCountedByAllThree(t *testing.T) {
	c, srv, counter := connect(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := c.Create(ctx, "/a", []byte("x"), client.ModePersistent, nil)
	check(err)
	_, w, err := c.GetWatch(ctx, "/a")
	check(err)
	_, _, err = c.GetWatch(ctx, "/missing")
	if err == nil {
		t.Fatal("a znode that nobody has made was read")
	}
	_, waiting, err := c.ExistsWatch(ctx, "/missing")
	check(err)
	defer waiting.Close()
	_, err = c.Set(ctx, "/a", make([]byte, 100_000), client.AnyVersion)
	check(err)
	_, err = w.Wait(ctx)
	check(err)
	_, _, err = c.Get(ctx, "/a")
	check(err)
	check(c.Sync(ctx, "/a"))

	// The server's replies are all there; a ping may have passed meanwhile.
	got, err := counter.Await(ctx, func(t wirecount.Tally) bool { return t.Outstanding == 0 })
	check(err)
	ops := maps.Clone(got.Ops)
	delete(ops, proto.OpPing)
	want := map[proto.Op]int64{proto.OpCreate2: 1, proto.OpGetData: 3, proto.OpExists: 1, proto.OpSetData: 1, proto.OpSync: 1}
	if !maps.Equal(ops, want) || got.Watches != 2 || got.Watching != 0 || got.Notifications != 1 || got.Handshakes != 1 {
		t.Errorf("%+v, want %v", got, want)
	}
	if got.BytesIn < 100_000 || got.BytesOut < 100_000 {
		t.Errorf("%d bytes in and %d out do not have the data", got.BytesIn, got.BytesOut)
	}
	ours, theirs := c.Counters(), srv.Snapshot()
	if requests := got.Packets() - got.Handshakes - got.Requests(wirecount.Ping); uint64(requests) != ours.Requests ||
		uint64(got.Notifications) != ours.Events {
		t.Errorf("the client counts %+v, this %+v", ours, got)
	}
	if theirs.Requests-theirs.Pings != int64(ours.Requests) || theirs.Notifications != got.Notifications ||
		int64(theirs.Watches.Total()) != got.Watches-got.Notifications {
		t.Errorf("the server counts %+v, this %+v", theirs, got)
	}
}
