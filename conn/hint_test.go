package conn_test

import (
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
)

// C19, F02: a peer that is not ZooKeeper gives an error that says so, at once and without allocating for the "length".
func TestPeerIsNotZooKeeper(t *testing.T) {
	for name, tc := range map[string]struct {
		bytes string
		hint  string
	}{
		"HTTP":             {"HTTP/1.1 400 Bad Request\r\n\r\n", "looks like an HTTP server"},
		"TLS alert":        {"\x15\x03\x03\x00\x02\x02\x46", "TLS server: the connection is not encrypted (tls: protocol version not supported)"},
		"TLS, four bytes":  {"\x15\x03\x01\x00", "looks like a TLS server"},
		"TLS handshake":    {"\x16\x03\x01\x02\x00\x01", "looks like a TLS server"},
		"SSH":              {"SSH-2.0-OpenSSH_9.2\r\n", "looks like an SSH server"},
		"four-letter word": {"This ZooKeeper instance is not currently serving requests\n", `looks like text: "This ZooKeeper instance is not c"`},
		"imok":             {"imok", `looks like text: "imok"`},
		"Redis":            {"-ERR unknown command\r\n", `looks like text: "-ERR unknown command\r\n"`},
		"negative":         {"\xff\xff\xff\xff", ""},
		"smallest":         {"\x80\x00\x00\x00", ""},
		"largest":          {"\x7f\xff\xff\xff", ""},
		"5,000 bytes":      {"\x00\x00\x13\x88", ""},
		"one too many":     {"\x00\x00\x10\x01", ""},
	} {
		t.Run(name, func(t *testing.T) {
			fc, srv := pair(t, nil)
			send(t, srv, []byte(tc.bytes))
			var err error
			allocated := heapDelta(func() { _, err = fc.Handshake(t.Context(), newSession()) })
			assert.Less(t, allocated, uint64(64<<10))
			var fe *conn.FrameError
			require.ErrorAs(t, err, &fe)
			assert.Equal(t, "b", fe.Addr)
			assert.EqualValues(t, conn.HandshakeLimit, fe.Limit)
			assert.Contains(t, fe.Hint, tc.hint)
			assert.Equal(t, tc.hint == "", fe.Hint == "")
			var he *conn.HandshakeError
			require.ErrorAs(t, err, &he)
			assert.Equal(t, 1, strings.Count(err.Error(), "b: "), "the address once: %v", err)
		})
	}
}

// Fault model 12: garbage after a good handshake.
func TestGarbageAfterTheHandshake(t *testing.T) {
	fc, srv := connected(t, nil)
	send(t, srv, []byte("HTTP/1.1 502 Bad Gateway\r\n"))
	_, err := fc.ReadFrame()
	var fe *conn.FrameError
	require.ErrorAs(t, err, &fe)
	assert.Equal(t, "looks like an HTTP server", fe.Hint)
	assert.EqualValues(t, 0x48545450, fe.Length)
	assert.Equal(t, "b: frame length 1213486160 out of range 16 to 4194304: looks like an HTTP server", err.Error())
}
