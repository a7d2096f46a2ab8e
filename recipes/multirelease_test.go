package recipes

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// TestMultiReleaseGoesOn has one part's release confirmed before the call gives up, and the other's after it: the next call waits for
// that one.
func TestMultiReleaseGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := dial(t, srv)
		defer c.Close()
		m := NewMultiLock(NewMutex(c, "/a").Part(), NewMutex(c, "/b").Part())
		l := must(m.Lock(t.Context()))
		reply := srv.HoldReply(zktest.Match{Op: proto.OpDelete, Skip: 1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Release(ctx); !errors.Is(err, ErrReleasePending) {
			t.Errorf("the second part's is not confirmed: %v", err)
		}
		again, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Release(again); !errors.Is(err, ErrReleasePending) {
			t.Errorf("it still is not: %v", err)
		}
		reply.Release()
		if err := l.Release(t.Context()); err != nil {
			t.Errorf("now it is: %v", err)
		}
	})
}
