package conn

import (
	"bytes"
	"context"
	"errors"
	"net"
	"time"

	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// Handshake writes the ConnectRequest, alone in its segment, waits for the answer and returns it; the password in it is the
// caller's to keep. It must be the first use of a dialled connection, and blocks until the answer is complete or ctx ends:
// measured from the dial, if ctx is the one that was given to Dial. Nothing else may be written before it has returned, since
// a server that answers that the session has expired closes at once, and a reset caused by further bytes would destroy its
// answer (docs/protocol.md section 1).
//
// Every failure is a *HandshakeError, and the connection is of no more use; the caller closes it. An answer of 36 bytes,
// from servers that do not know the readOnly byte, and one with bytes behind the record are as good as that of 37.
func (c *Conn) Handshake(ctx context.Context, req *proto.ConnectRequest) (proto.ConnectResponse, error) {
	var rep proto.ConnectResponse
	if err := ctx.Err(); err != nil {
		return rep, &HandshakeError{Addr: c.addr, Err: err}
	}
	stop := context.AfterFunc(ctx, func() {
		// Conn handshake watcher: started by context.AfterFunc when ctx ends, and over when this one call has returned.
		c.nc.SetDeadline(time.Unix(1, 0)) // fails only on a closed connection, whose calls have returned anyway
	})
	err := c.exchange(req, &rep)
	if !stop() && (err == nil || isTimeout(err)) {
		// The deadline has passed or is about to: even with a good answer the connection is lost.
		err = &HandshakeError{Addr: c.addr, Err: ctx.Err()}
	}
	if err != nil {
		return proto.ConnectResponse{}, err
	}
	return rep, nil
}

// exchange writes req, reads the answer and judges it.
func (c *Conn) exchange(req *proto.ConnectRequest, rep *proto.ConnectResponse) error {
	b, start := BeginFrame(make([]byte, 0, lengthSize+req.Size()))
	b = req.AppendTo(b)
	EndFrame(b, start)
	if err := c.WriteBatch(b); err != nil {
		return c.refused(err)
	}
	body, err := c.ReadFrame()
	if err != nil {
		return c.refused(err)
	}
	if err := parseAnswer(body, rep); err != nil {
		return &HandshakeError{Addr: c.addr, Err: err}
	}
	return c.judge(req, rep)
}

// refused turns a failed write or read into a HandshakeError: a connection that the peer broke before the answer is a refusal.
func (c *Conn) refused(err error) error {
	var fe *FrameError
	switch {
	case errors.As(err, &fe):
		return &HandshakeError{Addr: c.addr, Err: fe}
	case errors.Is(err, net.ErrClosed), isTimeout(err):
		return &HandshakeError{Addr: c.addr, Err: cause(err)}
	}
	return &HandshakeError{Addr: c.addr, Err: ErrRefused, Cause: cause(err), hint: c.closeHint(err)}
}

// isTimeout reports whether err comes from a deadline, ours or the operating system's.
func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// cause takes off the wrapping that names the address, which the HandshakeError names.
func cause(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// parseAnswer decodes the answer, or says which other thing it is.
func parseAnswer(body []byte, rep *proto.ConnectResponse) error {
	r := jute.NewReader(body)
	if len(body) == proto.ReplyHeaderSize {
		var h proto.ReplyHeader
		h.ReadFrom(&r)
		if h.Err != 0 {
			return &RefusedError{Code: proto.Code(h.Err)}
		}
		r.Reset(body)
	}
	rep.ReadFrom(&r)
	rep.Passwd = bytes.Clone(rep.Passwd)
	return r.Err()
}

// judge decides whether a complete answer gives the session that was asked for.
func (c *Conn) judge(req *proto.ConnectRequest, rep *proto.ConnectResponse) error {
	var err error
	switch {
	case rep.TimeOut <= 0 && req.SessionID != 0:
		err = ErrExpired
	case rep.TimeOut <= 0: // cannot legitimately occur: docs/protocol.md section 4
		return &HandshakeError{Addr: c.addr, Err: ErrRefused, Cause: errNoSession}
	case rep.SessionID == 0, req.SessionID != 0 && rep.SessionID != req.SessionID:
		err = ErrWrongSession
	default:
		return nil
	}
	return &HandshakeError{Addr: c.addr, Err: err}
}

// errNoSession explains an ErrRefused.
var errNoSession = errors.New("the answer to a request for a new session has none")

// ReadConnectRequest is the server's side of the handshake: it waits for the client's first frame and returns the record in
// it, whose password is the caller's to keep. hasReadOnly is false for clients of 3.3 and older, which leave the last byte
// out; the answer to those has 36 bytes. The answer is written with WriteBatch. From then on ReadFrame accepts frames of the
// size of a request header. Failures are those of ReadFrame, and a *HandshakeError around a *jute.DecodeError.
func (c *Conn) ReadConnectRequest() (req proto.ConnectRequest, hasReadOnly bool, err error) {
	body, err := c.ReadFrame()
	if err != nil {
		return req, false, err
	}
	c.minFrame = proto.RequestHeaderSize
	r := jute.NewReader(body)
	req.ReadFrom(&r)
	if err := r.Err(); err != nil {
		return proto.ConnectRequest{}, false, &HandshakeError{Addr: c.addr, Err: err}
	}
	req.Passwd = bytes.Clone(req.Passwd)
	return req, len(body) >= req.Size(), nil
}
