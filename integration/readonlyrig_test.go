package integration

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// readOnlyEnsemble starts three members that go on with reads when they are alone, with local sessions or without, which is
// the default and means that nobody new is served then.
func readOnlyEnsemble(t *testing.T, version string, local bool) *zkserver.Ensemble {
	t.Helper()
	config := map[string]string{}
	if local {
		config["localSessionsEnabled"], config["localSessionsUpgradingEnabled"] = "true", "true"
	}
	return zkserver.Require(t, zkserver.Options{
		Version: version, Members: 3, QuorumProxies: true, TickTime: 500 * time.Millisecond, InitLimit: 6,
		Properties: map[string]string{"readonlymode.enabled": "true"}, Config: config,
	})
}

// aloneID is the member that loses the others.
const aloneID = 3

// untilReadOnly waits until a member serves reads only.
func untilReadOnly(t *testing.T, s *zkserver.Server) {
	t.Helper()
	until(t, "a read-only server", func() bool {
		answer, err := s.Ask(patient(t), "isro")
		return err == nil && answer == "ro"
	})
}

// stopOthers leaves one member alone, and returns what brings the others back.
func stopOthers(t *testing.T, ens *zkserver.Ensemble) (start func()) {
	t.Helper()
	for id := 1; id < aloneID; id++ {
		if err := ens.Server(id).Kill(); err != nil {
			t.Fatal(err)
		}
	}
	untilReadOnly(t, ens.Server(aloneID))
	return func() {
		for id := 1; id < aloneID; id++ {
			if err := ens.Server(id).Start(); err != nil {
				t.Fatal(err)
			}
		}
		if err := ens.Wait(patient(t)); err != nil {
			t.Fatal(err)
		}
	}
}

// gate is a way to servers that may be closed, and keeps the session ids that pass in handshakes.
type gate struct {
	mu   sync.Mutex // guards what follows; a leaf
	only string     // the only server to be had, unless empty
	sent []int64
	asks int
}

func (g *gate) restrict(addr string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.only = addr
}

func (g *gate) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	g.mu.Lock()
	only := g.only
	g.mu.Unlock()
	if only != "" && only != addr {
		return nil, errors.New("not to be had")
	}
	var d net.Dialer
	nc, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &watchedConn{Conn: nc, g: g}, nil
}

// seen returns the session ids of all handshakes so far, and the number of questions.
func (g *gate) seen() (ids []int64, asks int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.sent), g.asks
}

// watchedConn looks at what its client writes first.
type watchedConn struct {
	net.Conn
	g     *gate
	later bool
}

func (c *watchedConn) Write(p []byte) (int, error) {
	if !c.later {
		c.later = true
		c.g.mu.Lock()
		if string(p) == "isro" {
			c.g.asks++
		} else { // length, protocol version, zxid, timeout, session id
			c.g.sent = append(c.g.sent, int64(binary.BigEndian.Uint64(p[20:])))
		}
		c.g.mu.Unlock()
	}
	return c.Conn.Write(p)
}

// changesOf follows a client from here on; the function it returns waits for a state and returns everything up to it.
func changesOf(t *testing.T, c *client.Client) func(client.State) []client.Change {
	t.Helper()
	states := c.States(patient(t))
	return func(want client.State) []client.Change {
		t.Helper()
		var got []client.Change
		for change := range states {
			got = append(got, change)
			if change.State == want {
				return got
			}
		}
		t.Fatalf("never %v, but %v", want, got)
		return nil
	}
}

// threeAttempts makes a client whose attempts fail, and looks at the first three.
func threeAttempts(t *testing.T, addr string, expected func(error) bool, opts ...client.Option) *client.Client {
	t.Helper()
	refused := make(chan error, 3)
	c, err := client.Lazy(addr, append(opts, client.Tracer(client.Trace{Attempt: func(_ string, _ time.Duration, err error) {
		select {
		case refused <- err:
		default:
		}
	}}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // it may have no session
	for range 3 {
		select {
		case err := <-refused:
			if !expected(err) {
				t.Errorf("an attempt: %v", err)
			}
		case <-patient(t).Done():
			t.Fatal("no attempt")
		}
	}
	return c
}
