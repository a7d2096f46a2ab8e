package conn_test

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

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
	"github.com/lockkeeper/lockkeeper/internal/require"
)

// certificate makes a self-signed certificate for names and the pool that trusts it.
func certificate(t *testing.T, names ...string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
}

// serve accepts one connection on loopback, over TLS when tc is set, answers the handshake with E1, and closes when the peer
// does. What went wrong comes out of the channel.
func serve(t *testing.T, tc *tls.Config) (addr string, result <-chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	done := make(chan error, 1)
	go func() { // ends with the connection, or with the listener
		nc, err := l.Accept()
		if err != nil {
			done <- err
			return
		}
		defer nc.Close()
		if tc != nil {
			nc = tls.Server(nc, tc)
		}
		srv := conn.New(nc, nil)
		if _, _, err = srv.ReadConnectRequest(); err == nil {
			err = srv.WriteBatch(unhex(e1Answer))
			io.Copy(io.Discard, nc)
		}
		done <- err
	}()
	return l.Addr().String(), done
}

// attempt dials and does the handshake.
func attempt(t *testing.T, addr string, cfg *conn.Config) (*conn.Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a bound; the errors come at once
	defer cancel()
	fc, err := conn.Dial(ctx, addr, cfg)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { fc.Close() })
	_, err = fc.Handshake(ctx, newSession())
	return fc, err
}

func TestTLSVersions(t *testing.T) {
	cert, pool := certificate(t, "zk1.example")
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			addr, done := serve(t, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: version, MaxVersion: version})
			ours := &tls.Config{RootCAs: pool}
			fc, err := attempt(t, addr, &conn.Config{TLS: ours}) // verified by the address that was dialled
			require.NoError(t, err)
			require.NoError(t, fc.Close())
			assert.NoError(t, <-done)
			assert.Empty(t, ours.ServerName, "the caller's configuration is left alone")
		})
	}
}

func TestTLSOldVersionIsRefused(t *testing.T) {
	cert, pool := certificate(t)
	addr, done := serve(t, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	_, err := attempt(t, addr, &conn.Config{TLS: &tls.Config{RootCAs: pool}})
	require.Error(t, err)
	assert.Error(t, <-done)
}

func TestTLSServerName(t *testing.T) {
	cert, pool := certificate(t, "zk1.example")
	for name, tc := range map[string]struct {
		cfg conn.Config
		ok  bool
	}{
		"named in Config":                  {conn.Config{ServerName: "zk1.example", TLS: &tls.Config{RootCAs: pool}}, true},
		"named in tls.Config":              {conn.Config{ServerName: "x", TLS: &tls.Config{RootCAs: pool, ServerName: "zk1.example"}}, true},
		"wrong name":                       {conn.Config{ServerName: "zk2.example", TLS: &tls.Config{RootCAs: pool}}, false},
		"untrusted":                        {conn.Config{TLS: &tls.Config{RootCAs: x509.NewCertPool()}}, false},
		"untrusted, but told not to check": {conn.Config{TLS: &tls.Config{InsecureSkipVerify: true}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			addr, done := serve(t, &tls.Config{Certificates: []tls.Certificate{cert}})
			fc, err := attempt(t, addr, &tc.cfg)
			if tc.ok {
				require.NoError(t, err)
				require.NoError(t, fc.Close())
				assert.NoError(t, <-done)
				return
			}
			var e *conn.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, "tls", e.Op)
			assert.Equal(t, addr, e.Addr)
			var ve *tls.CertificateVerificationError
			assert.ErrorAs(t, err, &ve)
			assert.Error(t, <-done)
		})
	}
}

func TestTLSClientCertificate(t *testing.T) {
	cert, pool := certificate(t)
	server := &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	addr, done := serve(t, server)
	fc, err := attempt(t, addr, &conn.Config{TLS: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{cert}}})
	require.NoError(t, err)
	require.NoError(t, fc.Close())
	assert.NoError(t, <-done)

	addr, done = serve(t, server) // TLS 1.3 tells only after the client's side is done: the ZooKeeper handshake fails
	_, err = attempt(t, addr, &conn.Config{TLS: &tls.Config{RootCAs: pool}})
	require.ErrorIs(t, err, conn.ErrRefused)
	assert.Contains(t, err.Error(), "certificate required")
	assert.Error(t, <-done)
}

// F67: TLS spoken to a port without it, and the reverse, both at once and with an error that can be understood.
func TestTLSMismatch(t *testing.T) {
	cert, pool := certificate(t)
	addr, done := serve(t, nil)
	_, err := attempt(t, addr, &conn.Config{TLS: &tls.Config{RootCAs: pool}})
	var e *conn.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "tls", e.Op)
	assert.Contains(t, err.Error(), "without TLS")
	var fe *conn.FrameError
	require.ErrorAs(t, <-done, &fe)
	assert.Contains(t, fe.Hint, "TLS")

	addr, done = serve(t, &tls.Config{Certificates: []tls.Certificate{cert}})
	_, err = attempt(t, addr, nil)
	require.Error(t, err)
	assert.True(t, errors.Is(err, conn.ErrRefused) || errors.As(err, &fe), "%v", err)
	assert.Contains(t, err.Error(), "TLS")
	assert.Error(t, <-done)
}

// A server that closes without a word could be several things, and the text names the one that a mistake in a configuration
// explains.
func TestCloseHints(t *testing.T) {
	cert, pool := certificate(t, "zk1.example")
	secure := &conn.Config{ServerName: "zk1.example", TLS: &tls.Config{RootCAs: pool}}
	for name, tc := range map[string]struct {
		cfg  *conn.Config
		say  []byte
		want string
	}{
		"plain":               {&conn.Config{}, nil, "; or the port is one for TLS)"},
		"TLS":                 {secure, nil, "; or it wants another client certificate)"},
		"plain, mid-sentence": {&conn.Config{}, []byte{0, 0}, "(unexpected EOF)"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := memnet.Pipe()
			go func() { // ends when the request has come and the connection is closed
				if tc.cfg.TLS != nil {
					b = tls.Server(b, &tls.Config{Certificates: []tls.Certificate{cert}})
				}
				defer b.Close()
				if _, _, err := conn.New(b, nil).ReadConnectRequest(); err == nil {
					b.Write(tc.say)
				}
			}()
			cfg := *tc.cfg
			cfg.Dial = func(context.Context, string, string) (net.Conn, error) { return a, nil }
			fc, err := conn.Dial(t.Context(), "zk1:2181", &cfg)
			require.NoError(t, err)
			defer fc.Close()
			assert.Equal(t, tc.cfg.TLS != nil, fc.Encrypted())
			_, err = fc.Handshake(t.Context(), newSession())
			require.ErrorIs(t, err, conn.ErrRefused)
			assert.Contains(t, err.Error(), tc.want)
		})
	}
}

// A server that never answers the TLS handshake: the context bounds it, and nothing is left behind.
func TestTLSHandshakeIsBounded(t *testing.T) {
	l := memnet.Listen()
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	accepted := make(chan net.Conn, 1)
	go func() { // ends when the client has dialled
		nc, err := l.Accept()
		assert.NoError(t, err)
		_, err = nc.Read(make([]byte, 1))
		assert.NoError(t, err)
		accepted <- nc
		cancel()
	}()
	_, err := conn.Dial(ctx, "zk1:2181", &conn.Config{Dial: l.Dial, TLS: &tls.Config{}})
	assert.ErrorIs(t, err, context.Canceled)
	var e *conn.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "tls", e.Op)
	_, err = io.Copy(io.Discard, <-accepted)
	assert.NoError(t, err, "the connection was closed")
}

// Frames over TLS, larger than a record.
func TestTLSFrames(t *testing.T) {
	cert, pool := certificate(t)
	a, b := memnet.Pipe()
	server := tls.Server(b, &tls.Config{Certificates: []tls.Certificate{cert}})
	defer server.Close()
	dial := func(context.Context, string, string) (net.Conn, error) { return a, nil }
	go server.Handshake() // ends with the handshake; Dial fails if it does
	fc, err := conn.Dial(t.Context(), "127.0.0.1:2281", &conn.Config{Dial: dial, TLS: &tls.Config{RootCAs: pool}})
	require.NoError(t, err)
	defer fc.Close()
	sizes := []int{37, 16, 100_000, 84, 16_384}
	go func() { // ends when all is written
		for _, n := range sizes {
			_, err := server.Write(frame(pattern(n, 1)))
			assert.NoError(t, err)
		}
	}()
	for _, n := range sizes {
		body, err := fc.ReadFrame()
		require.NoError(t, err)
		assert.Equal(t, pattern(n, 1), body)
	}
}
