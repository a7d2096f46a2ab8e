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
	// TTLError says that the mode of a CreateTTL has no TTL, or that no server accepts the TTL. Nothing was sent.
	TTLError = proto.TTLError
	// WatcherType says which watches of a path are meant (docs/protocol.md section 11).
	WatcherType = proto.WatcherType
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

// The kinds of znodes. The two TTL modes are those of CreateTTL and CreateTTLOp; other operations refuse them.
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

// The types of watches. The last two need servers of 3.9, which the option MinServer has to promise.
const (
	WatcherChildren            = proto.WatcherChildren
	WatcherData                = proto.WatcherData
	WatcherAny                 = proto.WatcherAny
	WatcherPersistent          = proto.WatcherPersistent
	WatcherPersistentRecursive = proto.WatcherPersistentRecursive
)

// The types of events. EventNone comes with an Err: a one-shot watch has ended without a change. EventGap is for a Watcher:
// events may be missing at this place, because of a reconnect or a full EventBuffer.
const (
	EventGap                 = proto.EventGap
	EventNone                = proto.EventNone
	EventNodeCreated         = proto.EventNodeCreated
	EventNodeDeleted         = proto.EventNodeDeleted
	EventNodeDataChanged     = proto.EventNodeDataChanged
	EventNodeChildrenChanged = proto.EventNodeChildrenChanged
)

// The states. StateExpired comes when a server has said so, and also, without one, a session timeout after the last request that
// was answered: whoever waited for a server's word would believe in locks that others have. It is followed by StateConnecting of
// the next session, unless FinalExpiry was given.
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

// ValidatePath returns a *PathError unless path is one that a server accepts (docs/protocol.md section 15). Every operation
// checks its paths by itself.
func ValidatePath(path string) error { return proto.ValidatePath(path) }
