package conn_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
	"github.com/lockkeeper/lockkeeper/internal/require"
)

// C15, F11: framing depends on the length prefixes only; here every way to split a stream in two.
func TestStreamSplitAtEveryByte(t *testing.T) {
	frames := [][]byte{pattern(16, 1), pattern(17, 2), pattern(100, 3), pattern(16, 4)}
	var stream []byte
	for _, f := range frames {
		stream = append(stream, frame(f)...)
	}
	for split := range stream {
		synctest.Test(t, func(t *testing.T) {
			fc, srv := connected(t, nil)
			go func() {
				send(t, srv, stream[:split])
				synctest.Wait()
				send(t, srv, stream[split:])
				assert.NoError(t, srv.Close())
			}()
			expectFrames(t, fc, frames)
		})
	}
}

// expectFrames reads frames and then the end of the stream.
func expectFrames(t *testing.T, fc *conn.Conn, frames [][]byte) {
	t.Helper()
	for i, want := range frames {
		got, err := fc.ReadFrame()
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "frame %d of %d bytes", i, len(want))
	}
	_, err := fc.ReadFrame()
	require.ErrorIs(t, err, io.EOF)
}

// C15: one byte per read, over the sizes around those of the buffer.
func TestOneByteAtATime(t *testing.T) {
	frames := [][]byte{pattern(16, 1), pattern(4091, 2), pattern(4092, 3), pattern(4093, 4), pattern(16, 5), pattern(9000, 6)}
	fc, srv := connected(t, nil)
	slow := conn.New(&trickle{Conn: srv, step: 1}, nil)
	go func() {
		assert.NoError(t, fc.WriteBatch(frame(pattern(40, 0))))
		for _, f := range frames {
			assert.NoError(t, fc.WriteBatch(frame(f)))
		}
		assert.NoError(t, fc.Close())
	}()
	expectFrames(t, slow, append([][]byte{pattern(40, 0)}, frames...))
}

// trickle returns at most step bytes from a Read.
type trickle struct {
	net.Conn
	step int
}

func (c *trickle) Read(b []byte) (int, error) { return c.Conn.Read(b[:min(len(b), c.step)]) }

// F03: replies around the size of the buffer, and far above it, one after another and glued.
func TestFramesOfEverySize(t *testing.T) {
	sizes := []int{16, 4076, 4091, 4092, 4093, 4096, 4108, 8188, 8192, 8193, 65531, 65532, 65533, 65536, 65600, 69627, 69628, 69629,
		131072, 200_000, 16, 1 << 20, 16, 4092, 16}
	var frames [][]byte
	for i, n := range sizes {
		frames = append(frames, pattern(n, byte(i)))
	}
	for _, step := range []int{3000, 70_000, math.MaxInt} {
		fc, srv := connected(t, nil)
		slow := conn.New(&trickle{Conn: srv, step: step}, nil)
		go func() {
			assert.NoError(t, fc.WriteBatch(frame(pattern(40, 0))))
			for _, f := range frames {
				assert.NoError(t, fc.WriteBatch(frame(f)))
			}
			assert.NoError(t, fc.Close())
		}()
		expectFrames(t, slow, append([][]byte{pattern(40, 0)}, frames...))
	}
}

// C16, F04: the limit is accepted, one more is dropped in pieces, and the connection goes on.
func TestReceiveLimit(t *testing.T) {
	for _, limit := range []int{16, 100, 4092, 100_000} {
		fc, srv := connected(t, &conn.Config{ReceiveLimit: limit})
		var stream []byte
		for _, n := range []int{limit, limit + 1, 16 * limit, limit - 1, 16*limit - 1, limit} {
			stream = append(stream, frame(pattern(n, 0))...)
		}
		send(t, srv, stream)
		for _, n := range []int{limit, -(limit + 1), -16 * limit, limit - 1, -(16*limit - 1), limit} {
			body, err := fc.ReadFrame()
			if n > 0 && n < 16 {
				var fe *conn.FrameError
				require.ErrorAs(t, err, &fe)
				break
			}
			if n > 0 {
				require.NoError(t, err)
				require.Equal(t, pattern(n, 0), body)
				continue
			}
			var tl *conn.TooLargeError
			require.ErrorAs(t, err, &tl)
			assert.EqualValues(t, -n, tl.Length)
			assert.EqualValues(t, limit, tl.Limit)
			assert.Equal(t, pattern(16, 0), tl.Header[:])
			assert.Equal(t, "b", tl.Addr)
		}
	}
}

// C16: beyond 16 times the limit the connection is broken, for good.
func TestFarOverTheReceiveLimit(t *testing.T) {
	fc, srv := connected(t, &conn.Config{ReceiveLimit: 100})
	send(t, srv, frame(make([]byte, 1601)))
	for range 2 {
		_, err := fc.ReadFrame()
		var fe *conn.FrameError
		require.ErrorAs(t, err, &fe)
		assert.EqualValues(t, 1601, fe.Length)
		assert.EqualValues(t, 100, fe.Limit)
		assert.True(t, fc.Buffered(), "the error needs no waiting")
	}
}

// F04: the largest limit there is does not overflow.
func TestLargestReceiveLimit(t *testing.T) {
	fc, srv := connected(t, &conn.Config{ReceiveLimit: math.MaxInt32})
	send(t, srv, append(frame(pattern(16, 0)), 0x7f, 0xff, 0xff, 0xff, 1, 2, 3))
	_, err := fc.ReadFrame()
	require.NoError(t, err)
	require.NoError(t, srv.Close())
	allocated := heapDelta(func() { _, err = fc.ReadFrame() })
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Less(t, allocated, uint64(1<<20))
}

// C17, F02: lengths that cannot be.
func TestImpossibleLengths(t *testing.T) {
	for _, length := range []int32{-1, -5, math.MinInt32, 0, 2, 7, 15, math.MaxInt32} {
		fc, srv := connected(t, nil)
		send(t, srv, binary.BigEndian.AppendUint32(nil, uint32(length)))
		var err error
		allocated := heapDelta(func() { _, err = fc.ReadFrame() })
		var fe *conn.FrameError
		require.ErrorAs(t, err, &fe, "length %d", length)
		assert.EqualValues(t, length, fe.Length)
		assert.EqualValues(t, 16, fe.Min)
		assert.EqualValues(t, conn.DefaultReceiveLimit, fe.Limit)
		assert.Equal(t, "b", fe.Addr)
		assert.Less(t, allocated, uint64(64<<10))
	}
}

// A server's end takes requests, which may be shorter than replies.
func TestServerEndAcceptsShortRequests(t *testing.T) {
	fc, cl := pair(t, nil)
	send(t, cl, append(unhex(e1Request), frame(make([]byte, 7))...))
	_, _, err := fc.ReadConnectRequest()
	require.NoError(t, err)
	_, err = fc.ReadFrame()
	var fe *conn.FrameError
	require.ErrorAs(t, err, &fe)
	assert.EqualValues(t, 8, fe.Min)
}

func TestCloseInsideAndBetweenFrames(t *testing.T) {
	whole := frame(pattern(20, 0))
	for n := range whole {
		fc, srv := connected(t, nil)
		send(t, srv, whole[:n])
		require.NoError(t, srv.Close())
		_, err := fc.ReadFrame()
		want := io.ErrUnexpectedEOF
		if n == 0 {
			want = io.EOF
		}
		var e *conn.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, want, e.Err)
		assert.Equal(t, "read", e.Op)
		assert.Equal(t, "b", e.Addr)
	}
}

// After a deadline nothing is lost: inside a short frame, a long one, and one that is being dropped.
func TestReadGoesOnAfterADeadline(t *testing.T) {
	for name, size := range map[string]int{"short": 100, "long": 300_000, "dropped": 700_000} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fc, srv := connected(t, &conn.Config{ReceiveLimit: 500_000})
				stream := append(frame(pattern(size, 1)), frame(pattern(50, 2))...)
				step := len(stream)/7 + 1
				go func() {
					for b := stream; len(b) > 0; b = b[min(step, len(b)):] {
						<-time.After(time.Second)
						send(t, srv, b[:min(step, len(b))])
					}
				}()
				var tl *conn.TooLargeError
				body, timeouts := readPatiently(t, fc, &tl)
				assert.NotZero(t, timeouts)
				if size > 500_000 {
					require.NotNil(t, tl)
					assert.EqualValues(t, size, tl.Length)
				} else {
					assert.True(t, bytes.Equal(pattern(size, 1), body))
				}
				body, _ = readPatiently(t, fc, &tl)
				assert.Equal(t, pattern(50, 2), body)
			})
		})
	}
}

// readPatiently calls ReadFrame again after each deadline, and checks that Received tells of progress.
func readPatiently(t *testing.T, fc *conn.Conn, tl **conn.TooLargeError) (body []byte, timeouts int) {
	t.Helper()
	for {
		before := fc.Received()
		require.NoError(t, fc.SetReadDeadline(time.Now().Add(1500*time.Millisecond)))
		body, err := fc.ReadFrame()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			require.Greater(t, fc.Received(), before, "bytes came in each period")
			timeouts++
			continue
		}
		if !errors.As(err, tl) {
			require.NoError(t, err)
		}
		return body, timeouts
	}
}

func TestBuffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fc, srv := connected(t, &conn.Config{ReceiveLimit: 100})
		assert.False(t, fc.Buffered())
		two := append(frame(pattern(16, 1)), frame(pattern(30, 2))...)
		send(t, srv, append(two, frame(pattern(101, 3))...))
		assert.False(t, fc.Buffered(), "it does not look at the network")
		_, err := fc.ReadFrame()
		require.NoError(t, err)
		assert.True(t, fc.Buffered())
		_, err = fc.ReadFrame()
		require.NoError(t, err)
		assert.True(t, fc.Buffered(), "a frame that is too large, whole")
		_, err = fc.ReadFrame()
		require.Error(t, err)
		assert.False(t, fc.Buffered())

		send(t, srv, append(frame(pattern(16, 1)), 0, 0, 0, 20, 1))
		_, err = fc.ReadFrame()
		require.NoError(t, err)
		assert.False(t, fc.Buffered(), "a part of a frame")
		require.NoError(t, srv.Close())
	})
}

// The read path does not allocate: small frames, glued ones, and large ones once the buffer has grown.
func TestReadFrameDoesNotAllocate(t *testing.T) {
	for name, sizes := range map[string][]int{
		"small": {84}, "glued": {84, 16, 84, 84, 150}, "burst": {84, 5000, 16, 84}, "1,000 children": {84, 68_000, 16},
	} {
		t.Run(name, func(t *testing.T) {
			fc, srv := connected(t, nil)
			var stream []byte
			for _, n := range sizes {
				stream = append(stream, frame(pattern(n, 1))...)
			}
			round := func() {
				if _, err := srv.Write(stream); err != nil {
					t.Fatal(err)
				}
				for range sizes {
					if _, err := fc.ReadFrame(); err != nil {
						t.Fatal(err)
					}
				}
			}
			for range 50 {
				round()
			}
			assert.Zero(t, testing.AllocsPerRun(1000, round))
		})
	}
}

func TestWriteBatch(t *testing.T) {
	fc, srv := connected(t, nil)
	b, start := conn.BeginFrame([]byte("kept"))
	b = append(b, "12345678"...)
	conn.EndFrame(b, start)
	b2, start := conn.BeginFrame(b)
	conn.EndFrame(b2, start)
	require.NoError(t, fc.WriteBatch(b2[4:]))
	require.NoError(t, fc.WriteBatch(nil))
	got := make([]byte, 16)
	_, err := io.ReadFull(srv, got)
	require.NoError(t, err)
	assert.Equal(t, "\x00\x00\x00\x0812345678\x00\x00\x00\x00", string(got))
}

// The outcome class of a request depends on whether any of its bytes may have left.
func TestWriteBatchTellsWhatWasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := memnet.BoundedPipe(10)
		fc := conn.New(a, nil)
		require.NoError(t, fc.SetWriteDeadline(time.Now().Add(time.Second)))
		err := fc.WriteBatch(make([]byte, 100))
		var e *conn.Error
		require.ErrorAs(t, err, &e)
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		assert.Equal(t, 10, e.Written)
		assert.Equal(t, "write", e.Op)

		require.NoError(t, fc.SetWriteDeadline(time.Time{}))
		_, err = b.Read(make([]byte, 10))
		require.NoError(t, err)
		err = fc.WriteBatch(make([]byte, 5))
		require.ErrorAs(t, err, &e)
		assert.Zero(t, e.Written, "a frame is torn: nothing may follow it")
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NoError(t, fc.Close())
		require.NoError(t, b.Close())
	})
}
