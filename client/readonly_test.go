package client_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// cutOff is a server of two members, one of which is read-only and the other down.
type cutOff struct {
	*zktest.Server
	alone, other *zktest.Member

	mu    sync.Mutex // guards what follows; a leaf
	shook []zktest.Handshake
	dials map[string][]time.Time
}

// newCutOff makes one with the znode /a of data 1.
func newCutOff(t *testing.T, srv *zktest.Server, how zktest.Service) *cutOff {
	create(t, srv, "/a", "1")
	s := &cutOff{Server: srv, alone: srv.Member("alone:2181"), other: srv.Member("other:2181"), dials: map[string][]time.Time{}}
	s.alone.ReadOnly(how)
	s.other.Refuse(zktest.RefuseDial)
	srv.OnHandshake(func(h zktest.Handshake) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.shook = append(s.shook, h)
	})
	return s
}

// heal brings the other member back, with changes that the read-only one has missed.
func (s *cutOff) heal(t *testing.T) {
	must(t, s.Set("/a", []byte("2")))
	create(t, s.Server, "/a/b", "")
	s.other.Refuse(zktest.Accept)
}

func (s *cutOff) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	s.mu.Lock()
	s.dials[addr] = append(s.dials[addr], time.Now())
	s.mu.Unlock()
	return s.Dial(ctx, network, addr)
}

func (s *cutOff) connect(t *testing.T, opts ...client.Option) *client.Client {
	t.Helper()
	return connectTo(t, s.Server, "alone:2181,other:2181", append([]client.Option{client.ReadOnly(), client.Dialer(s.dial)}, opts...)...)
}

// dialled returns when a member was dialled.
func (s *cutOff) dialled(member *zktest.Member) []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.dials[member.Addr()])
}

// handshakes returns what has been asked for so far.
func (s *cutOff) handshakes() []zktest.Handshake {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.shook)
}

// changes collects the states of c until it is closed.
func changes(t *testing.T, c *client.Client) (ended <-chan error, got *[]client.Change) {
	got = new([]client.Change)
	states := c.States(context.WithoutCancel(t.Context()))
	return spawn(func() error {
		for change := range states {
			change.Err = nil
			*got = append(*got, change)
		}
		return nil
	}), got
}

// C136, C137, F72: a client begins on a read-only server, is refused writes, finds the other server when it is back, and goes
// there with its watches and without the id that it had.
func TestReadOnlyAndBack(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		s := newCutOff(t, srv, zktest.ReadOnlyLocal)
		c := s.connect(t)
		ctx := t.Context()
		ended, got := changes(t, c)
		equal(t, "state", c.State(), client.StateConnectedReadOnly)
		gen, id := c.Generation(), c.SessionID()

		data, w, err := c.GetWatch(ctx, "/a")
		must(t, err)
		equal(t, "data", string(data.Data), "1")
		watcher := watch(t, c, "/", client.Recursive)
		_, err = c.Set(ctx, "/a", nil, -1)
		wantErr(t, err, client.ErrNotReadOnly)
		outcome(t, err, client.OutcomeRejected, false)
		_, _, err = c.Create(ctx, "/e", nil, client.ModeEphemeral, nil)
		wantErr(t, err, client.ErrNotReadOnly)
		wantErr(t, c.Sync(ctx, "/"), client.ErrNotReadOnly)

		s.heal(t)
		awaitState(t, c, client.StateConnected)
		real := c.SessionID()
		if real == id || real == 0 {
			t.Errorf("session %#x after %#x", real, id)
		}
		equal(t, "generation", c.Generation(), gen)
		ev, err := w.Wait(ctx)
		must(t, err)
		equal(t, "what was missed", ev.Type, client.EventNodeDataChanged)
		equal(t, "watcher", heard(t, watcher), "gap /")
		_, err = c.Set(ctx, "/a/b", nil, -1)
		must(t, err)
		equal(t, "watcher", heard(t, watcher), "node data changed /a/b")
		_, _, err = c.Create(ctx, "/e", nil, client.ModeEphemeral, nil)
		must(t, err)
		must(t, c.Close())
		must(t, <-ended)
		equal(t, "states", *got, []client.Change{
			{State: client.StateConnectedReadOnly, Generation: 1, SessionID: id, Server: "alone:2181"},
			{State: client.StateDisconnected, Generation: 1, SessionID: id, Server: "alone:2181"},
			{State: client.StateConnected, Generation: 1, SessionID: real, Server: "other:2181"},
			{State: client.StateClosed, Generation: 1, SessionID: real},
		})
		shook := s.handshakes()
		last := shook[len(shook)-1]
		for _, h := range shook {
			if h.SessionID != 0 || strings.Trim(string(h.Passwd), "\x00") != "" || !h.ReadOnly {
				t.Errorf("sent: %+v", h)
			}
		}
		if last.Member != "other:2181" || last.LastZxid == 0 {
			t.Errorf("the last was %+v", last)
		}
	})
}

// What was read on a read-only server is not taken back by one that is behind it.
func TestReadsDoNotGoBackAfterReadOnly(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		s := newCutOff(t, srv, zktest.ReadOnlyLocal)
		c := s.connect(t)
		_, _, err := c.Get(t.Context(), "/a")
		must(t, err)
		s.other.Refuse(zktest.Accept)
		zxid := srv.Snapshot().Zxid
		srv.SetZxid(zxid - 1)
		pass(10 * time.Minute)
		if c.State() == client.StateConnected {
			t.Error("served by a server that is behind")
		}
		if n := len(s.dialled(s.other)); n > 60 {
			t.Errorf("%d connections in ten minutes", n)
		}
		srv.SetZxid(zxid)
		awaitState(t, c, client.StateConnected)
	})
}

// The search is not in a hurry: about ten asks in the first minute, then one a minute.
func TestSearchPauses(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		s := newCutOff(t, srv, zktest.ReadOnlyLocal)
		c := s.connect(t)
		synctest.Wait()
		before, own := len(s.dialled(s.other)), len(s.dialled(s.alone))
		pass(time.Hour)
		equal(t, "state", c.State(), client.StateConnectedReadOnly)
		equal(t, "dials of the own server", len(s.dialled(s.alone)), own)
		asks := s.dialled(s.other)[before:]
		if len(asks) < 60 || len(asks) > 140 {
			t.Errorf("%d asks in an hour", len(asks))
		}
		if soon := slices.IndexFunc(asks, func(at time.Time) bool { return at.Sub(asks[0]) > time.Minute }); soon > 14 {
			t.Errorf("%d asks in the first minute", soon)
		}
	})
}

// C136: without the option a read-only server is no server; with it one without local sessions is none either.
func TestReadOnlyServerRefuses(t *testing.T) {
	for name, how := range map[string]zktest.Service{"local sessions": zktest.ReadOnlyLocal, "bare": zktest.ReadOnlyBare} {
		for _, asked := range []bool{false, true} {
			if asked && how == zktest.ReadOnlyLocal {
				continue
			}
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T, srv *zktest.Server) {
					s := newCutOff(t, srv, how)
					opts := []client.Option{client.Dialer(s.dial)}
					if asked {
						opts = append(opts, client.ReadOnly())
					}
					c, err := client.Lazy("alone:2181,other:2181", opts...)
					must(t, err)
					defer c.Close()
					pass(time.Hour)
					equal(t, "state", c.State(), client.StateConnecting)
					if n := len(s.handshakes()); n < 300 || n > 800 {
						t.Errorf("%d handshakes in an hour", n)
					}
					s.heal(t)
					awaitState(t, c, client.StateConnected)
				})
			})
		}
	}
}

// C139: a session of the whole ensemble is not exchanged for a temporary one. It ends by its own clock; the next one begins
// read-only.
func TestRealSessionIsKeptFromReadOnly(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		s := newCutOff(t, srv, zktest.ReadWrite)
		c := s.connect(t)
		ended, got := changes(t, c)
		id := c.SessionID()
		_, _, err := c.Create(t.Context(), "/e", nil, client.ModeEphemeral, nil)
		must(t, err)
		began := time.Now()
		s.alone.ReadOnly(zktest.ReadOnlyLocal) // the other one is down already
		awaitState(t, c, client.StateExpired)
		if took := time.Since(began); took > timeout {
			t.Errorf("expired after %v", took)
		}
		awaitState(t, c, client.StateConnectedReadOnly)
		equal(t, "generation", c.Generation().Number(), 2)
		must(t, c.Close())
		must(t, <-ended)
		states := make([]client.State, len(*got))
		for i, change := range *got {
			states[i] = change.State
			equal(t, "generation", change.Generation == 1, i < 3)
		}
		equal(t, "states", states, []client.State{client.StateConnected, client.StateDisconnected, client.StateExpired,
			client.StateConnecting, client.StateConnectedReadOnly, client.StateClosed})
		for _, h := range s.handshakes() {
			if h.SessionID != 0 && (h.SessionID != id || h.ReadOnly) {
				t.Errorf("sent: %+v", h)
			}
		}
	})
}

// The search speaks TLS where the client does, and wants the certificate of the host that it asks.
func TestSearchOverTLS(t *testing.T) {
	servers, tc, srv := twoHosts(t, false)
	first, second, _ := strings.Cut(servers, ",")
	member := func(server string) *zktest.Member {
		_, port, err := net.SplitHostPort(server)
		must(t, err)
		return srv.Member("127.0.0.1:" + port)
	}
	member(first).ReadOnly(zktest.ReadOnlyLocal)
	member(second).Refuse(zktest.RefuseDial)
	c, err := client.Connect(patient(t), servers, client.TLS(tc), client.Resolver(here), client.ReadOnly())
	must(t, err)
	defer c.Close()
	equal(t, "state", c.State(), client.StateConnectedReadOnly)
	member(second).Refuse(zktest.Accept)
	for change := range c.States(patient(t)) {
		if change.State == client.StateConnected {
			equal(t, "server", change.Server, second)
			return
		}
	}
	t.Error("never connected")
}

func TestDetachOnAReadOnlyServer(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := newCutOff(t, srv, zktest.ReadOnlyLocal).connect(t)
		_, err := c.Detach()
		wantErr(t, err, client.ErrTemporarySession)
		synctest.Wait()
		equal(t, "sessions", len(srv.Sessions()), 0)
	})
}
