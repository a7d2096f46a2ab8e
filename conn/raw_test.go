package conn_test

import (
	"context"
	"crypto/tls"
	"testing"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
	"github.com/lockkeeper/lockkeeper/internal/require"
)

func TestEncrypted(t *testing.T) {
	a, b := memnet.Pipe()
	defer a.Close()
	defer b.Close()
	assert.False(t, conn.New(a, nil).Encrypted())
	enc := tls.Client(b, &tls.Config{InsecureSkipVerify: true})
	assert.True(t, conn.New(enc, nil).Encrypted())
	assert.True(t, conn.New(struct{ *tls.Conn }{enc}, nil).Encrypted(), "wrapped by a dialer")
}

func TestDialRaw(t *testing.T) {
	cert, pool := certificate(t, "zk1.example")
	for name, tc := range map[string]struct {
		server, client *tls.Config
	}{
		"plain": {},
		"TLS":   {&tls.Config{Certificates: []tls.Certificate{cert}}, &tls.Config{RootCAs: pool}},
	} {
		t.Run(name, func(t *testing.T) {
			addr, done := serve(t, tc.server)
			ctx, cancel := context.WithCancel(t.Context())
			nc, err := conn.DialRaw(ctx, addr, &conn.Config{TLS: tc.client})
			require.NoError(t, err)
			cancel() // it has no hold on the connection
			_, encrypted := nc.(*tls.Conn)
			assert.Equal(t, tc.client != nil, encrypted)
			_, err = nc.Write(append([]byte{0, 0, 0, 4}, "ruok"...))
			require.NoError(t, err)
			var he *conn.HandshakeError
			require.ErrorAs(t, <-done, &he, "four bytes are no ConnectRequest, and have arrived as they were sent")
			require.NoError(t, nc.Close())
		})
	}
	addr, done := serve(t, &tls.Config{Certificates: []tls.Certificate{cert}})
	_, err := conn.DialRaw(t.Context(), addr, &conn.Config{ServerName: "zk2.example", TLS: &tls.Config{RootCAs: pool}})
	var e *conn.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "tls", e.Op)
	assert.Error(t, <-done)
}
