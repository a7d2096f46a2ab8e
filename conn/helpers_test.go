package conn_test

import (
	"encoding/hex"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/proto"
)

// Frames of docs/protocol.md section 23.
const (
	e1Request    = "0000002d 00000000 0000000000000000 00002710 0000000000000000 00000010 00000000000000000000000000000000 00"
	e1Answer     = "00000025 00000000 00002710 0100000d62210008 00000010 7e79bf440e5e9f2f75ea560da4b11217 00"
	e24Request   = "0000002d 00000000 000000000000005a 00002710 0100000d62210008 00000010 7e79bf440e5e9f2f75ea560da4b11217 00"
	e26Expired   = "00000025 00000000 00000000 0000000000000000 00000010 00000000000000000000000000000000 00"
	e28ReadOnly  = "00000025 00000000 00002710 0100001100a10000 00000010 654033988e5a5e994bee70598720f3d7 01"
	e28Refused   = "00000010 00000000 0000000000000000 ffffff89"
	e29Request   = "0000002c 00000000 0000000000000000 00002710 0000000000000000 00000010 00000000000000000000000000000000"
	e29Answer    = "00000024 00000000 00002710 0100000383d70001 00000010 4e511f284c08033306ecb16aa9131203"
	pong         = "00000010 fffffffe 0000000000000057 00000000"
	notification = "0000001e ffffffff ffffffffffffffff 00000000 00000003 00000003 00000002 2f61"
)

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// newSession is the request E1, reattach that of E24.
func newSession() *proto.ConnectRequest {
	return &proto.ConnectRequest{TimeOut: 10_000, Passwd: make([]byte, 16)}
}

func reattach() *proto.ConnectRequest {
	return &proto.ConnectRequest{
		LastZxidSeen: 0x5a, TimeOut: 10_000, SessionID: 0x100000d62210008, Passwd: unhex("7e79bf440e5e9f2f75ea560da4b11217"),
	}
}

// pair returns a Conn and the server's end of its connection.
func pair(t *testing.T, cfg *conn.Config) (*conn.Conn, *memnet.Conn) {
	t.Helper()
	a, b := memnet.Pipe()
	fc := conn.New(a, cfg)
	t.Cleanup(func() { fc.Close(); b.Close() })
	return fc, b.(*memnet.Conn)
}

// connected is pair after a handshake.
func connected(t *testing.T, cfg *conn.Config) (*conn.Conn, *memnet.Conn) {
	t.Helper()
	fc, srv := pair(t, cfg)
	send(t, srv, unhex(e1Answer))
	_, err := fc.Handshake(t.Context(), newSession())
	require.NoError(t, err)
	_, err = io.ReadFull(srv, make([]byte, 49))
	require.NoError(t, err)
	return fc, srv
}

func send(t *testing.T, nc net.Conn, b []byte) {
	t.Helper()
	_, err := nc.Write(b)
	require.NoError(t, err)
}

// frame puts a length in front of body.
func frame(body []byte) []byte {
	b, start := conn.BeginFrame(nil)
	b = append(b, body...)
	conn.EndFrame(b, start)
	return b
}

// pattern returns n bytes that differ from those of another seed.
func pattern(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i) ^ byte(i>>8) ^ seed
	}
	return b
}
