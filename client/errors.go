package client

import (
	"errors"
	"strconv"

	"github.com/lockkeeper/lockkeeper/session"
)

// Error is what every operation returns when it fails. errors.Is and errors.As look through it: at the codes of servers,
// the errors of contexts, and the typed errors of this package. MaybeApplied and SafeToRetry tell what the failure means.
type Error struct {
	Op      string  // "get", "set", ...
	Path    string  // as the caller gave it, without the chroot; "" where there is none
	Err     error   // why
	Outcome Outcome // what is known of the request

	write bool // the request could change something
}

// Error returns a text such as "zk: set /a/b: no node".
func (e *Error) Error() string {
	text := "zk: " + e.Op
	// A path that is no path is quoted by its own error; raw it could hold anything.
	if _, bad := e.Err.(*PathError); e.Path != "" && !bad {
		text += " " + e.Path
	}
	if e.Err == nil {
		return text
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// MaybeApplied reports whether the failed operation may have taken effect: it was a write, it was written to a connection,
// and its reply was never decoded. It is false for nil, for every read, for everything a server answered, and for what was
// not sent. A context that ended while a write was in flight gives true. It looks at all of a tree of errors.
func MaybeApplied(err error) bool {
	return anyError(err, func(e *Error) bool { return e.write && e.Outcome == session.Unknown })
}

// SafeToRetry reports whether nothing of the failed operation was ever sent, so that the same request can be made again
// without being applied twice. It does not say that the next attempt will fare better: an invalid path stays invalid. Reads
// may always be repeated. It is false for nil, and for errors that are not of an operation of this package.
func SafeToRetry(err error) bool {
	found := false
	sent := anyError(err, func(e *Error) bool {
		found = true
		return e.Outcome != session.NotSent
	})
	return found && !sent
}

// anyError reports whether f holds for one of the Errors in the tree of err.
func anyError(err error, f func(*Error) bool) bool {
	for err != nil {
		if e, ok := err.(*Error); ok && f(e) {
			return true
		}
		switch u := err.(type) {
		case interface{ Unwrap() error }:
			err = u.Unwrap()
		case interface{ Unwrap() []error }:
			for _, inner := range u.Unwrap() {
				if anyError(inner, f) {
					return true
				}
			}
			return false
		default:
			return false
		}
	}
	return false
}

// MultiError says which op made a Multi fail, or a MultiRead unfit to be sent. Nothing of the Multi was applied.
type MultiError struct {
	Index   int        // of the op that failed
	Op      string     // "create", "set", "delete" or "check"; of a MultiRead "get" or "children"
	Path    string     // of that op, as the caller gave it
	Err     error      // why: a Code if the server refused it, or what this package found wrong before sending
	Results []OpResult // of all ops, as the server sent them; nil if nothing was sent
}

// Error returns a text such as "op 1 (check /lock): bad version".
func (e *MultiError) Error() string {
	text := "op " + strconv.Itoa(e.Index) + " (" + e.Op
	if _, bad := e.Err.(*PathError); e.Path != "" && !bad {
		text += " " + e.Path
	}
	return text + "): " + e.Err.Error()
}

// Unwrap returns Err.
func (e *MultiError) Unwrap() error { return e.Err }

// ModeError says that a znode of this mode cannot be created by the operation. Nothing was sent.
type ModeError struct {
	Mode   CreateMode
	Reason string
}

func (e *ModeError) Error() string { return e.Mode.String() + ": " + e.Reason }

// ReplyError says that a server's answer does not fit the request. What was done is unknown.
type ReplyError struct{ Reason string }

func (e *ReplyError) Error() string { return "reply does not fit the request: " + e.Reason }

// ConnectError says why Connect gave up: the end of its context, or of the session, and what each server had to say.
type ConnectError struct {
	Cause   error         // the context's error, or why no further attempt makes sense
	Servers *ServersError // one entry per server, in the order in which they are tried
}

func (e *ConnectError) Error() string {
	if e.Servers == nil {
		return e.Cause.Error()
	}
	return e.Cause.Error() + " (" + e.Servers.Error() + ")"
}

// Unwrap returns the cause and the servers' reasons.
func (e *ConnectError) Unwrap() []error {
	if e.Servers == nil {
		return []error{e.Cause}
	}
	return []error{e.Cause, e.Servers}
}

// errNoAnswer stands for a server of which nothing has been heard, not even a refusal, when Connect gives up.
var errNoAnswer = errors.New("no answer yet")
