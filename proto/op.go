package proto

import "strconv"

// Op says what a request asks for: the type in a RequestHeader or MultiHeader (docs/protocol.md section 6).
type Op int32

// The operations. "since" is the first server release that knows an operation younger than 3.4; a server that does not
// know one answers ErrUnimplemented and closes the connection.
const (
	OpNotification         Op = 0 // never sent by a client
	OpCreate               Op = 1
	OpDelete               Op = 2
	OpExists               Op = 3
	OpGetData              Op = 4
	OpSetData              Op = 5
	OpGetACL               Op = 6
	OpSetACL               Op = 7
	OpGetChildren          Op = 8
	OpSync                 Op = 9
	OpPing                 Op = 11
	OpGetChildren2         Op = 12
	OpCheck                Op = 13 // only inside a multi
	OpMulti                Op = 14
	OpCreate2              Op = 15 // since 3.5.0
	OpReconfig             Op = 16 // since 3.5.0
	OpCheckWatches         Op = 17 // since 3.5.0
	OpRemoveWatches        Op = 18 // since 3.5.0
	OpCreateContainer      Op = 19 // since 3.5.1
	OpDeleteContainer      Op = 20 // the server's own, never sent by a client
	OpCreateTTL            Op = 21 // since 3.5.3; see CheckTTL
	OpMultiRead            Op = 22 // since 3.6.0
	OpAuth                 Op = 100
	OpSetWatches           Op = 101
	OpSASL                 Op = 102
	OpGetEphemerals        Op = 103 // since 3.6.0
	OpGetAllChildrenNumber Op = 104 // since 3.6.0
	OpSetWatches2          Op = 105 // since 3.6.0
	OpAddWatch             Op = 106 // since 3.6.0
	OpWhoAmI               Op = 107 // since 3.7.0
	OpCreateSession        Op = -10 // the server's own, never sent by a client
	OpCloseSession         Op = -11
	OpError                Op = -1 // only a type inside a multi's answer
)

// String returns the name that ZooKeeper's documentation uses, or "op 99" for a number without one.
func (op Op) String() string {
	switch op {
	case OpNotification:
		return "notification"
	case OpCheck:
		return "check"
	case OpMulti:
		return "multi"
	case OpMultiRead:
		return "multiRead"
	case OpReconfig:
		return "reconfig"
	case OpCheckWatches:
		return "checkWatches"
	case OpRemoveWatches:
		return "removeWatches"
	case OpSetWatches:
		return "setWatches"
	case OpSetWatches2:
		return "setWatches2"
	case OpAddWatch:
		return "addWatch"
	case OpPing:
		return "ping"
	case OpAuth:
		return "auth"
	case OpSASL:
		return "sasl"
	case OpWhoAmI:
		return "whoAmI"
	case OpCreateSession:
		return "createSession"
	case OpCloseSession:
		return "closeSession"
	case OpError:
		return "error"
	}
	return op.nodeString()
}

// nodeString names the operations on single znodes.
func (op Op) nodeString() string {
	switch op {
	case OpCreate:
		return "create"
	case OpCreate2:
		return "create2"
	case OpCreateContainer:
		return "createContainer"
	case OpCreateTTL:
		return "createTTL"
	case OpDelete:
		return "delete"
	case OpDeleteContainer:
		return "deleteContainer"
	case OpExists:
		return "exists"
	case OpGetData:
		return "getData"
	case OpSetData:
		return "setData"
	case OpGetACL:
		return "getACL"
	case OpSetACL:
		return "setACL"
	case OpGetChildren:
		return "getChildren"
	case OpGetChildren2:
		return "getChildren2"
	case OpSync:
		return "sync"
	case OpGetEphemerals:
		return "getEphemerals"
	case OpGetAllChildrenNumber:
		return "getAllChildrenNumber"
	}
	return "op " + strconv.Itoa(int(op))
}

// IsWrite reports whether the operation may change the tree or end the session, so that a request without a reply may have
// been applied. It includes OpCheck, which travels in transactions only.
func (op Op) IsWrite() bool {
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpDeleteContainer, OpSetData, OpSetACL, OpCheck,
		OpMulti, OpReconfig, OpCreateSession, OpCloseSession:
		return true
	}
	return false
}

// IsCreate reports whether the operation creates a znode.
func (op Op) IsCreate() bool {
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		return true
	}
	return false
}
