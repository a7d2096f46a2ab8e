package client

import (
	"context"
	"crypto/tls"
	"log/slog"
	"math"
	"net"
	"strconv"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/session"
)

// Option changes a default of Connect and Lazy; the table of defaults is in the package documentation. Of an option given
// twice the last one counts, but for Auth, which adds up. A value that cannot be makes Connect and Lazy return an
// *OptionError.
type Option interface {
	apply(o *options) *OptionError
}

// options is what the options have made of the defaults.
type options struct {
	cfg    session.Config
	acl    []ACL
	events int // EventBuffer

	minServer Version
}

type option func(o *options) *OptionError

func (f option) apply(o *options) *OptionError { return f(o) }

// OptionError says which option has a value that cannot be.
type OptionError struct {
	Option string // its name, such as "SessionTimeout"
	Reason string
}

func (e *OptionError) Error() string { return "option " + e.Option + ": " + e.Reason }

// collect applies opts to the defaults.
func collect(opts []Option) (*options, error) {
	o := &options{acl: WorldACL(PermAll), events: DefaultEventBuffer, minServer: defaultServer()}
	o.cfg.SendLimit = session.DefaultSendLimit
	for i, opt := range opts {
		if opt == nil {
			return nil, &OptionError{"number " + strconv.Itoa(i), "nil"}
		}
		if err := opt.apply(o); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// require returns an OptionError unless ok.
func require(ok bool, name, reason string) *OptionError {
	if ok {
		return nil
	}
	return &OptionError{name, reason}
}

// SessionTimeout asks for this session timeout, from a millisecond to about 24 days. The server has the last word: see
// Client.SessionTimeout.
func SessionTimeout(d time.Duration) Option {
	return option(func(o *options) *OptionError {
		o.cfg.Timeout = d
		return require(d >= time.Millisecond && d.Milliseconds() <= math.MaxInt32, "SessionTimeout", d.String()+" is out of range")
	})
}

// TLS makes every connection a TLS connection; there is no fall-back to a plain one. The servers' ports are those of
// secureClientPort. A zero MinVersion becomes TLS 1.2. With an empty ServerName each server must have a certificate for its own
// host as the connect string names it, whatever addresses the host resolves to; a ServerName stands for all servers.
//
// With a client certificate the server gives the connection the identity x509 with the certificate's subject (X509ACL). A
// server that does not accept the certificate, or misses one, gives no answer of its own: the attempt fails in the TLS
// handshake, or with TLS 1.3 in the one behind it, and the client goes on trying.
//
// tc is cloned for each connection and must not be changed. What is renewed while the program runs comes from its hooks, which
// are called for each connection, on the session's goroutine, and should not block: GetClientCertificate returns the newest
// certificate; VerifyConnection, with InsecureSkipVerify, replaces verification by fixed RootCAs, and must do all of it then:
// chain, name and time. The name to verify is ConnectionState.ServerName, which crypto/tls leaves empty when the host is an IP
// address. A connection that exists is not touched by a renewal.
func TLS(tc *tls.Config) Option {
	return option(func(o *options) *OptionError {
		o.cfg.TLS = tc
		return require(tc != nil, "TLS", "nil configuration")
	})
}

// Dialer makes connections by dial, which is called with network "tcp" and an address "host:port", must obey its context,
// and may be called from any goroutine.
func Dialer(dial func(ctx context.Context, network, addr string) (net.Conn, error)) Option {
	return option(func(o *options) *OptionError {
		o.cfg.Env.Dial = dial
		return require(dial != nil, "Dialer", "nil function")
	})
}

// Resolver looks up host names by resolve, anew before each connection attempt; the addresses are tried in order, each
// with its share of the attempt, of which the look-up may take half. Without it net.DefaultResolver does that, unless there is
// a Dialer, which then gets names.
func Resolver(resolve func(ctx context.Context, host string) ([]string, error)) Option {
	return option(func(o *options) *OptionError {
		o.cfg.Env.Resolve = resolve
		return require(resolve != nil, "Resolver", "nil function")
	})
}

// Rand takes the random numbers for the order of the servers and the jitter of pauses from f, which may be called from any
// goroutine.
func Rand(f func() uint64) Option {
	return option(func(o *options) *OptionError {
		o.cfg.Env.Rand = f
		return require(f != nil, "Rand", "nil function")
	})
}

// Logger logs state changes and failed connection attempts to l, and once in the client's life that credentials go over a
// connection without TLS that leaves the machine; nil logs nothing. Its handler runs on the goroutines of the
// session and should not block.
func Logger(l *slog.Logger) Option {
	return option(func(o *options) *OptionError {
		o.cfg.Logger = l
		return nil
	})
}

// minReceiveLimit is the size of a reply with a Stat: less would be of no use.
const minReceiveLimit = proto.ReplyHeaderSize + proto.StatSize

// ReceiveLimit bounds the bytes of a reply's frame; at least 84. A longer reply fails its request and nothing else, unless
// it is over 16 times the limit, which costs the connection.
func ReceiveLimit(n int) Option {
	return option(func(o *options) *OptionError {
		o.cfg.ReceiveLimit = n
		return require(n >= minReceiveLimit && n <= math.MaxInt32, "ReceiveLimit", strconv.Itoa(n)+" is out of range")
	})
}

// minSendLimit leaves room for a request with a short path.
const minSendLimit = 128

// SendLimit bounds the bytes of a request's frame; at least 128. It should be what the servers' jute.maxbuffer allows: they
// close the connection on a longer request, without a word.
func SendLimit(n int) Option {
	return option(func(o *options) *OptionError {
		o.cfg.SendLimit = n
		return require(n >= minSendLimit && n <= math.MaxInt32, "SendLimit", strconv.Itoa(n)+" is out of range")
	})
}

// InFlight bounds what may be queued and in flight at once, in requests and in bytes; who would exceed it waits. A single
// Group may exceed both when nothing else is under way.
func InFlight(calls, bytes int) Option {
	return option(func(o *options) *OptionError {
		o.cfg.MaxCalls, o.cfg.MaxBytes = calls, bytes
		return require(calls > 0 && bytes > 0, "InFlight", "not positive")
	})
}

// Auth adds a credential that every connection begins with, such as scheme "digest" and "user:password" (docs/protocol.md
// section 13.1). auth is copied. Without TLS it travels in clear; see Logger. Connect then also waits until a server has
// accepted the credentials.
func Auth(scheme string, auth []byte) Option {
	auth = cloneBytes(auth)
	return option(func(o *options) *OptionError {
		o.cfg.Credentials = append(o.cfg.Credentials, session.Credential{Scheme: scheme, Auth: auth})
		return require(scheme != "", "Auth", "no scheme")
	})
}

// FailFast makes requests fail at once with ErrDisconnected while the session has no connection, instead of waiting for the
// next one until their context ends. Before the very first connection requests wait all the same.
func FailFast() Option {
	return option(func(o *options) *OptionError {
		o.cfg.FailFast = true
		return nil
	})
}

// FinalExpiry makes the expiry of the session the end of the client: it does not begin another session.
func FinalExpiry() Option {
	return option(func(o *options) *OptionError {
		o.cfg.FinalExpiry = true
		return nil
	})
}

// LeaderProof says whether leases, and those who wait for one, prove with syncs that the leader still knows the session;
// that is the default. With false they rely on the session clock alone: a server that is cut off from the leader goes on
// answering, and a lease may then outlive its znode until that server notices, by its syncLimit.
func LeaderProof(on bool) Option {
	return option(func(o *options) *OptionError {
		o.cfg.NoProof = !on
		return nil
	})
}

// DefaultACL is the list that creates use which are given none. acl is copied and must not be empty.
func DefaultACL(acl []ACL) Option {
	acl = append([]ACL(nil), acl...)
	return option(func(o *options) *OptionError {
		o.acl = acl
		return require(len(acl) > 0, "DefaultACL", "empty list")
	})
}

// CloseBound is how long Close waits for the server's answer.
func CloseBound(d time.Duration) Option {
	return option(func(o *options) *OptionError {
		o.cfg.CloseBound = d
		return require(d > 0, "CloseBound", "not positive")
	})
}

// Backoff is the pause after a round of failed connection attempts: first about shortest, then doubled up to longest, with
// jitter. While a session can still be resumed no pause takes more than a quarter of the time that is left for it, or shortest
// if that is more.
func Backoff(shortest, longest time.Duration) Option {
	return option(func(o *options) *OptionError {
		o.cfg.MinBackoff, o.cfg.MaxBackoff = shortest, longest
		return require(shortest > 0 && longest >= shortest, "Backoff", "not positive, or the wrong way round")
	})
}

// cloneBytes copies b and keeps nil apart from empty.
func cloneBytes(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}
