package proto

import (
	"errors"

	"github.com/lockkeeper/lockkeeper/jute"
)

// ErrMultiOp is the cause of a jute.DecodeError for a type of operation that a multi, or its answer, cannot have.
var ErrMultiOp = errors.New("operation unknown in a multi")

// MultiOp is one operation of a multi or multiRead; which fields count depends on Op (docs/protocol.md section 10):
//
//	OpCreate, OpCreate2, OpCreateContainer   Path, Data, ACL, Flags
//	OpCreateTTL                              Path, Data, ACL, Flags, TTL
//	OpDelete, OpCheck                        Path, Version
//	OpSetData                                Path, Data, Version
//	OpGetData, OpGetChildren                 Path
type MultiOp struct {
	Op      Op
	Path    string
	Data    []byte
	ACL     []ACL
	Flags   int32 // the CreateMode
	TTL     int64 // milliseconds; see CheckTTL
	Version int32 // -1 for any
}

// The headers' Err: servers look at none of them in a request, and this is what clients write.
const multiHeaderErr = -1

// AppendMulti appends the body of a multi or multiRead. ops have passed CheckMulti; one that would not is written as a bare
// header of type OpError, for which servers refuse the whole: whatever the caller does, no createTTL leaves that must not.
func AppendMulti(dst []byte, ops []MultiOp) []byte {
	for i := range ops {
		dst = ops[i].appendTo(dst)
	}
	return appendMultiEnd(dst)
}

// MultiSize returns the length in bytes of what AppendMulti appends.
func MultiSize(ops []MultiOp) int {
	n := MultiHeaderSize
	for i := range ops {
		n += MultiHeaderSize + ops[i].size()
	}
	return n
}

// ReadMulti decodes the body of a multi or multiRead up to its end. Data aliases r's input. What it returns is of use only
// when r.Err is nil; then all operations are of known types, but may be of both kinds.
func ReadMulti(r *jute.Reader) []MultiOp {
	var ops []MultiOp
	for {
		var h MultiHeader
		h.ReadFrom(r)
		if r.Err() != nil || h.Done {
			return ops
		}
		op := MultiOp{Op: Op(h.Type)}
		op.readFrom(r)
		ops = append(ops, op)
	}
}

func appendMultiEnd(dst []byte) []byte {
	h := MultiHeader{Type: int32(OpError), Done: true, Err: multiHeaderErr}
	return h.AppendTo(dst)
}

func (m *MultiOp) appendTo(dst []byte) []byte {
	h := MultiHeader{Type: int32(m.Op), Err: multiHeaderErr}
	if m.Op == OpCreateTTL && CheckTTL(CreateMode(m.Flags), m.TTL) != nil {
		h.Type = int32(OpError)
		return h.AppendTo(dst)
	}
	start := len(dst)
	dst = h.AppendTo(dst)
	switch m.Op {
	case OpCreate, OpCreate2, OpCreateContainer:
		return (&CreateRequest{m.Path, m.Data, m.ACL, m.Flags}).AppendTo(dst)
	case OpCreateTTL:
		return (&CreateTTLRequest{m.Path, m.Data, m.ACL, m.Flags, m.TTL}).AppendTo(dst)
	case OpDelete:
		return (&DeleteRequest{m.Path, m.Version}).AppendTo(dst)
	case OpCheck:
		return (&CheckVersionRequest{m.Path, m.Version}).AppendTo(dst)
	case OpSetData:
		return (&SetDataRequest{m.Path, m.Data, m.Version}).AppendTo(dst)
	case OpGetData:
		return (&GetDataRequest{Path: m.Path}).AppendTo(dst)
	case OpGetChildren:
		return (&GetChildrenRequest{Path: m.Path}).AppendTo(dst)
	}
	h.Type = int32(OpError)
	return h.AppendTo(dst[:start])
}

// size returns the length of what appendTo writes behind the header.
func (m *MultiOp) size() int {
	switch m.Op {
	case OpCreate, OpCreate2, OpCreateContainer:
		return (&CreateRequest{m.Path, m.Data, m.ACL, m.Flags}).Size()
	case OpCreateTTL:
		if CheckTTL(CreateMode(m.Flags), m.TTL) != nil {
			return 0
		}
		return (&CreateTTLRequest{m.Path, m.Data, m.ACL, m.Flags, m.TTL}).Size()
	case OpDelete:
		return (&DeleteRequest{m.Path, m.Version}).Size()
	case OpCheck:
		return (&CheckVersionRequest{m.Path, m.Version}).Size()
	case OpSetData:
		return (&SetDataRequest{m.Path, m.Data, m.Version}).Size()
	case OpGetData:
		return (&GetDataRequest{Path: m.Path}).Size()
	case OpGetChildren:
		return (&GetChildrenRequest{Path: m.Path}).Size()
	}
	return 0
}

func (m *MultiOp) readFrom(r *jute.Reader) {
	switch m.Op {
	case OpCreate, OpCreate2, OpCreateContainer:
		var q CreateRequest
		q.ReadFrom(r)
		m.Path, m.Data, m.ACL, m.Flags = q.Path, q.Data, q.ACL, q.Flags
	case OpCreateTTL:
		var q CreateTTLRequest
		q.ReadFrom(r)
		m.Path, m.Data, m.ACL, m.Flags, m.TTL = q.Path, q.Data, q.ACL, q.Flags, q.TTL
	case OpDelete:
		var q DeleteRequest
		q.ReadFrom(r)
		m.Path, m.Version = q.Path, q.Version
	case OpCheck:
		var q CheckVersionRequest
		q.ReadFrom(r)
		m.Path, m.Version = q.Path, q.Version
	case OpSetData:
		var q SetDataRequest
		q.ReadFrom(r)
		m.Path, m.Data, m.Version = q.Path, q.Data, q.Version
	case OpGetData:
		var q GetDataRequest
		q.ReadFrom(r)
		m.Path = q.Path
	case OpGetChildren:
		var q GetChildrenRequest
		q.ReadFrom(r)
		m.Path = q.Path
	default:
		r.Fail("multi operation", ErrMultiOp)
	}
}
