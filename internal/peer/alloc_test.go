package peer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/peer"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// client is a hand-made client that does not allocate either: its batches are encoded in advance but for one path.
type client struct {
	fc     *conn.Conn
	create []byte // the create of a lock's node, then the requests that always repeat
	count  int    // number of requests in create
	batch  []byte // the delete
}

func newClient(t testing.TB, addr string, cfg *conn.Config) *client {
	t.Helper()
	fc, err := conn.Dial(t.Context(), addr, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { fc.Close() })
	_, err = fc.Handshake(t.Context(), &proto.ConnectRequest{TimeOut: 4000, Passwd: make([]byte, 16)})
	require.NoError(t, err)
	c := &client{fc: fc, create: request(1, proto.OpCreate2, lockCreate()), count: 1}
	for op, rec := range map[proto.Op]record{
		proto.OpGetChildren2: &proto.GetChildren2Request{Path: "/l"},
		proto.OpExists:       &proto.ExistsRequest{Path: "/l"},
		proto.OpGetData:      &proto.GetDataRequest{Path: "/l"},
		proto.OpSetData:      &proto.SetDataRequest{Path: "/l"},
		proto.OpSync:         &proto.SyncRequest{Path: "/l"},
		proto.OpPing:         nil,
		proto.OpMulti:        multi{{Op: proto.OpSetData, Path: "/l"}, {Op: proto.OpCheck, Path: "/l"}},
	} {
		c.create = append(c.create, request(1, op, rec)...)
		c.count++
	}
	return c
}

// cycle is a lock's life: create, list, delete; the path for the delete comes from the reply.
func (c *client) cycle() error {
	if err := c.fc.WriteBatch(c.create); err != nil {
		return err
	}
	for i := range c.count {
		body, err := c.fc.ReadFrame()
		if err != nil {
			return err
		}
		if i == 0 {
			r := jute.NewReader(body[proto.ReplyHeaderSize:])
			c.encodeDelete(r.StringBytes())
		}
	}
	if err := c.fc.WriteBatch(c.batch); err != nil {
		return err
	}
	body, err := c.fc.ReadFrame()
	if err != nil {
		return err
	}
	r := jute.NewReader(body)
	var h proto.ReplyHeader
	h.ReadFrom(&r)
	return proto.Code(h.Err).Err()
}

func (c *client) encodeDelete(path []byte) {
	b, start := conn.BeginFrame(c.batch[:0])
	b = (&proto.RequestHeader{Xid: 2, Type: int32(proto.OpDelete)}).AppendTo(b)
	b = append(jute.AppendInt(b, int32(len(path))), path...)
	b = jute.AppendInt(b, -1)
	conn.EndFrame(b, start)
	c.batch = b
}

// The peer allocates nothing, in a lock's cycle with 1,000 contenders behind it and in everything else that repeats.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	s := peer.New(peer.Options{Behind: 1000})
	defer s.Close()
	addr, err := s.Listen()
	require.NoError(t, err)
	for name, cfg := range map[string]*conn.Config{"TCP": nil, "memory": {Dial: s.Dial}} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, addr, cfg)
			round := func() {
				if err := c.cycle(); err != nil {
					t.Fatal(err)
				}
			}
			for range 50 {
				round()
			}
			assert.Zero(t, testing.AllocsPerRun(500, round))
		})
	}
}

// BenchmarkPeer is the floor under every figure that is measured against the peer: exists, one at a time and in batches.
func BenchmarkPeer(b *testing.B) {
	for name, batch := range map[string]int{"1": 1, "14": 14, "100": 100} {
		b.Run(name, func(b *testing.B) {
			s := peer.New(peer.Options{})
			defer s.Close()
			addr, err := s.Listen()
			require.NoError(b, err)
			c := newClient(b, addr, nil)
			c.batch = nil
			for range batch {
				c.batch = append(c.batch, request(1, proto.OpExists, &proto.ExistsRequest{Path: "/perf"})...)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := c.fc.WriteBatch(c.batch); err != nil {
					b.Fatal(err)
				}
				for range batch {
					if _, err := c.fc.ReadFrame(); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(batch)*float64(b.N)/b.Elapsed().Seconds(), "op/s")
		})
	}
}
