package proto

import (
	"errors"

	"github.com/lockkeeper/lockkeeper/jute"
)

// MultiResult is one entry of the answer to a multi or multiRead. Op is the type in the answer and decides what is there;
// it differs from the request's for some creates (docs/protocol.md section 10):
//
//	OpCreate            Path
//	OpCreate2           Path, Stat
//	OpDelete, OpCheck   nothing
//	OpSetData           Stat
//	OpGetData           Data, Stat
//	OpGetChildren       Children
//	OpError             Err, which is CodeOK for what stood before the failing operation of a multi
type MultiResult struct {
	Op       Op
	Err      Code
	Path     string
	Stat     Stat
	HasStat  bool // Stat was in the answer
	Data     []byte
	Children []string
}

// FirstError returns the first failure in the answer to a multi and its index, or CodeOK and -1. It is what failed the
// multi: entries behind it carry ErrRuntimeInconsistency, entries before it CodeOK, and none was applied. The header of the
// reply shows no error then.
func FirstError(results []MultiResult) (int, Code) {
	for i := range results {
		if results[i].Err != CodeOK {
			return i, results[i].Err
		}
	}
	return -1, CodeOK
}

// AppendMultiReply appends the body of the answer to a multi or multiRead. An entry whose Err is not CodeOK is written as
// an error whatever its Op; so is one whose Op an answer cannot have.
func AppendMultiReply(dst []byte, results []MultiResult) []byte {
	for i := range results {
		dst = results[i].appendTo(dst)
	}
	return appendMultiEnd(dst)
}

// ErrTooManyResults is the cause of a jute.DecodeError for an answer with more entries than the request had operations.
var ErrTooManyResults = errors.New("more results than operations")

// ReadMultiReplyTo is ReadMultiReply for the answer to a known number of operations: one entry more is an error, so that an answer
// costs no more memory than the request lets expect.
func ReadMultiReplyTo(r *jute.Reader, ops int) []MultiResult {
	results := make([]MultiResult, 0, min(ops, r.Remaining()/MultiHeaderSize))
	for {
		var h MultiHeader
		h.ReadFrom(r)
		if r.Err() != nil || h.Done {
			return results
		}
		if len(results) == ops {
			r.Fail("multi reply", ErrTooManyResults)
			return results
		}
		results = append(results, MultiResult{Op: Op(h.Type)})
		results[len(results)-1].readFrom(r)
	}
}

// ReadMultiReply decodes the body of the answer to a multi or multiRead up to its end and appends its entries to dst. Data
// aliases r's input. What it returns is of use only when r.Err is nil. An entry takes 9 bytes of input at least and about
// twenty times as much memory.
func ReadMultiReply(r *jute.Reader, dst []MultiResult) []MultiResult {
	for {
		var h MultiHeader
		h.ReadFrom(r)
		if r.Err() != nil || h.Done {
			return dst
		}
		dst = append(dst, MultiResult{Op: Op(h.Type)})
		dst[len(dst)-1].readFrom(r)
	}
}

func (m *MultiResult) appendTo(dst []byte) []byte {
	h := MultiHeader{Type: int32(m.Op)}
	if m.Err != CodeOK {
		return m.appendError(dst)
	}
	start := len(dst)
	dst = h.AppendTo(dst)
	switch m.Op {
	case OpDelete, OpCheck:
		return dst
	case OpCreate:
		return (&CreateResponse{m.Path}).AppendTo(dst)
	case OpCreate2:
		return (&Create2Response{m.Path, m.Stat}).AppendTo(dst)
	case OpSetData:
		return m.Stat.AppendTo(dst)
	case OpGetData:
		return (&GetDataResponse{m.Data, m.Stat}).AppendTo(dst)
	case OpGetChildren:
		return (&GetChildrenResponse{m.Children}).AppendTo(dst)
	}
	return m.appendError(dst[:start])
}

func (m *MultiResult) appendError(dst []byte) []byte {
	h := MultiHeader{Type: int32(OpError), Err: int32(m.Err)}
	return jute.AppendInt(h.AppendTo(dst), int32(m.Err))
}

func (m *MultiResult) readFrom(r *jute.Reader) {
	switch m.Op {
	case OpDelete, OpCheck:
	case OpCreate:
		m.Path = r.String()
	case OpCreate2:
		m.Path = r.String()
		m.readStat(r)
	case OpSetData:
		m.readStat(r)
	case OpGetData:
		m.Data = r.Buffer()
		m.readStat(r)
	case OpGetChildren:
		var p GetChildrenResponse
		p.ReadFrom(r)
		m.Children = p.Children
	case OpError:
		m.Err = Code(r.Int())
	default:
		r.Fail("multi result", ErrMultiOp)
	}
}

func (m *MultiResult) readStat(r *jute.Reader) {
	m.Stat.ReadFrom(r)
	m.HasStat = true
}
