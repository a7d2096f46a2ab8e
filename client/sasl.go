package client

import "github.com/lockkeeper/lockkeeper/session"

// Authentication by SASL (docs/protocol.md section 13.3).
type (
	// Mechanism is a way of authenticating by SASL: DigestMD5, or one that is written elsewhere. For GSSAPI (Kerberos) it is a few
	// lines around a library: Start begins a security context for the service principal zookeeper/host of the server, with
	// mutual authentication; Next gives the server's token to the context and returns what the context answers, an empty token
	// once the context is established, and with done the answer to the offer of security layers that comes then: no layer.
	Mechanism = session.Mechanism
	// Exchange is the client's side of the authentication of one connection.
	Exchange = session.Exchange
	// AuthError is an authentication that has failed for good, and says which server it was and why. It matches ErrAuthFailed; if
	// the server serves nobody without an authentication it matches ErrSessionClosedRequireSASL too.
	AuthError = session.AuthError
	// DigestError says why an exchange by DIGEST-MD5 cannot succeed. It matches ErrAuthFailed.
	DigestError = session.DigestError
	// SASLError says why an attempt to authenticate came to no result. It is among the reasons of a *ServersError; the attempt is
	// made again.
	SASLError = session.SASLError
	// TokenError says that a mechanism wanted to send, or a server has sent, more than MaxSASLToken.
	TokenError = session.TokenError
)

// MaxSASLToken is the largest SASL token in bytes, in either direction.
const MaxSASLToken = session.MaxSASLToken

// ErrNoSASL says that the server answered a SASL token with none: it does not authenticate by SASL. It is found in an
// *AuthError, which makes it final, unless the option SASLOptional was given.
var ErrNoSASL = session.ErrNoSASL

// SASL authenticates every connection by m, before anything else is sent on it: credentials, watches and requests wait. m may
// be shared by clients whose exchanges it can tell apart, as that of DigestMD5 can.
//
// A refusal is final, as for Auth: Connect fails at once with an error that matches ErrAuthFailed, and a client that is
// refused later ends. So is an answer by a server that has no SASL, since a client that went on would be somebody else than it
// was told to be; SASLOptional changes that. When the connection breaks during the exchange, or nobody answers, or m has an
// error that does not match ErrAuthFailed, the attempt has failed and the next one begins anew.
func SASL(m Mechanism) Option {
	return option(func(o *options) *OptionError {
		o.cfg.SASL = m
		return require(m != nil, "SASL", "nil mechanism")
	})
}

// SASLOptional makes the client go on, without an identity, on servers that have no SASL, as is wanted while it is being
// introduced. Whoever stands between the client and its servers can then pretend that they have none, unless TLS keeps them
// apart. It is of no effect without SASL.
func SASLOptional() Option {
	return option(func(o *options) *OptionError {
		o.cfg.SASLOptional = true
		return nil
	})
}

// DigestMD5 is the mechanism DIGEST-MD5, for the option SASL: a user and a password that the servers find in the JAAS section
// of DigestLoginModule. The client makes sure that the server knows the password too. password is copied, and hidden by all
// ways of printing the Mechanism. Both must be printable ASCII; with others every exchange fails with a *DigestError.
//
// The password itself is not sent, but who reads an exchange can try passwords at leisure, and what follows it is not
// protected: use TLS as well.
//
// Servers in FIPS mode refuse DIGEST-MD5 as they refuse a wrong password. From 3.9 on that mode is the default, and 3.8.6, 3.9.4
// and later do refuse: they need zookeeper.fips-mode=false.
func DigestMD5(user string, password []byte) Mechanism { return session.DigestMD5(user, password) }
