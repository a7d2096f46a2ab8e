package integration

import (
	"bytes"
	"context"
	"net"
	"os"
	"sync"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// steered dials what it is told to dial next, and can break the connection that it made last.
type steered struct {
	mu    sync.Mutex // guards what follows; a leaf
	next  string     // instead of the next address; "" for that
	last  net.Conn
	dials []string
}

func (s *steered) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	s.mu.Lock()
	if s.next != "" {
		addr, s.next = s.next, ""
	}
	s.dials = append(s.dials, addr)
	s.mu.Unlock()
	var d net.Dialer
	nc, err := d.DialContext(ctx, network, addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = nc
	return nc, err
}

// breakTo closes the connection and sends the client to addr.
func (s *steered) breakTo(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.dials = addr, nil
	_ = s.last.Close()
}

// dialled returns the addresses dialled since breakTo.
func (s *steered) dialled() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.dials...)
}

// lagging sends the client, whose connection breaks, to a follower that has not seen what the client has: it is refused
// there, goes elsewhere, and reads nothing old (C74).
func (m *members) lagging() fault {
	var s steered
	return fault{
		name: "reconnect to lagging follower", timeout: silentTimeout,
		prepare: func(t *testing.T) ([]client.Option, string) {
			_, servers := m.beginAtFollower(t)
			s.next = m.leader(t).Addr()
			return []client.Option{client.Dialer(s.dial)}, servers
		},
		strike: func(t *testing.T, r *rig) {
			isolate(m.Ensemble, m.follower)
			began := len(logOf(t, m.follower))
			r.load.advance(t) // through the others: from here on the follower is behind
			moves(t, r, func() { s.breakTo(m.follower.Addr()) })
			if dials := s.dialled(); len(dials) < 2 || dials[0] != m.follower.Addr() || dials[len(dials)-1] == m.follower.Addr() {
				t.Errorf("dialled %v, the follower that is behind is %s", dials, m.follower.Addr())
			}
			until(t, "the follower to say that it is behind", func() bool {
				return bytes.Contains(logOf(t, m.follower)[began:], []byte("Refusing session"))
			})
			m.heal(t)
		},
	}
}

func logOf(t *testing.T, s *zkserver.Server) []byte {
	t.Helper()
	text, err := os.ReadFile(s.Log())
	if err != nil {
		t.Fatal(err)
	}
	return text
}
