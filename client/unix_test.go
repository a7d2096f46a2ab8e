//go:build unix

package client_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/lockkeeper/lockkeeper/client"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// A dialer decides what an address means: here each server is a socket in the file system.
func TestUnixSocketsThroughTheDialer(t *testing.T) {
	dir := t.TempDir()
	ln, err := net.Listen("unix", filepath.Join(dir, "zk1:2181"))
	must(t, err)
	srv := zktest.New()
	defer srv.Close()
	must(t, srv.Serve(ln))
	c, err := client.Connect(t.Context(), "zk1:2181", client.Dialer(func(ctx context.Context, _, addr string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(dir, addr))
	}))
	must(t, err)
	if _, ok, err := c.Exists(t.Context(), "/"); err != nil || !ok {
		t.Errorf("%v, %v", ok, err)
	}
	must(t, c.Close())
}
