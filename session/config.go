package session

import (
	"context"
	"crypto/tls"
	"log/slog"
	"math/rand/v2"
	"net"
	"time"

	"github.com/lockkeeper/lockkeeper/conn"
)

// The defaults of Config.
const (
	DefaultTimeout      = 10 * time.Second
	DefaultReceiveLimit = conn.DefaultReceiveLimit
	DefaultSendLimit    = 1048575 // the server's jute.maxbuffer (docs/protocol.md section 3)
	DefaultMaxCalls     = 16384
	DefaultMaxBytes     = 64 << 20
	DefaultCloseBound   = time.Second
	DefaultMinBackoff   = 100 * time.Millisecond
	DefaultMaxBackoff   = 10 * time.Second
	minAttempt          = time.Second // a connection attempt gets at least this, unless the session's end is near
	maxPing             = 10 * time.Second
)

// Env is what a session needs from the world. The zero value of each field means the real thing; time comes from package
// time, which testing/synctest replaces.
type Env struct {
	Dial    func(ctx context.Context, network, addr string) (net.Conn, error) // nil: a net.Dialer
	Resolve func(ctx context.Context, host string) ([]string, error)          // nil: net.DefaultResolver; with a Dial of one's own, Dial resolves
	Rand    func() uint64                                                     // nil: math/rand/v2

	// Suspended returns for how long the machine has been suspended since it was started. nil: known on Linux, by the
	// boot-time clock; always 0 elsewhere.
	Suspended func() time.Duration
}

// Config is how a Keeper behaves. It is read once; the zero value of a field means the default named beside it.
type Config struct {
	Servers      []string      // host:port each; at least one
	Timeout      time.Duration // session timeout to ask for; DefaultTimeout. The server has the last word
	Credentials  []Credential  // sent first on each connection, in order
	SASL         Mechanism     // authenticates each connection before anything else; nil: none
	SASLOptional bool          // a server without SASL is used all the same, instead of being the end
	TLS          *tls.Config   // nil: plain TCP
	ReceiveLimit int           // bytes of a reply's frame; DefaultReceiveLimit
	SendLimit    int           // bytes of a request's frame; DefaultSendLimit
	MaxCalls     int           // requests queued and in flight before Submit blocks; DefaultMaxCalls
	MaxBytes     int           // their bytes; DefaultMaxBytes
	CloseBound   time.Duration // how long Close waits for the server; DefaultCloseBound
	MinBackoff   time.Duration // pause after the first round of failed attempts; DefaultMinBackoff
	MaxBackoff   time.Duration // the longest pause; DefaultMaxBackoff
	FailFast     bool          // requests made while disconnected fail with ErrDisconnected instead of waiting
	FinalExpiry  bool          // the Keeper ends with its first session instead of beginning another
	ReadOnly     bool          // a session may begin on a server without quorum: see doc.go
	NoProof      bool          // leases follow the session clock: see doc.go for what that exposes
	Resume       *Ticket       // go on with this session, which was detached, instead of asking for a new one
	Logger       *slog.Logger  // nil: nothing is logged
	Trace        *Trace        // nil: nothing is traced
	Env          Env
}

// withDefaults returns a copy with every zero field replaced.
func (c Config) withDefaults() Config {
	def(&c.Timeout, DefaultTimeout)
	def(&c.ReceiveLimit, DefaultReceiveLimit)
	def(&c.SendLimit, DefaultSendLimit)
	def(&c.MaxCalls, DefaultMaxCalls)
	def(&c.MaxBytes, DefaultMaxBytes)
	def(&c.CloseBound, DefaultCloseBound)
	def(&c.MinBackoff, DefaultMinBackoff)
	def(&c.MaxBackoff, DefaultMaxBackoff)
	if c.Env.Rand == nil {
		c.Env.Rand = rand.Uint64
	}
	if c.Env.Resolve == nil && c.Env.Dial == nil {
		c.Env.Resolve = net.DefaultResolver.LookupHost // so that every address gets a handshake, not only the first that accepts
	}
	if c.Env.Suspended == nil {
		c.Env.Suspended = suspended
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func def[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}
