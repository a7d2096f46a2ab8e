package conn

import (
	"context"
	"crypto/tls"
	"math"
	"net"
)

// Sizes in bytes.
const (
	// DefaultReceiveLimit is the largest body of a frame that is accepted unless Config says otherwise: 4 MiB. It is more
	// than a server's own limit for what it reads, since the answer to a legal write can be larger than the request was, and
	// answers with many children have no limit at all (docs/protocol.md section 3).
	DefaultReceiveLimit = 4 << 20
	// HandshakeLimit is the largest body of a connection's first frame. The legal ones have 36, 37, 44 or 45 bytes.
	HandshakeLimit = 4 << 10
	// discardFactor times the receive limit is the longest frame that is read to its end and thrown away.
	discardFactor = 16
	// smallBuffer is what the read buffer has at first, and again when large frames have stopped.
	smallBuffer = 4 << 10
	// readAhead is how much may be allocated beyond what has arrived.
	readAhead = 64 << 10
	// smallRounds is how many times in a row the small buffer must have been enough before a larger one is dropped.
	smallRounds = 16
)

// DialFunc connects to addr, "host:port", over network, which is "tcp". It is net.Dialer's DialContext in form and duty: it
// returns when ctx ends.
type DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// Config tells how to connect. The zero value, and a nil *Config, mean TCP without TLS and the default limit. A Config is
// not modified; it may be shared by any number of connections.
type Config struct {
	// TLS makes Dial speak TLS, and never anything else: there is no fall-back to a plain connection. It is cloned. Without
	// a ServerName, Config.ServerName or the host that is dialled is verified; a zero MinVersion becomes TLS 1.2. Client
	// certificates are those of the tls.Config, whose hooks are called for each connection. New ignores it.
	TLS *tls.Config
	// ServerName, when set, is the name that the server's certificate must have, unless TLS names one itself.
	ServerName string
	// Dial replaces net.Dialer, for proxies, other networks and tests.
	Dial DialFunc
	// ReceiveLimit is the largest body of a frame in bytes, that of exactly this size included. 0 means
	// DefaultReceiveLimit. The protocol's own limit is 1<<31-1; where an int has 32 bits, 1 MiB less is what can be had.
	ReceiveLimit int
}

// receiveLimit returns the limit in force.
func (c *Config) receiveLimit() int64 {
	if c == nil || c.ReceiveLimit <= 0 {
		return DefaultReceiveLimit
	}
	return int64(min(c.ReceiveLimit, math.MaxInt-1<<20)) // sizes near it are added to, and must not wrap
}

// dial returns the dialer in force.
func (c *Config) dial() DialFunc {
	if c == nil || c.Dial == nil {
		return new(net.Dialer).DialContext
	}
	return c.Dial
}

// tlsFor returns the configuration for a TLS connection to host, or nil for a plain one.
func (c *Config) tlsFor(host string) *tls.Config {
	if c == nil || c.TLS == nil {
		return nil
	}
	tc := c.TLS.Clone()
	if tc.ServerName == "" {
		tc.ServerName = c.ServerName
	}
	if tc.ServerName == "" {
		tc.ServerName = host
	}
	if tc.MinVersion == 0 {
		tc.MinVersion = tls.VersionTLS12
	}
	return tc
}
