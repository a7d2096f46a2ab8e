package zktest_test

import (
	"encoding/hex"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/internal/conformance"
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// raw is a client that knows bytes only.
type raw struct {
	t  *testing.T
	nc net.Conn
}

func dialRaw(t *testing.T, srv *zktest.Server) raw {
	t.Helper()
	nc, err := srv.Dial(t.Context(), "tcp", member)
	require.NoError(t, err)
	t.Cleanup(func() { _ = nc.Close() })
	return raw{t, nc}
}

func (r raw) write(hexBytes string) {
	r.t.Helper()
	b, err := hex.DecodeString(hexBytes)
	require.NoError(r.t, err)
	_, err = r.nc.Write(b)
	require.NoError(r.t, err)
}

// expect reads as many bytes as the pattern has and compares those that are no dots. It returns all in hex.
func (r raw) expect(name, pattern string) string {
	r.t.Helper()
	b := make([]byte, len(pattern)/2)
	_, err := io.ReadFull(r.nc, b)
	require.NoError(r.t, err, name)
	got := hex.EncodeToString(b)
	masked := []byte(got)
	for i := range masked {
		if pattern[i] == '.' {
			masked[i] = '.'
		}
	}
	require.Equal(r.t, pattern, string(masked), name)
	return got
}

func (r raw) closed() {
	r.t.Helper()
	_, err := r.nc.Read(make([]byte, 1))
	require.ErrorIs(r.t, err, io.EOF)
}

func TestGoldenConversation(t *testing.T) {
	p := conformance.Packets()
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		srv.SetZxid(0x4e)
		r := dialRaw(t, srv)
		play := func(r raw, names ...string) {
			t.Helper()
			for _, name := range names {
				for _, b := range p[name].Sent {
					r.write(b)
				}
				for _, b := range p[name].Answers {
					r.expect(name, b)
				}
			}
		}
		r.write(p["E1"].Sent[0])
		answer := r.expect("E1", p["E1"].Answers[0])
		play(r, "E2", "E3", "E4", "E5", "E6", "E7", "E8", "E9", "E10")

		other := open(t, srv) // 0x55
		other.set("/ex", "v3")
		play(r, "E11", "E12")
		other.set("/ex", "v4")
		play(r, "E13", "E14", "E15")
		other.ok(proto.OpCloseSession, none{}, nil)
		play(r, "E17", "E18", "E19", "E20", "E21", "E22")

		stranger := open(t, srv) // 0x5a
		bad := raw{t, rawConn(t, srv, stranger)}
		bad.write(p["E16"].Sent[0])
		bad.expect("E16", p["E16"].Answers[0])
		bad.closed()

		again := open(t, srv).again(srv, member)
		r2 := raw{t, rawConn(t, srv, again)}
		play(r2, "E23")
		r2.closed()

		// E24 with the id and the password of this run.
		attach := strings.Replace(p["E24"].Sent[0], "0100000d62210008", answer[24:40], 1)
		attach = strings.Replace(attach, "7e79bf440e5e9f2f75ea560da4b11217", answer[48:80], 1)
		srv.SetZxid(0x5a)
		r3 := dialRaw(t, srv)
		r3.write(attach)
		assert.Equal(t, answer, r3.expect("E24", p["E24"].Answers[0]))
		r.closed()
		play(r3, "E25")
		r3.closed()

		r4 := dialRaw(t, srv)
		r4.write(attach)
		r4.expect("E26", p["E26"].Answers[0])
		r4.closed()
	})
}

// rawConn takes the session of w over on a connection that knows bytes only.
func rawConn(t *testing.T, srv *zktest.Server, w *wire) net.Conn {
	t.Helper()
	r := dialRaw(t, srv)
	req := proto.ConnectRequest{TimeOut: w.ss.TimeOut, SessionID: w.ss.SessionID, Passwd: w.ss.Passwd}
	body := req.AppendTo([]byte{0, 0, 0, 45})
	_, err := r.nc.Write(body)
	require.NoError(t, err)
	_, err = io.ReadFull(r.nc, make([]byte, 41))
	require.NoError(t, err)
	return r.nc
}

func TestHandshakeWithoutReadOnlyByte(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		r := dialRaw(t, srv)
		r.write("0000002c" + "00000000" + "0000000000000000" + "00002710" + "0000000000000000" + "00000010" + strings.Repeat("00", 16))
		r.expect("E29", "00000024"+"00000000"+"00002710"+strings.Repeat(".", 16)+"00000010"+strings.Repeat(".", 32))
		r.write("0000000cfffffffe0000000b00000000")
		r.expect("ping", "00000010fffffffe0000000000000001"+"00000000")
	})
}

func TestHandshakeNullPassword(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		r := dialRaw(t, srv)
		r.write("0000001d" + "00000000" + "0000000000000000" + "00002710" + "0000000000000000" + "ffffffff" + "00")
		r.expect("answer", "00000025"+"00000000"+"00002710"+strings.Repeat(".", 16)+"00000010"+strings.Repeat(".", 32)+"00")
	})
}

func TestSilentRefusals(t *testing.T) {
	for name, frame := range map[string]string{
		"negative":          "fffffffb",
		"above the limit":   "00100000",
		"empty":             "00000000",
		"two bytes":         "000000020000",
		"seven bytes":       "0000000700000000000000",
		"word after all":    "72756f6b",
		"largest and more":  "7fffffff00000000",
		"header cut short":  "00000004fffffffe",
		"auth without body": "0000000800000001" + "00000064",
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				r := raw{t, rawConn(t, srv, open(t, srv))}
				r.write(frame)
				r.closed()
			})
		})
	}
	for name, frame := range map[string]string{
		"impossible length": "fffffffb",
		"http":              hex.EncodeToString([]byte("GET / HTTP/1.1\r\n\r\n")),
		"short":             "0000000400000000",
		"password cut":      "0000002000000000000000000000000000002710000000000000000000000010aaaaaaaa",
	} {
		t.Run("first frame "+name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				r := dialRaw(t, srv)
				r.write(frame)
				r.closed()
			})
		})
	}
}

func TestFourLetterWords(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		for word, want := range map[string]string{"ruok": "imok", "isro": "rw", "srvr": "Zookeeper version: 3.8.0"} {
			r := dialRaw(t, srv)
			r.write(hex.EncodeToString([]byte(word)))
			got, err := io.ReadAll(r.nc)
			require.NoError(t, err)
			assert.Contains(t, string(got), want)
		}
	})
}
