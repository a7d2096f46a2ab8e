package integration

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/integration/faultproxy"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
	"github.com/lockkeeper/lockkeeper/internal/conformance"
)

// C135: each member is verified by its own name, although all are found at one address, and a session goes from one to the
// other and back.
func TestTLSOfAnEnsemble(t *testing.T) {
	versions := zkserver.Versions()
	ca := newAuthority(t, "servers")
	stores := make([]string, 2)
	for i := range stores {
		name := fmt.Sprintf("zk%d.example", i+1)
		stores[i] = keyStore(t, ca.issue(t, leaf{name: name, hosts: []string{name}}))
	}
	ens := zkserver.Require(t, zkserver.Options{
		Version: versions[len(versions)-1], Members: 2, TLS: &zkserver.TLS{KeyStores: stores, ClientAuth: "none"},
	})
	proxies, hosts := map[string]*faultproxy.Proxy{}, make([]string, 2)
	for i, s := range ens.Servers() {
		p, err := faultproxy.Listen(s.SecureAddr(), faultproxy.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		name := fmt.Sprintf("zk%d.example", i+1)
		proxies[name], hosts[i] = p, named(t, name, p.Addr())
	}
	var verified atomic.Value // the name of the newest connection
	cfg := &tls.Config{RootCAs: ca.pool(), VerifyConnection: func(cs tls.ConnectionState) error {
		verified.Store(cs.ServerName)
		return nil
	}}
	c := connect(t, strings.Join(hosts, ","), client.TLS(cfg), everyNameHere(), client.Backoff(time.Millisecond, 10*time.Millisecond))
	id := c.SessionID()
	for range 2 {
		was := verified.Load().(string)
		if err := proxies[was].Refuse(); err != nil {
			t.Fatal(err)
		}
		proxies[was].Cut()
		untilServed(t, c)
		if is := verified.Load().(string); is == was || proxies[is] == nil || c.SessionID() != id {
			t.Errorf("from %s to %s, session %#x after %#x", was, is, c.SessionID(), id)
		}
		if err := proxies[was].Heal(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConformanceOverTLS runs the suite through TLS: the Netty server, and reads that come in records.
func TestConformanceOverTLS(t *testing.T) {
	const tick = 500 * time.Millisecond
	versions := zkserver.Versions()
	ca := newAuthority(t, "servers")
	s := zkserver.Require(t, zkserver.Options{
		Version: versions[len(versions)-1], TickTime: tick, Properties: map[string]string{"znode.container.checkIntervalMs": "200"},
		TLS: &zkserver.TLS{
			KeyStores: []string{keyStore(t, ca.issue(t, leaf{name: "zk", hosts: []string{"zk1.example"}}))}, ClientAuth: "none",
		},
	}).Server(1)
	st, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cfg := &conn.Config{TLS: &tls.Config{RootCAs: ca.pool()}, ServerName: "zk1.example"}
	tg := &conformance.Target{
		Name: "ZooKeeper " + st.Version + " over TLS", Addr: s.SecureAddr(), Version: conformance.ParseVersion(st.Version), Tick: tick,
		Dial:    func(ctx context.Context, _, addr string) (net.Conn, error) { return conn.DialRaw(ctx, addr, cfg) },
		Restart: s.Restart,
		Sweep:   func(context.Context) error { return nil }, // by itself, soon
		Without: map[conformance.Ability]string{
			conformance.Watches:        "the target without TLS shows them",
			conformance.HandshakeFirst: "Netty answers credentials ahead of it",
		},
	}
	conformance.Run(t, func(t *testing.T, f func(*testing.T, *conformance.Target)) { f(t, tg) })
}
