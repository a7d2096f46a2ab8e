package conn

import (
	"crypto/tls"
	"errors"
	"io"
	"strconv"
	"syscall"
)

// hintBytes is how much of the peer's text a hint shows.
const hintBytes = 32

// Types of a TLS record, RFC 8446 section 5.1.
const (
	tlsAlert     = 21
	tlsHandshake = 22
)

// hint says what a peer seems to be whose first bytes are b, or "". It never claims more than the bytes show.
func hint(b []byte) string {
	if len(b) < lengthSize {
		return ""
	}
	switch {
	case string(b[:4]) == "HTTP":
		return "looks like an HTTP server"
	case string(b[:4]) == "SSH-":
		return "looks like an SSH server"
	case (b[0] == tlsAlert || b[0] == tlsHandshake) && b[1] == 3 && b[2] <= 4:
		return tlsHint(b)
	case printable(b[:4]):
		return "looks like text: " + strconv.Quote(string(text(b)))
	}
	return ""
}

// tlsHint describes a TLS record; an alert is named.
func tlsHint(b []byte) string {
	const s = "looks like a TLS server: the connection is not encrypted"
	if b[0] == tlsAlert && len(b) >= 7 {
		return s + " (" + tls.AlertError(b[6]).Error() + ")"
	}
	return s
}

// tlsFailureHint says what else the error of a TLS handshake may mean. A server that expects frames reads the beginning of
// the handshake as a length that cannot be, and closes.
func tlsFailureHint(err error) string {
	var record tls.RecordHeaderError
	if closed(err) || errors.As(err, &record) {
		return "; the port may be one without TLS"
	}
	return ""
}

// closeHint says what else it may mean that the server closed before its answer, with err. A server that expects TLS does so
// to a plain connection, and one that expects a certificate may do so where it has got none that it accepts.
func (c *Conn) closeHint(err error) string {
	switch {
	case !closed(err) || c.started || c.have() > 0:
		return ""
	case c.Encrypted():
		return "; or it wants another client certificate"
	}
	return "; or the port is one for TLS"
}

// closed reports whether err says that the peer has closed or reset the connection.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// text returns the beginning of b that is text, at most hintBytes.
func text(b []byte) []byte {
	n := 0
	for n < len(b) && n < hintBytes && (printable(b[n:n+1]) || b[n] == '\r' || b[n] == '\n') {
		n++
	}
	return b[:n]
}

func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
