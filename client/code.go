package client

import (
	"errors"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/session"
)

// Error codes of servers, for errors.Is (docs/protocol.md section 9).
const (
	ErrNoNode                   = proto.ErrNoNode                   // the znode, or the parent of the one to create, is missing
	ErrNodeExists               = proto.ErrNodeExists               // something is there already
	ErrBadVersion               = proto.ErrBadVersion               // the version is not the one given
	ErrNotEmpty                 = proto.ErrNotEmpty                 // a znode with children cannot be deleted
	ErrNoAuth                   = proto.ErrNoAuth                   // the ACL forbids it
	ErrInvalidACL               = proto.ErrInvalidACL               // the list is empty or names a scheme or id that cannot be
	ErrNoChildrenForEphemerals  = proto.ErrNoChildrenForEphemerals  // the parent is ephemeral
	ErrEphemeralOnLocalSession  = proto.ErrEphemeralOnLocalSession  // this kind of session has no ephemeral znodes
	ErrNotReadOnly              = proto.ErrNotReadOnly              // a write, or a sync, on a server without quorum
	ErrQuotaExceeded            = proto.ErrQuotaExceeded            // a hard quota of the path
	ErrThrottled                = proto.ErrThrottled                // dropped unexecuted by an overloaded server: try later
	ErrBadArguments             = proto.ErrBadArguments             // path, mode or TTL that the server does not take
	ErrMarshalling              = proto.ErrMarshalling              // the server could not read the request
	ErrUnimplemented            = proto.ErrUnimplemented            // the server does not know the operation, or it is off
	ErrReconfigDisabled         = proto.ErrReconfigDisabled         // the servers are not configured for Reconfig
	ErrReconfigInProgress       = proto.ErrReconfigInProgress       // another Reconfig is running
	ErrNewConfigNoQuorum        = proto.ErrNewConfigNoQuorum        // no quorum of the new members is connected and in sync
	ErrNoWatcher                = proto.ErrNoWatcher                // the connection has no such watch
	ErrRuntimeInconsistency     = proto.ErrRuntimeInconsistency     // in a failed Multi: this op was not reached
	ErrSessionMoved             = proto.ErrSessionMoved             // another server has the session
	ErrSessionClosedRequireSASL = proto.ErrSessionClosedRequireSASL // the server wants an authentication first
)

// Conditions of the session, for errors.Is. They match whether a server said so or the client found out by itself. The
// errors that are reported for an expired session, failed authentication and a closed client match net.ErrClosed too.
const (
	ErrSessionExpired = proto.ErrSessionExpired // the session that had accepted the request is over
	ErrAuthFailed     = proto.ErrAuthFailed     // a server refused the credentials; the client is of no use any more
	ErrConnectionLoss = proto.ErrConnectionLoss // the connection broke after the request had been written
)

// More conditions of the session, for errors.Is.
var (
	// ErrClosed says that Close was called. It matches net.ErrClosed.
	ErrClosed = session.ErrClosed
	// ErrDisconnected says that there was no connection, for clients with the option FailFast.
	ErrDisconnected = session.ErrDisconnected
	// ErrCloseUnconfirmed says that Close got no answer within its bound: the session, with its ephemeral znodes, stays
	// until it expires.
	ErrCloseUnconfirmed = session.ErrCloseUnconfirmed
	// ErrLeaseDeadline is the cause with which holds end when the lease deadline passes; recipes report it.
	ErrLeaseDeadline = session.ErrLeaseDeadline
)

// Mistakes in the use of this package, for errors.Is. Nothing was sent.
var (
	// ErrZeroValue says that the Client, Group, Watch, call, Op or ReadOp was nil or was not made by this package.
	ErrZeroValue = errors.New("nil or zero value")
	// ErrNilContext says that the context was nil.
	ErrNilContext = errors.New("nil context")
	// ErrStaleCall says that the call belongs to an earlier round of its Group, whose results are gone.
	ErrStaleCall = errors.New("call of an earlier round of the group")
	// ErrNotDone says that the Group of the call has not been sent yet.
	ErrNotDone = errors.New("group not sent yet")
	// ErrEmptyGroup says that a Group without requests cannot be submitted.
	ErrEmptyGroup = errors.New("group without requests")
	// ErrGroupRefused is the error of the valid requests of a Group in which another one is not valid.
	ErrGroupRefused = errors.New("not sent, since another request of the group cannot be")
	// ErrForeignGuard says that a guard was used through another client, or another chroot, than the one it was made by.
	ErrForeignGuard = errors.New("guard made by another client or chroot")
	// ErrView says that the session is not this client's to give away, since it is a View.
	ErrView = errors.New("the session belongs to the client that the view was made of")
	// ErrWatcherType says that there is no such type of watches.
	ErrWatcherType = errors.New("no type of watches")
	// ErrProtected says that a tree is not one to be deleted as a whole: the root, or the server's own.
	ErrProtected = errors.New("not to be deleted as a whole")
	// ErrWatchClosed is the end of a Watch by its Close.
	ErrWatchClosed = errors.New("watch closed")
)
