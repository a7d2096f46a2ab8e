package admin

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math"
	"strings"
	"time"

	"github.com/lockkeeper/lockkeeper/conn"
)

// DefaultReceiveLimit is the longest answer that is accepted unless Server says otherwise: 16 MiB. cons takes some 200 bytes
// for a connection, mntr some 20 KiB.
const DefaultReceiveLimit = 16 << 20

// Server is one server to ask. It is a value without state: it may be copied, and its methods may be called by any
// goroutines at once; each call has a connection of its own. The zero Server has no address, and its methods say so.
type Server struct {
	// Addr is host, host:port, or an IPv6 address with or without brackets; see conn.ParseAddr. Without a port it is
	// conn.DefaultPort.
	Addr string
	// TLS makes calls speak TLS, and never anything else: there is no fall-back to a plain connection. It is cloned. Without
	// a ServerName the host of Addr is verified; a zero MinVersion becomes TLS 1.2.
	TLS *tls.Config
	// Dial replaces net.Dialer, for proxies, other networks and tests.
	Dial conn.DialFunc
	// ReceiveLimit is the longest answer in bytes, one of exactly this size included. 0 and below mean DefaultReceiveLimit. A
	// call needs memory in proportion to what has arrived, not to the limit.
	ReceiveLimit int
}

// Word sends any other word and returns the answer as it came, such as that of "conf", "envi" or "stat". It blocks until the
// server has closed the connection or ctx ends. The answer cannot be told from one that was cut off between two segments. A word
// that the server does not execute gives ErrNotWhitelisted, ErrNotServing or ErrNoAnswer; one that cannot be sent gives
// ErrBadWord. What a word does to the server is the caller's affair: srst and crst reset its statistics.
func (s Server) Word(ctx context.Context, word string) (string, error) {
	addr, err := conn.ParseAddr(s.Addr)
	if ctx == nil {
		err = ErrNilContext
	}
	if err != nil {
		return "", &Error{Word: word, Addr: s.Addr, Err: err}
	}
	if !sendable(word) {
		return "", &Error{Word: word, Addr: addr, Err: ErrBadWord}
	}
	answer, err := s.exchange(ctx, addr, word)
	if err == nil {
		err = refusal(word, answer)
	}
	if err != nil {
		return "", &Error{Word: word, Addr: addr, Err: err}
	}
	return answer, nil
}

// sendable reports whether word is one that can be sent as it is. A server that does not know the word reads it as the length of
// a frame: over 500 MiB with printable characters, so it closes.
func sendable(word string) bool {
	for _, c := range []byte(word) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return len(word) == 4 && word != "stmk"
}

// refusal returns the error that an answer means, nil for one that answers.
func refusal(word, answer string) error {
	switch strings.TrimRight(answer, "\r\n") {
	case "":
		return ErrNoAnswer
	case "This ZooKeeper instance is not currently serving requests":
		return ErrNotServing
	case word + " is not executed because it is not in the whitelist.":
		return ErrNotWhitelisted
	}
	return nil
}

// exchange sends word over a connection of its own and returns all that comes back.
func (s Server) exchange(ctx context.Context, addr, word string) (string, error) {
	nc, err := conn.DialRaw(ctx, addr, &conn.Config{TLS: s.TLS, Dial: s.Dial})
	if err != nil {
		return "", err
	}
	raw := nc
	if enc, ok := nc.(*tls.Conn); ok {
		raw = enc.NetConn()
	}
	// The server has closed already, or is left alone: a good-bye over TLS could block and would tell it nothing.
	defer raw.Close()
	stop := context.AfterFunc(ctx, func() {
		// Word watcher: started by context.AfterFunc when ctx ends, and over when this one call has returned.
		_ = raw.SetDeadline(time.Unix(1, 0)) // fails only if the connection is closed, which serves as well
	})
	defer stop()
	if _, err := io.WriteString(nc, word); err != nil {
		return "", failure(ctx, "write", addr, err)
	}
	limit := s.receiveLimit()
	answer, err := io.ReadAll(io.LimitReader(nc, int64(limit)+1))
	if len(answer) > limit {
		return "", &TooLargeError{Limit: limit}
	}
	if err != nil {
		return "", failure(ctx, "read", addr, err)
	}
	return string(answer), nil
}

// failure is a step of a call that failed. It shows the context's error if that has ended, which a deadline in the past does
// not.
func failure(ctx context.Context, op, addr string, err error) error {
	if cerr := ctx.Err(); cerr != nil && !errors.Is(err, cerr) {
		err = cerr
	}
	return &conn.Error{Op: op, Addr: addr, Err: err}
}

// receiveLimit returns the limit in force.
func (s Server) receiveLimit() int {
	if s.ReceiveLimit <= 0 {
		return DefaultReceiveLimit
	}
	return min(s.ReceiveLimit, math.MaxInt-1) // one more is read, and must not wrap
}

// unreadable is an answer that arrived whole and was not what the caller can use.
func (s Server) unreadable(word string, cause error) error {
	addr, err := conn.ParseAddr(s.Addr)
	if err != nil { // cannot be: there was an answer from it
		addr = s.Addr
	}
	return &Error{Word: word, Addr: addr, Err: cause}
}
