package zktest_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestStep(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w, other := open(t, srv), open(t, srv)
		srv.Manual(true)
		a, b := w.sendCreate("/a"), w.sendCreate("/b")
		synctest.Wait()
		c := other.sendCreate("/c")
		other.write(request(proto.XidPing, proto.OpPing, none{}))
		synctest.Wait()
		assert.Equal(t, []string{"zookeeper"}, srv.Children("/"))
		assert.Equal(t, 3, srv.Step())
		assert.Zero(t, srv.Step())
		assert.Equal(t, a, w.recv().Xid)
		assert.Equal(t, b, w.recv().Xid)
		assert.Equal(t, c, other.recv().Xid)
		assert.Equal(t, proto.XidPing, other.recv().Xid)
		w.sendCreate("/d")
		synctest.Wait()
		srv.Manual(false)
		assert.True(t, srv.Exists("/d"))
		w.recv()
		assert.Equal(t, int64(2), srv.Snapshot().Flights)
	})
}

func TestFlights(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		assert.Equal(t, 1, srv.Flights(synctest.Wait, func() {
			w.sendCreate("/a")
			w.sendCreate("/b")
			w.recv()
			w.recv()
		}))
		assert.Equal(t, 2, srv.Flights(synctest.Wait, func() {
			w.sendCreate("/c")
			w.recv()
			pass(time.Second)
			w.sendCreate("/d")
		}))
		assert.Equal(t, 0, srv.Flights(synctest.Wait, func() { pass(time.Second) }))
		w.recv()
		assert.Zero(t, w.exists("/d", false), "answered at once again")
	})
}

func TestCounters(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.create("/a", proto.ModePersistent)
		w.get("/a", true)
		w.children("/a", true)
		w.addWatch("/b", proto.AddWatchPersistentRecursive)
		open(t, srv).set("/a", "x")
		w.events()
		got := srv.Snapshot()
		assert.Equal(t, map[proto.Op]int64{proto.OpCreate2: 1, proto.OpGetData: 1, proto.OpGetChildren: 1, proto.OpAddWatch: 1,
			proto.OpSetData: 1, proto.OpPing: 1}, got.ByOp)
		assert.Equal(t, int64(6), got.Requests)
		assert.Equal(t, int64(1), got.Pings)
		assert.Equal(t, int64(6), got.Replies)
		assert.Equal(t, int64(1), got.Notifications)
		assert.Equal(t, int64(2), got.Connections)
		assert.Equal(t, 2, got.OpenConnections)
		assert.Equal(t, 2, got.Sessions)
		assert.Equal(t, 5, got.Nodes)
		assert.Equal(t, zktest.WatchCounters{Child: 1, Recursive: 1}, got.Watches)
		assert.Equal(t, int64(4), got.Zxid)
		var all []byte
		for range 10 {
			all = append(all, request(1, proto.OpExists, &proto.ExistsRequest{Path: "/"})...)
		}
		w.write(all)
		synctest.Wait()
		assert.Equal(t, got.Bursts+1, srv.Snapshot().Bursts, "what arrives together is one burst")
	})
}

func TestClose(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		held := srv.Hold(zktest.Match{Op: proto.OpCreate})
		w.sendCreate("/a")
		<-held.Hit()
		require.NoError(t, srv.Close())
		require.NoError(t, srv.Close())
		w.closed()
		held.Release()
		_, err := srv.Dial(t.Context(), "tcp", member)
		require.Error(t, err)
		_, err = srv.Listen()
		require.Error(t, err)
		assert.False(t, errors.Is(err, conn.ErrRefused))
		assert.Equal(t, []string{"zookeeper"}, srv.Children("/"))
	})
}
