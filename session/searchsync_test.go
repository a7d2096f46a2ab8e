package session

import (
	"testing"
	"testing/synctest"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/proto"
)

// A search that no sync went ahead of proves nothing: the server may be behind.
func TestCleanerSearchesAgainBehindARefusedSync(t *testing.T) { // K3
	synctest.Test(t, func(t *testing.T) {
		_, k, l := start(t, nil)
		defer finishWith(k, l)
		var c Cleanup
		k.Current().DeleteMatching(&c, "/lock", "_c_me")
		names := func(ns ...string) []byte {
			return (&proto.GetChildrenResponse{Children: ns}).AppendTo(nil)
		}
		l.reply(l.expect(proto.OpSync), 1, proto.ErrThrottled, nil)
		l.reply(l.expect(proto.OpGetChildren), 1, 0, names())
		synctest.Wait()
		if done, _ := c.Result(); done {
			t.Fatal("done without a sync")
		}
		l.reply(l.expect(proto.OpSync), 1, 0, nil)
		l.reply(l.expect(proto.OpGetChildren), 1, 0, names())
		assert.ErrorIs(t, c.Wait(t.Context()), proto.ErrNoNode)
	})
}
