package memnet_test

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/internal/memnet"
)

func TestPipeCarriesBytesBothWays(t *testing.T) {
	a, b := memnet.Pipe()
	n, err := a.Write([]byte("ping"))
	require.NoError(t, err)
	assert.Equal(t, 4, n)
	_, err = b.Write([]byte("pong")) // both wrote before either read
	require.NoError(t, err)

	buf := make([]byte, 3)
	n, err = b.Read(buf)
	require.NoError(t, err)
	assert.Equal(t, "pin", string(buf[:n]))
	n, err = b.Read(buf)
	require.NoError(t, err)
	assert.Equal(t, "g", string(buf[:n]))
	n, err = a.Read(buf)
	require.NoError(t, err)
	assert.Equal(t, "pon", string(buf[:n]))
}

func TestPipeNames(t *testing.T) {
	a, b := memnet.Pipe()
	assert.Equal(t, "mem", a.LocalAddr().Network())
	assert.Equal(t, a.LocalAddr(), b.RemoteAddr())
	assert.Equal(t, b.LocalAddr().String(), a.RemoteAddr().String())
}

func TestCloseLetsThePeerReadWhatIsBuffered(t *testing.T) {
	a, b := memnet.Pipe()
	_, err := a.Write([]byte("last words"))
	require.NoError(t, err)
	require.NoError(t, a.Close())

	got, err := io.ReadAll(b)
	require.NoError(t, err)
	assert.Equal(t, "last words", string(got))
	_, err = b.Read(make([]byte, 1))
	assert.Equal(t, io.EOF, err, "io.EOF is bare, as in package net")
	_, err = b.Write([]byte("x"))
	assert.ErrorIs(t, err, syscall.EPIPE)
}

func TestClosedEnd(t *testing.T) {
	a, _ := memnet.Pipe()
	require.NoError(t, a.Close())
	_, err := a.Read(make([]byte, 1))
	assert.ErrorIs(t, err, net.ErrClosed)
	_, err = a.Write([]byte("x"))
	assert.ErrorIs(t, err, net.ErrClosed)
	assert.ErrorIs(t, a.SetDeadline(time.Now()), net.ErrClosed)
	assert.ErrorIs(t, a.SetWriteDeadline(time.Now()), net.ErrClosed)
	err = a.Close()
	assert.ErrorIs(t, err, net.ErrClosed)
	var op *net.OpError
	require.ErrorAs(t, err, &op)
	assert.Equal(t, "mem", op.Net)
}

func TestCloseWakesABlockedReadAndWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := memnet.BoundedPipe(1)
		defer b.Close()
		errC := make(chan error, 2)
		go func() { _, err := a.Read(make([]byte, 1)); errC <- err }()
		go func() { _, err := a.Write([]byte("xy")); errC <- err }()
		synctest.Wait()
		require.Empty(t, errC)
		require.NoError(t, a.Close())
		assert.ErrorIs(t, <-errC, net.ErrClosed)
		assert.ErrorIs(t, <-errC, net.ErrClosed)
	})
}

func TestReset(t *testing.T) {
	a, b := memnet.Pipe()
	_, err := a.Write([]byte("lost"))
	require.NoError(t, err)
	assert.Equal(t, 4, a.(*memnet.Conn).Unread())
	a.(*memnet.Conn).Reset()
	for _, c := range []net.Conn{a, b} {
		_, err = c.Read(make([]byte, 4))
		assert.ErrorIs(t, err, syscall.ECONNRESET)
		_, err = c.Write([]byte("x"))
		assert.ErrorIs(t, err, syscall.ECONNRESET)
		assert.NoError(t, c.Close())
	}
}

func TestBoundedPipeBlocksTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := memnet.BoundedPipe(4)
		done := make(chan struct{})
		go func() {
			defer close(done)
			n, err := a.Write([]byte("0123456789"))
			assert.NoError(t, err)
			assert.Equal(t, 10, n)
			assert.NoError(t, a.Close())
		}()
		synctest.Wait()
		assert.Equal(t, 4, a.(*memnet.Conn).Unread())
		select {
		case <-done:
			t.Fatal("the writer did not block")
		default:
		}
		got, err := io.ReadAll(b)
		require.NoError(t, err)
		assert.Equal(t, "0123456789", string(got))
		<-done
	})
}

func TestWriteDeadlineReturnsHowMuchWasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := memnet.BoundedPipe(4)
		defer b.Close()
		require.NoError(t, a.SetWriteDeadline(time.Now().Add(time.Second)))
		start := time.Now()
		n, err := a.Write([]byte("0123456789"))
		assert.Equal(t, 4, n)
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(start))
	})
}

func TestConcurrentWritesDoNotMix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := memnet.BoundedPipe(3)
		var wg sync.WaitGroup
		for _, s := range []string{"aaaaaaaa", "bbbbbbbb"} {
			wg.Go(func() { _, err := a.Write([]byte(s)); assert.NoError(t, err) })
		}
		go func() { wg.Wait(); a.Close() }()
		got, err := io.ReadAll(b)
		require.NoError(t, err)
		assert.Contains(t, []string{"aaaaaaaabbbbbbbb", "bbbbbbbbaaaaaaaa"}, string(got))
	})
}

func TestReadDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := memnet.Pipe()
		defer b.Close()
		start := time.Now()
		require.NoError(t, a.SetReadDeadline(start.Add(time.Minute)))
		_, err := a.Read(make([]byte, 1))
		assert.Equal(t, time.Minute, time.Since(start))
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		var ne net.Error
		require.ErrorAs(t, err, &ne)
		assert.True(t, ne.Timeout())

		_, err = b.Write([]byte("x"))
		require.NoError(t, err)
		_, err = a.Read(make([]byte, 1))
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded, "bytes are waiting, the deadline has passed all the same")
		require.NoError(t, a.SetDeadline(time.Time{}))
		n, err := a.Read(make([]byte, 1))
		require.NoError(t, err)
		assert.Equal(t, 1, n)
	})
}

func TestDeadlineMovesWhileAReadIsBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := memnet.Pipe()
		defer b.Close()
		start := time.Now()
		require.NoError(t, a.SetReadDeadline(start.Add(time.Second)))
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, err := a.Read(make([]byte, 1))
			assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		}()
		synctest.Wait()
		require.NoError(t, a.SetReadDeadline(start.Add(3*time.Second)))
		<-done
		assert.Equal(t, 3*time.Second, time.Since(start))
	})
}

func TestVirtualTimePassesWhileAReadIsBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := memnet.Pipe()
		time.AfterFunc(time.Hour, func() { b.Close() })
		_, err := a.Read(make([]byte, 1)) // would hang if it were not durably blocking
		assert.Equal(t, io.EOF, err)
	})
}

func TestUnreadBytesDoNotMakeTheBufferGrowWithoutBound(t *testing.T) {
	a, b := memnet.Pipe()
	_, err := a.Write(make([]byte, 10))
	require.NoError(t, err)
	buf := make([]byte, 100)
	exchange := func() { // the buffer never drains
		if _, err := a.Write(buf); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(b, buf); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		exchange()
	}
	assert.Zero(t, testing.AllocsPerRun(10_000, exchange))
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	a, b := memnet.Pipe()
	buf := make([]byte, 64)
	deadline := time.Now().Add(time.Hour)
	exchange := func() {
		if err := b.SetReadDeadline(deadline); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Write(buf); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Read(buf); err != nil {
			t.Fatal(err)
		}
	}
	exchange()
	assert.Zero(t, testing.AllocsPerRun(1000, exchange))
	require.NoError(t, b.Close())
}

func TestEmptyReadAndWrite(t *testing.T) {
	a, b := memnet.Pipe()
	n, err := a.Write(nil)
	assert.NoError(t, err)
	assert.Zero(t, n)
	n, err = b.Read(nil)
	assert.NoError(t, err)
	assert.Zero(t, n)
}
