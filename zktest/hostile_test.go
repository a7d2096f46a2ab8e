package zktest_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

func TestUnknownOpcodes(t *testing.T) {
	for _, op := range []proto.Op{0, 10, 20, 23, 99, 108, -1, -2, -12, 1 << 30, -1 << 31} {
		bubble(t, func(t *testing.T, srv *zktest.Server) {
			w := open(t, srv)
			rep := w.do(op, none{})
			assert.Equal(t, proto.ErrUnimplemented, rep.Err, "%d", op)
			assert.Equal(t, int64(-1), rep.Zxid)
			w.closed()
		})
	}
}

func TestReconfigIsNotThere(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		assert.Equal(t, proto.ErrReconfigDisabled, w.code(proto.OpReconfig, &proto.ReconfigRequest{CurConfigID: -1}))
		assert.Empty(t, w.events(), "and the connection stays")
	})
}

func TestSecondConnectResponse(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		w.send(proto.OpCreateSession, none{})
		b, err := w.fc.ReadFrame()
		require.NoError(t, err)
		assert.Equal(t, w.ss.SessionID, int64(binary.BigEndian.Uint64(b[8:])))
	})
}

// TestRandomBodies sends nonsense behind good headers: every request is answered or ends the connection, and the server
// goes on. TTL creates are left out: nobody may build a malformed one.
func TestRandomBodies(t *testing.T) {
	ops := []proto.Op{proto.OpCreate, proto.OpDelete, proto.OpExists, proto.OpGetData, proto.OpSetData, proto.OpGetACL,
		proto.OpSetACL, proto.OpGetChildren, proto.OpSync, proto.OpPing, proto.OpGetChildren2, proto.OpCreate2,
		proto.OpReconfig, proto.OpCheckWatches, proto.OpRemoveWatches, proto.OpCreateContainer, proto.OpMultiRead,
		proto.OpAuth, proto.OpSetWatches, proto.OpSASL, proto.OpGetEphemerals, proto.OpGetAllChildrenNumber,
		proto.OpSetWatches2, proto.OpAddWatch, proto.OpWhoAmI}
	rng := rand.New(rand.NewPCG(1, 2))
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		for range 300 {
			w := open(t, srv)
			for range 10 {
				body := make([]byte, rng.IntN(64))
				for i := range body {
					body[i] = byte(rng.Uint32() >> rng.IntN(32)) // small numbers are common
				}
				op := ops[rng.IntN(len(ops))]
				if w.fc.WriteBatch(request(1, op, blob(body))) != nil {
					break
				}
				if _, err := w.fc.ReadFrame(); err != nil {
					break
				}
			}
			_ = w.fc.Close()
		}
		synctest.Wait()
		assert.Zero(t, srv.Snapshot().OpenConnections)
		assert.Zero(t, srv.Snapshot().Watches.Total())
		assert.Zero(t, open(t, srv).exists("/", false))
	})
}

// blob is a record of given bytes.
type blob []byte

func (b blob) AppendTo(dst []byte) []byte { return append(dst, b...) }

// TestHugeCounts announces more elements than there are bytes.
func TestHugeCounts(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		w := open(t, srv)
		huge := blob{0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0}
		assert.Equal(t, proto.ErrMarshalling, w.code(proto.OpSetWatches, huge))
		assert.Equal(t, proto.ErrMarshalling, w.code(proto.OpCreate, blob{0, 0, 0, 1, '/', 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff}))
		assert.Equal(t, proto.ErrMarshalling, w.code(proto.OpGetData, blob{0x7f, 0xff, 0xff, 0xff}))
	})
}

// TestClientThatNeverReads must not hinder others, nor the end of the server.
func TestClientThatNeverReads(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		deaf, other := open(t, srv), open(t, srv)
		deaf.addWatch("/", proto.AddWatchPersistentRecursive)
		// A client that only writes; ends with its connection.
		go func() {
			batch := request(5, proto.OpGetData, &proto.GetDataRequest{Path: "/a"})
			for deaf.fc.WriteBatch(batch) == nil {
			}
		}()
		other.create("/a", proto.ModePersistent)
		for range 2000 {
			other.set("/a", "x")
		}
		pass(time.Second)
		assert.Zero(t, other.exists("/a", false))
		require.True(t, srv.ExpireSession(deaf.ss.SessionID))
		pass(2 * time.Second)
		assert.Equal(t, 1, srv.Snapshot().OpenConnections)
	}, zktest.PipeBuffer(4<<10))
}

func TestFramesInPieces(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		r := raw{t, rawConn(t, srv, open(t, srv))}
		frames := append(request(1, proto.OpExists, &proto.ExistsRequest{Path: "/"}),
			request(2, proto.OpCreate, &proto.CreateRequest{Path: "/a", Data: make([]byte, 20000), ACL: proto.WorldACL(31)})...)
		for i := 0; i < len(frames); i += 97 {
			_, err := r.nc.Write(frames[i:min(i+97, len(frames))])
			require.NoError(t, err)
			synctest.Wait()
		}
		r.expect("exists", "00000054"+"00000001"+dots(8+4+68))
		r.expect("create", "00000016"+"00000002"+dots(8)+"00000000"+"000000022f61")
		data, _, err := srv.Get("/a")
		require.NoError(t, err)
		assert.Len(t, data, 20000)
	})
}

// dots is a pattern for n bytes.
func dots(n int) string {
	b := make([]byte, 2*n)
	for i := range b {
		b[i] = '.'
	}
	return string(b)
}
