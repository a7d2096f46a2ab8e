package session

import (
	"errors"
	"net"
	"strconv"

	"github.com/lockkeeper/lockkeeper/proto"
)

// terminalError is the end of a session or of a Keeper. It matches net.ErrClosed, so that generic code understands it, and
// the code that other clients report for the same thing.
type terminalError struct {
	text string
	code proto.Code
}

func (e *terminalError) Error() string { return e.text }

func (e *terminalError) Is(target error) bool {
	return target == net.ErrClosed || target == error(e.code)
}

// The ends of a session. Each matches net.ErrClosed with errors.Is, and its proto.Code.
var (
	// ErrSessionExpired says that the session is over: a server said so, or the session clock ran out.
	ErrSessionExpired error = &terminalError{"session expired", proto.ErrSessionExpired}
	// ErrAuthFailed says that a server refused the credentials. It is final: trying again would fail again.
	ErrAuthFailed error = &terminalError{"authentication failed", proto.ErrAuthFailed}
	// ErrClosed says that Close was called.
	ErrClosed error = &terminalError{"client closed", proto.ErrClosing}
)

// Errors of calls that say nothing about the session.
var (
	// ErrConnectionLoss says that the connection broke after the request had been written: the outcome is unknown.
	ErrConnectionLoss error = proto.ErrConnectionLoss
	// ErrDisconnected says that there was no connection and the configuration wants calls to fail then.
	ErrDisconnected = errors.New("not connected")
	// ErrLeaseDeadline is the cause with which holds end when the lease deadline passes.
	ErrLeaseDeadline = errors.New("lease deadline passed")
	// ErrCloseUnconfirmed is the result of a Close whose closeSession was not answered within its bound: the session, and
	// its ephemeral znodes, stay until it expires.
	ErrCloseUnconfirmed = errors.New("close not confirmed by the server: the session is left to expire")
	// ErrBusy is the answer to a group that is still under way.
	ErrBusy = errors.New("group is still in flight")
	// ErrEmpty is the answer to a group without requests.
	ErrEmpty = errors.New("group has no requests")
)

// RequestTooLargeError says that a request exceeds the send limit; nothing of it was written.
type RequestTooLargeError struct {
	Op    proto.Op
	Size  int // length of the frame in bytes
	Limit int // the send limit in bytes
}

func (e *RequestTooLargeError) Error() string {
	return e.Op.String() + " request of " + strconv.Itoa(e.Size) + " bytes exceeds the send limit of " + strconv.Itoa(e.Limit)
}

// ProtocolError says that a server sent something the protocol does not allow; the connection is given up.
type ProtocolError struct {
	Reason string
	Xid    int32
}

func (e *ProtocolError) Error() string {
	return "protocol error: " + e.Reason + " (xid " + strconv.Itoa(int(e.Xid)) + ")"
}

// Reasons for which the session itself gives up a connection.
var (
	errSilent      = errors.New("nothing received for two thirds of the session timeout")
	errDeaf        = errors.New("nothing answered for five sixths of the session timeout")
	errNoProof     = errors.New("no answer to a sync for a third of the session timeout")
	errSessionGone = errors.New("server closed the session")
	errWrongID     = errors.New("server answered with another session id")
	errRemoved     = errors.New("watch removed")
	errBusyServer  = errors.New("server is too busy to keep the watches")
)

// Outcome says what is known of a request when its call is complete.
type Outcome uint8

// The outcomes of design: what did the ensemble do with the request?
const (
	Pending  Outcome = iota // not complete
	Replied                 // the server executed it and its reply arrived
	Rejected                // the server answered with an error code and did not execute it
	NotSent                 // not one byte of it was written
	Unknown                 // it was written, and no reply was decoded
)
