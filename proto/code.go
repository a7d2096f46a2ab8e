package proto

import "strconv"

// Code is the outcome in a reply: 0, or an error (docs/protocol.md section 9). It is an error itself, so that errors.Is
// finds the constants below in a chain; a number without a constant keeps its value. Codes are comparable, and no code means
// that a write was applied but those marked unknown, which only clients make.
type Code int32

// The codes of replies. CodeOK is no error; Err turns it into nil.
const (
	CodeOK                      Code = 0
	ErrRuntimeInconsistency     Code = -2 // in a failed multi: this operation was not reached
	ErrMarshalling              Code = -5 // the server could not read the request
	ErrUnimplemented            Code = -6 // unknown operation, then the connection closes; or a feature switched off
	ErrBadArguments             Code = -8
	ErrUnknownSession           Code = -12  // since 3.5.0
	ErrNewConfigNoQuorum        Code = -13  // since 3.5.0
	ErrReconfigInProgress       Code = -14  // since 3.5.0
	ErrNoNode                   Code = -101 // the znode is missing, or the parent of the one to create
	ErrNoAuth                   Code = -102
	ErrBadVersion               Code = -103
	ErrNoChildrenForEphemerals  Code = -108
	ErrNodeExists               Code = -110
	ErrNotEmpty                 Code = -111
	ErrSessionExpired           Code = -112
	ErrInvalidACL               Code = -114
	ErrAuthFailed               Code = -115 // then the connection closes
	ErrSessionMoved             Code = -118 // servers of today close the connection instead
	ErrNotReadOnly              Code = -119 // write or sync on a server without quorum
	ErrEphemeralOnLocalSession  Code = -120 // since 3.5.0
	ErrNoWatcher                Code = -121 // since 3.5.0
	ErrReconfigDisabled         Code = -123 // since 3.5.3
	ErrSessionClosedRequireSASL Code = -124 // since 3.5.9; then the connection closes
	ErrQuotaExceeded            Code = -125 // since 3.7.0
	ErrThrottled                Code = -127 // since 3.7.0: dropped unexecuted, to be tried later
)

// Codes that servers do not send. Other clients report them, and they appear in their logs; this one has errors of its own
// for what happens to connections.
const (
	ErrSystemError       Code = -1 // begins the range of errors of the system
	ErrDataInconsistency Code = -3
	ErrConnectionLoss    Code = -4 // applied or not: unknown
	ErrOperationTimeout  Code = -7 // applied or not: unknown
	ErrInvalidState      Code = -9
	ErrTLS               Code = -15
	ErrAPIError          Code = -100 // begins the range of errors of single operations
	ErrInvalidCallback   Code = -113
	ErrClosing           Code = -116
	ErrNothing           Code = -117
	ErrRequestTimeout    Code = -122 // applied or not: unknown
)

// Err returns nil for CodeOK and else the code itself.
func (c Code) Err() error {
	if c == CodeOK {
		return nil
	}
	return c
}

// Error returns the words for the code, or "code -999" for a number without any.
func (c Code) Error() string {
	text := c.nodeText()
	if text == "" {
		text = c.sessionText()
	}
	if text == "" {
		text = c.clientText()
	}
	if text == "" {
		return "code " + strconv.Itoa(int(c))
	}
	return text
}

// nodeText words what can be wrong with a znode or with a request about it.
func (c Code) nodeText() string {
	switch c {
	case CodeOK:
		return "ok"
	case ErrNoNode:
		return "no node"
	case ErrNoAuth:
		return "not authorized"
	case ErrBadVersion:
		return "bad version"
	case ErrNoChildrenForEphemerals:
		return "ephemeral nodes cannot have children"
	case ErrNodeExists:
		return "node exists"
	case ErrNotEmpty:
		return "node has children"
	case ErrInvalidACL:
		return "invalid ACL"
	case ErrNoWatcher:
		return "no such watch"
	case ErrQuotaExceeded:
		return "quota exceeded"
	case ErrBadArguments:
		return "bad arguments"
	case ErrRuntimeInconsistency:
		return "not reached in a failed multi"
	}
	return ""
}

// sessionText words what can be wrong with a session or a server.
func (c Code) sessionText() string {
	switch c {
	case ErrMarshalling:
		return "request not readable"
	case ErrUnimplemented:
		return "not implemented by the server"
	case ErrUnknownSession:
		return "unknown session"
	case ErrNewConfigNoQuorum:
		return "no quorum of the new configuration"
	case ErrReconfigInProgress:
		return "another reconfiguration in progress"
	case ErrReconfigDisabled:
		return "reconfiguration disabled"
	case ErrSessionExpired:
		return "session expired"
	case ErrAuthFailed:
		return "authentication failed"
	case ErrSessionMoved:
		return "session moved to another server"
	case ErrNotReadOnly:
		return "server is read-only"
	case ErrEphemeralOnLocalSession:
		return "ephemeral node on a local session"
	case ErrSessionClosedRequireSASL:
		return "server requires authentication"
	case ErrThrottled:
		return "throttled by the server"
	}
	return ""
}

// clientText words the codes of other clients.
func (c Code) clientText() string {
	switch c {
	case ErrSystemError:
		return "system error"
	case ErrDataInconsistency:
		return "data inconsistency"
	case ErrConnectionLoss:
		return "connection loss"
	case ErrOperationTimeout:
		return "operation timeout"
	case ErrInvalidState:
		return "invalid state"
	case ErrTLS:
		return "TLS error"
	case ErrAPIError:
		return "API error"
	case ErrInvalidCallback:
		return "invalid callback"
	case ErrClosing:
		return "client closing"
	case ErrNothing:
		return "nothing to process"
	case ErrRequestTimeout:
		return "request timeout"
	}
	return ""
}
