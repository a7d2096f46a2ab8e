package conn_test

import (
	"crypto/tls"
	"crypto/x509"
	"testing"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
)

// What a hook that verifies by itself has to know: the name is there when it is one, and empty for an IP address.
func TestTLSNameForHooks(t *testing.T) {
	cert, pool := certificate(t, "zk1.example")
	for name, want := range map[string]string{"zk1.example": "zk1.example", "127.0.0.1": ""} {
		addr, done := serve(t, &tls.Config{Certificates: []tls.Certificate{cert}})
		var got *tls.ConnectionState
		fc, err := attempt(t, addr, &conn.Config{ServerName: name, TLS: &tls.Config{
			RootCAs: pool, VerifyConnection: func(cs tls.ConnectionState) error { got = &cs; return nil },
		}})
		require.NoError(t, err)
		require.NoError(t, fc.Close())
		assert.NoError(t, <-done)
		assert.Equal(t, want, got.ServerName)
	}
}

// A certificate that is renewed reaches the next connection.
func TestTLSCertificateRenewed(t *testing.T) {
	cert, pool := certificate(t, "zk1.example")
	ours := make([]tls.Certificate, 2)
	trusted := x509.NewCertPool()
	for i := range ours {
		ours[i], _ = certificate(t)
		trusted.AddCert(ours[i].Leaf)
	}
	current := 0
	cfg := &conn.Config{TLS: &tls.Config{RootCAs: pool, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return &ours[current], nil
	}}}
	for current = range ours {
		seen := make(chan []byte, 1)
		addr, done := serve(t, &tls.Config{
			Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted,
			VerifyConnection: func(cs tls.ConnectionState) error { seen <- cs.PeerCertificates[0].Raw; return nil },
		})
		fc, err := attempt(t, addr, cfg)
		require.NoError(t, err)
		require.NoError(t, fc.Close())
		assert.NoError(t, <-done)
		assert.Equal(t, ours[current].Leaf.Raw, <-seen)
	}
}
