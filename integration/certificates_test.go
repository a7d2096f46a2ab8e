package integration

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// leaf is what a certificate is to say. It is good from an hour ago until an hour from now, unless it has expired.
type leaf struct {
	name    string   // of the subject: CN=name
	hosts   []string // empty for a client
	expired bool
}

// sign makes a certificate and its key; without a parent it signs itself.
func sign(t *testing.T, tmpl, parent *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if parent == nil {
		parent, by = tmpl, key
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	tmpl.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, tmpl, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	cert, key := sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, nil)
	return &authority{cert, key}
}

// issue makes a certificate that a signs.
func (a *authority) issue(t *testing.T, l leaf) *tls.Certificate {
	t.Helper()
	until, use := time.Now().Add(time.Hour), x509.ExtKeyUsageClientAuth
	if l.expired {
		until = time.Now().Add(-time.Minute)
	}
	if len(l.hosts) > 0 {
		use = x509.ExtKeyUsageServerAuth
	}
	cert, key := sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: l.name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: until, DNSNames: l.hosts,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{use},
	}, a.cert, a.key)
	return &tls.Certificate{Certificate: [][]byte{cert.Raw, a.cert.Raw}, PrivateKey: key, Leaf: cert}
}

// pool trusts what a signs.
func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// trustStore writes what a server needs to trust what a signs, and returns the path.
func (a *authority) trustStore(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trust.pem")
	writePEM(t, path, &pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
	return path
}

// keyStore writes what a server needs to present cert, and returns the path.
func keyStore(t *testing.T, cert *tls.Certificate) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server.pem")
	writeKeyStore(t, path, cert)
	return path
}

func writeKeyStore(t *testing.T, path string, cert *tls.Certificate) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	blocks := []*pem.Block{{Type: "PRIVATE KEY", Bytes: key}}
	for _, der := range cert.Certificate {
		blocks = append(blocks, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	writePEM(t, path, blocks...)
}

func writePEM(t *testing.T, path string, blocks ...*pem.Block) {
	t.Helper()
	var text bytes.Buffer
	for _, b := range blocks {
		if err := pem.Encode(&text, b); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
