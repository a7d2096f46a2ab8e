package session

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/proto"
)

// Fault 2: requests are lost while notifications go on arriving. The session is resumed elsewhere while it can be.
func TestRequestsAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k, w := startWire(t, nil, "one:2181", "two:2181")
		use(t, k, w)
		began := time.Now()
		go func() {
			for w.fc.WriteBatch(event(proto.EventNodeCreated, "/nobody")) == nil {
				<-time.After(time.Second)
			}
		}()
		again, req := s.wire(0x77, testTimeout)
		assert.Equal(t, testTimeout*5/6, time.Since(began))
		assert.EqualValues(t, 0x77, req.SessionID)
		finishWith(k, again.link)
		_ = w.nc.Close()
		pass(time.Second)
	})
}
