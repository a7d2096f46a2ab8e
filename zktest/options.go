package zktest

import "time"

// The defaults of a Server; they are those of a ZooKeeper without configuration.
const (
	// DefaultTickTime is the unit of session deadlines.
	DefaultTickTime = 2 * time.Second
	// MaxFrame is the largest frame, in bytes without the length, that the server reads (docs/protocol.md section 3).
	MaxFrame = 1048575
	// handshakeWait is how long a connection may stay without a complete ConnectRequest before it is closed.
	handshakeWait = 10 * time.Second
)

// Option changes a setting of a new Server.
type Option func(*config)

// config holds the settings; it does not change after New.
type config struct {
	tick       time.Duration
	minTimeout time.Duration // 0: twice the tick
	maxTimeout time.Duration // 0: twenty ticks
	noTTL      bool
	pipe       int    // bound of the buffers of in-memory connections; 0 for none
	superID    string // the digest identity that also gets the super identity; "" for none
	version    Version

	saslUsers   map[string]string // passwords by user; nil without SASL
	enforceSASL bool
}

func newConfig(opts []Option) config {
	cfg := config{tick: DefaultTickTime}
	for _, o := range opts {
		o(&cfg)
	}
	if cfg.minTimeout <= 0 {
		cfg.minTimeout = 2 * cfg.tick
	}
	if cfg.maxTimeout <= 0 {
		cfg.maxTimeout = 20 * cfg.tick
	}
	return cfg
}

// TickTime sets the tick: session deadlines are rounded up to it, and the limits of the session timeout follow from it
// (twice and twenty times) unless SessionTimeouts says otherwise. Durations below a millisecond count as one.
func TickTime(d time.Duration) Option {
	return func(c *config) { c.tick = max(d, time.Millisecond) }
}

// SessionTimeouts sets the limits into which the timeout a client asks for is moved. Zero keeps the limit that follows
// from the tick.
func SessionTimeouts(least, most time.Duration) Option {
	return func(c *config) { c.minTimeout, c.maxTimeout = least, most }
}

// WithoutTTL makes the server refuse TTL znodes with -6, as one without extendedTypesEnabled=true does.
func WithoutTTL() Option {
	return func(c *config) { c.noTTL = true }
}

// SuperDigest gives the super identity, which passes every ACL check, to connections that authenticate with scheme digest
// as user with this password.
func SuperDigest(user, password string) Option {
	return func(c *config) { c.superID = digestID(user + ":" + password) }
}

// PipeBuffer bounds the bytes that wait unread in each direction of an in-memory connection: a writer beyond that blocks,
// as behind the full buffers of a socket. The default is no bound.
func PipeBuffer(n int) Option {
	return func(c *config) { c.pipe = n }
}
