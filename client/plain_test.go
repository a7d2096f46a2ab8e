package client_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// record is a log that may be read while it is written to.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(b)
}

// warnings returns the number of lines that say that credentials go without TLS.
func (r *record) warnings(t *testing.T) int {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if strings.Contains(r.text.String(), "verysecret") {
		t.Error("the log has the password")
	}
	return strings.Count(r.text.String(), "credentials go over a connection without TLS")
}

func (r *record) option() client.Option { return client.Logger(slog.New(slog.NewTextHandler(r, nil))) }

var userPassword = []byte("user:verysecret")

func TestPlainCredentialsAreWarnedOfOnce(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		log := &record{}
		c := connect(t, srv, log.option(), client.Auth("digest", userPassword))
		equal(t, "warnings when connected", log.warnings(t), 1)
		srv.DropConnections()
		pass(time.Second)
		_, _, err := c.Exists(t.Context(), "/")
		must(t, err)
		must(t, c.AddAuth(t.Context(), "digest", []byte("other:verysecret")))
		id := c.SessionID()
		equal(t, "expired", srv.ExpireSession(id), true)
		pass(time.Second)
		_, _, err = c.Exists(t.Context(), "/")
		must(t, err)
		if c.SessionID() == id {
			t.Error("the session goes on")
		}
		equal(t, "warnings after a reconnect, another credential, and another session", log.warnings(t), 1)
	})
}

func TestPlainCredentialsAddedLaterAreWarnedOf(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		log := &record{}
		c := connect(t, srv, log.option())
		equal(t, "warnings without credentials", log.warnings(t), 0)
		must(t, c.AddAuth(t.Context(), "digest", userPassword))
		equal(t, "warnings", log.warnings(t), 1)
		must(t, c.AddAuth(t.Context(), "digest", []byte("other:verysecret")))
		equal(t, "warnings", log.warnings(t), 1)
	})
}

func TestPlainSASLIsWarnedOf(t *testing.T) {
	saslBubble(t, func(t *testing.T, srv *zktest.Server) {
		log := &record{}
		c := connect(t, srv, log.option(), app())
		must(t, c.AddAuth(t.Context(), "digest", userPassword))
		equal(t, "warnings", log.warnings(t), 1)
	})
}

// What stays on the machine, and what is encrypted, is not warned of: by the client, or by a dialer that returns TLS.
func TestProtectedCredentialsAreNotWarnedOf(t *testing.T) {
	cert, pool := certificate(t, "zk1.example")
	ours := &tls.Config{RootCAs: pool, ServerName: "zk1.example"}
	l := memnet.Listen()
	srv := zktest.New()
	t.Cleanup(func() { _ = srv.Close() })
	must(t, srv.Serve(tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}})))
	loopback, err := srv.Listen()
	must(t, err)
	for name, tc := range map[string]struct {
		addr string
		opts []client.Option
	}{
		"loopback":     {loopback, nil},
		"TLS":          {"zk1.example", []client.Option{client.Dialer(l.Dial), client.TLS(ours)}},
		"dialer's TLS": {"zk1.example", []client.Option{client.Dialer(dialTLS(l, ours))}},
	} {
		t.Run(name, func(t *testing.T) {
			log := &record{}
			c, err := client.Connect(patient(t), tc.addr, append(tc.opts, log.option(), client.Auth("digest", userPassword))...)
			must(t, err)
			must(t, c.AddAuth(patient(t), "digest", []byte("other:verysecret")))
			must(t, c.Close())
			equal(t, "warnings", log.warnings(t), 0)
		})
	}
}

func dialTLS(l *memnet.Listener, tc *tls.Config) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		nc, err := l.Dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return tls.Client(nc, tc), nil
	}
}
