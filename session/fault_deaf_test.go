package session

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/proto"
)

// A large reply that trickles in keeps its connection, although no frame is complete for longer than two thirds
// of T: any byte counts. It must be complete before the session ends by its own clock.
func TestTricklingReplyKeepsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		<-time.After(testTimeout / 4) // the touch that the reply will be is younger than the connection
		g := exists("/a", nil)
		require.NoError(t, k.Current().Submit(t.Context(), g))
		r := l.read()
		reply := frame(r.xid, 1, 0, make([]byte, 10000))
		for i := 0; i < 10; i++ {
			l.write(reply[i*1000 : (i+1)*1000])
			<-time.After(650 * time.Millisecond)
		}
		l.write(reply[10000:])
		<-g.done
		o, _ := g.Result(0)
		assert.Equal(t, Replied, o)
		assert.EqualValues(t, 1, k.Current().connNo)
	})
}

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
