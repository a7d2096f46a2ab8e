package conn_test

import (
	"testing"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
)

// F70: the port is optional, IPv6 works with and without brackets, and bad forms are refused with their text.
func TestParseAddr(t *testing.T) {
	for in, want := range map[string]string{
		"host":            "host:2181",
		"host:":           "host:2181",
		"host:1":          "host:1",
		"zk-1.a.b:65535":  "zk-1.a.b:65535",
		"10.0.0.1":        "10.0.0.1:2181",
		"10.0.0.1:2182":   "10.0.0.1:2182",
		"::1":             "[::1]:2181",
		"[::1]":           "[::1]:2181",
		"[::1]:":          "[::1]:2181",
		"[::1]:2182":      "[::1]:2182",
		"fe80::1%lo0":     "[fe80::1%lo0]:2181",
		"[fe80::1%lo0]:7": "[fe80::1%lo0]:7",
		"::ffff:10.0.0.1": "[::ffff:10.0.0.1]:2181",
	} {
		got, err := conn.ParseAddr(in)
		require.NoError(t, err, in)
		assert.Equal(t, want, got)
	}
	for _, in := range []string{
		"", ":", ":2181", "host:x", "host:0", "host:65536", "host:-1", "host:+1", "a:b:c", "::1:2181x", "[::1", "[host]:1", "[10.0.0.1]:1",
		"[::1]2181", "[]:1", "a b", "a b:1", "host/app", "user@host", "a]b",
	} {
		_, err := conn.ParseAddr(in)
		var ae *conn.AddrError
		require.ErrorAs(t, err, &ae, in)
		assert.Equal(t, in, ae.Addr)
		assert.NotEmpty(t, ae.Reason)
	}
}
