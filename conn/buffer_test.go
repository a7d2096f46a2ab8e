package conn

import (
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
	"github.com/lockkeeper/lockkeeper/internal/require"
)

// feeder is a Conn past its handshake together with what sends it frames of zeros.
func feeder(t *testing.T) (*Conn, func(size int)) {
	a, b := memnet.Pipe()
	c := New(a, nil)
	t.Cleanup(func() { c.Close(); b.Close() })
	return c, func(size int) {
		f, start := BeginFrame(nil)
		f = append(f, make([]byte, size)...)
		EndFrame(f, start)
		_, err := b.Write(f)
		require.NoError(t, err)
		body, err := c.ReadFrame()
		require.NoError(t, err)
		require.Len(t, body, size)
	}
}

func TestBufferStartsSmallAndShrinksBack(t *testing.T) {
	c, feed := feeder(t)
	assert.LessOrEqual(t, len(c.buf), 4<<10)
	feed(100)
	feed(1 << 20)
	assert.GreaterOrEqual(t, len(c.buf), 1<<20)
	feed(100)
	assert.GreaterOrEqual(t, len(c.buf), 1<<20, "another large frame may follow")
	for range smallRounds {
		feed(100)
	}
	assert.Len(t, c.buf, smallBuffer)
	assert.Nil(t, c.chunks)
}

func TestBufferGrowsWithTheBurstsThatArrive(t *testing.T) {
	a, b := memnet.Pipe()
	c := New(a, nil)
	defer c.Close()
	const frames, size = 2000, 84
	burst := make([]byte, 0, frames*(size+lengthSize))
	for range frames {
		var start int
		burst, start = BeginFrame(burst)
		burst = append(burst, make([]byte, size)...)
		EndFrame(burst, start)
	}
	_, err := b.Write(burst)
	require.NoError(t, err)
	for range frames {
		_, err := c.ReadFrame()
		require.NoError(t, err)
	}
	assert.Equal(t, readAhead, len(c.buf), "read in few steps, and never beyond the bound")
}
