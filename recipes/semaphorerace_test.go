package recipes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/proto"
	"github.com/lockkeeper/lockkeeper/zktest"
)

// TestPermitsWrittenWhileTheQueueIsRead has the number of permits written between the two reads of a claim's flight: what the first has
// told is outdated, and its event has come.
func TestPermitsWrittenWhileTheQueueIsRead(t *testing.T) {
	for name, before := range map[string]int{"the same number": 1, "a smaller one": 2} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, srv *zktest.Server) {
				c, other := dial(t, srv), dialTo(t, srv, "two:2181")
				defer c.Close()
				defer other.Close()
				s := NewSemaphore(c, "/s", FromZnode)
				if err := s.SetPermits(t.Context(), before); err != nil {
					t.Fatal(err)
				}
				var held []*Lease
				for range before {
					held = append(held, must(s.Acquire(t.Context(), 1)))
				}
				list := srv.Hold(zktest.Match{Op: proto.OpGetChildren2, Member: "two:2181"})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				done := make(chan error, 1)
				// Claim; ends with ctx.
				go func() {
					_, err := NewSemaphore(other, "/s", FromZnode).Acquire(ctx, 1)
					done <- err
				}()
				synctest.Wait()
				if err := srv.Set("/s", []byte("1")); err != nil {
					t.Fatal(err)
				}
				for _, l := range held[1:] {
					release(t, l)
				}
				list.Release()
				if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("one of one permits is held; the next claim: %v", err)
				}
				release(t, held[0])
			})
		})
	}
}
