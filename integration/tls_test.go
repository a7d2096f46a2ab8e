package integration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/admin"
	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/integration/faultproxy"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// TestTLS is C135 on servers that insist on a client certificate.
func TestTLS(t *testing.T) {
	for _, version := range zkserver.Versions() {
		t.Run("version "+version, func(t *testing.T) {
			r := newTLSRig(t, version)
			for _, v := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				t.Run(tls.VersionName(v), func(t *testing.T) {
					t.Run("identity", func(t *testing.T) { r.identity(t, v) })
					t.Run("refusals", func(t *testing.T) { r.refusals(t, v) })
				})
			}
			t.Run("mismatch", r.mismatch)
			t.Run("words", r.words)
			t.Run("client renewed", r.clientRenewed)
			t.Run("server renewed", r.serverRenewed) // it ends with a certificate that has expired
		})
	}
}

// tlsRig is a server with TLS, known to its clients as zk1.example, and those who sign for it and for them.
type tlsRig struct {
	s        *zkserver.Server
	servers  *authority
	clients  *authority
	keyStore string
	host     string // the connect string
}

func newTLSRig(t *testing.T, version string) *tlsRig {
	t.Helper()
	r := &tlsRig{servers: newAuthority(t, "servers"), clients: newAuthority(t, "clients")}
	r.keyStore = keyStore(t, r.servers.issue(t, leaf{name: "zk", hosts: []string{"zk1.example"}}))
	r.s = zkserver.Require(t, zkserver.Options{Version: version, TLS: &zkserver.TLS{
		KeyStores: []string{r.keyStore}, TrustStore: r.clients.trustStore(t), ClientAuth: "need",
	}}).Server(1)
	r.host = named(t, "zk1.example", r.s.SecureAddr())
	return r
}

// named returns host with the port of addr.
func named(t *testing.T, host, addr string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort(host, port)
}

// everyNameHere resolves all names to this machine, as a DNS would that knows where the servers are.
func everyNameHere() client.Option {
	return client.Resolver(func(context.Context, string) ([]string, error) { return []string{"127.0.0.1"}, nil })
}

// config is that of a client which is called name.
func (r *tlsRig) config(t *testing.T, name string) *tls.Config {
	t.Helper()
	return &tls.Config{RootCAs: r.servers.pool(), Certificates: []tls.Certificate{*r.clients.issue(t, leaf{name: name})}}
}

// connect connects with cfg to the server by its name.
func (r *tlsRig) connect(t *testing.T, cfg *tls.Config, opts ...client.Option) *client.Client {
	t.Helper()
	return connect(t, r.host, append(opts, client.TLS(cfg), everyNameHere(), client.MinServer("3.8"))...)
}

// identities are those of scheme x509.
func identities(t *testing.T, c *client.Client) []string {
	t.Helper()
	all, err := c.WhoAmI(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, id := range all {
		if id.Scheme == "x509" {
			names = append(names, id.User)
		}
	}
	return names
}

// identity: the certificate is who the client is, and lists of scheme x509 hold it to that.
func (r *tlsRig) identity(t *testing.T, version uint16) {
	cfg := r.config(t, "owner")
	cfg.MinVersion, cfg.MaxVersion = version, version
	var spoken atomic.Uint32
	cfg.VerifyConnection = func(cs tls.ConnectionState) error {
		spoken.Store(uint32(cs.Version))
		return nil
	}
	owner, other := r.connect(t, cfg), r.connect(t, r.config(t, "other"))
	if spoken.Load() != uint32(version) {
		t.Errorf("the connection speaks %s", tls.VersionName(uint16(spoken.Load())))
	}
	if got := identities(t, owner); !slices.Equal(got, []string{"CN=owner"}) {
		t.Errorf("the server calls the client %q", got)
	}
	path := "/owned-" + strings.ReplaceAll(tls.VersionName(version), " ", "-")
	if _, _, err := owner.Create(patient(t), path, []byte("x"), client.ModePersistent, client.X509ACL(client.PermAll, "CN=owner")); err != nil {
		t.Fatal(err)
	}
	if data, _, err := owner.Get(patient(t), path); err != nil || string(data) != "x" {
		t.Errorf("the owner reads %q, %v", data, err)
	}
	if _, _, err := other.Get(patient(t), path); !errors.Is(err, client.ErrNoAuth) {
		t.Errorf("another reads: %v", err)
	}
}

// turnedAway connects in vain and returns why. Whatever the reason is, the attempt ends by itself, and the error of Connect
// names the server and the reason.
func turnedAway(t *testing.T, server string, opts ...client.Option) error {
	t.Helper()
	ctx, cancel := context.WithCancel(patient(t))
	defer cancel()
	attempts := make(chan error, 2)
	tr := client.Trace{Attempt: func(_ string, _ time.Duration, err error) {
		select {
		case attempts <- err:
		default:
			cancel() // two have failed, and that is known
		}
	}}
	c, err := client.Connect(ctx, server, append(opts, client.Tracer(tr), everyNameHere(), client.Backoff(time.Millisecond, time.Millisecond))...)
	if err == nil {
		_ = c.Close()
		t.Fatal("connected")
	}
	t.Log(err)
	for range 2 {
		if one := <-attempts; one == nil || errors.Is(one, context.DeadlineExceeded) || errors.Is(one, context.Canceled) {
			t.Fatalf("an attempt ended with %v", one)
		}
	}
	var known *client.ServersError
	if !errors.As(err, &known) || len(known.Servers) != 1 || known.Servers[0].Server != server || !strings.Contains(err.Error(), server) {
		t.Fatalf("the error does not tell of %s: %v", server, err)
	}
	return known.Servers[0].Err
}

// refusals: whoever is not who he should be is not talked to, by either side.
func (r *tlsRig) refusals(t *testing.T, version uint16) {
	config := func(change func(*tls.Config)) client.Option {
		cfg := r.config(t, "client")
		cfg.MinVersion, cfg.MaxVersion = version, version
		change(cfg)
		return client.TLS(cfg)
	}
	t.Run("wrong name", func(t *testing.T) {
		var wrong x509.HostnameError
		err := turnedAway(t, named(t, "zk2.example", r.host), config(func(*tls.Config) {}))
		if !errors.As(err, &wrong) || wrong.Host != "zk2.example" {
			t.Error(err)
		}
	})
	t.Run("wrong authority", func(t *testing.T) {
		var wrong x509.UnknownAuthorityError
		err := turnedAway(t, r.host, config(func(cfg *tls.Config) { cfg.RootCAs = newAuthority(t, "another").pool() }))
		if !errors.As(err, &wrong) {
			t.Error(err)
		}
	})
	for name, change := range map[string]func(cfg *tls.Config){
		"client without a certificate": func(cfg *tls.Config) { cfg.Certificates = nil },
		"client of a wrong authority": func(cfg *tls.Config) {
			wrong := newAuthority(t, "clients").issue(t, leaf{name: "client"})
			// A client does not even send what the server does not ask for, unless it is told to.
			cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return wrong, nil }
		},
		"client whose certificate has expired": func(cfg *tls.Config) {
			cfg.Certificates = []tls.Certificate{*r.clients.issue(t, leaf{name: "client", expired: true})}
		},
	} {
		t.Run(name, func(t *testing.T) { clientRefused(t, turnedAway(t, r.host, config(change)), version) })
	}
}

// clientRefused checks the error of a client whose certificate the server does not accept. With TLS 1.3 the client has done
// its part when it is told, so it is the ZooKeeper handshake that fails.
func clientRefused(t *testing.T, err error, version uint16) {
	t.Helper()
	var e *conn.Error
	if version == tls.VersionTLS12 && (!errors.As(err, &e) || e.Op != "tls") {
		t.Errorf("%v, want a failed TLS handshake", err)
	}
	if version == tls.VersionTLS13 && !errors.Is(err, conn.ErrRefused) {
		t.Errorf("%v, want that the server refused", err)
	}
}

// mismatch: TLS to the port without it, and the reverse.
func (r *tlsRig) mismatch(t *testing.T) {
	t.Run("plain client", func(t *testing.T) {
		// Servers close without a word; one that sent an alert would be known by that.
		var fe *conn.FrameError
		if err := turnedAway(t, r.host); !errors.Is(err, conn.ErrRefused) && !errors.As(err, &fe) || !strings.Contains(err.Error(), "TLS") {
			t.Error(err)
		}
	})
	t.Run("plain server", func(t *testing.T) {
		var e *conn.Error
		err := turnedAway(t, named(t, "zk1.example", r.s.Addr()), client.TLS(r.config(t, "client")))
		if !errors.As(err, &e) || e.Op != "tls" || !strings.Contains(err.Error(), "without TLS") {
			t.Error(err)
		}
	})
}

// words: four-letter words go through TLS as well.
func (r *tlsRig) words(t *testing.T) {
	cfg := r.config(t, "operator")
	cfg.ServerName = "zk1.example"
	if st, err := (admin.Server{Addr: r.s.SecureAddr(), TLS: cfg}).Srvr(patient(t)); err != nil || st.Mode != admin.ModeStandalone {
		t.Errorf("%+v, %v", st, err)
	}
}

// clientRenewed: a client takes a new certificate for its next connection, and goes on with its session under that name.
func (r *tlsRig) clientRenewed(t *testing.T) {
	proxy, err := faultproxy.Listen(r.s.SecureAddr(), faultproxy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	var current atomic.Pointer[tls.Certificate]
	current.Store(r.clients.issue(t, leaf{name: "first"}))
	cfg := &tls.Config{RootCAs: r.servers.pool(), GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return current.Load(), nil
	}}
	c := connect(t, named(t, "zk1.example", proxy.Addr()), client.TLS(cfg), everyNameHere(), client.MinServer("3.8"))
	id := c.SessionID()
	if got := identities(t, c); !slices.Equal(got, []string{"CN=first"}) {
		t.Errorf("first %q", got)
	}
	current.Store(r.clients.issue(t, leaf{name: "second"}))
	if got := identities(t, c); !slices.Equal(got, []string{"CN=first"}) {
		t.Errorf("the connection that exists has become %q", got)
	}
	proxy.Cut()
	untilServed(t, c)
	if got := identities(t, c); !slices.Equal(got, []string{"CN=second"}) || c.SessionID() != id {
		t.Errorf("then %q, session %#x after %#x", got, c.SessionID(), id)
	}
}

// serverRenewed: the server comes back with a certificate of another authority. A client whose hook knows both goes on with
// its session; one that knows the old authority does not come back, and says why. A certificate that has expired suits nobody.
func (r *tlsRig) serverRenewed(t *testing.T) {
	renewed := newAuthority(t, "renewed")
	both := r.servers.pool()
	both.AddCert(renewed.cert)
	var roots atomic.Pointer[x509.CertPool]
	roots.Store(r.servers.pool())
	failures := make(chan error, 16)
	watch := client.Tracer(client.Trace{Attempt: func(_ string, _ time.Duration, err error) {
		var wrong x509.UnknownAuthorityError
		if errors.As(err, &wrong) {
			select {
			case failures <- err:
			default:
			}
		}
	}})
	cfg := r.config(t, "client")
	cfg.RootCAs, cfg.InsecureSkipVerify = nil, true // the hook verifies, with what is trusted at the time
	cfg.VerifyConnection = func(cs tls.ConnectionState) error { return verify(cs, roots.Load()) }
	c, stale := r.connect(t, cfg), r.connect(t, r.config(t, "stale"), watch)
	id := c.SessionID()
	if _, _, err := c.Create(patient(t), "/here", nil, client.ModeEphemeral, nil); err != nil {
		t.Fatal(err)
	}
	roots.Store(both)
	writeKeyStore(t, r.keyStore, renewed.issue(t, leaf{name: "zk", hosts: []string{"zk1.example"}}))
	if err := r.s.Restart(patient(t)); err != nil {
		t.Fatal(err)
	}
	untilServed(t, c)
	if st, ok, err := c.Exists(patient(t), "/here"); err != nil || !ok || c.SessionID() != id || st.EphemeralOwner != id {
		t.Errorf("session %#x after %#x: %+v, %v, %v", c.SessionID(), id, st, ok, err)
	}
	select {
	case err := <-failures:
		t.Logf("the other: %v", err)
	case <-patient(t).Done():
		t.Error("a client that trusts the old authority alone has had no reason to complain")
	}
	_ = stale.Close()

	writeKeyStore(t, r.keyStore, renewed.issue(t, leaf{name: "zk", hosts: []string{"zk1.example"}, expired: true}))
	if err := r.s.Restart(patient(t)); err != nil {
		t.Fatal(err)
	}
	for _, v := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		cfg := r.config(t, "client")
		cfg.RootCAs, cfg.MinVersion, cfg.MaxVersion = renewed.pool(), v, v
		var invalid x509.CertificateInvalidError
		if err := turnedAway(t, r.host, client.TLS(cfg)); !errors.As(err, &invalid) || invalid.Reason != x509.Expired {
			t.Errorf("%s: %v", tls.VersionName(v), err)
		}
	}
}

// verify is what crypto/tls does itself with fixed roots.
func verify(cs tls.ConnectionState, roots *x509.CertPool) error {
	chain := x509.NewCertPool()
	for _, cert := range cs.PeerCertificates[1:] {
		chain.AddCert(cert)
	}
	_, err := cs.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: chain, DNSName: cs.ServerName})
	return err
}

// untilServed waits until c's calls are answered again.
func untilServed(t *testing.T, c *client.Client) {
	t.Helper()
	ctx := patient(t)
	for {
		_, _, err := c.Exists(ctx, "/")
		if err == nil {
			return
		}
		if !errors.Is(err, client.ErrConnectionLoss) {
			t.Fatal(err)
		}
	}
}
