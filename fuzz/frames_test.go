package fuzz_test

import (
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
	"github.com/lockkeeper/lockkeeper/proto"
)

// frames puts a length in front of each body and joins them.
func frames(bodies ...[]byte) []byte {
	var b []byte
	for _, body := range bodies {
		var start int
		b, start = conn.BeginFrame(b)
		b = append(b, body...)
		conn.EndFrame(b, start)
	}
	return b
}

func answer() []byte {
	rep := proto.ConnectResponse{TimeOut: 10_000, SessionID: 7, Passwd: make([]byte, 16)}
	return rep.AppendTo(nil)
}

func reply(xid int32, size int) []byte {
	h := proto.ReplyHeader{Xid: xid, Zxid: 1}
	return append(h.AppendTo(nil), make([]byte, size)...)
}

// FuzzFrames delivers a stream once as it is and once in pieces of arbitrary sizes: the frames and the error at the end are
// the same, whatever the stream.
func FuzzFrames(f *testing.F) {
	good := frames(answer(), reply(1, 0), reply(2, 68), reply(3, 5000))
	f.Add(good, []byte{0}, uint16(0))
	f.Add(good, []byte{3, 200, 1}, uint16(4000))
	f.Add(good[:len(good)-1], []byte{255}, uint16(8000))
	f.Add(frames(answer(), reply(1, 200_000), reply(2, 10)), []byte{255, 7}, uint16(60_000))
	f.Add(frames(answer(), reply(1, 30_000), reply(2, 10)), []byte{100}, uint16(2000))
	f.Add(frames(answer(), []byte{1}), []byte{1}, uint16(100))
	f.Add(append(frames(answer()), 0xff, 0xff, 0xff, 0xff, 0), []byte{5}, uint16(100))
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), []byte{4}, uint16(100))
	f.Fuzz(func(t *testing.T, stream, sizes []byte, limit uint16) {
		cfg := &conn.Config{ReceiveLimit: 16 + 5*int(limit)}
		whole, wholeErr := readAll(t, stream, nil, cfg)
		torn, tornErr := readAll(t, stream, sizes, cfg)
		require.Equal(t, len(whole), len(torn))
		for i := range whole {
			require.True(t, bytes.Equal(whole[i], torn[i]), "frame %d", i)
		}
		sameError(t, wholeErr, tornErr)
	})
}

// readAll reads stream until it ends or breaks. A frame over the limit counts as its header. With sizes, each Read gets as
// many bytes as the next of them says.
func readAll(t *testing.T, stream, sizes []byte, cfg *conn.Config) (got [][]byte, err error) {
	near, far := memnet.Pipe()
	_, err = far.Write(stream)
	require.NoError(t, err)
	require.NoError(t, far.Close())
	fc := conn.New(&torn{Conn: near, sizes: sizes}, cfg)
	defer fc.Close()
	for {
		buffered := fc.Buffered()
		arrived := fc.Received()
		body, err := fc.ReadFrame()
		if buffered {
			require.Equal(t, arrived, fc.Received(), "Buffered promised that no read is needed")
		}
		if tl, ok := err.(*conn.TooLargeError); ok {
			body, err = bytes.Clone(tl.Header[:]), nil
		}
		if err != nil {
			require.LessOrEqual(t, fc.Received(), int64(len(stream)))
			return got, err
		}
		got = append(got, bytes.Clone(body))
	}
}

// torn is a connection whose reads return few bytes.
type torn struct {
	net.Conn
	sizes []byte
	next  int
}

func (c *torn) Read(b []byte) (int, error) {
	if len(c.sizes) == 0 {
		return c.Conn.Read(b)
	}
	n := 1 + int(c.sizes[c.next%len(c.sizes)])
	if n > 200 {
		n *= 100
	}
	c.next++
	return c.Conn.Read(b[:min(n, len(b))])
}

// sameError compares the ends of two streams. The hint of a FrameError depends on how much had arrived.
func sameError(t *testing.T, a, b error) {
	if fe, ok := a.(*conn.FrameError); ok {
		other, ok := b.(*conn.FrameError)
		require.True(t, ok)
		require.Equal(t, fe.Length, other.Length)
		require.Equal(t, fe.Limit, other.Limit)
		require.Equal(t, fe.Hint == "", other.Hint == "")
		return
	}
	e, ok := a.(*conn.Error)
	require.True(t, ok, "%T", a)
	require.Contains(t, []error{io.EOF, io.ErrUnexpectedEOF}, e.Err)
	require.Equal(t, a, b)
}
