package session

import (
	"encoding/binary"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/proto"
)

// torn is how a server's bytes arrive: in two parts, with a pause at byte at, or one at a time when at is below 0.
type torn struct{ at int }

func (p torn) write(w *wire, b []byte) {
	switch {
	case p.at < 0:
		for i := range b {
			w.raw(b[i : i+1])
			pass(10 * time.Millisecond)
		}
	default:
		at := min(p.at, len(b))
		w.raw(b[:at])
		pass(time.Second)
		w.raw(b[at:])
	}
	synctest.Wait()
}

// C15, C26, F11, fault 9: the answer, replies and events are the same wherever the stream is torn.
func TestTornAtEveryByte(t *testing.T) {
	for at := -1; ; at++ {
		size := 0
		synctest.Test(t, func(t *testing.T) { size = tornAt(t, torn{at}) })
		if at >= size {
			return
		}
	}
}

// tornAt runs one connection and returns the length of the longer stream.
func tornAt(t *testing.T, p torn) int {
	s := newScript(t)
	k := open(t, s.config())
	w := s.pick()
	w.hello()
	p.write(w, answer37(0x77, testTimeout))
	require.Equal(t, StateConnected, k.Current().State())
	defer finishWith(k, w.link)
	q := NewQueue()
	a, b := exists("/a", &Watch{Path: "/a", Sink: q, Tag: 1}), setData("/b")
	a.To(q, 2)
	b.To(q, 3)
	submit(t, k, a, b)
	ra, rb := w.expect(proto.OpExists), w.expect(proto.OpSetData)
	stream := slices.Concat(frame(ra.xid, 7, 0, stat), event(proto.EventNodeDeleted, "/a"), frame(proto.XidPing, 7, 0, nil),
		frame(rb.xid, 8, proto.ErrBadVersion, nil))
	p.write(w, stream)
	var tags []uint32
	for it, ok := q.TryNext(); ok; it, ok = q.TryNext() {
		tags = append(tags, it.Tag)
	}
	assert.Equal(t, []uint32{2, 1, 3}, tags, p.at)
	o, err := a.Result(0)
	assert.Equal(t, Replied, o)
	assert.NoError(t, err)
	assert.Equal(t, stat, a.Body(0))
	o, err = b.Result(0)
	assert.Equal(t, Rejected, o)
	assert.ErrorIs(t, err, proto.ErrBadVersion)
	assert.EqualValues(t, 1, k.Counters().Connections)
	return len(stream)
}

// C52, F35, fault 10: a reply of which only a part arrived is none.
func TestResetInsideAReply(t *testing.T) {
	reply := frame(2, 7, 0, stat)
	for at := range len(reply) {
		synctest.Test(t, func(t *testing.T) {
			s, k, w := startWire(t, nil)
			use(t, k, w)
			g := setData("/a")
			submit(t, k, g)
			require.Equal(t, int32(2), w.expect(proto.OpSetData).xid)
			w.raw(reply[:at])
			synctest.Wait()
			if at%2 == 0 {
				w.nc.Reset()
			} else {
				_ = w.nc.Close()
			}
			lost(t, g)
			w, req := s.wire(0x77, testTimeout)
			assert.EqualValues(t, 0x77, req.SessionID)
			assert.EqualValues(t, 1, req.LastZxidSeen, "a zxid that came with half a reply")
			finishWith(k, w.link)
		})
	}
}

// C52, fault 10: the reset finds the client in the middle of a request: its outcome is unknown, and those of which not one byte was
// written go to the next connection.
func TestResetInsideARequest(t *testing.T) {
	for _, after := range []int{1, 3, 100, 900} {
		synctest.Test(t, func(t *testing.T) {
			const window = 1000
			s, k, w := startOn(t, memnet.ListenBounded(window), nil)
			use(t, k, w)
			half, whole := large("/half", 5000), setData("/whole")
			submit(t, k, half)
			synctest.Wait()
			submit(t, k, whole)
			synctest.Wait()
			assert.Equal(t, window, w.nc.Arrived(), "the writer is blocked")
			require.NoError(t, readRaw(w, after))
			w.nc.Reset()
			lost(t, half)
			w, _ = s.wire(0x77, testTimeout)
			w.reply(w.expect(proto.OpSetData), 8, 0, stat)
			o, err := finished(whole)
			assert.Equal(t, Replied, o)
			assert.NoError(t, err)
			finishWith(k, w.link)
		})
	}
}

func readRaw(w *wire, n int) error {
	b := make([]byte, n)
	_, err := w.nc.Read(b)
	return err
}

// C17, C42, faults 11, 12 and 13: what cannot be is the end of the connection, not of the session, and not of the process.
func TestWrongFrames(t *testing.T) {
	length := func(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
	for name, wrong := range map[string][]byte{
		"length -1":               length(-1),
		"smallest length":         length(-1 << 31),
		"length 0":                length(0),
		"length 15":               framed(make([]byte, 15)),
		"over 16 times the limit": length(16*DefaultReceiveLimit + 1),
		"largest length":          length(1<<31 - 1),
		"garbage":                 {0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21},
		"HTTP":                    []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
		"TLS alert":               {0x15, 3, 3, 0, 2, 2, 40},
		"answered once more":      frame(1, 7, 0, stat),
		"reply to nothing":        frame(100, 7, 0, stat),
		"reply with xid 0":        frame(0, 7, 0, stat),
		"smallest xid":            frame(-1<<31, 7, 0, stat),
		"unknown special xid":     frame(-3, 7, 0, nil),
		"watches nobody set":      frame(proto.XidSetWatches, 7, 0, nil),
		"second answer":           answer37(0x77, testTimeout),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, k, w := startWire(t, nil)
				use(t, k, w)
				g := setData("/a")
				submit(t, k, g)
				w.expect(proto.OpSetData)
				began := time.Now()
				w.raw(wrong)
				lost(t, g)
				again, req := s.wire(0x77, testTimeout)
				assert.EqualValues(t, 0x77, req.SessionID)
				assert.EqualValues(t, 1, req.LastZxidSeen)
				assert.Zero(t, time.Since(began))
				synctest.Wait()
				assert.Equal(t, StateConnected, k.Current().State())
				finishWith(k, again.link)
			})
		})
	}
}
