package conn

import (
	"errors"
	"io"
	"net"
	"strconv"
	"syscall"

	"github.com/lockkeeper/lockkeeper/proto"
)

// Causes of a HandshakeError, found with errors.Is.
var (
	// ErrRefused says that the server has not given us a session now and may do so later, or another may: it closed before
	// the answer (not serving, throttling, too many connections of our address, our last zxid is ahead of it, read-only and we
	// did not ask for that), or it answered a request for a new session with none. It never means that a session has expired.
	ErrRefused = errors.New("server refused the connection")
	// ErrExpired says that the server does not know the session of the request, or not with that password: the session is
	// over (docs/protocol.md section 4).
	ErrExpired = errors.New("session expired")
	// ErrWrongSession says that the answer names another session than the request, or none: the server is broken.
	ErrWrongSession = errors.New("answer is for another session")
)

// Error is a failed connect, TLS handshake, read or write.
type Error struct {
	Op   string // "dial", "tls", "read" or "write"
	Addr string // the server, as it was dialled
	// Written is, for "write", the number of bytes of the batch that may have left: 0 means that none did.
	Written int
	Err     error // io.EOF for a close between two frames, io.ErrUnexpectedEOF for one inside a frame; never nil
}

func (e *Error) Error() string {
	if e.Op == "tls" {
		return e.Addr + ": TLS handshake: " + e.Err.Error() + tlsFailureHint(e.Err)
	}
	if _, ok := e.Err.(*net.OpError); ok { // its text names the operation
		return e.Addr + ": " + e.Err.Error()
	}
	return e.Addr + ": " + e.Op + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Is makes a dial or TLS handshake match ErrRefused when the peer has accepted the connection and closed it without a word. A server
// with too many connections of our address (maxClientCnxns) does that at once, and whether connect or a handshake finds it out is
// a matter of chance.
func (e *Error) Is(target error) bool {
	reset := errors.Is(e.Err, syscall.ECONNRESET) || errors.Is(e.Err, syscall.EPIPE)
	return target == ErrRefused && (e.Op == "dial" && reset || e.Op == "tls" && (reset || errors.Is(e.Err, io.EOF)))
}

// HandshakeError is an attempt that gave no session. Which kind it is, errors.Is and errors.As tell: ErrRefused, ErrExpired,
// ErrWrongSession, *RefusedError, *FrameError, *jute.DecodeError for an answer that is too short, or the context's error.
type HandshakeError struct {
	Addr  string // the server, as it was dialled
	Err   error  // the kind
	Cause error  // what lies behind it, for instance the error of the read that found the connection closed; may be nil

	hint string // what a close without a word may mean beside that; part of the text
}

func (e *HandshakeError) Error() string {
	s := e.Addr + ": handshake: "
	if fe, ok := e.Err.(*FrameError); ok {
		s += fe.text() // the address stands there already
	} else {
		s += e.Err.Error()
	}
	if e.Cause != nil {
		s += " (" + e.Cause.Error() + e.hint + ")"
	}
	return s
}

// Unwrap returns Err and Cause.
func (e *HandshakeError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Cause}
}

// RefusedError is the answer of a server that sends a reply header in place of a ConnectResponse: read-only, and without
// sessions of its own, it answers -119 and stays mute (docs/protocol.md section 18). It matches ErrRefused and its Code.
type RefusedError struct {
	Code proto.Code // what the server said, not 0
}

func (e *RefusedError) Error() string {
	return "server refused: " + e.Code.Error() + " (" + strconv.Itoa(int(e.Code)) + ")"
}

// Unwrap returns ErrRefused and the code.
func (e *RefusedError) Unwrap() []error { return []error{ErrRefused, e.Code} }

// FrameError is a length that no frame of this protocol has. Nothing was allocated for it. Where the next frame starts is
// unknown, so every later ReadFrame returns this error again.
type FrameError struct {
	Length int64  // as announced; may be negative
	Min    int64  // the smallest length that was legal here
	Limit  int64  // the largest that is accepted
	Hint   string // what the peer seems to be when its bytes show it, such as "looks like an HTTP server"; else empty
	Addr   string // the server, as it was dialled
}

func (e *FrameError) Error() string { return e.Addr + ": " + e.text() }

func (e *FrameError) text() string {
	s := "frame length " + strconv.FormatInt(e.Length, 10) + " out of range " +
		strconv.FormatInt(e.Min, 10) + " to " + strconv.FormatInt(e.Limit, 10)
	if e.Hint != "" {
		s += ": " + e.Hint
	}
	return s
}

// TooLargeError is a frame above the receive limit. It was read and thrown away except for its first bytes, and the
// connection remains usable.
type TooLargeError struct {
	Length int64    // of the body, in bytes
	Limit  int64    // Config.ReceiveLimit
	Header [16]byte // the first bytes of the body: the reply header
	Addr   string   // the server, as it was dialled
}

func (e *TooLargeError) Error() string {
	return e.Addr + ": frame of " + strconv.FormatInt(e.Length, 10) + " bytes is over the receive limit of " +
		strconv.FormatInt(e.Limit, 10)
}
