package admin_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/admin"
	"github.com/lockkeeper/lockkeeper/conn"
)

// tlsConfig returns a client's configuration that trusts pool.
func tlsConfig(pool *x509.CertPool) *tls.Config { return &tls.Config{RootCAs: pool} }

// certificate makes a self-signed certificate for name and 127.0.0.1, and the pool that trusts it.
func certificate(t *testing.T, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
}

// listen answers one connection on loopback with answer, over TLS when tc is set. What went wrong comes out of the channel.
func listen(t *testing.T, tc *tls.Config, answer string) (addr string, result <-chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	done := make(chan error, 1)
	// Server of one connection; owned by the test; ends with the connection, or with the listener.
	go func() {
		nc, err := l.Accept()
		if err != nil {
			done <- err
			return
		}
		if tc != nil {
			nc = tls.Server(nc, tc)
		}
		defer nc.Close()
		word := make([]byte, 4)
		if _, err = io.ReadFull(nc, word); err == nil {
			_, err = io.WriteString(nc, answer)
		}
		done <- err
	}()
	return l.Addr().String(), done
}

// patient bounds what comes at once when all is well.
func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestPlain(t *testing.T) {
	addr, done := listen(t, nil, srvr39)
	st, err := admin.Server{Addr: addr}.Srvr(patient(t))
	if err != nil || st.NodeCount != 7 {
		t.Errorf("%+v, %v", st, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestTLS(t *testing.T) {
	cert, pool := certificate(t, "zk1.example")
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		addr, done := listen(t, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: version, MaxVersion: version}, srvr38Leader)
		ours := tlsConfig(pool)
		st, err := admin.Server{Addr: addr, TLS: ours}.Srvr(patient(t)) // verified by the address
		if err != nil || st.Proposals.Max != 87 {
			t.Errorf("%s: %+v, %v", tls.VersionName(version), st, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if ours.ServerName != "" || ours.MinVersion != 0 {
			t.Error("the caller's configuration was changed")
		}
	}
}

// Without a ServerName the host of Addr is verified, wherever Dial connects to.
func TestTLSVerifiesTheHost(t *testing.T) {
	cert, pool := certificate(t, "zk1.example")
	for host, ok := range map[string]bool{"zk1.example": true, "zk2.example": false} {
		addr, done := listen(t, &tls.Config{Certificates: []tls.Certificate{cert}}, "imok")
		dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
		err := admin.Server{Addr: host, TLS: tlsConfig(pool), Dial: dial}.Ruok(patient(t))
		<-done
		if (err == nil) != ok {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestTLSFailures(t *testing.T) {
	cert, pool := certificate(t, "zk1.example")
	good := &tls.Config{Certificates: []tls.Certificate{cert}}
	for name, tc := range map[string]struct {
		server *tls.Config
		client *tls.Config
		ok     bool
	}{
		"named":              {good, &tls.Config{RootCAs: pool, ServerName: "zk1.example"}, true},
		"wrong name":         {good, &tls.Config{RootCAs: pool, ServerName: "zk2.example"}, false},
		"untrusted":          {good, tlsConfig(x509.NewCertPool()), false},
		"old version":        {&tls.Config{Certificates: good.Certificates, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, tlsConfig(pool), false},
		"a port without TLS": {nil, tlsConfig(pool), false},
	} {
		t.Run(name, func(t *testing.T) {
			addr, done := listen(t, tc.server, "imok")
			err := admin.Server{Addr: addr, TLS: tc.client}.Ruok(patient(t))
			<-done // a failed handshake on the other side is no news
			if tc.ok {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var ce *conn.Error
			if !errors.As(err, &ce) || ce.Op != "tls" || ce.Addr != addr {
				t.Errorf("got %v, want a failed handshake", err)
			}
		})
	}
}
