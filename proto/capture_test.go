package proto_test

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// captured is one frame of a conversation with a real server, without its length.
type captured struct {
	name   string // of the exchange
	client bool   // it is the client's
	shake  bool   // it is one of the two of the handshake
	op     proto.Op
	packet packet // of which types it is
	bytes  []byte
}

// captureVersions are the servers whose conversations are in testdata/captures.
var captureVersions = []string{"3.8.0", "3.9.3"}

// unreadable are the exchanges whose request has no complete record, on purpose.
const unreadable = "cannot be read"

// readCaptures returns the frames of a file, and the names of the exchanges at whose end the server closed.
func readCaptures(t *testing.T, version string) (frames []captured, closed map[string]bool) {
	t.Helper()
	text, err := os.ReadFile("testdata/captures/" + version + ".txt")
	require.NoError(t, err)
	closed = map[string]bool{}
	name, shakes, asked := "", 0, map[int32]proto.Op{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		does, digits, _ := strings.Cut(line, " ")
		switch {
		case line == "":
			name = ""
		case does == "#":
		case name == "":
			name = line
		case does == "open":
			shakes = 2
		case does == "close":
			closed[name] = true
		default:
			b, err := hex.DecodeString(digits)
			require.NoError(t, err, line)
			r := jute.NewReader(b)
			require.Equal(t, int(r.Int()), r.Remaining(), "length in %s", name)
			c := captured{name: name, client: does == "C", shake: shakes > 0, bytes: b[4:]}
			shakes = max(shakes-1, 0)
			c.classify(asked)
			frames = append(frames, c)
		}
	}
	return frames, closed
}

// classify finds out of which types the frame is. asked has the operations of requests by xid.
func (c *captured) classify(asked map[int32]proto.Op) {
	r := jute.NewReader(c.bytes)
	if c.shake {
		c.packet = bare(&proto.ConnectResponse{})
		if c.client {
			c.packet = bare(&proto.ConnectRequest{})
		}
		return
	}
	xid := r.Int()
	if c.client {
		c.op = proto.Op(r.Int())
		asked[xid] = c.op
		c.packet = packet{&proto.RequestHeader{}, requestOf(c.op)}
		return
	}
	r.Long()
	code := proto.Code(r.Int())
	c.packet = packet{&proto.ReplyHeader{}, nothing{}}
	switch {
	case xid == proto.XidNotification:
		c.packet.body = &proto.WatcherEvent{}
	case code == 0 || asked[xid] == proto.OpMultiRead: // the one error with a body: docs/protocol.md section 5
		c.op = asked[xid]
		c.packet.body = replyOf(c.op)
	default:
		c.op = asked[xid]
	}
}

// TestCapturesRoundTrip decodes every captured frame, of both ends and in full, and encodes it again to the same bytes.
func TestCapturesRoundTrip(t *testing.T) {
	for _, version := range captureVersions {
		frames, _ := readCaptures(t, version)
		require.True(t, len(frames) > 200)
		for _, c := range frames {
			if c.client && strings.Contains(c.name, unreadable) {
				continue
			}
			got := c.packet.read(t, c.bytes)
			if ttl, ok := got.body.(*proto.CreateTTLRequest); ok { // no other form may ever be stored
				require.NoError(t, proto.CheckTTL(proto.CreateMode(ttl.Flags), ttl.TTL), "%s, %s", version, c.name)
			}
			if multi, ok := got.body.(*multiOps); ok && c.op == proto.OpMulti && !strings.Contains(c.name, "with a read") {
				require.NoError(t, proto.CheckMulti(c.op, *multi), "%s, %s", version, c.name)
			}
			require.Equal(t, hex.Dump(c.bytes), hex.Dump(got.append(nil)), "%s, %s", version, c.name)
			require.Len(t, c.bytes, got.header.Size()+got.body.Size(), "%s, %s", version, c.name)
		}
	}
}

// TestCapturesCut cuts every captured frame after each byte: an error and no panic, but for the readOnly byte of a handshake.
func TestCapturesCut(t *testing.T) {
	for _, version := range captureVersions {
		frames, _ := readCaptures(t, version)
		for _, c := range frames {
			end := len(c.bytes)
			if c.client && strings.Contains(c.name, unreadable) {
				end++ // what is there is cut already
			}
			for n := range end {
				header, body := blank(t, c.packet.header), blank(t, c.packet.body)
				r := jute.NewReader(c.bytes[:n:n])
				header.ReadFrom(&r)
				body.ReadFrom(&r)
				if r.Err() == nil {
					require.True(t, c.shake && n == end-1, "%s, %s, cut after %d bytes of %d", version, c.name, n, end)
				}
			}
		}
	}
}
