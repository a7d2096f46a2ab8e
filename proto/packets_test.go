package proto_test

import (
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// readPackets returns the packets of testdata/packets.txt, without their length, by names such as ">E1" and "<E6.2".
func readPackets(t *testing.T) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile("testdata/packets.txt")
	require.NoError(t, err)
	packets := map[string][]byte{}
	name := ""
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == ">" || words[0] == "<":
			name = words[0] + words[1]
			require.NotContains(t, packets, name)
		default:
			off, err := strconv.ParseInt(words[0], 16, 32)
			require.NoError(t, err, line)
			require.Equal(t, len(packets[name]), int(off), "offset in %s", name)
			b, err := hex.DecodeString(words[1])
			require.NoError(t, err, line)
			packets[name] = append(packets[name], b...)
		}
	}
	for name, b := range packets {
		r := jute.NewReader(b)
		require.Equal(t, int(r.Int()), r.Remaining(), "length of %s", name)
		packets[name] = b[4:]
	}
	return packets
}

// nothing is the body of packets without one.
type nothing struct{}

func (nothing) AppendTo(dst []byte) []byte { return dst }
func (nothing) ReadFrom(*jute.Reader)      {}
func (nothing) Size() int                  { return 0 }

// multiOps and multiResults make records of the bodies that are not.
type multiOps []proto.MultiOp

func (m *multiOps) AppendTo(dst []byte) []byte { return proto.AppendMulti(dst, *m) }
func (m *multiOps) ReadFrom(r *jute.Reader)    { *m = proto.ReadMulti(r) }
func (m *multiOps) Size() int                  { return proto.MultiSize(*m) }

type multiResults []proto.MultiResult

func (m *multiResults) AppendTo(dst []byte) []byte { return proto.AppendMultiReply(dst, *m) }
func (m *multiResults) ReadFrom(r *jute.Reader)    { *m = proto.ReadMultiReply(r, nil) }
func (m *multiResults) Size() int                  { return len(m.AppendTo(nil)) }

// request and reply are packets with their header in front.
func request(xid int32, op proto.Op, body record) packet {
	return packet{&proto.RequestHeader{Xid: xid, Type: int32(op)}, body}
}

func reply(xid int32, zxid int64, code proto.Code, body record) packet {
	return packet{&proto.ReplyHeader{Xid: xid, Zxid: zxid, Err: int32(code)}, body}
}

// bare is a packet without header.
func bare(body record) packet { return packet{nothing{}, body} }

type packet struct{ header, body record }

func (p packet) append(dst []byte) []byte { return p.body.AppendTo(p.header.AppendTo(dst)) }

// read decodes b into records of the types that p has.
func (p packet) read(t *testing.T, b []byte) packet {
	t.Helper()
	got := packet{blank(t, p.header), blank(t, p.body)}
	r := jute.NewReader(b)
	got.header.ReadFrom(&r)
	got.body.ReadFrom(&r)
	require.NoError(t, r.Err())
	require.Zero(t, r.Remaining(), "bytes left")
	return got
}
