package delay

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// echo starts a server that sends back what it gets, and then ends the connection.
func echo(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				io.Copy(nc, nc)
			}()
		}
	}()
	return ln.Addr().String()
}

func TestEverythingArrivesInOrder(t *testing.T) {
	p, err := Listen(echo(t), 200*time.Microsecond)
	require.NoError(t, err)
	defer p.Close()
	rnd := rand.New(rand.NewPCG(1, 2))
	sent := make([]byte, 1<<20)
	for i := range sent {
		sent[i] = byte(rnd.Uint32())
	}
	nc, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	defer nc.Close()
	go func() {
		for rest := sent; len(rest) > 0; {
			n := min(len(rest), 1+rnd.IntN(20_000))
			if _, err := nc.Write(rest[:n]); err != nil {
				return
			}
			rest = rest[n:]
		}
	}()
	got := make([]byte, len(sent))
	_, err = io.ReadFull(nc, got)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(sent, got))
}

func TestTheEndOfAServerArrivesBehindWhatItSent(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	go func() {
		nc, err := ln.Accept()
		if err == nil {
			nc.Write([]byte("goodbye"))
			nc.Close()
		}
	}()
	p, err := Listen(ln.Addr().String(), time.Millisecond)
	require.NoError(t, err)
	defer p.Close()
	nc, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	defer nc.Close()
	got, err := io.ReadAll(nc)
	require.NoError(t, err)
	assert.Equal(t, "goodbye", string(got))
}

func TestNoServerEndsTheConnection(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := ln.Addr().String()
	require.NoError(t, ln.Close())
	p, err := Listen(addr, 0)
	require.NoError(t, err)
	defer p.Close()
	nc, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	defer nc.Close()
	_, err = nc.Read(make([]byte, 1))
	require.Error(t, err)
}

func TestCloseEndsConnections(t *testing.T) {
	p, err := Listen(echo(t), time.Microsecond)
	require.NoError(t, err)
	nc, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	defer nc.Close()
	_, err = nc.Write([]byte("x"))
	require.NoError(t, err)
	_, err = nc.Read(make([]byte, 1))
	require.NoError(t, err)
	p.Close()
	_, err = nc.Read(make([]byte, 1))
	require.Error(t, err)
}

// In virtual time the clock is exact: pieces are due one delay after they arrived, and those that arrived together are due
// together.
func TestTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const d = time.Millisecond
		c, a, b := newClock(d), newLine(), newLine()
		start := time.Now()
		c.add(a, 3)
		c.add(b, 4)
		<-time.After(d / 2)
		c.add(a, 5)
		due, ok := c.next()
		require.True(t, ok)
		assert.Equal(t, d, due.Sub(start))
		assert.Zero(t, a.due+b.due)

		<-time.After(time.Until(due))
		due, ok = c.next()
		require.True(t, ok)
		assert.Equal(t, d+d/2, due.Sub(start))
		assert.Equal(t, [2]int{3, 4}, [2]int{a.due, b.due})

		c.add(b, 0)
		<-time.After(time.Until(due))
		due, ok = c.next()
		require.True(t, ok)
		assert.Equal(t, 2*d, due.Sub(start))
		assert.Equal(t, 8, a.due)
		assert.False(t, b.ended)
		c.stop()
		_, ok = c.next()
		assert.False(t, ok)
		assert.True(t, b.ended)
		c.add(a, 1)
		assert.True(t, a.ended, "what comes after the end ends its line")
	})
}
