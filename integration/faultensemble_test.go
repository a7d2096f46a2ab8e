package integration

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/faultproxy"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// electionTimeout is for sessions that live through elections and starts of servers: the longest that a tick of half a
// second allows.
const electionTimeout = 10 * time.Second

// members is an ensemble and the follower at which a client begins.
type members struct {
	*zkserver.Ensemble
	follower *zkserver.Server
}

// ensembleFaults are those of an ensemble of three. Each leaves it whole.
func ensembleFaults(ens *zkserver.Ensemble) []fault {
	m := &members{Ensemble: ens}
	faults := []fault{
		m.cutFromServer(),
		{name: "client's follower stopped", timeout: silentTimeout, strike: m.stopFollower},
		{name: "follower cut off from leader", timeout: silentTimeout, strike: m.cutFollower},
		m.lagging(),
		{name: "leader killed", timeout: electionTimeout, strike: m.killLeader},
		{name: "rolling restart", timeout: electionTimeout, strike: m.rollingRestart},
	}
	for i := range faults {
		faults[i].servers = ens.ConnectString()
		if faults[i].prepare == nil {
			faults[i].prepare = m.beginAtFollower
		}
	}
	return faults
}

func (m *members) leader(t *testing.T) *zkserver.Server {
	t.Helper()
	s, err := m.Leader(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// beginAtFollower makes a client that knows all members dial a follower first.
func (m *members) beginAtFollower(t *testing.T) ([]client.Option, string) {
	until(t, "two followers", func() bool { return len(m.Followers(patient(t))) == 2 })
	m.follower = m.Followers(patient(t))[0]
	var dials atomic.Int64
	begin := m.follower.Addr()
	return []client.Option{client.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dials.Add(1) == 1 {
			addr = begin
		}
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	})}, m.ConnectString()
}

// moves waits until the client has lost its connection and found another.
func moves(t *testing.T, r *rig, f func()) {
	t.Helper()
	lost, found := r.life.next(client.StateDisconnected), r.life.next(client.StateConnected)
	f()
	lost(t)
	found(t)
}

// whole waits until all members serve again.
func (m *members) whole(t *testing.T) {
	t.Helper()
	if err := m.Wait(patient(t)); err != nil {
		t.Fatal(err)
	}
}

func (m *members) stopFollower(t *testing.T, r *rig) {
	moves(t, r, func() { pause(t, m.follower) })
	resume(t, m.follower)
	m.whole(t)
}

// cutFollower leaves the client at a follower that answers reads and pings until it gives up its leader.
func (m *members) cutFollower(t *testing.T, r *rig) {
	moves(t, r, func() { isolate(m.Ensemble, m.follower) })
	m.heal(t)
}

// heal joins the follower to the others again.
func (m *members) heal(t *testing.T) {
	t.Helper()
	for _, link := range m.Links(m.follower.ID()) {
		if err := link.Heal(); err != nil {
			t.Fatal(err)
		}
	}
	m.whole(t)
}

func (m *members) killLeader(t *testing.T, r *rig) {
	leader := m.leader(t)
	moves(t, r, func() {
		if err := leader.Kill(); err != nil {
			t.Fatal(err)
		}
	})
	if err := leader.Start(); err != nil {
		t.Fatal(err)
	}
	m.whole(t)
}

// rollingRestart is C72: each member in turn, as an operator does it, with a look at the ensemble in between.
func (m *members) rollingRestart(t *testing.T, r *rig) {
	for _, s := range m.Servers() {
		if err := s.Restart(patient(t)); err != nil {
			t.Fatal(err)
		}
		m.whole(t)
	}
}

// cutFromServer cuts a client from its server, which is well and serves others.
func (m *members) cutFromServer() fault {
	var proxies []*faultproxy.Proxy
	return fault{
		name: "client cut from its server", timeout: 4 * time.Second,
		prepare: func(t *testing.T) ([]client.Option, string) {
			servers := ""
			for _, s := range m.Servers() {
				p := proxyTo(t, s)
				proxies = append(proxies, p)
				servers += "," + p.Addr()
			}
			return nil, servers[1:]
		},
		strike: func(t *testing.T, r *rig) {
			moves(t, r, func() {
				for _, p := range proxies {
					if open, _ := p.Conns(); open == 0 {
						continue
					}
					if err := p.Refuse(); err != nil {
						t.Fatal(err)
					}
					p.Cut()
				}
			})
			for _, p := range proxies {
				if err := p.Heal(); err != nil {
					t.Fatal(err)
				}
			}
		},
	}
}
