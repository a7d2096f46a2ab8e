package client

import (
	"context"
	"errors"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/session"
)

// AddAuth adds an identity to the client, such as scheme "digest" with "user:password" (docs/protocol.md section 13.1). It is
// kept first, so that every later connection, of this and of later sessions, begins with it; identities add up and cannot be
// taken back. auth is copied.
//
// While there is a connection AddAuth waits until the server has accepted the identity, and every request made after that
// has it. While there is none, or if the connection is lost meanwhile, it returns nil: the next connection presents the
// identity before anything else. A refusal is final for the whole client: the error matches ErrAuthFailed, and so do those
// of all requests from then on. If ctx ends first, its error is returned and the identity stays added.
func (c *Client) AddAuth(ctx context.Context, scheme string, auth []byte) error {
	if !c.usable() {
		return &Error{Op: "auth", Err: ErrZeroValue, Outcome: session.NotSent}
	}
	if ctx == nil {
		return &Error{Op: "auth", Err: ErrNilContext, Outcome: session.NotSent}
	}
	if err := c.ended(); err != nil {
		return &Error{Op: "auth", Err: err, Outcome: session.NotSent}
	}
	c.keep.AddCredential(session.Credential{Scheme: scheme, Auth: cloneBytes(auth)})
	if !c.keep.Current().State().Connected() {
		return nil // the credentials of a connection are read in the step that makes the session connected
	}
	g := c.Group()
	h := g.auth(scheme, auth)
	g.run(ctx)
	if err := h.err(); !left(err) {
		return err
	}
	return nil
}

// ended returns why the client accepts nothing any more, or nil. A session that is over and has a successor is not current.
func (c *Client) ended() error {
	ss := c.keep.Current()
	if err := ss.Err(); err != nil && c.keep.Current() == ss {
		return err
	}
	return nil
}

// left reports whether err means that the connection is gone and nothing else: the next one begins with the identity.
func left(err error) bool {
	if errors.Is(err, ErrAuthFailed) || errors.Is(err, ErrClosed) {
		return false
	}
	return errors.Is(err, ErrConnectionLoss) || errors.Is(err, ErrDisconnected) || errors.Is(err, ErrSessionExpired)
}

// auth adds an auth request (AuthPacket, whose first field is ignored).
func (g *Group) auth(scheme string, auth []byte) call {
	c, ok := g.add(proto.OpAuth, "", nil)
	if ok {
		packet := proto.AuthPacket{Scheme: scheme, Auth: auth}
		c.end(packet.AppendTo(g.g.Begin(proto.OpAuth)), nil)
	}
	return c
}
