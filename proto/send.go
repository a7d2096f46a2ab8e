package proto

import "strconv"

// UnsendableError says that a request must not go to a server, which would answer it wrongly, not at all, or be harmed by
// it (docs/protocol.md sections 21 and 22). Nothing was sent.
type UnsendableError struct {
	Op     Op
	Index  int // of the operation in a multi, -1 when Op is the request itself
	Reason string
}

func (e *UnsendableError) Error() string {
	if e.Index < 0 {
		return e.Op.String() + " must not be sent: " + e.Reason
	}
	return e.Op.String() + " must not be sent as operation " + strconv.Itoa(e.Index) + " of a multi: " + e.Reason
}

// CheckSendable returns an *UnsendableError for operations that no request may carry: those that belong to the server, a
// check outside a multi, which 3.8.0 never answers, and the numbers that mean something else. Operations this package does
// not know pass. A createTTL wants CheckTTL, a multi CheckMulti besides.
func CheckSendable(op Op) error {
	switch op {
	case OpNotification:
		return &UnsendableError{op, -1, "only servers send it"}
	case OpCheck:
		return &UnsendableError{op, -1, "it has no answer outside a multi"}
	case OpDeleteContainer, OpCreateSession:
		return &UnsendableError{op, -1, "only the server itself issues it"}
	case OpError:
		return &UnsendableError{op, -1, "it is no request"}
	}
	return nil
}

// CheckTTL returns a *TTLError unless mode is one of the two TTL modes and ttl, in milliseconds, is in 1..MaxTTL. Whoever
// builds a createTTL calls it first, alone or in a multi.
func CheckTTL(mode CreateMode, ttl int64) error {
	if mode.IsTTL() && ttl >= 1 && ttl <= MaxTTL {
		return nil
	}
	return &TTLError{mode, ttl}
}

// TTLError says that a createTTL has a mode without TTL, or a TTL that no server accepts. Nothing was sent.
type TTLError struct {
	Mode CreateMode
	TTL  int64 // milliseconds
}

func (e *TTLError) Error() string {
	if !e.Mode.IsTTL() {
		return "mode " + e.Mode.String() + " has no TTL"
	}
	return "TTL of " + strconv.FormatInt(e.TTL, 10) + " ms is not in 1.." + strconv.FormatInt(MaxTTL, 10)
}

// CheckMulti returns an error unless ops can be the operations of request op, which is OpMulti or OpMultiRead: an
// *UnsendableError for an operation of the other kind or of none, a *TTLError for a createTTL that must not be sent.
// AppendMulti relies on it.
func CheckMulti(op Op, ops []MultiOp) error {
	for i := range ops {
		part := &ops[i]
		switch part.Op {
		case OpCreate, OpCreate2, OpCreateContainer, OpDelete, OpSetData, OpCheck:
			if op != OpMulti {
				return &UnsendableError{part.Op, i, "it is no read"}
			}
		case OpCreateTTL:
			if op != OpMulti {
				return &UnsendableError{part.Op, i, "it is no read"}
			}
			if err := CheckTTL(CreateMode(part.Flags), part.TTL); err != nil {
				return err
			}
		case OpGetData, OpGetChildren:
			if op != OpMultiRead {
				return &UnsendableError{part.Op, i, "it is a read"}
			}
		default:
			return &UnsendableError{part.Op, i, "multi does not know it"}
		}
	}
	return nil
}
