package integration

import (
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/faultproxy"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// A session that is to live through a fault which is noticed only by silence has a third of its timeout left after that.
const silentTimeout = 6 * time.Second

// serverFaults are those of a single server, which hit everybody and so come one at a time.
func serverFaults(ens *zkserver.Ensemble) []fault {
	s, servers := ens.Server(1), ens.ConnectString()
	return []fault{
		// C70: the session is in the server's log, and its time begins anew with the server.
		{name: "server restarted within T", servers: servers, timeout: 10 * time.Second, strike: func(t *testing.T, r *rig) {
			lost := r.life.next(client.StateDisconnected)
			if err := s.Restart(patient(t)); err != nil {
				t.Fatal(err)
			}
			lost(t)
		}},
		{name: "server stopped for less than T", servers: servers, timeout: silentTimeout, strike: func(t *testing.T, r *rig) {
			lost := r.life.next(client.StateDisconnected)
			pause(t, s)
			lost(t)
			resume(t, s)
		}},
		{name: "server stopped for more than T", servers: servers, timeout: 2 * time.Second, expires: true, strike: func(t *testing.T, r *rig) {
			expired := r.life.next(client.StateExpired)
			pause(t, s)
			expired(t)
			resume(t, s)
		}},
		zeroWindow(s, servers),
	}
}

func pause(t *testing.T, s *zkserver.Server) {
	t.Helper()
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Continue() }) // for a test that has failed; the others need the server
}

func resume(t *testing.T, s *zkserver.Server) {
	t.Helper()
	if err := s.Continue(); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(patient(t)); err != nil {
		t.Fatal(err)
	}
}

// networkFaults are those between one client and its server.
func networkFaults(ens *zkserver.Ensemble) []fault {
	return []fault{
		networkFault(ens, "connection cut", 4*time.Second, func(p *faultproxy.Proxy) { p.Cut() }),
		networkFault(ens, "both directions stalled", silentTimeout, func(p *faultproxy.Proxy) { p.Stall() }),
		// What was held back reaches the server after all, when the client has long been told that it does not know.
		networkFault(ens, "requests stalled", silentTimeout, func(p *faultproxy.Proxy) { p.Stall(faultproxy.ToServer) }),
		// The server executes what the client never hears of.
		networkFault(ens, "replies stalled", silentTimeout, func(p *faultproxy.Proxy) { p.Stall(faultproxy.ToClient) }),
	}
}

// networkFault breaks a proxy before the server, and heals it when the client has noticed.
func networkFault(ens *zkserver.Ensemble, name string, timeout time.Duration, wreck func(*faultproxy.Proxy)) fault {
	var p *faultproxy.Proxy
	return fault{
		name: name, servers: ens.ConnectString(), timeout: timeout,
		prepare: func(t *testing.T) ([]client.Option, string) {
			p = proxyTo(t, ens.Server(1))
			return nil, p.Addr()
		},
		strike: func(t *testing.T, r *rig) {
			lost := r.life.next(client.StateDisconnected)
			wreck(p)
			lost(t)
			if err := p.Heal(); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func proxyTo(t *testing.T, s *zkserver.Server) *faultproxy.Proxy {
	t.Helper()
	p, err := faultproxy.Listen(s.Addr(), faultproxy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}
