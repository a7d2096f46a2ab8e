package proto

import "strconv"

// EventType is what a watch tells (docs/protocol.md section 11).
type EventType int32

// The event types. Servers send 1 to 4; clients make the others.
const (
	EventGap                    EventType = -2 // of this client only: events may be missing here
	EventNone                   EventType = -1 // about the session and not about a path
	EventNodeCreated            EventType = 1
	EventNodeDeleted            EventType = 2
	EventNodeDataChanged        EventType = 3
	EventNodeChildrenChanged    EventType = 4
	EventDataWatchRemoved       EventType = 5
	EventChildWatchRemoved      EventType = 6
	EventPersistentWatchRemoved EventType = 7
)

// String returns words such as "node created", or "event 9" for a number without any.
func (t EventType) String() string {
	switch t {
	case EventGap:
		return "gap"
	case EventNone:
		return "none"
	case EventNodeCreated:
		return "node created"
	case EventNodeDeleted:
		return "node deleted"
	case EventNodeDataChanged:
		return "node data changed"
	case EventNodeChildrenChanged:
		return "node children changed"
	case EventDataWatchRemoved:
		return "data watch removed"
	case EventChildWatchRemoved:
		return "child watch removed"
	case EventPersistentWatchRemoved:
		return "persistent watch removed"
	}
	return "event " + strconv.Itoa(int(t))
}

// KeeperState is the state in a WatcherEvent. Servers always send KeeperSyncConnected, read-only ones too; the other
// numbers are those by which Java clients know states of their own.
type KeeperState int32

// The states (docs/protocol.md section 11).
const (
	KeeperDisconnected      KeeperState = 0
	KeeperSyncConnected     KeeperState = 3
	KeeperAuthFailed        KeeperState = 4
	KeeperConnectedReadOnly KeeperState = 5
	KeeperSaslAuthenticated KeeperState = 6
	KeeperClosed            KeeperState = 7
	KeeperExpired           KeeperState = -112
)

// String returns words such as "connected", or "state 99" for a number without any.
func (s KeeperState) String() string {
	switch s {
	case KeeperDisconnected:
		return "disconnected"
	case KeeperSyncConnected:
		return "connected"
	case KeeperAuthFailed:
		return "authentication failed"
	case KeeperConnectedReadOnly:
		return "connected read-only"
	case KeeperSaslAuthenticated:
		return "authenticated"
	case KeeperClosed:
		return "closed"
	case KeeperExpired:
		return "expired"
	}
	return "state " + strconv.Itoa(int(s))
}

// AddWatchMode is the mode of an AddWatchRequest; servers answer ErrMarshalling to any other number.
type AddWatchMode int32

// The modes of persistent watches.
const (
	AddWatchPersistent          AddWatchMode = 0 // events of the path and changes of its children
	AddWatchPersistentRecursive AddWatchMode = 1 // events of the path and of everything below
)

// WatcherType says which watches of a path CheckWatchesRequest and RemoveWatchesRequest mean.
type WatcherType int32

// The types. Before 3.9 WatcherAny is the only one that reaches persistent watches, and servers answer ErrMarshalling to
// the last two.
const (
	WatcherChildren            WatcherType = 1
	WatcherData                WatcherType = 2
	WatcherAny                 WatcherType = 3
	WatcherPersistent          WatcherType = 4 // since 3.9.0
	WatcherPersistentRecursive WatcherType = 5 // since 3.9.0
)
