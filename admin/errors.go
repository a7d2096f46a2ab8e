package admin

import (
	"errors"
	"fmt"

	"github.com/lockkeeper/lockkeeper/conn"
)

// Causes of an Error, found with errors.Is.
var (
	// ErrNotServing says that the server is up and does not serve clients: it looks for a leader, starts or stops.
	ErrNotServing = errors.New("the server is not serving")
	// ErrNotWhitelisted says that the server does not execute the word; its 4lw.commands.whitelist names those it does.
	ErrNotWhitelisted = errors.New("the word is not in the server's whitelist")
	// ErrNoAnswer says that the server closed the connection without an answer. That is what it does with a word that it
	// does not know, with a connection that is one too many, and with the few words that have nothing to tell at times,
	// such as hash.
	ErrNoAnswer = errors.New("closed without an answer")
	// ErrBadWord says that a word was not sent because it is not four printable ASCII characters, or because it is stmk,
	// whose argument of eight bytes would be missing.
	ErrBadWord = errors.New("not a four-letter word that can be sent")
	// ErrNilContext says that the context was nil.
	ErrNilContext = errors.New("nil context")
)

// Error is a word that has got no answer, or none that can be used.
type Error struct {
	Word string // as it was asked for
	Addr string // the server, host:port; Server.Addr as it is when that is no address
	Err  error  // see the package comment; never nil
}

func (e *Error) Error() string {
	if ce, ok := e.Err.(*conn.Error); ok { // its text names the server
		return fmt.Sprintf("zk: %.20q: %v", e.Word, ce)
	}
	return fmt.Sprintf("zk: %.20q to %s: %v", e.Word, e.Addr, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// TooLargeError is an answer that is longer than the receive limit. What had arrived of it is dropped.
type TooLargeError struct {
	Limit int // in bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the answer is over the receive limit of %d bytes", e.Limit)
}

// ParseError is an answer that cannot be read.
type ParseError struct {
	Line  int    // number of the line, from 1; 0 when the answer has no line with the field
	Field string // what was read, as the server calls it; empty for a line as a whole
	Text  string // what stands there, at most 120 bytes of it
	// Err is strconv.ErrSyntax, strconv.ErrRange for a number that is too large, or io.ErrUnexpectedEOF when the answer is
	// cut off or a field that each server sends is missing.
	Err error
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("line %d, field %q: %q: %v", e.Line, e.Field, e.Text, e.Err)
}

// Unwrap returns Err.
func (e *ParseError) Unwrap() error { return e.Err }
