package integration

import (
	"bytes"
	"crypto/tls"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/integration/faultproxy"
	"github.com/lockkeeper/lockkeeper/integration/zkserver"
)

// wiretap keeps what passes a proxy, each direction of each connection by itself.
type wiretap struct {
	mu      sync.Mutex // guards what follows
	streams []*bytes.Buffer
}

func (w *wiretap) filter(faultproxy.Direction) func([]byte) []byte {
	var stream bytes.Buffer
	w.mu.Lock()
	w.streams = append(w.streams, &stream)
	w.mu.Unlock()
	return func(chunk []byte) []byte {
		w.mu.Lock()
		defer w.mu.Unlock()
		stream.Write(chunk)
		return chunk
	}
}

// finds reports whether text passed in one piece.
func (w *wiretap) finds(text []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.streams {
		if bytes.Contains(s.Bytes(), text) {
			return true
		}
	}
	return false
}

// TestTLSHidesTheSession shows on the wire what TLS is for: neither paths, nor data, nor the passwords of user and session
// can be read there, and all of it can without TLS.
func TestTLSHidesTheSession(t *testing.T) {
	for _, version := range zkserver.Versions() {
		t.Run("version "+version, func(t *testing.T) {
			ca := newAuthority(t, "servers")
			s := zkserver.Require(t, zkserver.Options{Version: version, TLS: &zkserver.TLS{
				KeyStores:  []string{keyStore(t, ca.issue(t, leaf{name: "zk", hosts: []string{"zk1.example"}}))},
				ClientAuth: "none",
			}}).Server(1)
			for _, v := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				t.Run(tls.VersionName(v), func(t *testing.T) {
					cfg := &tls.Config{RootCAs: ca.pool(), MinVersion: v, MaxVersion: v}
					for what, seen := range overheard(t, s.SecureAddr(), client.TLS(cfg)) {
						if seen {
							t.Errorf("the %s passed in clear", what)
						}
					}
				})
			}
			t.Run("plain", func(t *testing.T) {
				for what, seen := range overheard(t, s.Addr()) {
					if !seen {
						t.Errorf("the %s was not found, so that not finding it shows nothing", what)
					}
				}
			})
		})
	}
}

// overheard has a client talk to a server and returns what of it could be read on the way.
func overheard(t *testing.T, addr string, opts ...client.Option) map[string]bool {
	t.Helper()
	var tap wiretap
	proxy, err := faultproxy.Listen(addr, faultproxy.Options{Filter: tap.filter})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	unique := strconv.FormatInt(time.Now().UnixNano(), 36)
	path, data, user, password := "/path-"+unique, "data-"+unique, "user-"+unique, "password-"+unique
	c := connect(t, named(t, "zk1.example", proxy.Addr()),
		append(opts, everyNameHere(), client.Auth("digest", []byte(user+":"+password)))...)
	if _, _, err := c.Create(patient(t), path, []byte(data), client.ModePersistent, nil); err != nil {
		t.Fatal(err)
	}
	if got, _, err := c.Get(patient(t), path); err != nil || string(got) != data {
		t.Fatalf("%q, %v", got, err)
	}
	if err := c.DeleteAll(patient(t), path); err != nil {
		t.Fatal(err)
	}
	ticket, err := c.Detach()
	if err != nil {
		t.Fatal(err)
	}
	if err := proxy.Close(); err != nil { // it waits for what is under way
		t.Fatal(err)
	}
	if proxy.Bytes(faultproxy.ToServer) == 0 || proxy.Bytes(faultproxy.ToClient) == 0 || len(ticket.Passwd) != 16 {
		t.Fatalf("the client went another way: %d and %d bytes", proxy.Bytes(faultproxy.ToServer), proxy.Bytes(faultproxy.ToClient))
	}
	return map[string]bool{
		"path": tap.finds([]byte(path)), "data": tap.finds([]byte(data)), "user's name": tap.finds([]byte(user)),
		"user's password": tap.finds([]byte(password)), "session's password": tap.finds(ticket.Passwd),
	}
}
