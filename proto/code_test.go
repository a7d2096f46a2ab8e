package proto_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/proto"
)

// codes is docs/protocol.md section 9.
var codes = map[int]proto.Code{
	-1: proto.ErrSystemError, -2: proto.ErrRuntimeInconsistency, -3: proto.ErrDataInconsistency, -4: proto.ErrConnectionLoss,
	-5: proto.ErrMarshalling, -6: proto.ErrUnimplemented, -7: proto.ErrOperationTimeout, -8: proto.ErrBadArguments,
	-9: proto.ErrInvalidState, -12: proto.ErrUnknownSession, -13: proto.ErrNewConfigNoQuorum,
	-14: proto.ErrReconfigInProgress, -15: proto.ErrTLS, -100: proto.ErrAPIError, -101: proto.ErrNoNode, -102: proto.ErrNoAuth,
	-103: proto.ErrBadVersion, -108: proto.ErrNoChildrenForEphemerals, -110: proto.ErrNodeExists, -111: proto.ErrNotEmpty,
	-112: proto.ErrSessionExpired, -113: proto.ErrInvalidCallback, -114: proto.ErrInvalidACL, -115: proto.ErrAuthFailed,
	-116: proto.ErrClosing, -117: proto.ErrNothing, -118: proto.ErrSessionMoved, -119: proto.ErrNotReadOnly,
	-120: proto.ErrEphemeralOnLocalSession, -121: proto.ErrNoWatcher, -122: proto.ErrRequestTimeout,
	-123: proto.ErrReconfigDisabled, -124: proto.ErrSessionClosedRequireSASL, -125: proto.ErrQuotaExceeded,
	-127: proto.ErrThrottled,
}

func TestCodes(t *testing.T) {
	texts := map[string]int{}
	for number, code := range codes {
		assert.Equal(t, number, int(code))
		text := code.Error()
		assert.NotContains(t, text, "code", "%d has no text", number)
		assert.NotContains(t, texts, text, "two codes with one text")
		texts[text] = number
	}
	assert.Equal(t, "no node", proto.ErrNoNode.Error())
	assert.Equal(t, "ok", proto.CodeOK.Error())
}

// TestCodeIs is what callers do with a code: C47's unknown number included.
func TestCodeIs(t *testing.T) {
	err := fmt.Errorf("zk: get /a: %w", proto.Code(-101).Err())
	assert.ErrorIs(t, err, proto.ErrNoNode)
	assert.NotErrorIs(t, err, proto.ErrNodeExists)
	var code proto.Code
	assert.True(t, errors.As(fmt.Errorf("x: %w", proto.Code(-999)), &code))
	assert.Equal(t, proto.Code(-999), code)
	assert.Equal(t, "code -999", code.Error())
	assert.NoError(t, proto.CodeOK.Err())
	assert.Error(t, proto.Code(1).Err(), "a number that is no error today")
}
