package integration

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/integration/faultproxy"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// saslServer starts a server on which the user app has the password secret.
func saslServer(t *testing.T, version string, properties map[string]string) *zkserver.Server {
	t.Helper()
	o, err := zkserver.Options{Version: version, Own: true, Properties: properties}.WithSASL(t.TempDir(), "app", "secret")
	if err != nil {
		t.Fatal(err)
	}
	return zkserver.Require(t, o).Server(1)
}

func digestMD5(password string) client.Option {
	return client.SASL(client.DigestMD5("app", []byte(password)))
}

// isApp reports whether the connection has the identity.
func isApp(t *testing.T, c *client.Client) bool {
	t.Helper()
	who, err := c.WhoAmI(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	return slices.Contains(who, client.Identity{Scheme: "sasl", User: "app"})
}

// attempts is an option that notes the attempts to connect, and tells each to f if that is not nil.
func attempts(n *int, f func(error)) client.Option {
	return client.Tracer(client.Trace{Attempt: func(_ string, _ time.Duration, err error) {
		*n++ // read behind the end of the client
		if f != nil {
			f(err)
		}
	}})
}

// TestSASL is what the conformance suite cannot do: connections that break on the way, and a server that is restarted.
func TestSASL(t *testing.T) { // C133
	for _, version := range zkserver.Versions() {
		t.Run(version, func(t *testing.T) {
			s := saslServer(t, version, nil)
			proxy, err := faultproxy.Listen(s.Addr(), faultproxy.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = proxy.Close() }) // the client is gone by then
			c := connect(t, proxy.Addr(), digestMD5("secret"), client.MinServer("3.7"), client.SessionTimeout(30*time.Second))
			id := c.SessionID()
			_, _, err = c.Create(patient(t), "/secret", nil, client.ModePersistent, client.CreatorACL(client.PermAll))
			must(t, err)
			for what, interrupt := range map[string]func() error{
				"cut":     func() error { proxy.Cut(); return nil },
				"restart": func() error { return s.Restart(patient(t)) },
			} {
				states := c.States(patient(t))
				must(t, interrupt())
				gone := false
				for change := range states {
					gone = gone || change.State == client.StateDisconnected
					if gone && change.State == client.StateConnected {
						break
					}
				}
				_, _, err = c.Get(patient(t), "/secret")
				if err != nil || !isApp(t, c) || c.SessionID() != id {
					t.Errorf("after a %s: %v, session %#x, was %#x", what, err, c.SessionID(), id)
				}
			}
			other := connect(t, s.Addr())
			if _, _, err := other.Get(patient(t), "/secret"); !errors.Is(err, client.ErrNoAuth) {
				t.Errorf("without the identity: %v", err)
			}
		})
	}
}

// TestAuthenticationIsRequired has servers that serve nobody without an authentication by SASL, as they are configured since
// 3.7, and before that.
func TestAuthenticationIsRequired(t *testing.T) { // C134
	for _, version := range zkserver.Versions() {
		for name, properties := range map[string]map[string]string{
			"schemes": {"zookeeper.enforce.auth.enabled": "true", "zookeeper.enforce.auth.schemes": "sasl"},
			"session": {"zookeeper.sessionRequireClientSASLAuth": "true"},
		} {
			t.Run(version+"/"+name, func(t *testing.T) { required(t, saslServer(t, version, properties).Addr()) })
		}
	}
}

func required(t *testing.T, addr string) {
	c := connect(t, addr, digestMD5("secret"), client.MinServer("3.7"))
	if !isApp(t, c) {
		t.Error("the right user has no identity")
	}
	for what, opt := range map[string]client.Option{"wrong password": digestMD5("Secret"), "another scheme": client.Auth("digest", []byte("a:b"))} {
		n := 0
		never, err := client.Connect(patient(t), addr, opt, attempts(&n, nil))
		if never != nil || n != 1 || !errors.Is(err, client.ErrAuthFailed) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, %v after %d attempts", what, never, err, n)
		}
		var auth *client.AuthError
		if !errors.As(err, &auth) || auth.Server != addr || !errors.Is(err, client.ErrSessionClosedRequireSASL) {
			t.Errorf("%s: %v, does not tell the requirement", what, err)
		}
	}
	for what, ask := range map[string]func(c *client.Client) error{
		"request": func(c *client.Client) error { _, _, err := c.Get(patient(t), "/"); return err },
		"silence": func(c *client.Client) error { <-c.Context().Done(); return context.Cause(c.Context()) },
	} {
		n := 0
		c := connect(t, addr, client.SessionTimeout(4*time.Second), attempts(&n, nil))
		states := c.States(patient(t))
		err := ask(c)
		var seen []client.State
		for change := range states {
			seen = append(seen, change.State)
		}
		if !slices.Equal(seen, []client.State{client.StateConnected, client.StateAuthFailed}) || n != 1 {
			t.Errorf("%s: states %v after %d attempts", what, seen, n)
		}
		_, _, later := c.Get(patient(t), "/")
		for _, err := range []error{err, later} {
			if !errors.Is(err, client.ErrAuthFailed) || !errors.Is(err, client.ErrSessionClosedRequireSASL) || !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

// TestQuota has a write refused because of a hard quota; the client's tests have all the codes side by side.
func TestQuota(t *testing.T) {
	for _, version := range zkserver.Versions() {
		t.Run(version, func(t *testing.T) {
			ens := zkserver.Require(t, zkserver.Options{Version: version, Own: true, Properties: map[string]string{"zookeeper.enforceQuota": "true"}})
			c := connect(t, ens.ConnectString())
			_, _, err := c.Create(patient(t), "/limited", nil, client.ModePersistent, nil)
			must(t, err)
			const quota = "/zookeeper/quota/limited"
			limits := "count=-1,bytes=-1=;byteHardLimit=10;countHardLimit=2"
			_, _, err = c.CreateAll(patient(t), quota+"/zookeeper_limits", []byte(limits), client.ModePersistent, nil)
			must(t, err)
			_, _, err = c.Create(patient(t), quota+"/zookeeper_stats", []byte("count=1,bytes=0"), client.ModePersistent, nil)
			must(t, err)
			_, err = c.Set(patient(t), "/limited", []byte("short"), client.AnyVersion)
			must(t, err)
			_, _, err = c.Create(patient(t), "/limited/one", nil, client.ModePersistent, nil)
			must(t, err)
			_, bytes := c.Set(patient(t), "/limited", []byte(strings.Repeat("x", 11)), client.AnyVersion)
			_, _, count := c.Create(patient(t), "/limited/two", nil, client.ModePersistent, nil)
			_, multi := c.Multi(patient(t), client.CreateOp("/limited/two", nil, client.ModePersistent, nil))
			for what, err := range map[string]error{"bytes": bytes, "count": count, "multi": multi} {
				if !errors.Is(err, client.ErrQuotaExceeded) || client.MaybeApplied(err) || errors.Is(err, client.ErrThrottled) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

// A server with too many connections of one address closes the next one, which is no reason to give up, and is told as what it is.
func TestTooManyConnections(t *testing.T) {
	for _, version := range zkserver.Versions() {
		t.Run(version, func(t *testing.T) {
			s := zkserver.Require(t, zkserver.Options{Version: version, Own: true, Config: map[string]string{"maxClientCnxns": "1"}}).Server(1)
			first := connect(t, s.Addr())
			ctx, cancel := context.WithCancel(patient(t))
			defer cancel()
			n := 0
			_, err := client.Connect(ctx, s.Addr(), attempts(&n, func(err error) {
				if n == 2 || err == nil {
					cancel()
				}
			}))
			var servers *client.ServersError
			if !errors.Is(err, context.Canceled) || !errors.As(err, &servers) || len(servers.Servers) != 1 ||
				servers.Servers[0].Server != s.Addr() || !errors.Is(servers.Servers[0], conn.ErrRefused) || errors.Is(err, net.ErrClosed) {
				t.Errorf("the second client: %v after %d attempts", err, n)
			}
			must(t, first.Close())
			second := connect(t, s.Addr())
			if _, _, err := second.Exists(patient(t), "/"); err != nil {
				t.Error(err)
			}
		})
	}
}
