package session

import (
	"context"
	"errors"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// Mechanism is a way of authenticating by SASL, such as DigestMD5. One that this module does not have, GSSAPI for instance, is
// written elsewhere by implementing the two interfaces. Its methods are called by one goroutine at a time for each client that
// has been given it.
//
// An error that matches ErrAuthFailed is final for the client: the mechanism knows that it would fail again. With any other
// error the attempt to connect has failed and is made again, at another server if there is one: the service that gives out
// tickets may be back by then. Errors are reported and logged, so they must not hold secrets.
type Mechanism interface {
	// Start begins the exchange of a new connection. server is "host:port" as it was configured; for Kerberos the service's
	// principal is usually zookeeper/host. It may block, for a ticket, but must return when ctx ends: the attempt's bound
	// passed, or the client was closed.
	Start(ctx context.Context, server string) (Exchange, error)
}

// Exchange is the client's side of the authentication of one connection. Nothing else is sent on the connection before it is
// over.
type Exchange interface {
	// Next is given the server's newest token and returns the one to answer with. The first call has a nil challenge and
	// returns the token to begin with, which is empty for mechanisms in which the server speaks first. A later challenge is
	// empty or longer, never nil, and is valid only until Next returns.
	//
	// done says that there will be no other call. A token that comes with it is sent, and the exchange has succeeded when the
	// server has accepted it, whatever its answer holds: so ends GSSAPI, whose last token of the client is answered by an empty
	// one (docs/protocol.md section 13.3). With a nil token the exchange has succeeded at once: so ends DIGEST-MD5, in
	// which the server's last token proves that it knows the password too.
	//
	// The token is not kept. It may have MaxSASLToken bytes. Next must return when ctx ends.
	Next(ctx context.Context, challenge []byte) (token []byte, done bool, err error)
}

const (
	// MaxSASLToken is the largest token in bytes, of either side.
	MaxSASLToken = 64 << 10
	// maxSASLRounds bounds the tokens that a server can make the client send; mechanisms need two to four.
	maxSASLRounds = 16
)

// Reasons for which an exchange fails.
var (
	// ErrNoSASL says that the server answered a token with none: it has no SASL, or it keeps those whom it has refused
	// (zookeeper.allowSaslFailedClients). It is final unless Config.SASLOptional is set.
	ErrNoSASL = errors.New("server does not authenticate by SASL")

	errNoExchange    = errors.New("mechanism returned no exchange")
	errTooManyRounds = errors.New("no end after 16 tokens")
)

// authenticate does the exchange on a connection whose handshake was answered. What goes wrong ends the connection. It is
// done here, and not by the connection's loops, because nothing else may be on the wire: a server that enforces authentication
// refuses everything before it. Neither clock is credited: servers do not count these requests as a sign of life
// (docs/protocol.md section 21 number 26).
func (s *Session) authenticate(ctx context.Context, fc *conn.Conn, server string) error {
	stop := context.AfterFunc(ctx, func() {
		// Exchange watcher: started by context.AfterFunc when ctx ends, and over when this one call has returned.
		_ = fc.Close() // makes the exchange's read or write return; the attempt has failed in any case
	})
	err := s.exchange(ctx, fc, server)
	if !stop() {
		err = ctx.Err() // the cause of whatever has failed; and a good result is of no use on a closed connection
	}
	if err == nil {
		return nil
	}
	_ = fc.Close() // err says more
	switch {
	case errors.Is(err, proto.ErrAuthFailed), errors.Is(err, proto.ErrSessionClosedRequireSASL), errors.Is(err, ErrNoSASL):
		return &AuthError{Server: server, Err: err}
	}
	return &SASLError{Err: err}
}

// exchange sends the mechanism's tokens and gives it the server's, until it is content.
func (s *Session) exchange(ctx context.Context, fc *conn.Conn, server string) error {
	ex, err := s.cfg.SASL.Start(ctx, server)
	if err != nil {
		return err
	}
	if ex == nil {
		return errNoExchange
	}
	s.keep.warnPlain(fc, server, "sasl")
	var challenge []byte
	for round := range maxSASLRounds {
		token, done, err := ex.Next(ctx, challenge)
		if err != nil || done && token == nil {
			return err
		}
		if challenge, err = s.askSASL(fc, token); err != nil || done && round > 0 {
			return err
		}
		switch {
		case done && challenge != nil:
			return nil
		case challenge == nil && round == 0 && s.cfg.SASLOptional:
			return nil
		case challenge == nil:
			return ErrNoSASL
		}
	}
	return errTooManyRounds
}

// askSASL sends a token, which is never null on the wire since a server breaks the connection on that, and returns the one in
// the answer, which is nil if that has none, and valid until the next read.
func (s *Session) askSASL(fc *conn.Conn, token []byte) ([]byte, error) {
	if len(token) > MaxSASLToken {
		return nil, &TokenError{Size: len(token)}
	}
	s.mu.Lock()
	xid := s.nextXidLocked()
	s.mu.Unlock()
	if token == nil {
		token = []byte{}
	}
	if err := fc.WriteBatch(appendOwn(nil, xid, proto.OpSASL, (&proto.GetSASLRequest{Token: token}).AppendTo)); err != nil {
		return nil, err
	}
	frame, err := fc.ReadFrame()
	if err != nil {
		return nil, err
	}
	h := readHeader(frame)
	switch {
	case h.xid != xid:
		return nil, &ProtocolError{Reason: "no reply to a sasl request", Xid: h.xid}
	case h.code != 0:
		return nil, h.code
	}
	var rep proto.SetSASLResponse
	r := jute.NewReader(frame[proto.ReplyHeaderSize:])
	rep.ReadFrom(&r)
	switch {
	case r.Err() != nil:
		return nil, r.Err()
	case len(rep.Token) > MaxSASLToken:
		return nil, &ProtocolError{Reason: "sasl token too long", Xid: h.xid}
	}
	return rep.Token, nil
}
