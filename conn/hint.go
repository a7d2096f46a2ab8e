package conn

import (
	"crypto/tls"
	"strconv"
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
