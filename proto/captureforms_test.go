package proto_test

import (
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/proto"
)

// notCapturedOps are the opcodes that are not in the captures, and why.
var notCapturedOps = map[proto.Op]string{
	proto.OpNotification:    "a client never sends it",
	proto.OpCheck:           "never sent outside a multi, where it is captured",
	proto.OpDeleteContainer: "the server's own",
	proto.OpCreateSession:   "the server's own",
	proto.OpError:           "only a type inside the answer to a multi, where it is captured",
	proto.OpSASL:            "the server needs a JAAS configuration; the packets of E27 have it",
}

// notCapturedCodes are the codes of docs/protocol.md section 9 that servers send but no reply in the captures has, and why.
// ErrUnimplemented is there with the close that follows an unknown operation; without one it is the answer to a createTTL on
// a server without extended types, and to a reconfig on a single server that has reconfiguration switched on.
var notCapturedCodes = map[proto.Code]string{
	proto.ErrRuntimeInconsistency:     "only an entry in the answer to a multi, where it is captured",
	proto.ErrUnknownSession:           "comes from a race with expiry",
	proto.ErrNewConfigNoQuorum:        "needs an ensemble that can be reconfigured",
	proto.ErrReconfigInProgress:       "needs an ensemble that can be reconfigured",
	proto.ErrSessionExpired:           "comes from a race with expiry",
	proto.ErrSessionMoved:             "servers of today close the connection instead",
	proto.ErrNotReadOnly:              "needs an ensemble without quorum; the packets of E28 have it",
	proto.ErrEphemeralOnLocalSession:  "needs a server with local sessions",
	proto.ErrSessionClosedRequireSASL: "needs a server that requires an authentication",
	proto.ErrQuotaExceeded:            "needs a server that enforces quotas",
	proto.ErrThrottled:                "needs a server that throttles",
}

// serverCodes are those that servers send.
var serverCodes = []proto.Code{
	proto.CodeOK, proto.ErrRuntimeInconsistency, proto.ErrMarshalling, proto.ErrUnimplemented, proto.ErrBadArguments,
	proto.ErrUnknownSession, proto.ErrNewConfigNoQuorum, proto.ErrReconfigInProgress, proto.ErrNoNode, proto.ErrNoAuth,
	proto.ErrBadVersion, proto.ErrNoChildrenForEphemerals, proto.ErrNodeExists, proto.ErrNotEmpty, proto.ErrSessionExpired,
	proto.ErrInvalidACL, proto.ErrAuthFailed, proto.ErrSessionMoved, proto.ErrNotReadOnly, proto.ErrEphemeralOnLocalSession,
	proto.ErrNoWatcher, proto.ErrReconfigDisabled, proto.ErrSessionClosedRequireSASL, proto.ErrQuotaExceeded, proto.ErrThrottled,
}

// seenCaptures counts what the captures of a version have.
type seenCaptures struct {
	requests, replies map[proto.Op]int   // replies without an error
	codes, entries    map[proto.Code]int // of replies, and of the entries of multis and multiReads
	parts, results    map[proto.Op]int   // of multis and multiReads
	events            map[proto.EventType]int
	forms             map[string]int
}

func (s *seenCaptures) count(t *testing.T, c captured) {
	if c.client && strings.Contains(c.name, unreadable) {
		return
	}
	p := c.packet.read(t, c.bytes)
	if h, ok := p.header.(*proto.ReplyHeader); ok && h.Xid != proto.XidNotification {
		s.codes[proto.Code(h.Err)]++
		if h.Err == 0 {
			s.replies[c.op]++
		} else if len(c.bytes) > proto.ReplyHeaderSize {
			s.forms["an error with a body"]++
		}
	} else if c.client && !c.shake {
		s.requests[c.op]++
	}
	switch body := p.body.(type) {
	case *proto.ConnectResponse:
		if body.TimeOut <= 0 {
			s.forms["a handshake for a session that is over"]++
		}
	case *proto.ConnectRequest:
		if body.SessionID != 0 && body.LastZxidSeen != 0 {
			s.forms["a handshake that goes on with a session"]++
		}
	case *proto.WatcherEvent:
		s.events[proto.EventType(body.Type)]++
		if p.header.(*proto.ReplyHeader).Zxid == -1 {
			s.forms["an event without zxid"]++
		} else {
			s.forms["an event with its zxid"]++
		}
	case *multiOps:
		for _, op := range *body {
			s.parts[op.Op]++
		}
	case *multiResults:
		s.countResults(c.op, *body)
	}
}

func (s *seenCaptures) countResults(op proto.Op, results multiResults) {
	_, failure := proto.FirstError(results)
	for i, r := range results {
		s.results[r.Op]++
		s.entries[r.Err]++
		if failure != 0 && r.Op == proto.OpError && r.Err == 0 && op == proto.OpMulti {
			s.forms["a failed multi, entry before the failure"]++
		}
		if r.Op == proto.OpError && op == proto.OpMultiRead && i+1 < len(results) && results[i+1].Err == 0 {
			s.forms["a multiRead that goes on behind a failure"]++
		}
	}
}

// TestCapturesAreComplete looks for every opcode that a client may send, every code, and every form of an answer, in the
// captures of both versions. What is not there has a reason.
func TestCapturesAreComplete(t *testing.T) {
	for _, version := range captureVersions {
		frames, closed := readCaptures(t, version)
		s := seenCaptures{map[proto.Op]int{}, map[proto.Op]int{}, map[proto.Code]int{}, map[proto.Code]int{}, map[proto.Op]int{},
			map[proto.Op]int{}, map[proto.EventType]int{}, map[string]int{}}
		for _, c := range frames {
			s.count(t, c)
		}
		for _, tt := range ops {
			why := notCapturedOps[tt.op]
			assert.Equal(t, why == "", s.requests[tt.op] > 0, "%s: request %s is there; reason why not: %q", version, tt.name, why)
			if tt.op != proto.OpReconfig { // which has no answer but an error on one server
				assert.Equal(t, why == "", s.replies[tt.op] > 0, "%s: good reply to %s", version, tt.name)
			}
		}
		for _, code := range serverCodes {
			why := notCapturedCodes[code]
			assert.Equal(t, why == "", s.codes[code] > 0, "%s: code %d is there; reason why not: %q", version, int32(code), why)
		}
		s.checkForms(t, version, closed)
	}
}

func (s *seenCaptures) checkForms(t *testing.T, version string, closed map[string]bool) {
	t.Helper()
	for _, op := range []proto.Op{proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL, proto.OpDelete,
		proto.OpSetData, proto.OpCheck, proto.OpGetData, proto.OpGetChildren} {
		assert.True(t, s.parts[op] > 0, "%s: %v inside a multi", version, op)
	}
	for _, op := range []proto.Op{proto.OpCreate, proto.OpCreate2, proto.OpDelete, proto.OpSetData, proto.OpCheck, proto.OpGetData,
		proto.OpGetChildren, proto.OpError} {
		assert.True(t, s.results[op] > 0, "%s: %v inside the answer to a multi", version, op)
	}
	for _, kind := range []proto.EventType{proto.EventNodeCreated, proto.EventNodeDeleted, proto.EventNodeDataChanged, proto.EventNodeChildrenChanged} {
		assert.True(t, s.events[kind] > 0, "%s: event %v", version, kind)
	}
	for _, code := range []proto.Code{proto.CodeOK, proto.ErrRuntimeInconsistency, proto.ErrNoNode, proto.ErrNoAuth, proto.ErrBadVersion, proto.ErrNotEmpty} {
		assert.True(t, s.entries[code] > 0, "%s: code %d inside the answer to a multi", version, int32(code))
	}
	for _, form := range []string{"an error with a body", "a handshake for a session that is over", "a handshake that goes on with a session",
		"an event without zxid", "a failed multi, entry before the failure", "a multiRead that goes on behind a failure"} {
		assert.True(t, s.forms[form] > 0, "%s: %s", version, form)
	}
	assert.Equal(t, version != "3.8.0", s.forms["an event with its zxid"] > 0, "%s: an event with its zxid", version)
	for _, name := range []string{"auth, unknown scheme", "operation 99", "closeSession, then the server closes"} {
		assert.True(t, closed[name], "%s: the server closes after %s", version, name)
	}
}
