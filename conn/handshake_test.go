package conn_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/memnet"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// C25, C37, F12: the ConnectRequest, with the readOnly byte, and nothing else before the answer.
func TestHandshakeWritesOnlyTheConnectRequest(t *testing.T) {
	for name, tc := range map[string]struct {
		req    *proto.ConnectRequest
		golden string
	}{
		"new session": {newSession(), e1Request},
		"re-attach":   {reattach(), e24Request},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fc, srv := pair(t, nil)
				done := make(chan error, 1)
				go func() { _, err := fc.Handshake(t.Context(), tc.req); done <- err }()
				synctest.Wait()
				want := unhex(tc.golden)
				require.Equal(t, len(want), srv.Arrived())
				got := make([]byte, len(want))
				_, err := io.ReadFull(srv, got)
				require.NoError(t, err)
				assert.Equal(t, want, got)
				send(t, srv, unhex(e1Answer))
				assert.NoError(t, <-done)
			})
		})
	}
}

// C26, F10: 36, 37 and more bytes are all good answers.
func TestHandshakeAnswerForms(t *testing.T) {
	for name, tc := range map[string]struct {
		answer   []byte
		readOnly bool
	}{
		"37 bytes":              {unhex(e1Answer), false},
		"36 bytes":              {unhex("00000024 00000000 00002710 0100000d62210008 00000010 7e79bf440e5e9f2f75ea560da4b11217"), false},
		"read-only":             {unhex("00000025 00000000 00002710 0100000d62210008 00000010 7e79bf440e5e9f2f75ea560da4b11217 01"), true},
		"with unknown tail":     {unhex("00000029 00000000 00002710 0100000d62210008 00000010 7e79bf440e5e9f2f75ea560da4b11217 00 01020304"), false},
		"largest that can come": {frame(append(unhex(e1Answer)[4:], make([]byte, conn.HandshakeLimit-37)...)), false},
	} {
		t.Run(name, func(t *testing.T) {
			for split := range min(len(tc.answer), 60) {
				fc, srv := pair(t, nil)
				handshakeInPieces(t, fc, srv, tc.answer, split, func(rep proto.ConnectResponse, err error) {
					require.NoError(t, err)
					assert.Equal(t, tc.readOnly, rep.ReadOnly)
					assert.EqualValues(t, 10_000, rep.TimeOut)
					assert.Equal(t, int64(0x100000d62210008), rep.SessionID)
					assert.Equal(t, unhex("7e79bf440e5e9f2f75ea560da4b11217"), rep.Passwd)
				})
			}
		})
	}
}

// handshakeInPieces answers a handshake in two writes, the second after the client has taken the first.
func handshakeInPieces(t *testing.T, fc *conn.Conn, srv *memnet.Conn, answer []byte, split int,
	check func(proto.ConnectResponse, error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		go func() {
			send(t, srv, answer[:split])
			synctest.Wait()
			send(t, srv, answer[split:])
		}()
		check(fc.Handshake(t.Context(), newSession()))
	})
}

// C31: a password of any length is kept as it is.
func TestHandshakePasswords(t *testing.T) {
	for name, passwd := range map[string][]byte{"null": nil, "empty": {}, "three bytes": {1, 2, 3}, "long": pattern(1000, 1)} {
		t.Run(name, func(t *testing.T) {
			fc, srv := pair(t, nil)
			rep := &proto.ConnectResponse{TimeOut: 4000, SessionID: 7, Passwd: passwd}
			send(t, srv, append(frame(rep.AppendTo(nil)), unhex(pong)...))
			got, err := fc.Handshake(t.Context(), newSession())
			require.NoError(t, err)
			assert.Equal(t, passwd, got.Passwd)
			assert.Equal(t, passwd == nil, got.Passwd == nil)
			_, err = fc.ReadFrame() // overwrites or keeps the buffer: the password is a copy
			require.NoError(t, err)
			assert.Equal(t, passwd, got.Passwd)
		})
	}
}

// C27, C28, C29 and the fault models 15 to 17.
func TestHandshakeRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		req    *proto.ConnectRequest
		answer string
		kind   error
	}{
		"expired":                         {reattach(), e26Expired, conn.ErrExpired},
		"negative timeout":                {reattach(), "00000024 00000000 ffffffff 0000000000000000 00000000" + zeros(16), conn.ErrExpired},
		"no session, asked for a new one": {newSession(), e26Expired, conn.ErrRefused},
		"read-only server":                {newSession(), e28Refused, proto.ErrNotReadOnly},
		"read-only server refuses":        {reattach(), e28Refused, conn.ErrRefused},
		"another session":                 {reattach(), e28ReadOnly, conn.ErrWrongSession},
		"session zero":                    {newSession(), "00000014 00000000 00002710 0000000000000000 00000000", conn.ErrWrongSession},
		"empty answer":                    {newSession(), "00000000", jute.ErrShort},
		"16 bytes without code":           {newSession(), "00000010 00000000 0000000000000000 00000000", jute.ErrShort},
		"12 bytes":                        {reattach(), "0000000c 00000000 00000000 00000000", jute.ErrShort},
		"password cut off":                {reattach(), "00000020 00000000 00000000 0000000000000000 00000010 000000000000000000000000", jute.ErrShort},
		"password of length -2":           {reattach(), "00000014 00000000 00002710 0100000d62210008 fffffffe", jute.ErrLength},
	} {
		t.Run(name, func(t *testing.T) {
			fc, srv := pair(t, nil)
			send(t, srv, unhex(tc.answer))
			_, err := fc.Handshake(t.Context(), tc.req)
			require.ErrorIs(t, err, tc.kind)
			var he *conn.HandshakeError
			require.ErrorAs(t, err, &he)
			assert.Equal(t, "b", he.Addr)
			assert.Equal(t, tc.kind == conn.ErrExpired, errors.Is(err, conn.ErrExpired))
		})
	}
}

func zeros(n int) string {
	s := ""
	for range n {
		s += "00"
	}
	return s
}

// C29: the code of a server that answers with a reply header is shown.
func TestRefusedErrorShowsTheCode(t *testing.T) {
	fc, srv := pair(t, nil)
	send(t, srv, unhex(e28Refused))
	_, err := fc.Handshake(t.Context(), newSession())
	var re *conn.RefusedError
	require.ErrorAs(t, err, &re)
	assert.Equal(t, proto.ErrNotReadOnly, re.Code)
	assert.ErrorIs(t, err, conn.ErrRefused)
	assert.Contains(t, err.Error(), "-119")
}

// C32: a connection that ends before the answer is complete is a refusal, never an expiry.
func TestCloseBeforeTheAnswer(t *testing.T) {
	answer := unhex(e26Expired)
	for n := range answer {
		fc, srv := pair(t, nil)
		send(t, srv, answer[:n])
		require.NoError(t, srv.Close())
		_, err := fc.Handshake(t.Context(), reattach())
		require.ErrorIs(t, err, conn.ErrRefused)
		require.NotErrorIs(t, err, conn.ErrExpired)
	}
}

func TestResetBeforeTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fc, srv := pair(t, nil)
		go func() { synctest.Wait(); srv.Reset() }()
		_, err := fc.Handshake(t.Context(), newSession())
		assert.ErrorIs(t, err, conn.ErrRefused)
		assert.ErrorIs(t, err, syscall.ECONNRESET)
	})
}

// C33, F29: a server that accepts and stays silent costs what the context allows, and no more.
func TestSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fc, srv := pair(t, nil)
		send(t, srv, unhex(e1Answer)[:20])
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := fc.Handshake(ctx, newSession())
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.NotErrorIs(t, err, conn.ErrRefused)
		assert.Equal(t, 2*time.Second, time.Since(start))
	})
}

func TestHandshakeIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fc, _ := pair(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := fc.Handshake(ctx, newSession())
		assert.ErrorIs(t, err, context.Canceled)
	})
}

// The write of the request is bounded as well.
func TestHandshakeIsCancelledWhileItWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := memnet.BoundedPipe(10)
		defer b.Close()
		fc := conn.New(a, nil)
		defer fc.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := fc.Handshake(ctx, newSession())
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestHandshakeWithADeadContextWritesNothing(t *testing.T) {
	fc, srv := pair(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := fc.Handshake(ctx, newSession())
	assert.ErrorIs(t, err, context.Canceled)
	assert.Zero(t, srv.Arrived())
}

func TestCloseEndsAHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fc, _ := pair(t, nil)
		time.AfterFunc(time.Second, func() { fc.Close() })
		_, err := fc.Handshake(t.Context(), newSession())
		assert.ErrorIs(t, err, net.ErrClosed)
		assert.NotErrorIs(t, err, conn.ErrRefused, "we closed, not the server")
	})
}

// A context that ends after the handshake does not touch the connection.
func TestContextEndsAfterTheHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fc, srv := pair(t, nil)
		send(t, srv, unhex(e1Answer))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := fc.Handshake(ctx, newSession())
		require.NoError(t, err)
		time.AfterFunc(time.Minute, func() { send(t, srv, unhex(pong)) })
		body, err := fc.ReadFrame()
		require.NoError(t, err)
		assert.Equal(t, unhex(pong)[4:], body)
	})
}

// C38, F11: what follows the answer in the same segment is read behind it.
func TestAnswerGluedToFrames(t *testing.T) {
	stream := append(unhex(e1Answer), append(unhex(notification), unhex(pong)...)...)
	for split := range stream {
		synctest.Test(t, func(t *testing.T) {
			fc, srv := pair(t, nil)
			go func() {
				send(t, srv, stream[:split])
				synctest.Wait()
				send(t, srv, stream[split:])
			}()
			_, err := fc.Handshake(t.Context(), newSession())
			require.NoError(t, err)
			body, err := fc.ReadFrame()
			require.NoError(t, err)
			assert.Equal(t, unhex(notification)[4:], body)
			body, err = fc.ReadFrame()
			require.NoError(t, err)
			assert.Equal(t, unhex(pong)[4:], body)
		})
	}
}

// The server's side reads both forms of the request, E1 and E29.
func TestReadConnectRequest(t *testing.T) {
	for name, tc := range map[string]struct {
		frame    string
		readOnly bool
	}{"with the byte": {e1Request, true}, "without": {e29Request, false}} {
		t.Run(name, func(t *testing.T) {
			fc, cl := pair(t, nil)
			ping := "00000008 fffffffe 0000000b"
			send(t, cl, unhex(tc.frame+ping))
			req, hasReadOnly, err := fc.ReadConnectRequest()
			require.NoError(t, err)
			assert.Equal(t, *newSession(), req)
			assert.Equal(t, tc.readOnly, hasReadOnly)
			body, err := fc.ReadFrame()
			require.NoError(t, err, "a request may have 8 bytes")
			assert.Equal(t, unhex(ping)[4:], body)
		})
	}
	fc, cl := pair(t, nil)
	send(t, cl, frame(make([]byte, 20)))
	_, _, err := fc.ReadConnectRequest()
	assert.ErrorIs(t, err, jute.ErrShort)
	fc, cl = pair(t, nil)
	require.NoError(t, cl.Close())
	_, _, err = fc.ReadConnectRequest()
	assert.ErrorIs(t, err, io.EOF)
}

// A deadline of the caller's own is reported as such.
func TestHandshakeAfterOwnDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fc, _ := pair(t, nil)
		require.NoError(t, fc.SetReadDeadline(time.Now().Add(time.Second)))
		_, err := fc.Handshake(t.Context(), newSession())
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		assert.NotErrorIs(t, err, conn.ErrRefused)
	})
}
