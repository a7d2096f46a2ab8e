package jutegen

import (
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
)

func TestGoName(t *testing.T) {
	for name, want := range map[string]string{
		"id": "ID", "Id": "ID", "ID": "ID", "acl": "ACL", "ACL": "ACL", "ttl": "TTL", "path": "Path", "xid": "Xid",
		"czxid": "Czxid", "lastZxidSeen": "LastZxidSeen", "sessionId": "SessionID", "curConfigId": "CurConfigID",
		"timeOut": "TimeOut", "GetACLRequest": "GetACLRequest", "CreateTTLRequest": "CreateTTLRequest",
		"SetWatches2": "SetWatches2", "GetSASLRequest": "GetSASLRequest", "WhoAmIResponse": "WhoAmIResponse",
		"GetAclRequest": "GetACLRequest", "session_id": "SessionID", "_a": "A", "a__b": "AB", "identity": "Identity", "": "",
		"_": "", "_1": "", "a1": "A1",
	} {
		assert.Equal(t, want, goName(name), name)
	}
}

// TestMemory has the sizes of Go types on a 64-bit machine.
func TestMemory(t *testing.T) {
	var m memory
	for _, f := range []memory{{4, 4}, {1, 1}, {8, 8}, {1, 1}} { // int32, bool, int64, bool
		m = m.with(f)
	}
	assert.Equal(t, memory{17, 8}, m)
	assert.Equal(t, memory{24, 8}, m.padded())
}
