package conn

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
)

// Dial connects to addr, "host:port" (see ParseAddr), and completes the TLS handshake if cfg has TLS; the ZooKeeper handshake
// is the next step, by Handshake. It blocks until connected or ctx ends. A failure is an *Error whose Op is "dial" or "tls";
// it matches the context's error if that ended the attempt.
func Dial(ctx context.Context, addr string, cfg *Config) (*Conn, error) {
	nc, err := DialRaw(ctx, addr, cfg)
	if err != nil {
		return nil, err
	}
	return newConn(nc, addr, cfg), nil
}

// DialRaw is Dial for what does not speak in frames, such as the four-letter words (docs/protocol.md section 19): it blocks,
// verifies and fails as Dial does, and returns the connection itself, a *tls.Conn if cfg has TLS. It is the caller's; ctx has
// no hold on it any more.
func DialRaw(ctx context.Context, addr string, cfg *Config) (net.Conn, error) {
	nc, err := cfg.dial()(ctx, "tcp", addr)
	if err != nil {
		return nil, &Error{Op: "dial", Addr: addr, Err: orContext(ctx, err)}
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil { // an address of a dialer that has names of its own
		host = addr
	}
	tc := cfg.tlsFor(host)
	if tc == nil {
		return nc, nil
	}
	enc := tls.Client(nc, tc)
	if err := enc.HandshakeContext(ctx); err != nil {
		nc.Close() // its error would say less than err
		return nil, &Error{Op: "tls", Addr: addr, Err: orContext(ctx, err)}
	}
	return enc, nil
}

// orContext returns err, or ctx's error if ctx has ended and err does not show it, as may be with a dialer that is not
// package net's.
func orContext(ctx context.Context, err error) error {
	if cerr := ctx.Err(); cerr != nil && !errors.Is(err, cerr) {
		return cerr
	}
	return err
}
