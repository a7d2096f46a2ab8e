package admin

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Connection is one line of the answer to cons: a client's connection to the server that was asked.
type Connection struct {
	// Addr is the client's end, host:port, an IPv6 address in the short form and in brackets: what the client's own
	// LocalAddr says when nothing translates addresses on the way. What cannot be read as an address is kept as it is.
	Addr     string
	Interest uint32 // what the server waits for: Java's SelectionKey bits, 1 for reading, 4 for writing
	Queued   int64  // requests that wait in the server
	Received int64  // frames from the client
	Sent     int64  // frames to the client

	// SessionID is 0 for a connection without a session, such as that of the question; what follows is zero then.
	SessionID   int64
	LastOp      string        // the last request, such as "PING", "GETD" or "CREA"; "NA" before the first
	Established time.Time     // when the connection was made, by the server's clock
	Timeout     time.Duration // the session timeout
	LastXid     int64         // the xid of the last request; -1 when the server does not tell
	LastZxid    int64         // the zxid of the last reply; -1 for replies that have none
	// LastResponse is when the last reply left: since the epoch before 3.5, later since a moment that only the server
	// knows. Differences are meaningful.
	LastResponse time.Duration
	LastLatency  time.Duration
	Latency      Latency
	Extra        map[string]string // fields that this package does not know; nil without any
}

// Cons asks for the server's connections, that of the question included, in no particular order. It blocks until the server
// has answered or ctx ends. Errors are as in the package comment; a server without a leader gives ErrNotServing.
func (s Server) Cons(ctx context.Context) ([]Connection, error) {
	const word = "cons"
	answer, err := s.Word(ctx, word)
	if err != nil {
		return nil, err
	}
	var sc scanner
	list := sc.connections(answer)
	if err := sc.finish(word, s); err != nil {
		return nil, err
	}
	return list, nil
}

func (sc *scanner) connections(answer string) []Connection {
	var list []Connection
	for line := range sc.lines(answer) {
		list = append(list, sc.connection(line))
	}
	return list
}

// connection reads a line such as " /127.0.0.1:50590[1](queued=0,recved=3,sent=3)".
func (sc *scanner) connection(line string) Connection {
	head, fields, ok := strings.Cut(line, "](")
	addr, interest := "", ""
	if i := strings.LastIndexByte(head, '['); ok && i >= 0 {
		addr, interest = head[:i], head[i+1:]
	}
	bits, err := strconv.ParseUint(interest, 16, 32)
	fields, closed := strings.CutSuffix(fields, ")")
	if err != nil || !closed {
		sc.fail("", line, strconv.ErrSyntax)
		return Connection{}
	}
	c := Connection{Addr: clientAddr(addr), Interest: uint32(bits)}
	seen := 0 // of the three that each line has
	for field := range strings.SplitSeq(fields, ",") {
		key, value, ok := strings.Cut(field, "=")
		if !ok {
			sc.fail("", line, strconv.ErrSyntax)
			return Connection{}
		}
		switch key {
		case "queued":
			c.Queued = sc.number(key, value)
			seen |= 1
		case "recved":
			c.Received = sc.number(key, value)
			seen |= 2
		case "sent":
			c.Sent = sc.number(key, value)
			seen |= 4
		default:
			sc.sessionField(&c, key, value)
		}
	}
	if seen != 7 {
		sc.fail("", line, strconv.ErrSyntax)
	}
	return c
}

// sessionField reads a field that only connections with a session have.
func (sc *scanner) sessionField(c *Connection, key, value string) {
	switch key {
	case "sid":
		c.SessionID, c.LastXid = sc.hex(key, value), -1 // the xid comes later in the line, if at all
	case "lop":
		c.LastOp = value
	case "est":
		c.Established = time.UnixMilli(sc.number(key, value))
	case "to":
		c.Timeout = sc.millis(key, value)
	case "lcxid":
		c.LastXid = sc.hex(key, value)
	case "lzxid":
		c.LastZxid = sc.hex(key, value)
	case "lresp":
		c.LastResponse = sc.millis(key, value)
	case "llat":
		c.LastLatency = sc.millis(key, value)
	case "minlat":
		c.Latency.Min = sc.millis(key, value)
	case "avglat":
		c.Latency.Avg = sc.millis(key, value)
	case "maxlat":
		c.Latency.Max = sc.millis(key, value)
	default:
		if c.Extra == nil {
			c.Extra = make(map[string]string)
		}
		c.Extra[key] = value
	}
}

// clientAddr brings what Java's InetSocketAddress.toString makes, "name/address:port" with an often empty name, into the form
// of package net. Before Java 14 an IPv6 address has no brackets there; it is never shortened.
func clientAddr(text string) string {
	text = strings.TrimSpace(text)
	_, addr, ok := strings.Cut(text, "/")
	i := strings.LastIndexByte(addr, ':')
	if !ok || i < 0 {
		return text
	}
	ip, err := netip.ParseAddr(strings.Trim(addr[:i], "[]"))
	if err != nil {
		return addr
	}
	return net.JoinHostPort(ip.String(), addr[i+1:])
}
