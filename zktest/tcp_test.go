package zktest_test

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/proto"
)

// openTCP opens a session over TCP.
func openTCP(t *testing.T, addr string) *wire {
	t.Helper()
	fc, err := conn.Dial(t.Context(), addr, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = fc.Close() })
	w := &wire{t: t, fc: fc}
	require.NoError(t, w.attach(proto.ConnectRequest{TimeOut: 30000, Passwd: make([]byte, 16)}))
	return w
}

func TestTCP(t *testing.T) {
	srv := server(t)
	addr, err := srv.Listen()
	require.NoError(t, err)
	assert.Equal(t, addr, srv.Addr())
	second, err := srv.Listen()
	require.NoError(t, err)
	w, v, m := openTCP(t, addr), openTCP(t, second), open(t, srv)
	w.create("/a", proto.ModeEphemeral)
	v.get("/a", true)
	m.delete("/a")
	assert.Equal(t, event{deleted, "/a"}, decodeEvent(t, v.recv()))
	members := map[string]bool{}
	for _, info := range srv.Sessions() {
		members[info.Member] = true
	}
	assert.Equal(t, map[string]bool{addr: true, second: true, member: true}, members)
	srv.Member(second).DropConnections()
	v.closed()
	assert.Zero(t, w.exists("/", false))
	require.NoError(t, srv.Close())
	w.closed()
	_, err = new(net.Dialer).DialContext(context.Background(), "tcp", addr)
	require.Error(t, err)
	require.ErrorIs(t, srv.Serve(listener(t)), net.ErrClosed)
}

func listener(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return ln
}

// TestManyClients lets clients do what lock clients do, all at once, for the race detector, and checks the sums.
func TestManyClients(t *testing.T) {
	const clients, rounds = 8, 50
	srv := server(t)
	addr, err := srv.Listen()
	require.NoError(t, err)
	_, err = srv.Create("/l", nil, proto.ModePersistent)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range clients {
		w := openTCP(t, addr)
		// One lock client; ends after its rounds.
		wg.Go(func() {
			for range rounds {
				contend(w)
			}
		})
	}
	wg.Wait()
	assert.Empty(t, srv.Children("/l"))
	assert.Zero(t, srv.Snapshot().Watches.Total())
	_, st, err := srv.Get("/l")
	require.NoError(t, err)
	assert.Equal(t, int32(2*clients*rounds), st.Cversion)
}

// contend takes the lock /l once, in the simplest way.
func contend(w *wire) {
	own := w.create("/l/n-", proto.ModeEphemeralSequential)
	for {
		below := ""
		for _, name := range w.children("/l", false) {
			if path := "/l/" + name; path < own && path > below {
				below = path
			}
		}
		if below == "" {
			break
		}
		if w.code(proto.OpGetData, &proto.GetDataRequest{Path: below, Watch: true}) == 0 {
			w.recv() // the event
		}
	}
	w.delete(own)
}
