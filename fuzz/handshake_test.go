package fuzz_test

import (
	"encoding/hex"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
	"github.com/lockkeeper/lockkeeper/proto"
)

// mute is a connection that takes every write, although its peer has closed.
type mute struct{ net.Conn }

func (mute) Write(b []byte) (int, error) { return len(b), nil }

// FuzzHandshake answers the handshake with arbitrary bytes and then closes: a session, or a typed error, at once.
func FuzzHandshake(f *testing.F) {
	for _, s := range []string{ // docs/protocol.md section 23: E1, E26, E28, E29
		"0000002500000000000027100100000d62210008000000107e79bf440e5e9f2f75ea560da4b1121700",
		"0000002500000000000000000000000000000000000000100000000000000000000000000000000000",
		"0000002500000000000027100100001100a1000000000010654033988e5a5e994bee70598720f3d701",
		"00000010000000000000000000000000ffffff89",
		"0000002400000000000027100100000383d70001000000104e511f284c08033306ecb16aa9131203",
		"7fffffff", "80000000", "00000000", "15030300020246", "485454502f312e3120343030",
	} {
		b, err := hex.DecodeString(s)
		require.NoError(f, err)
		f.Add(b, int64(0))
		f.Add(b, int64(0x100000d62210008))
		f.Add(b[:len(b)/2], int64(0))
	}
	f.Fuzz(func(t *testing.T, stream []byte, session int64) {
		near, far := memnet.Pipe()
		_, err := far.Write(stream)
		require.NoError(t, err)
		require.NoError(t, far.Close())
		req := proto.ConnectRequest{TimeOut: 10_000, SessionID: session, Passwd: make([]byte, 16)}
		fc := conn.New(mute{near}, nil)
		defer fc.Close()
		rep, err := fc.Handshake(t.Context(), &req)
		if err != nil {
			var he *conn.HandshakeError
			require.ErrorAs(t, err, &he)
			require.NotEmpty(t, err.Error())
			return
		}
		require.Positive(t, rep.TimeOut)
		require.NotZero(t, rep.SessionID)
		require.True(t, session == 0 || session == rep.SessionID)
	})
}
