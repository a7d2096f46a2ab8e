package loopback

import (
	"net"
	"strconv"
)

// Host is the address all ports of this package belong to.
const Host = "127.0.0.1"

// Port is one lent port. It is immutable; Close may be called from any goroutine, once.
type Port struct {
	number int
	free   func() error // gives the port back
}

// Number returns the port's number, between 1 and 65535.
func (p *Port) Number() int { return p.number }

// Addr returns the port's address, such as "127.0.0.1:40123".
func (p *Port) Addr() string { return net.JoinHostPort(Host, strconv.Itoa(p.number)) }

// Close gives the port back. It does not disturb a server that listens on it.
func (p *Port) Close() error { return p.free() }
