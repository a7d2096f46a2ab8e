package session

import (
	"net"
	"strconv"

	"github.com/lockkeeper/lockkeeper/proto"
)

// AuthError is an authentication that has failed for good, and with it the session: it is not tried again, since it would
// fail again. It matches ErrAuthFailed and net.ErrClosed, and what Err matches: -115 when the server has refused a credential
// or a token, -124 (proto.ErrSessionClosedRequireSASL) when it serves nobody without an authentication that this connection
// does not have, and otherwise what a Mechanism found wrong.
type AuthError struct {
	Server string // host:port of the server
	Err    error  // never nil
}

func (e *AuthError) Error() string {
	text := "authentication failed: server " + e.Server
	switch e.Err {
	case proto.ErrAuthFailed:
		return text + " refuses the credentials"
	case proto.ErrSessionClosedRequireSASL:
		return text + " requires an authentication, and has none from this client that it accepts"
	}
	return text + ": " + e.Err.Error()
}

// Is makes every AuthError match what ErrAuthFailed matches.
func (e *AuthError) Is(target error) bool {
	return target == ErrAuthFailed || target == error(proto.ErrAuthFailed) || target == net.ErrClosed
}

// Unwrap returns Err.
func (e *AuthError) Unwrap() error { return e.Err }

// refusal is the end of the session that a reply's code means: the server has refused a credential, or wants one. Any error
// is a refusal when it is the answer to a credential. The result is nil for all other codes.
func (cx *connection) refusal(op proto.Op, code proto.Code) error {
	if code == 0 || op != proto.OpAuth && code != proto.ErrAuthFailed && code != proto.ErrSessionClosedRequireSASL {
		return nil
	}
	return &AuthError{Server: cx.server, Err: code}
}

// SASLError says why an attempt to authenticate came to no result. The attempt has failed, as one whose connection broke; the
// next one begins anew.
type SASLError struct {
	Err error // why: of the connection, of the mechanism, or the code of an answer
}

func (e *SASLError) Error() string { return "sasl: " + e.Err.Error() }

// Unwrap returns Err.
func (e *SASLError) Unwrap() error { return e.Err }

// TokenError says that a mechanism has made a token that is too long to be sent.
type TokenError struct {
	Size int // in bytes
}

func (e *TokenError) Error() string {
	return "token of " + strconv.Itoa(e.Size) + " bytes exceeds " + strconv.Itoa(MaxSASLToken)
}
