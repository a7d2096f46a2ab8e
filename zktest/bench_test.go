package zktest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// lockRound is what one uncontended acquire and release sends.
func lockRound(n int) []byte {
	own := "/l/n-" + sequence(n)
	b := request(1, proto.OpCreate2, &proto.CreateRequest{Path: "/l/n-", Data: []byte("host 123"), ACL: proto.WorldACL(31), Flags: 3})
	b = append(b, request(2, proto.OpGetChildren, &proto.GetChildrenRequest{Path: "/l"})...)
	b = append(b, request(3, proto.OpGetData, &proto.GetDataRequest{Path: own, Watch: true})...)
	return append(b, request(4, proto.OpDelete, &proto.DeleteRequest{Path: own, Version: -1})...)
}

func sequence(n int) string {
	b := []byte("0000000000")
	for i := len(b) - 1; n > 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return string(b)
}

// BenchmarkServer measures requests over TCP, by kind and by how many are written together.
func BenchmarkServer(b *testing.B) {
	exists := request(1, proto.OpExists, &proto.ExistsRequest{Path: "/l"})
	var hundred []byte
	for range 100 {
		hundred = append(hundred, exists...)
	}
	for _, bench := range []struct {
		name    string
		replies int
		batch   func(n int) []byte
	}{
		{"exists", 1, func(int) []byte { return exists }},
		{"exists by 100", 100, func(int) []byte { return hundred }},
		{"lock round", 5, lockRound}, // four replies and an event
	} {
		b.Run(bench.name, func(b *testing.B) {
			srv := zktest.New()
			defer func() { _ = srv.Close() }()
			_, err := srv.Create("/l", nil, proto.ModePersistent)
			require.NoError(b, err)
			addr, err := srv.Listen()
			require.NoError(b, err)
			fc, err := conn.Dial(b.Context(), addr, nil)
			require.NoError(b, err)
			defer func() { _ = fc.Close() }()
			_, err = fc.Handshake(b.Context(), &proto.ConnectRequest{TimeOut: 30000, Passwd: make([]byte, 16)})
			require.NoError(b, err)
			b.ReportAllocs()
			round := 0
			for b.Loop() {
				require.NoError(b, fc.WriteBatch(bench.batch(round)))
				for range bench.replies {
					_, err := fc.ReadFrame()
					require.NoError(b, err)
				}
				round++
			}
		})
	}
}
