package client

import (
	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/session"
)

// Records and numbers of the protocol, so that this is the only package a program has to import.
type (
	// Stat is what the ensemble keeps about a znode (docs/protocol.md section 7).
	Stat = proto.Stat
	// ACL is one entry of a znode's access list (docs/protocol.md section 13.2).
	ACL = proto.ACL
	// ID names who an ACL entry is for.
	ID = proto.ID
	// CreateMode is the kind of znode that a create makes (docs/protocol.md section 8).
	CreateMode = proto.CreateMode
	// EventType says what happened to a znode (docs/protocol.md section 11).
	EventType = proto.EventType
	// Code is an error code of a server; it is an error, and errors.Is finds the constants of this package by it.
	Code = proto.Code
	// PathError says what is wrong with a path. Nothing was sent.
	PathError = proto.PathError
)

// What the session tells.
type (
	// State is where the client's session stands.
	State = session.State
	// Change is one step in the life of the client's sessions.
	Change = session.Change
	// Counters counts what the client has written and received.
	Counters = session.Counters
	// Outcome says what is known of a request that failed.
	Outcome = session.Outcome
	// ServerError says why one server could not be used.
	ServerError = session.ServerError
	// ServersError lists, per server, why the newest attempt failed.
	ServersError = session.ServersError
	// RequestTooLargeError says that a request exceeds the send limit. Nothing was sent.
	RequestTooLargeError = session.RequestTooLargeError
)

// The kinds of znodes. The two TTL modes are refused until there is an operation that carries a TTL.
const (
	ModePersistent              = proto.ModePersistent
	ModeEphemeral               = proto.ModeEphemeral
	ModePersistentSequential    = proto.ModePersistentSequential
	ModeEphemeralSequential     = proto.ModeEphemeralSequential
	ModeContainer               = proto.ModeContainer
	ModePersistentTTL           = proto.ModePersistentTTL
	ModePersistentSequentialTTL = proto.ModePersistentSequentialTTL
)

// The permissions of an ACL entry; they add up.
const (
	PermRead   = proto.PermRead
	PermWrite  = proto.PermWrite
	PermCreate = proto.PermCreate
	PermDelete = proto.PermDelete
	PermAdmin  = proto.PermAdmin
	PermAll    = proto.PermAll
)

// The types of events that a one-shot watch delivers. EventNone comes with an Err: the watch has ended without a change.
const (
	EventNone                = proto.EventNone
	EventNodeCreated         = proto.EventNodeCreated
	EventNodeDeleted         = proto.EventNodeDeleted
	EventNodeDataChanged     = proto.EventNodeDataChanged
	EventNodeChildrenChanged = proto.EventNodeChildrenChanged
)

// The states. StateExpired is followed by StateConnecting of the next session, unless FinalExpiry was given.
const (
	StateConnecting        = session.StateConnecting
	StateConnected         = session.StateConnected
	StateConnectedReadOnly = session.StateConnectedReadOnly
	StateDisconnected      = session.StateDisconnected
	StateExpired           = session.StateExpired
	StateAuthFailed        = session.StateAuthFailed
	StateClosed            = session.StateClosed
)

// The outcomes of a request that failed.
const (
	OutcomeNotSent  = session.NotSent  // not one byte of it was written
	OutcomeRejected = session.Rejected // a server answered with an error and did not execute it
	OutcomeUnknown  = session.Unknown  // it was written, and no reply was decoded
)

// AnyVersion makes Set, Delete, SetACL and the ops of a Multi ignore the znode's version.
const AnyVersion int32 = -1

// WorldACL returns a new list that gives perms to everybody.
func WorldACL(perms int32) []ACL { return proto.WorldACL(perms) }

// CreatorACL returns a new list that gives perms to the identities which the creating client has added by Auth or AddAuth.
// Servers answer ErrInvalidACL when it has none.
func CreatorACL(perms int32) []ACL { return proto.CreatorACL(perms) }

// DigestID returns the id of a user in scheme "digest", for an ACL entry. The credential for it is "user:password" in clear.
func DigestID(user, password string) string { return proto.DigestID(user, password) }

// ValidatePath returns a *PathError unless path is one that a server accepts (docs/protocol.md section 15). Every operation
// checks its paths by itself.
func ValidatePath(path string) error { return proto.ValidatePath(path) }
