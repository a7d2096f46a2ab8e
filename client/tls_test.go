package client_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// certificate makes a self-signed certificate for name alone, and the pool that trusts it.
func certificate(t *testing.T, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	must(t, err)
	leaf, err := x509.ParseCertificate(der)
	must(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
}

// twoHosts is an ensemble whose members have certificates for one name each, zk1.example and zk2.example, at addresses that
// no certificate knows. A certificate with the other's name stands for it when crossed.
func twoHosts(t *testing.T, crossed bool) (servers string, tc *tls.Config, srv *zktest.Server) {
	t.Helper()
	srv = zktest.New()
	t.Cleanup(func() { _ = srv.Close() })
	pool := x509.NewCertPool()
	for i := 1; i <= 2; i++ {
		cert, _ := certificate(t, fmt.Sprintf("zk%d.example", i))
		pool.AddCert(cert.Leaf)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		_, port, err := net.SplitHostPort(l.Addr().String())
		must(t, err)
		must(t, srv.Serve(tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}})))
		host := i
		if crossed {
			host = 3 - i
		}
		if i > 1 {
			servers += ","
		}
		servers += fmt.Sprintf("zk%d.example:%s", host, port)
	}
	return servers, &tls.Config{RootCAs: pool}, srv
}

// patient bounds what takes no time when all is well.
func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// here resolves every name to this machine.
func here(context.Context, string) ([]string, error) { return []string{"127.0.0.1"}, nil }

// C135: what is verified is the host that the connect string names, of each server its own, and not the address it was
// found at.
func TestTLSNameIsTheHosts(t *testing.T) {
	servers, tc, srv := twoHosts(t, false)
	seen := make(chan string, 64)
	cfg := tc.Clone()
	cfg.VerifyConnection = func(cs tls.ConnectionState) error {
		seen <- cs.ServerName
		return nil
	}
	ctx := patient(t)
	c, err := client.Connect(ctx, servers, client.TLS(cfg), client.Resolver(here), client.Backoff(time.Millisecond, 10*time.Millisecond))
	must(t, err)
	defer c.Close()
	names := map[string]bool{<-seen: true}
	for len(names) < 2 { // the next attempt is at the other server
		srv.DropConnections()
		select {
		case name := <-seen:
			names[name] = true
		case <-ctx.Done():
			t.Fatal("one server is not reached")
		}
	}
	equal(t, "hosts", names, map[string]bool{"zk1.example": true, "zk2.example": true})
}

func TestTLSNameOfAnotherHostIsRefused(t *testing.T) {
	servers, tc, srv := twoHosts(t, true)
	ctx, cancel := context.WithCancel(patient(t))
	defer cancel()
	var attempts atomic.Int32
	tr := client.Trace{Attempt: func(string, time.Duration, error) {
		if attempts.Add(1) == 3 {
			cancel() // both have been tried, and that is known
		}
	}}
	_, err := client.Connect(ctx, servers, client.TLS(tc), client.Resolver(here), client.Tracer(tr))
	var known *client.ServersError
	if !errors.As(err, &known) || len(known.Servers) != 2 {
		t.Fatalf("%v", err)
	}
	for _, s := range known.Servers {
		host, _, err := net.SplitHostPort(s.Server)
		must(t, err)
		var wrong x509.HostnameError
		if !errors.As(s, &wrong) || wrong.Host != host {
			t.Errorf("%s: %v", s.Server, s.Err)
		}
	}
	equal(t, "sessions", len(srv.Sessions()), 0)
}
