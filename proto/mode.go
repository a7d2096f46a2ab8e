package proto

import "strconv"

// CreateMode is the kind of znode that a create makes: the flags of its request (docs/protocol.md section 8).
type CreateMode int32

// The modes. A sequential one gets the parent's creation counter behind its name, ten digits wide.
const (
	ModePersistent              CreateMode = 0
	ModeEphemeral               CreateMode = 1 // ends with the session; cannot have children
	ModePersistentSequential    CreateMode = 2
	ModeEphemeralSequential     CreateMode = 3
	ModeContainer               CreateMode = 4 // removed by the server after its last child
	ModePersistentTTL           CreateMode = 5 // removed by the server when unchanged and without children for its TTL
	ModePersistentSequentialTTL CreateMode = 6
)

// MaxTTL is the longest time to live, in milliseconds: about 34 years.
const MaxTTL = 1<<40 - 1

// IsSequential reports whether the server appends a sequence number to the name.
func (m CreateMode) IsSequential() bool {
	switch m {
	case ModePersistentSequential, ModeEphemeralSequential, ModePersistentSequentialTTL:
		return true
	}
	return false
}

// IsEphemeral reports whether the znode ends with the session.
func (m CreateMode) IsEphemeral() bool {
	return m == ModeEphemeral || m == ModeEphemeralSequential
}

// IsTTL reports whether the znode has a time to live.
func (m CreateMode) IsTTL() bool {
	return m == ModePersistentTTL || m == ModePersistentSequentialTTL
}

// Op returns the operation that creates a znode of this mode. It is the operation that decides: a container asked for with
// OpCreate becomes an ordinary persistent znode.
func (m CreateMode) Op() Op {
	switch {
	case m == ModeContainer:
		return OpCreateContainer
	case m.IsTTL():
		return OpCreateTTL
	}
	return OpCreate2
}

// String returns words such as "ephemeral sequential", or "mode 9" for a number that is no mode.
func (m CreateMode) String() string {
	switch m {
	case ModePersistent:
		return "persistent"
	case ModeEphemeral:
		return "ephemeral"
	case ModePersistentSequential:
		return "persistent sequential"
	case ModeEphemeralSequential:
		return "ephemeral sequential"
	case ModeContainer:
		return "container"
	case ModePersistentTTL:
		return "persistent with TTL"
	case ModePersistentSequentialTTL:
		return "persistent sequential with TTL"
	}
	return "mode " + strconv.Itoa(int(m))
}
