package session

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
)

// Servers that are away for most of a session timeout, as in a slow election, find the session still knocking: the pauses
// do not grow past a fraction of what it has left.
func TestPausesLeaveTheSessionTime(t *testing.T) {
	for name, random := range map[string]func() uint64{"shortest": func() uint64 { return 0 }, "random": rand.New(rand.NewPCG(1, 2)).Uint64} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(t)
				cfg := s.config()
				cfg.Env.Rand = random
				var dials []time.Time
				away := false
				dial := cfg.Env.Dial
				cfg.Env.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
					dials = append(dials, time.Now())
					if away {
						return nil, errors.New("away")
					}
					return dial(ctx, network, addr)
				}
				k := open(t, cfg)
				l, _ := s.serve(1, testTimeout)
				synctest.Wait()
				first := k.Current()
				away = true
				_ = l.fc.Close()
				<-first.Ended()
				over := time.Now()
				for i, at := range append(dials[1:], over) {
					left := over.Sub(dials[i])
					assert.LessOrEqual(t, at.Sub(dials[i]), max(left/4, DefaultMinBackoff))
				}
				assert.Less(t, len(dials), 40)
				require.NoError(t, k.Close())
			})
		})
	}
}
