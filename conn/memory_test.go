package conn_test

import (
	"encoding/binary"
	"io"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
)

// heapDelta returns how many bytes were allocated while f ran.
func heapDelta(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// What a peer can make us allocate is in proportion to what it has sent.
func TestAllocationFollowsWhatArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fc, srv := connected(t, nil)
		const length = 4 << 20
		send(t, srv, binary.BigEndian.AppendUint32(nil, length))
		done := make(chan struct{})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		go func() {
			defer close(done)
			_, err := fc.ReadFrame()
			assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
		}()
		piece := make([]byte, 10_000)
		for sent := 0; sent < length/2; sent += len(piece) {
			synctest.Wait()
			runtime.ReadMemStats(&after)
			require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, 3*uint64(sent)+(100<<10), "after %d bytes", sent)
			_, err := srv.Write(piece)
			require.NoError(t, err)
		}
		require.NoError(t, srv.Close())
		<-done
	})
}

// A frame that is thrown away costs no memory of its size.
func TestDiscardAllocatesLittle(t *testing.T) {
	fc, srv := connected(t, &conn.Config{ReceiveLimit: 1 << 20})
	send(t, srv, frame(make([]byte, 16<<20)))
	var err error
	allocated := heapDelta(func() { _, err = fc.ReadFrame() })
	var tl *conn.TooLargeError
	require.ErrorAs(t, err, &tl)
	assert.Less(t, allocated, uint64(256<<10))
}
